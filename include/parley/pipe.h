/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A protocol that two sides speak in frames, over standard input and output (`parley pipe`): what
 * one of them gets to read when its message was refused. A client of HTTP that reads answers in one
 * of its other encodings (codec->from_json) gets the same in the place of a problem. */

#include <parley/buffer.h>
#include <parley/bytes.h>

struct parley_codec;
struct parley_option;

/* Owns: everything is borrowed. */
struct parley_pipe_refusal {
    const char *from;    /* the side whose message was refused; NULL: not known */
    const char *code;    /* what else kept it from being taken, in capitals; NULL: it is invalid */
    int64_t now_seconds; /* Unix time */
    struct parley_bytes message; /* why, for people */
    struct parley_bytes details; /* the same for programs: a JSON object */
};

struct parley_pipe {
    const struct parley_option *from;  /* of protocol->options: by it a request names its side */
    const struct parley_codec *codec;  /* the frames */
    const struct parley_codec *single; /* of the content of a frame */
    /* The side that the side `from` talks to.  Returns: static. */
    const char *(*other_side)(const char *from);
    /* The code of a refusal by which that side says that it could not store a valid message of the
     * type.  Returns: static; NULL: it has no code for that. */
    const char *(*unstored_code)(unsigned type);
    /* Appends, as JSON, the message by which the other side says so; it is valid. */
    void (*write_refusal)(const struct parley_pipe_refusal *refusal, struct parley_buffer *out);
};
