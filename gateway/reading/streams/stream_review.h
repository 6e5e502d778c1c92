/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a stored message says of reviews (parley/reviews.h): that people approved another one. The
 * message alone proves nothing, since any client of NATS can write it. */

#include <parley/protocol.h>

#include "jetstream.h"
#include "review_value.h"

/* Owns: one allocation, with all texts. */
struct stream_review {
    struct review_place place; /* of the message that is approved */
    struct parley_bytes id;    /* of this one */
    char stream[REVIEW_PLACE_MAX];
    char data[];
};

/* What is approved, for the event of it.  Owns: borrowed for the call. */
struct stream_approval {
    uint64_t notice; /* the sequence of the message that announces it … */
    int64_t time_ns; /* … and the time of its storage */
    struct review_value value;
};

/* Returns: false: no memory; `out` NULL: the message announces no approval. */
bool stream_review_note(const struct parley_protocol *protocol,
                        const struct jetstream_stored *stored, const struct parley_route *route,
                        struct stream_review **out);
/* NULL is allowed. */
void stream_review_destroy(struct stream_review *review);
