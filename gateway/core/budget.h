/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Bounds the bytes that bodies being received may hold, across all workers: the limit of one
 * message does not bound a thousand that never end. The starts of bodies have a separate limit, so
 * that large bodies take nothing from the others; when it is reached, a start counts like the rest.
 * The first bytes, enough for most messages, are not counted at all, so that they share no cache
 * line.  Threads: any. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct budget {
    atomic_size_t max_bytes;       /* of the bytes over BUDGET_START_BYTES … */
    atomic_size_t start_max_bytes; /* … and of those below */
    atomic_size_t used_bytes, start_used_bytes;
};

/* The bytes taken for one body. Zero-initialise it. */
struct budget_share {
    size_t bytes, start_bytes;
};

#define BUDGET_FREE_BYTES (4u * 1024)
#define BUDGET_START_BYTES (64u * 1024)
/* Bytes are taken in steps of this size. */
#define BUDGET_STEP_BYTES (16u * 1024)

/* The room for starts: a share of the whole, and enough for the bodies of a busy moment. */
#define BUDGET_START_SHARE 8
#define BUDGET_START_LEAST_BYTES (8u << 20)

/* Sets the limit: of a new budget, or another one at any time; bytes already taken stay taken. */
static inline void budget_bound(struct budget *budget, size_t max_bytes) {
    const size_t share = max_bytes / BUDGET_START_SHARE;
    atomic_store(&budget->max_bytes, max_bytes);
    atomic_store(&budget->start_max_bytes,
                 share > BUDGET_START_LEAST_BYTES ? share : (size_t)BUDGET_START_LEAST_BYTES);
}

/* Returns: whether there was so much left; then it is taken. */
static inline bool budget_take(atomic_size_t *used_bytes, size_t max_bytes, size_t bytes) {
    const size_t used = atomic_fetch_add_explicit(used_bytes, bytes, memory_order_relaxed);
    if (used <= max_bytes && bytes <= max_bytes - used) {
        return true;
    }
    atomic_fetch_sub_explicit(used_bytes, bytes, memory_order_relaxed);
    return false;
}

/* All that is taken, and all that may be; read one after the other. */
static inline size_t budget_used(const struct budget *budget) {
    return atomic_load(&budget->used_bytes) + atomic_load(&budget->start_used_bytes);
}
static inline size_t budget_limit(const struct budget *budget) {
    return atomic_load(&budget->max_bytes) + atomic_load(&budget->start_max_bytes);
}

/* Makes the share of a body cover its `held_bytes`.
 * `budget`: NULL for no limit.  Returns: false when not enough is left; then nothing more is
 * taken. */
static inline bool budget_cover(struct budget *budget, struct budget_share *share,
                                size_t held_bytes) {
    const size_t taken = share->bytes + share->start_bytes;
    if (budget == NULL || held_bytes <= BUDGET_FREE_BYTES + taken) {
        return true;
    }
    const size_t more = held_bytes - BUDGET_FREE_BYTES - taken;
    const size_t step = (more + BUDGET_STEP_BYTES - 1) / BUDGET_STEP_BYTES * BUDGET_STEP_BYTES;
    if (held_bytes <= BUDGET_START_BYTES &&
        budget_take(&budget->start_used_bytes, budget->start_max_bytes, step)) {
        share->start_bytes += step;
        return true;
    }
    if (!budget_take(&budget->used_bytes, budget->max_bytes, step)) {
        return false;
    }
    share->bytes += step;
    return true;
}

static inline bool budget_is_taken(const struct budget_share *share) {
    return share->bytes > 0 || share->start_bytes > 0;
}

/* Gives back all that was taken for a body. */
static inline void budget_uncover(struct budget *budget, struct budget_share *share) {
    if (share->bytes > 0) {
        atomic_fetch_sub_explicit(&budget->used_bytes, share->bytes, memory_order_relaxed);
    }
    if (share->start_bytes > 0) {
        atomic_fetch_sub_explicit(&budget->start_used_bytes, share->start_bytes,
                                  memory_order_relaxed);
    }
    *share = (struct budget_share){0};
}
