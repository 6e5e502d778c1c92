/* SPDX-License-Identifier: Apache-2.0 */

/* The ring of a hub. Readers hold no place in it, only the number of the event they want next: an
 * event that is evicted while a reader sends it lives on by its reference. */

#include "stream_ring.h"

#include <assert.h>
#include <stdlib.h>

enum parley_status stream_ring_init(struct stream_ring *ring, size_t count_max, size_t bytes_max) {
    *ring = (struct stream_ring){.count_max = count_max, .bytes_max = bytes_max, .low = UINT64_MAX};
    ring->slots = calloc(count_max, sizeof ring->slots[0]);
    return ring->slots != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

/* Called for each event and reader: without a division. */
static struct stream_event **slot(const struct stream_ring *ring, size_t index) {
    assert(index < ring->count_max);
    size_t at = ring->first + index;
    return &ring->slots[at < ring->count_max ? at : at - ring->count_max];
}

static void drop_oldest(struct stream_ring *ring) {
    struct stream_event *oldest = *slot(ring, 0);
    ring->low = oldest->sequence + 1;
    ring->bytes -= oldest->size_bytes;
    ring->first = ring->first + 1 < ring->count_max ? ring->first + 1 : 0;
    ring->count--;
    stream_event_unref(oldest);
}

void stream_ring_restart(struct stream_ring *ring, uint64_t low) {
    while (ring->count > 0) {
        drop_oldest(ring);
    }
    ring->low = low;
}

void stream_ring_finish(struct stream_ring *ring) {
    if (ring->slots != NULL) {
        stream_ring_restart(ring, UINT64_MAX);
        free(ring->slots);
        ring->slots = NULL;
    }
}

void stream_ring_push(struct stream_ring *ring, struct stream_event *event) {
    assert(ring->count == 0 || event->sequence > (*slot(ring, ring->count - 1))->sequence);
    while (ring->count == ring->count_max ||
           (ring->count > 0 && ring->bytes + event->size_bytes > ring->bytes_max)) {
        drop_oldest(ring);
    }
    *slot(ring, ring->count) = event;
    ring->count++;
    ring->bytes += event->size_bytes;
}

struct stream_event *stream_ring_find(const struct stream_ring *ring, uint64_t sequence) {
    struct stream_event *newest = ring->count > 0 ? *slot(ring, ring->count - 1) : NULL;
    if (newest == NULL || newest->sequence < sequence) {
        return NULL;
    }
    if (newest->sequence == sequence) {
        return newest; /* what most readers want */
    }
    uint64_t oldest = (*slot(ring, 0))->sequence;
    if (sequence <= oldest) {
        return *slot(ring, 0);
    }
    /* Without jumps it is exactly this far behind the oldest, with jumps nearer. */
    size_t low = 1, high = ring->count - 1;
    if (sequence - oldest < high) {
        high = (size_t)(sequence - oldest);
    }
    if ((*slot(ring, high))->sequence == sequence) {
        return *slot(ring, high);
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((*slot(ring, middle))->sequence < sequence) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return *slot(ring, low);
}
