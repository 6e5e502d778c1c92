/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Times in a heap, the first one on top. It is given room before, so that nothing has to be
 * allocated when one is added. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Owns: the caller embeds it, and keeps it and its time while it is in a heap. */
struct time_node {
    int64_t at_ms;
    size_t slot; /* private */
};

/* Zeroed it is empty. */
struct time_heap {
    struct time_node **slots;
    size_t count, room;
};

/* Makes room for so many.  Returns: false: there is no memory. */
bool time_heap_reserve(struct time_heap *heap, size_t count);
/* There must be room. */
void time_heap_add(struct time_heap *heap, struct time_node *node);
void time_heap_remove(struct time_heap *heap, const struct time_node *node);
/* Returns: NULL: it is empty. */
struct time_node *time_heap_first(const struct time_heap *heap);
/* One that others come before.  Returns: as above. */
struct time_node *time_heap_last(const struct time_heap *heap);
void time_heap_finish(struct time_heap *heap);
