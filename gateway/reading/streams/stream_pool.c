/* SPDX-License-Identifier: Apache-2.0 */

/* The pool is full only when many readers are stuck, or very many read at once: the shares shrink
 * before that. One that holds something and has not moved for two ticks counts as stuck, and gives
 * way to who waits. */

#include "stream_pool.h"

enum {
    SHARE_PART = 8, /* of the free part */
    SHARE_BYTES_MAX = 1024 * 1024,
    SHARE_BYTES_MIN = 16 * 1024,
    TICK_MS = 100,
    STUCK_TICKS = 2,
};

/* ---- who waits ---- */

static bool has_room(const struct stream_pool *pool, size_t bytes) {
    size_t taken = pool->bytes + pool->granted_bytes;
    return taken == 0 || taken + bytes <= pool->bytes_max;
}

static bool is_stuck(const struct stream_pool *pool, const struct stream_holder *holder) {
    return holder != NULL && pool->tick - holder->moved >= STUCK_TICKS;
}

/* Makes stuck readers give way.  Returns: whether there is room. */
static bool make_room(struct stream_pool *pool, size_t bytes) {
    struct stream_holder *next;
    for (struct stream_holder *holder = TAILQ_FIRST(&pool->holders);
         is_stuck(pool, holder) && !has_room(pool, bytes); holder = next) {
        next = TAILQ_NEXT(holder, link);
        holder->give_back(holder);
    }
    return has_room(pool, bytes);
}

static void admit_waiting(struct stream_pool *pool) {
    struct stream_waiter *waiter;
    while ((waiter = TAILQ_FIRST(&pool->waiters)) != NULL) {
        if (!make_room(pool, waiter->bytes)) {
            return;
        }
        TAILQ_REMOVE(&pool->waiters, waiter, link);
        waiter->is_waiting = false;
        pool->granted_bytes += waiter->bytes;
        waiter->admitted(waiter);
    }
}

static void on_room(struct reactor_timer *timer) {
    admit_waiting(OWNER_OF(timer, struct stream_pool, room));
}

/* In a later turn: the caller that makes room is in the middle of something. */
static void note_room(struct stream_pool *pool) {
    if (!TAILQ_EMPTY(&pool->waiters) && !pool->room.is_armed) {
        reactor_timer_set(pool->reactor, &pool->room, 0);
    }
}

static void keep_ticking(struct stream_pool *pool) {
    if (!pool->ticker.is_armed) {
        reactor_timer_set(pool->reactor, &pool->ticker, TICK_MS);
    }
}

static void on_tick(struct reactor_timer *timer) {
    struct stream_pool *pool = OWNER_OF(timer, struct stream_pool, ticker);
    pool->tick++;
    admit_waiting(pool);
    if (!TAILQ_EMPTY(&pool->waiters) || !TAILQ_EMPTY(&pool->holders)) {
        keep_ticking(pool);
    }
}

bool stream_pool_admit(struct stream_pool *pool, struct stream_waiter *waiter, size_t bytes) {
    if (waiter->is_waiting) {
        return false;
    }
    if (waiter->bytes > 0 || bytes <= SHARE_BYTES_MIN) {
        return true;
    }
    waiter->bytes = bytes;
    if (TAILQ_EMPTY(&pool->waiters) && make_room(pool, bytes)) {
        pool->granted_bytes += bytes;
        return true;
    }
    waiter->is_waiting = true;
    TAILQ_INSERT_TAIL(&pool->waiters, waiter, link);
    keep_ticking(pool);
    return false;
}

void stream_pool_settle(struct stream_pool *pool, struct stream_waiter *waiter) {
    if (waiter->is_waiting) {
        TAILQ_REMOVE(&pool->waiters, waiter, link);
        waiter->is_waiting = false;
    } else {
        pool->granted_bytes -= waiter->bytes;
    }
    if (waiter->bytes > 0) {
        note_room(pool);
    }
    waiter->bytes = 0;
}

/* ---- who holds something ---- */

void stream_pool_init(struct stream_pool *pool, struct reactor *reactor, size_t bytes_max) {
    *pool = (struct stream_pool){
        .reactor = reactor, .bytes_max = bytes_max, .ticker.fire = on_tick, .room.fire = on_room};
    TAILQ_INIT(&pool->holders);
    TAILQ_INIT(&pool->waiters);
}

void stream_pool_finish(struct stream_pool *pool) {
    reactor_timer_clear(pool->reactor, &pool->ticker);
    reactor_timer_clear(pool->reactor, &pool->room);
}

void stream_pool_hold(struct stream_pool *pool, struct stream_event *event) {
    if (event->holder_count++ == 0) {
        pool->bytes += event->size_bytes;
    }
}

void stream_pool_release(struct stream_pool *pool, struct stream_event *event) {
    if (--event->holder_count == 0) {
        pool->bytes -= event->size_bytes;
        note_room(pool);
    }
}

void stream_pool_touch(struct stream_pool *pool, struct stream_holder *holder) {
    stream_pool_leave(pool, holder);
    struct stream_holder *next;
    for (struct stream_holder *each = TAILQ_FIRST(&pool->holders);
         each != NULL && pool->bytes > pool->bytes_max; each = next) {
        next = TAILQ_NEXT(each, link);
        each->give_back(each);
    }
    TAILQ_INSERT_TAIL(&pool->holders, holder, link);
    holder->is_listed = true;
    holder->moved = pool->tick;
    keep_ticking(pool);
}

void stream_pool_leave(struct stream_pool *pool, struct stream_holder *holder) {
    if (holder->is_listed) {
        TAILQ_REMOVE(&pool->holders, holder, link);
        holder->is_listed = false;
    }
}

size_t stream_pool_share(const struct stream_pool *pool) {
    size_t free_bytes = pool->bytes < pool->bytes_max ? pool->bytes_max - pool->bytes : 0;
    size_t share = free_bytes / SHARE_PART;
    return share > SHARE_BYTES_MAX   ? SHARE_BYTES_MAX
           : share < SHARE_BYTES_MIN ? SHARE_BYTES_MIN
                                     : share;
}
