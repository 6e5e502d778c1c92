/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Fences around deltas, found line by line: those of Markdown, and those of colons, which Brenner's
 * own programs read as well (docs/api.md#edits). */

#include <stdbool.h>

#include <parley/buffer.h>

#include "container.h"

/* Offsets in the body. */
struct brenner_fence {
    struct brenner_container container; /* what it is in */
    char character;                     /* '`', '~' or ':' */
    size_t width;                       /* how many of it */
    size_t start;                       /* of the first one */
    size_t info;                        /* after the last one: what the rest of that line says */
    size_t content;                     /* the next line */
    size_t end;                         /* of the content: the fence that closes it … */
    size_t closed; /* … and the end of that; a fence that is never closed is none */
    size_t next;   /* the line after that */
};

/* Finds the next fence at or after the start of a line at `from`: the first of Markdown, or of
 * colons around a delta, all lines of which are in the same quotes and items of lists. Fences
 * inside of others are not found, nor any after what may be HTML or a fence or neither. Returns:
 * false: there is none. */
bool brenner_fence_next(struct parley_bytes body, size_t from, struct brenner_fence *out);

/* Appends a block of colons as one of Markdown: from `start` to `closed`. */
void brenner_fence_write(struct parley_bytes body, const struct brenner_fence *fence,
                         struct parley_buffer *out);
