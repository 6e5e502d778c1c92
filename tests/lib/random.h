/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Numbers for property tests, the same in every run: SplitMix64. */

#include <stddef.h>
#include <stdint.h>

struct random_source {
    uint64_t state;
};

static inline uint64_t random_next(struct random_source *source) {
    uint64_t z = source->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* From 0 to `bound` - 1. */
static inline size_t random_below(struct random_source *source, size_t bound) {
    return (size_t)(random_next(source) % bound);
}
