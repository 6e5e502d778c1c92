/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The newest events of one stream, bounded in number and bytes. Everything stored from `low` on is
 * in the ring or will be: a reader that needs nothing older misses nothing. Sequences jump where
 * messages were removed. */

#include <parley/status.h>

#include "stream_event.h"

struct stream_ring {
    struct stream_event **slots;
    size_t count_max, bytes_max;
    size_t first, count, bytes;
    uint64_t low; /* UINT64_MAX: it covers nothing */
};

/* Covers nothing at first.  `count_max` > 0 */
enum parley_status stream_ring_init(struct stream_ring *ring, size_t count_max,
                                    size_t bytes_max) PARLEY_MUST_CHECK;
/* Harmless for a zeroed ring. */
void stream_ring_finish(struct stream_ring *ring);

/* Empties it: it covers events from `low` on; UINT64_MAX: none. */
void stream_ring_restart(struct stream_ring *ring, uint64_t low);

/* Appends an event newer than all the others, and drops the oldest while it holds too much; the
 * newest stays, however large it is.  Owns: steals the reference. */
void stream_ring_push(struct stream_ring *ring, struct stream_event *event);

static inline bool stream_ring_covers(const struct stream_ring *ring, uint64_t sequence) {
    return sequence >= ring->low && ring->low != UINT64_MAX;
}

/* The first event from `sequence` on, or NULL.  Owns: borrowed until the next push or restart. */
struct stream_event *stream_ring_find(const struct stream_ring *ring, uint64_t sequence);
