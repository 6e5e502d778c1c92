/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Memory that is given back all at once: everything a message needs lives in its arena.
 * An arena belongs to one thread at a time. */

#include <stdbool.h>

#include <parley/bytes.h>
#include <parley/status.h>

struct parley_arena_block;

struct parley_arena {
    struct parley_arena_block *blocks; /* newest first */
    size_t used_bytes;                 /* asked for since the last reset */
    size_t limit_bytes;                /* an allocation that would pass it fails; 0: no limit */
    bool is_over_limit;                /* one did, since the last reset */
};

/* Owns: nothing until the first allocation. */
void parley_arena_init(struct parley_arena *arena, size_t limit_bytes);

/* Gives all memory back to the system. A zeroed arena is fine. */
void parley_arena_finish(struct parley_arena *arena);

/* Forgets all allocations, but keeps one block for the next message. */
void parley_arena_reset(struct parley_arena *arena);

/* Aligned for any type, not zeroed.  Owns: the arena.  Returns: NULL when memory or the limit is
 * exhausted. */
void *parley_arena_allocate(struct parley_arena *arena, size_t size) PARLEY_MUST_CHECK;

/* A NUL-terminated copy.  Returns: as parley_arena_allocate. */
char *parley_arena_copy(struct parley_arena *arena, struct parley_bytes bytes) PARLEY_MUST_CHECK;
