/* SPDX-License-Identifier: Apache-2.0 */

/* The heap that fails on order. It finds no leaks: AddressSanitizer does. */

#include "fault_heap.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

/* The linker's wrapping knows no context, so that this state is the file's. */
static struct {
    bool is_armed;
    size_t asked, first, count, failed;
} heap;

static bool refuses(void) {
    if (!heap.is_armed) {
        return false;
    }
    const size_t number = heap.asked++;
    const bool is_refused = number >= heap.first && number - heap.first < heap.count;
    heap.failed += is_refused;
    return is_refused;
}

void *__wrap_malloc(size_t size) {
    return refuses() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return refuses() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
    return refuses() ? NULL : __real_realloc(memory, size);
}

void fault_heap_arm(size_t first, size_t count) {
    heap.is_armed = true;
    heap.asked = heap.failed = 0;
    heap.first = first;
    heap.count = count;
}

size_t fault_heap_disarm(void) {
    heap.is_armed = false;
    return heap.asked;
}

bool fault_heap_has_failed(void) {
    return heap.failed > 0;
}
