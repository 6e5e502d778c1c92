/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The events that a cursor has fetched ahead of its client, within the pool of all of them. */

#include "stream_pool.h"

struct stream_queue {
    struct stream_pool *pool;
    struct stream_event *first, **end;
    size_t count, bytes;
    struct stream_holder holder;
};

/* `give_back`: that of the holder, when the pool is full; it drops the queue.  Owns: borrows the
 * pool. The queue must be dropped before it is freed. */
void stream_queue_init(struct stream_queue *queue, struct stream_pool *pool,
                       void (*give_back)(struct stream_holder *holder));
/* Owns: takes the reference. `give_back` may be called, of this queue too. */
void stream_queue_push(struct stream_queue *queue, struct stream_event *event);
/* There is a first one. */
void stream_queue_pop(struct stream_queue *queue);
void stream_queue_drop(struct stream_queue *queue);
/* Its reader has sent something. Harmless when it is empty. */
void stream_queue_touch(struct stream_queue *queue);
