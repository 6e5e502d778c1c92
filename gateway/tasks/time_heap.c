/* SPDX-License-Identifier: Apache-2.0 */

#include "time_heap.h"

#include <assert.h>
#include <stdlib.h>

enum { SLOTS_AT_FIRST = 64 };

static void put(struct time_heap *heap, size_t slot, struct time_node *node) {
    heap->slots[slot] = node;
    node->slot = slot;
}

static bool is_before(const struct time_node *node, const struct time_node *other) {
    return node->at_ms < other->at_ms;
}

static void rise(struct time_heap *heap, size_t slot, struct time_node *node) {
    while (slot > 0 && is_before(node, heap->slots[(slot - 1) / 2])) {
        put(heap, slot, heap->slots[(slot - 1) / 2]);
        slot = (slot - 1) / 2;
    }
    put(heap, slot, node);
}

static void sink(struct time_heap *heap, size_t slot, struct time_node *node) {
    struct time_node **slots = heap->slots;
    size_t child;
    while ((child = 2 * slot + 1) < heap->count) {
        child += child + 1 < heap->count && is_before(slots[child + 1], slots[child]) ? 1 : 0;
        if (!is_before(slots[child], node)) {
            break;
        }
        put(heap, slot, slots[child]);
        slot = child;
    }
    put(heap, slot, node);
}

bool time_heap_reserve(struct time_heap *heap, size_t count) {
    if (count <= heap->room) {
        return true;
    }
    const size_t room = heap->room > 0 ? 2 * heap->room : SLOTS_AT_FIRST;
    struct time_node **slots = realloc(heap->slots, room * sizeof(struct time_node *));
    if (slots != NULL) {
        heap->slots = slots;
        heap->room = room;
    }
    return slots != NULL;
}

void time_heap_add(struct time_heap *heap, struct time_node *node) {
    assert(heap->count < heap->room);
    rise(heap, heap->count++, node);
}

void time_heap_remove(struct time_heap *heap, const struct time_node *node) {
    struct time_node *last = heap->slots[--heap->count];
    const size_t slot = node->slot;
    if (last == node) {
        return;
    }
    if (is_before(last, node)) {
        rise(heap, slot, last);
    } else {
        sink(heap, slot, last);
    }
}

struct time_node *time_heap_first(const struct time_heap *heap) {
    return heap->count > 0 ? heap->slots[0] : NULL;
}

struct time_node *time_heap_last(const struct time_heap *heap) {
    return heap->count > 0 ? heap->slots[heap->count - 1] : NULL;
}

void time_heap_finish(struct time_heap *heap) {
    free(heap->slots);
}
