/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Messages that are handled some time after they came, in order. Bounded: while it is full, the
 * oldest are handled early. Private to nats/. */

#include <sys/queue.h>

#include "jetstream_types.h"

struct late_queue {
    struct reactor *reactor;
    int64_t delay_ms;
    void (*due)(struct late_queue *queue, const struct jetstream_stored *stored);
    TAILQ_HEAD(, late_message) messages;
    size_t count, bytes;
    struct reactor_timer timer; /* armed while there are messages */
};

/* Owns: borrows the reactor. */
void late_queue_init(struct late_queue *queue, struct reactor *reactor, int64_t delay_ms,
                     void (*due)(struct late_queue *queue, const struct jetstream_stored *stored));
/* Drops what it holds. Not from `due`. */
void late_queue_finish(struct late_queue *queue);
/* Owns: copies the message, without its headers. Without memory it is handled at once. */
void late_queue_add(struct late_queue *queue, const struct jetstream_stored *stored);
