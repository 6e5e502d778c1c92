/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Content codings: how bytes are compressed. This layer does not depend on HTTP. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <parley/buffer.h>
#include <parley/bytes.h>
#include <parley/status.h>

enum coding {
    CODING_IDENTITY,
    CODING_GZIP, /* RFC 1952 */
    CODING_ZSTD, /* RFC 8878 */
    CODING_COUNT,
    CODING_UNKNOWN = CODING_COUNT,
};

/* "identity", "gzip" or "zstd".  `coding`: not CODING_UNKNOWN. */
const char *coding_name(enum coding coding);

/* Finds a coding by its name in any case; gzip is also "x-gzip".  Returns: CODING_UNKNOWN if there
 * is no such coding. */
enum coding coding_find(struct parley_bytes name);

/* Appends `plain` compressed in one piece, better than an encoder does: for content that is sent
 * often. `coding`: CODING_GZIP or CODING_ZSTD. */
enum parley_status coding_compress(enum coding coding, struct parley_bytes plain,
                                   struct parley_buffer *out) PARLEY_MUST_CHECK;

/* The memory that encoders may use together.  Threads: any. */
struct coding_quota {
    atomic_size_t max_bytes; /* may change at any time; 0: there are no encoders */
    atomic_size_t used_bytes;
};

static inline bool coding_quota_take(struct coding_quota *quota, size_t bytes) {
    const size_t used = atomic_fetch_add_explicit(&quota->used_bytes, bytes, memory_order_relaxed);
    const size_t max = atomic_load_explicit(&quota->max_bytes, memory_order_relaxed);
    if (used <= max && bytes <= max - used) {
        return true;
    }
    atomic_fetch_sub_explicit(&quota->used_bytes, bytes, memory_order_relaxed);
    return false;
}

static inline size_t coding_quota_used(const struct coding_quota *quota) {
    return atomic_load_explicit(&quota->used_bytes, memory_order_relaxed);
}

static inline void coding_quota_give(struct coding_quota *quota, size_t bytes) {
    atomic_fetch_sub_explicit(&quota->used_bytes, bytes, memory_order_relaxed);
}
