/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The files that an operand names: one file, a folder (the files in it and its subfolders that the
 * protocol can read), or a pattern that the shell did not expand. */

#include <parley/protocol.h>

struct check_files {
    const struct parley_protocol *protocol; /* whose extensions choose the files of a folder */
    bool is_once;                           /* skip a file that was read before */
    /* Reads one file.  Returns: whether it could be read; if not, it printed the error. */
    bool (*read)(void *context, const char *path);
    bool (*is_stopped)(void *context);
    void *context;
    void *seen; /* private; NULL at first */
};

/* Calls `read` for each file that `operand` names; the files of a folder come in order of name.
 * Returns: whether all could be read. */
bool check_files_each(struct check_files *files, const char *operand);
void check_files_finish(struct check_files *files);
