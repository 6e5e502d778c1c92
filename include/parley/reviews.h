/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Messages that wait for people: the gateway records one decision on each, and publishes a message
 * that announces it; a protocol that has reviews says where such messages are stored, and which
 * message announces a decision. */

#include <stdbool.h>
#include <stddef.h>

#include <parley/buffer.h>
#include <parley/bytes.h>

/* A decision on a message.  Owns: borrowed for the call. */
struct parley_review {
    bool is_approved;
    struct parley_bytes by, reason;         /* the reviewer, and the reason for people */
    struct parley_bytes id, at;             /* for the announcement: a UUID, RFC 3339 */
    const char *place;                      /* of the message: "VLP:42" */
    struct parley_bytes message_id, thread; /* of the message; data NULL if it has none */
};

struct parley_reviews_kind {
    const char *bucket;   /* the key-value bucket of decisions */
    const char *subjects; /* of messages to be decided on, below the protocol's first token:
                             "review.>" */
    const char *thread;   /* the name of a conversation in queries: "session" */
    const char *lane;     /* of the messages that announce decisions: "safe" */
    /* Appends the message, as JSON, that announces a decision: in the reviewer's name. It is not
     * itself stored on `subjects`. */
    void (*write_review)(const struct parley_review *review, struct parley_buffer *out);
};
