/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Messages that are handled some time after they came, in order. Bounded: while it is full, the
 * oldest are handled early. Private to nats/. */

#include <sys/queue.h>

#include "jetstream_types.h"

struct delay_queue {
    struct reactor *reactor;
    int64_t delay_ms;
    void (*due)(struct delay_queue *queue, const struct jetstream_stored *stored);
    TAILQ_HEAD(, late_message) messages;
    size_t count, bytes;
    struct reactor_timer timer; /* armed while there are messages */
};

/* Owns: borrows the reactor. */
void delay_queue_init(struct delay_queue *queue, struct reactor *reactor, int64_t delay_ms,
                      void (*due)(struct delay_queue *queue,
                                  const struct jetstream_stored *stored));
/* Drops its content. Not to be called from `due`. */
void delay_queue_finish(struct delay_queue *queue);
/* Owns: copies the message, without its headers. Without memory it is handled at once. */
void delay_queue_add(struct delay_queue *queue, const struct jetstream_stored *stored);
