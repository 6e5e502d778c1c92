/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The files that operands name: a file itself, a folder (the files below it that the protocol can
 * read), or a pattern that the shell did not expand. */

#include <parley/protocol.h>

struct check_files {
    const struct parley_protocol *protocol; /* whose extensions count below a folder */
    bool is_once;                           /* a file that is named again is passed over */
    /* Reads one file.  Returns: whether it could be read; what could not has been said. */
    bool (*read)(void *context, const char *path);
    bool (*is_stopped)(void *context);
    void *context;
    void *seen; /* private; NULL at first */
};

/* Calls `read` for each file that `operand` names, those of a folder in the order of their names.
 * Returns: whether all could be read. */
bool check_files_each(struct check_files *files, const char *operand);
void check_files_finish(struct check_files *files);
