/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A valid message made ready for NATS: subject, payload and headers (api.md, NATS). */

#include <parley/message.h>

#include "bus.h"

/* What the request adds to the headers. */
struct publication_context {
    const char *idempotency_key; /* NULL: none */
    const char *traceparent;     /* NULL: none */
    bool is_batch;               /* the key is KEY:LINE */
    bool has_dedupe;             /* false: no Nats-Msg-Id but the client's key */
};

#define PUBLICATION_HEADERS_MAX 8

struct publication {
    struct parley_route route;
    struct bus_header headers[PUBLICATION_HEADERS_MAX];
    size_t header_count;
};

/* Encodes `message`, which is valid, into `payload` (cleared first), and fills `out`.
 * `number`: of the message in its batch.
 * Owns: all texts live in the message's arena. */
enum parley_status publication_prepare(struct parley_message *message,
                                       const struct publication_context *context, size_t number,
                                       struct parley_buffer *payload,
                                       struct publication *out) PARLEY_MUST_CHECK;
