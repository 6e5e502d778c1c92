/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* `parley check --fix` and `--diff`: the fixed messages of a file put back into it, or shown. All
 * bytes of the file that are not in a fixed message stay as they are. */

#include <parley/message.h>
#include <parley/splitter.h>

/* Zero-initialise it. */
struct check_fix {
    bool is_shown; /* as a diff on standard output; no file is changed */
    size_t fixed_count, file_count;
    size_t safe_count, suggested_count; /* of check_fix_count */

    /* Private: of the present file. */
    struct check_fix_edit *edits;
    size_t count, capacity;
    struct parley_buffer texts; /* of each edit the old and the new one */
};

void check_fix_finish(struct check_fix *fix);

/* Notes a message that was checked with options.fix, if it was fixed. `slice`: as it is in the
 * file.
 */
enum parley_status check_fix_note(struct check_fix *fix, const struct parley_slice *slice,
                                  const struct parley_message *message) PARLEY_MUST_CHECK;

/* Counts which findings of a message that was checked without options.fix have a fix that a file
 * can be changed by. */
enum parley_status check_fix_count(struct check_fix *fix,
                                   const struct parley_message *message) PARLEY_MUST_CHECK;

/* Changes the file, or shows how it would be changed, once all its messages were noted. A file is
 * replaced as a whole, or not at all.
 * Returns: false: it is as it was, and an error message was printed. */
bool check_fix_end_file(struct check_fix *fix, const char *path);
