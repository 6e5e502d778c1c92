/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the readers of one worker hold of events that they have not sent yet, bounded over all of
 * them. Whoever holds something can give it back, since the stream has it still; when it is too
 * much, those do who have not moved for the longest time. Who fetches large events waits until
 * there is room, or half of what he sends would be fetched again for each that others send. */

#include <sys/queue.h>

#include "reactor.h"
#include "stream_event.h"

struct stream_holder {
    /* Gives back what it can, and tells the pool.  It touches no other holder. */
    void (*give_back)(struct stream_holder *holder);
    TAILQ_ENTRY(stream_holder) link;
    bool is_listed;
    unsigned moved; /* the pool's tick */
};

/* Waits for room. */
struct stream_waiter {
    /* There is room, and it is granted. It may end this waiter, but no other. */
    void (*admitted)(struct stream_waiter *waiter);
    TAILQ_ENTRY(stream_waiter) link;
    bool is_waiting;
    size_t bytes; /* waited for, or granted; 0: neither */
};

struct stream_pool {
    struct reactor *reactor;
    size_t bytes, bytes_max;
    size_t granted_bytes; /* to those who fetch */
    unsigned tick;
    TAILQ_HEAD(, stream_holder) holders; /* the quietest first */
    TAILQ_HEAD(, stream_waiter) waiters; /* the first to come first */
    struct reactor_timer ticker;         /* armed while somebody holds something, or waits */
    struct reactor_timer room;           /* armed when there may be some for who waits */
};

/* Owns: the reactor is borrowed. */
void stream_pool_init(struct stream_pool *pool, struct reactor *reactor, size_t bytes_max);
/* Nobody waits, and nobody holds anything. */
void stream_pool_finish(struct stream_pool *pool);

/* An event that several hold counts once.  Owns: the references stay the holders'. */
void stream_pool_hold(struct stream_pool *pool, struct stream_event *event);
void stream_pool_release(struct stream_pool *pool, struct stream_event *event);

/* It holds something, and has just moved: others are asked first. May have them give back. */
void stream_pool_touch(struct stream_pool *pool, struct stream_holder *holder);
/* It holds nothing any more. Harmless when it never did. */
void stream_pool_leave(struct stream_pool *pool, struct stream_holder *holder);

/* Asks to fetch events of so many bytes together; few are always granted.
 * Returns: false: it waits, and will be told. */
bool stream_pool_admit(struct stream_pool *pool, struct stream_waiter *waiter, size_t bytes);
/* What was granted has come, or will not; or it waits no longer. Harmless at any time. */
void stream_pool_settle(struct stream_pool *pool, struct stream_waiter *waiter);

/* How much one more reader may fetch ahead: the less, the fuller the pool is. */
size_t stream_pool_share(const struct stream_pool *pool);
