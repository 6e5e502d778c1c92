/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The ways to serve the body of a POST. single.c (one message), batch.c (many) and conversion.c
 * (many into another encoding, all of them or none) each fill one of these tables; ingest.c
 * chooses. */

#include "request_options.h"

/* Why a body cannot be read to its end. */
struct body_fault {
    const char *text, *hint; /* static, for a finding (GW-001); text NULL: there is no room for what
                                is needed to read it: `overloaded` */
};

struct body_handler {
    /* Begins.  `framing`: of the body; PARLEY_FRAMING_WHOLE: it holds one message.
     * Owns: `options` is copied, with its texts.  Returns: NULL: no memory. */
    void *(*create)(const struct request_options *options, enum parley_framing framing,
                    struct http_request *request);
    /* A piece of the body.  Returns: how many bytes were taken; less than all means that http_wake
     * will follow. */
    size_t (*body)(void *state, struct parley_bytes bytes);
    /* The body is whole. */
    void (*end)(void *state);
    /* In place of `end`: the messages before it count, except an incomplete one, and no more will
     * come. */
    void (*broken)(void *state, const struct body_fault *fault);
    /* The request is gone: frees the state, now or with its last ack. */
    void (*closed)(void *state);
    /* The answer, as http_respond_stream asks for it. NULL: it is given in one piece. */
    ssize_t (*read)(void *state, char *buffer, size_t size);
};

/* A body and its handler: what http.h hands to body_read. */
struct body {
    const struct body_handler *handler;
    void *state;
};

/* For http_respond_stream and http_respond_live. */
static inline ssize_t body_read(void *body, char *buffer, size_t size) {
    const struct body *read_body = body;
    return read_body->handler->read(read_body->state, buffer, size);
}
