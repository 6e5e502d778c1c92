/* SPDX-License-Identifier: Apache-2.0 */

/* A bump allocator over a list of blocks. It never frees a single allocation, and is never
 * shared. */

#include <parley/arena.h>

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

enum { BLOCK_BYTES = 8192 };

struct parley_arena_block {
    struct parley_arena_block *next;
    size_t capacity, used;
    alignas(max_align_t) char data[];
};

void parley_arena_init(struct parley_arena *arena, size_t limit_bytes) {
    *arena = (struct parley_arena){.limit_bytes = limit_bytes};
}

void parley_arena_finish(struct parley_arena *arena) {
    while (arena->blocks != NULL) {
        struct parley_arena_block *block = arena->blocks;
        arena->blocks = block->next;
        free(block);
    }
    arena->used_bytes = 0;
}

/* The first block is kept: later ones may be as large as a message. */
void parley_arena_reset(struct parley_arena *arena) {
    while (arena->blocks != NULL && arena->blocks->next != NULL) {
        struct parley_arena_block *block = arena->blocks;
        arena->blocks = block->next;
        free(block);
    }
    if (arena->blocks != NULL && arena->blocks->capacity > BLOCK_BYTES) {
        parley_arena_finish(arena);
    }
    if (arena->blocks != NULL) {
        arena->blocks->used = 0;
    }
    arena->used_bytes = 0;
    arena->is_over_limit = false;
}

static struct parley_arena_block *add_block(struct parley_arena *arena, size_t size) {
    size_t capacity = size > BLOCK_BYTES ? size : BLOCK_BYTES;
    struct parley_arena_block *block = malloc(sizeof *block + capacity);
    if (block == NULL) {
        return NULL;
    }
    *block = (struct parley_arena_block){.next = arena->blocks, .capacity = capacity};
    arena->blocks = block;
    return block;
}

void *parley_arena_allocate(struct parley_arena *arena, size_t size) {
    const size_t alignment = alignof(max_align_t);
    if (size > SIZE_MAX / 2) {
        return NULL;
    }
    size = (size + alignment - 1) & ~(alignment - 1);
    if (arena->limit_bytes != 0 && size > arena->limit_bytes - arena->used_bytes) {
        arena->is_over_limit = true;
        return NULL;
    }
    struct parley_arena_block *block = arena->blocks;
    if (block == NULL || size > block->capacity - block->used) {
        block = add_block(arena, size);
        if (block == NULL) {
            return NULL;
        }
    }
    void *memory = block->data + block->used;
    block->used += size;
    arena->used_bytes += size;
    return memory;
}

char *parley_arena_copy(struct parley_arena *arena, struct parley_bytes bytes) {
    char *copy = parley_arena_allocate(arena, bytes.length + 1);
    if (copy != NULL) {
        if (bytes.length > 0) {
            memcpy(copy, bytes.data, bytes.length);
        }
        copy[bytes.length] = '\0';
    }
    return copy;
}
