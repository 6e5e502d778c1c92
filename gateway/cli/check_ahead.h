/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A large file of lines, read ahead and looked at by several threads. Whoever takes the pieces in
 * their order learns which of them hold nothing but right messages without any finding; whatever
 * else there is, it finds out and reports itself, as if there were no threads. */

#include <parley/message.h>

struct check_ahead;

/* What a reader of pieces is told of the next one. */
struct check_piece {
    struct parley_bytes bytes;        /* whole lines, or a part of one that is very long */
    bool is_right;                    /* all of its messages are, and deserve no warning */
    size_t line_count, message_count; /* if so */
};

/* Reads from where fd stands, which may be within a line.
 * Owns: fd, schema, codec and the texts of options are borrowed until check_ahead_destroy.
 * Returns: NULL when there is one processor alone, or no memory or thread to be had: then nothing
 * has been read. */
struct check_ahead *check_ahead_create(int fd, const struct parley_schema *schema,
                                       const struct parley_codec *codec,
                                       const struct parley_options *options,
                                       size_t message_bytes_max);
void check_ahead_destroy(struct check_ahead *ahead);

/* The next piece; one without bytes is the end.  Owns: its bytes are borrowed until the next call.
 * Returns: PARLEY_E_IO (errno says why), PARLEY_E_MEMORY. */
enum parley_status check_ahead_next(struct check_ahead *ahead,
                                    struct check_piece *out) PARLEY_MUST_CHECK;
