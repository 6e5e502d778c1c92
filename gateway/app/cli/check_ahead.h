/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A large file of lines, read ahead and checked by several threads. The caller takes the pieces in
 * order, with the information which of them hold only messages without findings; it checks the
 * other pieces again and reports their findings, as if there were no threads. */

#include <parley/message.h>

struct check_ahead;

/* The next piece. */
struct check_piece {
    struct parley_bytes bytes;        /* whole lines, or a part of one that is very long */
    bool is_right;                    /* all of its messages are valid, without a warning */
    size_t line_count, message_count; /* if is_right */
};

/* Reads from the present position of fd, which may be within a line.
 * Owns: fd, schema, codec and the texts of options are borrowed until check_ahead_destroy.
 * Returns: NULL on a single processor, or without memory or threads: then nothing has been
 * read. */
struct check_ahead *check_ahead_create(int fd, const struct parley_schema *schema,
                                       const struct parley_codec *codec,
                                       const struct parley_options *options,
                                       size_t message_bytes_max);
void check_ahead_destroy(struct check_ahead *ahead);

/* Returns the next piece; an empty one is the end.  Owns: its bytes are borrowed until the next
 * call. Returns: PARLEY_E_IO (errno says why), PARLEY_E_MEMORY. */
enum parley_status check_ahead_next(struct check_ahead *ahead,
                                    struct check_piece *out) PARLEY_MUST_CHECK;
