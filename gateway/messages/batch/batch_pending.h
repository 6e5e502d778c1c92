/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Submits the messages of a batch, in the order sent: at once, or after a wait, while JetStream's
 * window is full, or earlier messages decide on them, or on one before them. They are valid, or
 * halt. */

#include "batch_results.h"
#include "body_splitter.h"

struct pending;

/* The owner embeds it. */
struct batch_pending {
    struct batch_results *results;
    struct body_splitter *intake;
    struct submitter submitter;
    struct pending *first, **end;
    size_t awaited_reply_count;     /* submissions under way */
    struct halt_hold hold;          /* while a message is held that those after it must not pass */
    struct jetstream_waiter waiter; /* while the first waits for JetStream's window */
    /* Some of them went on, or have ended; the owner may destroy all of this. */
    void (*on_moved)(struct batch_pending *pending);
};

/* Owns: everything is borrowed. */
void batch_pending_init(struct batch_pending *pending, struct request_options *options,
                        struct batch_results *results, struct body_splitter *intake,
                        void (*on_moved)(struct batch_pending *pending));

/* Continues after the verdict on a message that is valid, or halts (HALTING_HALTS), now or in its
 * turn.  `route`: of one that earlier messages decide on (fact_lookup_is_needed), else NULL. */
void batch_pending_finish(struct batch_pending *pending, struct batch_result *result,
                          const struct verdict *verdict, const struct parley_route *route);

/* Whether no message may be published: JetStream's window is full, or halts hold the last one. */
static inline bool batch_pending_is_blocked(const struct batch_pending *pending) {
    return pending->waiter.is_waiting || pending->hold.held_count > 0;
}
/* Whether no message waits, and none is under way. */
static inline bool batch_pending_is_empty(const struct batch_pending *pending) {
    return pending->first == NULL && pending->awaited_reply_count == 0;
}

/* Tells it that the client is gone: questions needed only for its answer are dropped. */
void batch_pending_close(struct batch_pending *pending);
/* Forgets all of them that were not published. */
void batch_pending_drop(struct batch_pending *pending);
