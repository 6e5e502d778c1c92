/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A valid message prepared for NATS: subject, payload and headers (docs/api.md#nats). */

#include <parley/message.h>

#include "bus.h"
#include "clock_and_ids.h"
#include "digest.h"

/* The headers that the request adds. */
struct publication_context {
    const char *idempotency_key; /* NULL for none */
    const char *key_owner;       /* the name of the principal whose key it is; NULL or "": without
                                    access control, where all senders share their keys */
    const char *traceparent;     /* NULL for none */
    const char *tracestate;      /* NULL for none */
    struct id_pool *identities;  /* of this thread; NULL for none */
    bool is_batch;               /* the key is KEY:LINE */
    bool has_dedupe;             /* false: no Nats-Msg-Id but the client's key */
};

/* Advice for a sender that does not know whether its message was stored. */
enum publication_repeat {
    PUBLICATION_REPEAT_ANOTHER,    /* nothing: sent again it is another message */
    PUBLICATION_REPEAT_SAME,       /* send the same bytes again */
    PUBLICATION_REPEAT_ID,         /* send it again with the same id */
    PUBLICATION_REPEAT_STAMPED_ID, /* send it again with the id that `stamp` gave it */
    PUBLICATION_REPEAT_STAMPED,    /* nothing: what `stamp` fills in differs each time */
    PUBLICATION_REPEAT_KEY,        /* send it again with the same Idempotency-Key */
};

#define PUBLICATION_DIGEST_HEADER "Parley-Digest"
#define PUBLICATION_ORIGINAL_HEADER "Parley-Original"

/* The data of a publication that is needed when its ack arrives. */
struct publication_mark {
    enum publication_repeat repeat;
    bool is_compared; /* the message that JetStream calls a duplicate may be another one, or in
                         another stream */
    char digest[DIGEST_LENGTH + 1]; /* Parley-Digest; "": none */
};

/* Appends a text as a header's value: percent-encoded as CloudEvents' binding says. */
void publication_encode(struct parley_bytes text, struct parley_buffer *out);

/* A part of the message is in an object store, and its payload points to it.  Owns: borrowed, as
 * long as the publication. */
#define PUBLICATION_OBJECT_HEADERS 3
struct publication_object {
    const char *id; /* of the event */
    struct bus_header headers[PUBLICATION_OBJECT_HEADERS];
};

#define PUBLICATION_HEADERS_MAX (11 + PUBLICATION_OBJECT_HEADERS + PARLEY_OPTIONS_MAX)

struct publication {
    struct parley_route route; /* its id is that of the event, also of a message without one */
    struct publication_mark mark;
    struct bus_header headers[PUBLICATION_HEADERS_MAX];
    size_t header_count;
    struct parley_bytes payload; /* borrowed from where it was written */
};

/* Encodes `message`, which is valid, into `payload` (cleared first), and fills `out`.
 * `number`: of the message in its batch.  `decided`: a Nats-Msg-Id that was decided on, whatever
 * the client's key is; data NULL: as the route and the key say.
 * Owns: all texts live in the message's arena. */
enum parley_status publication_prepare(struct parley_message *message,
                                       const struct publication_context *context, size_t number,
                                       struct parley_bytes decided, struct parley_buffer *payload,
                                       struct publication *out) PARLEY_MUST_CHECK;

/* The same for a payload that is known; `object`: NULL: all of the message is in it. */
enum parley_status publication_describe(struct parley_message *message,
                                        const struct publication_context *context, size_t number,
                                        struct parley_bytes decided, struct parley_bytes payload,
                                        const struct publication_object *object,
                                        struct publication *out) PARLEY_MUST_CHECK;
