/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The messages of a batch that have to wait, in the order sent: JetStream's window is full, or
 * earlier messages decide on them, or on one before them (dispatch.h). They are valid, or halt. */

#include "batch_publish.h"
#include "intake.h"
#include "log_count.h"

struct pending;

/* The owner embeds it. */
struct batch_pending {
    struct request_options *options;
    struct batch_publisher *publisher;
    struct intake *intake;
    struct pending *first, **end;
    LIST_HEAD(, pending) under_way; /* those that were published, and wait for their outcome */
    struct jetstream_waiter waiter; /* while the first waits for JetStream's window */
    struct log_count log;
    /* Some of them went on; the owner may destroy all of this. */
    void (*on_moved)(struct batch_pending *pending);
};

void batch_pending_init(struct batch_pending *pending, struct request_options *options,
                        struct batch_publisher *publisher, struct intake *intake,
                        void (*on_moved)(struct batch_pending *pending));

/* What follows from the verdict on a message that is valid, or halts (HALTING_HALTS), now or in its
 * turn.  `route`: of one that earlier messages decide on (lookup_is_needed), else NULL. */
void batch_pending_finish(struct batch_pending *pending, struct batch_result *result,
                          const struct verdict *verdict, const struct parley_route *route);

/* Whether no message may be published: JetStream's window is full, or halts hold the last one. */
static inline bool batch_pending_is_blocked(const struct batch_pending *pending) {
    return pending->waiter.is_waiting || pending->publisher->hold.held_count > 0;
}
static inline bool batch_pending_is_empty(const struct batch_pending *pending) {
    return pending->first == NULL;
}

/* The client is gone: what has to be found out only for its answer is not. */
void batch_pending_close(struct batch_pending *pending);
/* Forgets all of them that were not published. */
void batch_pending_drop(struct batch_pending *pending);
