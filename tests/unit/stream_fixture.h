/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the tests of streams on a JetStream of their own have in common. That JetStream has a past:
 * nobody opens a core_subscription of it. */

#include <parley/protocol.h>

#include "channel.h"
#include "jetstream.h"

extern const struct channel vlp_channel;

/* What hubs ask about reviews, which the test answers. */
struct review_ask {
    jetstream_last_fn *last; /* about a key; NULL once it is answered … */
    jetstream_held_fn *held; /* … or about a message */
    void *context;
    char what[64]; /* "VLP.42", "VLP:42" */
};
extern size_t review_ask_count; /* of all so far */
extern bool is_review_asked;    /* false: NATS is away */

/* Begins anew. */
void review_asks_reset(void);
/* The number of those that are pending. */
size_t review_asks_pending(void);
/* The first pending one; there is one. */
const struct review_ask *review_ask_first(void);
/* Answers it.  `text`: the value, or the message; NULL: there is none; "": it is
 * not known. Returns: what it was about. */
const char *review_answer(const char *text);
/* For jetstream_request_cancel.  Returns: whether it was one of these. */
bool review_ask_cancel(struct jetstream_request *request);

/* Of VLP.  Owns: the caller destroys it. */
struct parley_schema *vlp_schema(void);
