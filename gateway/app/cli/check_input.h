/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A file, pipe or terminal as a sequence of messages. Memory: one message and one piece of input
 * (two per processor for a file that is checked ahead), whatever the length. */

#include <parley/splitter.h>

struct check_input {
    int fd;
    const struct parley_protocol *protocol;
    const struct parley_codec *codec; /* NULL: detected from the first bytes */
    size_t message_bytes_max;
    uint64_t read_bytes;
    uint64_t passed_count; /* messages skipped at the last PARLEY_SPLIT_MORE */

    /* Private. */
    enum { INPUT_NEW, INPUT_MANY, INPUT_ONE, INPUT_DONE } state;
    bool has_ended;
    struct parley_splitter splitter;
    struct parley_buffer head; /* read to detect the codec; or the only message */
    char *piece;
    struct parley_bytes left;
    const struct parley_schema *schema; /* to check ahead with; NULL: does not */
    const struct parley_options *options;
    struct check_ahead *ahead;
};

/* Owns: fd stays the caller's. `codec` may be NULL. */
void check_input_init(struct check_input *input, int fd, const struct parley_protocol *protocol,
                      const struct parley_codec *codec);
void check_input_finish(struct check_input *input);

/* Lets several threads check ahead, for a large file of lines. Messages that they find to be valid
 * without a warning are skipped.
 * Owns: schema, options and its texts are borrowed until check_input_finish. */
void check_input_look_ahead(struct check_input *input, const struct parley_schema *schema,
                            const struct parley_options *options);

/* Returns the next message, to be decoded by input->codec. `*out_split` is never
 * PARLEY_SPLIT_MEMORY; it is PARLEY_SPLIT_MORE when messages were skipped.
 * Owns: what *out points to is borrowed until the next call.
 * Returns: PARLEY_E_IO (errno says why), PARLEY_E_MEMORY. */
enum parley_status check_input_next(struct check_input *input, enum parley_split *out_split,
                                    struct parley_slice *out) PARLEY_MUST_CHECK;

/* Ends the input after the present message: the next call returns PARLEY_SPLIT_END. */
void check_input_abandon(struct check_input *input);

/* The codec for the extension of a file name, or NULL. */
const struct parley_codec *check_input_codec_of_name(const struct parley_protocol *protocol,
                                                     const char *name);
