/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The publications of a batch that are in flight: each ends its result when its ack comes, or, if
 * JetStream calls it a duplicate, when it was compared with what is stored. */

#include "batch_results.h"
#include "halting.h"

struct batch_pending;

/* The owner embeds it. */
struct batch_publisher {
    struct request_options *options;
    struct batch_results *results;
    size_t awaited_count;
    struct jetstream_sender sender;
    struct halt_hold hold;         /* while a message is held that those after it must not pass */
    struct batch_pending *pending; /* what waits for its turn */
    unsigned share; /* of the window, for the last message that found none of it free */
    /* A result has ended; the owner may destroy the publisher. */
    void (*on_settled)(struct batch_publisher *publisher);
};

/* Publishes a valid message, or stores the halt of an invalid one (HALTING_HALTS); or ends its
 * result: it cannot be.
 * Returns: false: JetStream's window is full, and nothing has been done. */
bool batch_publish(struct batch_publisher *publisher, struct batch_result *result,
                   const struct verdict *verdict);

/* The client is gone: ends comparing, and awaits only acks from now on. */
void batch_publisher_close(struct batch_publisher *publisher);
