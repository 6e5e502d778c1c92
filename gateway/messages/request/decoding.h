/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A compressed body on its way to its handler: decompressed in pieces, each when the one before it
 * was taken. Its memory is charged to the budget of bodies. */

#include "body_handler.h"

struct decoding;

/* Where the body goes: `take` returns how many bytes were taken, as body_handler.body. */
struct decoding_target {
    size_t (*take)(void *context, struct http_request *request, struct parley_bytes bytes);
    void *context;
};

/* `options->coding`: not CODING_IDENTITY.  Returns: NULL: no memory. */
struct decoding *decoding_create(const struct request_options *options,
                                 const struct decoding_target *target);
void decoding_destroy(struct decoding *decoding);

/* A piece of the body, as http_handler.body. It continues in a later turn once it has produced much
 * output, so that a bomb leaves the other connections their turns. */
size_t decoding_body(struct decoding *decoding, struct http_request *request,
                     struct parley_bytes bytes);
/* The body has ended. */
void decoding_end(struct decoding *decoding);
/* NULL if there is none so far. The target gets no further bytes. */
const struct body_fault *decoding_fault(const struct decoding *decoding);
