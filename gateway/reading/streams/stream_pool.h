/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The bytes of events that the readers of one worker hold and have not sent, bounded over all of
 * them. A holder can give its events back, since the stream still has them; when the bound is
 * exceeded, those do that have not sent anything for the longest time. A reader of large events
 * waits for room before it fetches them; otherwise readers would take each other's half-sent events
 * away. */

#include <sys/queue.h>

#include "reactor.h"
#include "stream_event.h"

struct stream_holder {
    /* Gives back as much as it can, with stream_pool_release.  It must not change other holders. */
    void (*give_back)(struct stream_holder *holder);
    TAILQ_ENTRY(stream_holder) link;
    bool is_listed;
    unsigned moved; /* the pool's tick */
};

/* A reader that waits for room. */
struct stream_waiter {
    /* Room was granted. It may end this waiter, but no other. */
    void (*admitted)(struct stream_waiter *waiter);
    TAILQ_ENTRY(stream_waiter) link;
    bool is_waiting;
    size_t bytes; /* requested or granted; 0: neither */
};

struct stream_pool {
    struct reactor *reactor;
    size_t bytes, bytes_max;
    size_t granted_bytes; /* to waiters */
    unsigned tick;
    TAILQ_HEAD(, stream_holder) holders; /* in the order in which they last moved */
    TAILQ_HEAD(, stream_waiter) waiters; /* in the order in which they came */
    struct reactor_timer ticker;         /* armed while there are holders or waiters */
    struct reactor_timer room;           /* armed when there may be room for a waiter */
};

/* Owns: borrows the reactor. */
void stream_pool_init(struct stream_pool *pool, struct reactor *reactor, size_t bytes_max);
/* There must be no holders and no waiters. */
void stream_pool_finish(struct stream_pool *pool);

/* An event that several readers hold counts once.  Owns: the references stay the holders'. */
void stream_pool_hold(struct stream_pool *pool, struct stream_event *event);
void stream_pool_release(struct stream_pool *pool, struct stream_event *event);

/* It holds something and has just sent something, so others are asked to give back before it. May
 * call their give_back. */
void stream_pool_touch(struct stream_pool *pool, struct stream_holder *holder);
/* Notes that it no longer holds any. Harmless when it never did. */
void stream_pool_leave(struct stream_pool *pool, struct stream_holder *holder);

/* Asks to fetch events of `bytes`; a few bytes are always granted.
 * Returns: false: it waits until `admitted` is called. */
bool stream_pool_admit(struct stream_pool *pool, struct stream_waiter *waiter, size_t bytes);
/* Notes that the granted messages have come, or will not; or cancels the wait. Harmless at any
 * time. */
void stream_pool_settle(struct stream_pool *pool, struct stream_waiter *waiter);

/* How many bytes one more reader may fetch ahead: less, the fuller the pool is. */
size_t stream_pool_share(const struct stream_pool *pool);
