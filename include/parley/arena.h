/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Memory that is freed all at once: everything a message needs is allocated in its arena. An arena
 * belongs to one thread at a time. */

#include <stdbool.h>

#include <parley/bytes.h>
#include <parley/status.h>

struct parley_arena_block;

struct parley_arena {
    struct parley_arena_block *blocks; /* newest first */
    size_t used_bytes;                 /* allocated since the last reset */
    size_t limit_bytes;                /* an allocation that would exceed it fails; 0: no limit */
    bool is_over_limit; /* an allocation has failed for that reason since the last reset */
};

/* Allocates nothing yet. */
void parley_arena_init(struct parley_arena *arena, size_t limit_bytes);

/* Frees all memory. A zeroed arena is allowed. */
void parley_arena_finish(struct parley_arena *arena);

/* Forgets all allocations, but keeps one block for the next message. */
void parley_arena_reset(struct parley_arena *arena);

/* Returns: memory aligned for any type and not zeroed, valid until the arena is reset or finished;
 * NULL when memory or the limit is exhausted. */
void *parley_arena_allocate(struct parley_arena *arena, size_t size) PARLEY_MUST_CHECK;

/* A NUL-terminated copy.  Returns: as parley_arena_allocate. */
char *parley_arena_copy(struct parley_arena *arena, struct parley_bytes bytes) PARLEY_MUST_CHECK;
