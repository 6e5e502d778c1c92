/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The files of the console (docs/console.md), which the build puts into the program: those of
 * web/console and web/vendor. */

#include <parley/bytes.h>

struct console_file {
    const char *name; /* of /console/NAME; NULL ends the list */
    const char *path; /* in web/ */
    struct parley_bytes (*content)(void);
};

extern const struct console_file console_files[];
