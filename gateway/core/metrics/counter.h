/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Numbers that one thread writes and any thread reads. Adding is a plain addition in memory, as
 * only one thread writes: no lock, and no atomic read-modify-write. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct counter {
    _Atomic uint64_t value;
};

/* Threads: any. */
static inline uint64_t counter_read(const struct counter *counter) {
    return atomic_load_explicit(&counter->value, memory_order_relaxed);
}

/* Threads: its writer's. */
static inline void counter_set(struct counter *counter, uint64_t value) {
    atomic_store_explicit(&counter->value, value, memory_order_relaxed);
}

/* Threads: its writer's. */
static inline void counter_add(struct counter *counter, uint64_t more) {
    counter_set(counter, counter_read(counter) + more);
}

/* A number that is not always known: it is stored plus one, so that 0 says that it is unknown.
 * Threads: its writer's. */
static inline void counter_set_known(struct counter *counter, bool is_known, uint64_t value) {
    counter_set(counter, is_known ? value + 1 : 0);
}

/* The bounds of buckets: 50 µs and its doubles, up to 13.1 s. */
#define HISTOGRAM_BUCKETS 19
#define HISTOGRAM_LEAST_NS 50000u

/* Counts durations. `counts[HISTOGRAM_BUCKETS]`: longer than all bounds. */
struct histogram {
    struct counter counts[HISTOGRAM_BUCKETS + 1]; /* each without those below it */
    struct counter sum_ns;
};

static inline uint64_t histogram_bound_ns(size_t bucket) {
    return (uint64_t)HISTOGRAM_LEAST_NS << bucket;
}

/* Threads: its writer's. */
static inline void histogram_add(struct histogram *histogram, uint64_t ns) {
    const uint64_t doubles = ns > 0 ? (ns - 1) / HISTOGRAM_LEAST_NS : 0;
    const size_t bucket = doubles == 0 ? 0 : 64 - (size_t)__builtin_clzll(doubles);
    counter_add(&histogram->counts[bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS], 1);
    counter_add(&histogram->sum_ns, ns);
}
