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
