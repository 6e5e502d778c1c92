/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the readers of one worker hold of events that they have not sent yet, bounded over all of
 * them. Whoever holds something can give it back, since the stream has it still; when it is too
 * much, those do who have not moved for the longest time. */

#include <sys/queue.h>

#include "stream_event.h"

struct stream_holder {
    /* Gives back what it can, and tells the pool.  It touches no other holder. */
    void (*give_back)(struct stream_holder *holder);
    TAILQ_ENTRY(stream_holder) link;
    bool is_listed;
};

struct stream_pool {
    size_t bytes, bytes_max;
    TAILQ_HEAD(, stream_holder) holders; /* the quietest first */
};

void stream_pool_init(struct stream_pool *pool, size_t bytes_max);

/* An event that several hold counts once.  Owns: the references stay the holders'. */
void stream_pool_hold(struct stream_pool *pool, struct stream_event *event);
void stream_pool_release(struct stream_pool *pool, struct stream_event *event);

/* It holds something, and has just moved: others are asked first. May have them give back. */
void stream_pool_touch(struct stream_pool *pool, struct stream_holder *holder);
/* It holds nothing any more. Harmless when it never did. */
void stream_pool_leave(struct stream_pool *pool, struct stream_holder *holder);

/* How much one more reader may fetch ahead: the less, the fuller the pool is. */
size_t stream_pool_share(const struct stream_pool *pool);
