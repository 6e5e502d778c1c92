/* SPDX-License-Identifier: Apache-2.0 */

/* The pool is full only when many readers are stuck, or very many read at once. It deliberately
 * makes nobody wait: a reader that moves always finds room, and the shares shrink before anybody
 * has to give back. */

#include "stream_pool.h"

enum {
    SHARE_PART = 8, /* of what is free */
    SHARE_BYTES_MAX = 256 * 1024,
    SHARE_BYTES_MIN = 16 * 1024,
};

void stream_pool_init(struct stream_pool *pool, size_t bytes_max) {
    *pool = (struct stream_pool){.bytes_max = bytes_max};
    TAILQ_INIT(&pool->holders);
}

void stream_pool_hold(struct stream_pool *pool, struct stream_event *event) {
    if (event->holder_count++ == 0) {
        pool->bytes += event->size_bytes;
    }
}

void stream_pool_release(struct stream_pool *pool, struct stream_event *event) {
    if (--event->holder_count == 0) {
        pool->bytes -= event->size_bytes;
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
