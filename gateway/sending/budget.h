/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the bodies that are being gathered may hold in sum, of all workers together: the limit of
 * one message says nothing of a thousand that never end. Only large ones are counted, so that no
 * lock and no cache line is shared for the others.  Threads: any. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct budget {
    size_t max_bytes;
    atomic_size_t used_bytes;
};

/* Of each body so much is free, and what is taken for the rest is taken in steps. */
#define BUDGET_FREE_BYTES (64u * 1024)
#define BUDGET_STEP_BYTES (64u * 1024)

/* Returns: whether there was so much left; then it is taken. */
static inline bool budget_take(struct budget *budget, size_t bytes) {
    const size_t used = atomic_fetch_add_explicit(&budget->used_bytes, bytes, memory_order_relaxed);
    if (used <= budget->max_bytes && bytes <= budget->max_bytes - used) {
        return true;
    }
    atomic_fetch_sub_explicit(&budget->used_bytes, bytes, memory_order_relaxed);
    return false;
}

static inline void budget_give(struct budget *budget, size_t bytes) {
    atomic_fetch_sub_explicit(&budget->used_bytes, bytes, memory_order_relaxed);
}

/* Has *taken, what was taken for a body, cover the `held_bytes` that are held of it.
 * `budget`: NULL: no limit.  Returns: false: there is not so much left, and nothing more is taken.
 */
static inline bool budget_cover(struct budget *budget, size_t *taken, size_t held_bytes) {
    if (budget == NULL || held_bytes <= BUDGET_FREE_BYTES + *taken) {
        return true;
    }
    const size_t more = held_bytes - BUDGET_FREE_BYTES - *taken;
    const size_t step = (more + BUDGET_STEP_BYTES - 1) / BUDGET_STEP_BYTES * BUDGET_STEP_BYTES;
    if (!budget_take(budget, step)) {
        return false;
    }
    *taken += step;
    return true;
}

/* Gives back all that was taken for a body. */
static inline void budget_uncover(struct budget *budget, size_t *taken) {
    if (*taken > 0) {
        budget_give(budget, *taken);
        *taken = 0;
    }
}
