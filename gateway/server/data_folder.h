/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The folder of --data: made where it is missing, and refused where others could put files or links
 * into it, since what is written there holds a token and what is read there is trusted. */

#include <stdbool.h>
#include <stddef.h>

/* mkdir -p, for its owner alone, then the check: it must be this user's or root's, be writable by
 * us, and by nobody else but a group that is ours.
 * Returns: false: `error` gets a sentence that says what is wrong and what to do. */
bool data_folder_prepare(const char *folder, char *error, size_t error_size);
