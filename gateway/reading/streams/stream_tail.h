/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The messages still to come for a cursor in a stream that has other messages too. The stream's
 * last message may be of others; and a feed that is current has only the messages of the member of
 * the cluster that serves it, which may lag behind. So the stream's leader is asked. */

#include "stream_hub.h"

/* Owns: the cursor embeds it, zeroed at first but for `known`. */
struct stream_tail {
    struct jetstream_request *request; /* NULL if none is pending */
    uint64_t from;                     /* where it was asked about */
    /* On the hub's subjects there is nothing from `from` up to `first`, where something is;
     * UINT64_MAX: there is none. */
    void (*known)(struct stream_tail *rest, uint64_t first);
};

/* Asks for the first message from this sequence on, unless that is under way. Without an answer
 * nothing is called. */
void stream_tail_ask(struct stream_tail *rest, const struct stream_hub *hub, uint64_t from);
/* For `known`.  Returns: the bound, which is a last sequence, or a lower one with the same messages
 * up to it. */
uint64_t stream_tail_bound(const struct stream_tail *rest, uint64_t first, uint64_t bound);
/* `known` is no longer called. */
void stream_tail_forget(struct stream_tail *rest);
