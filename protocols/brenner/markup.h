/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* cmark within bounds. What it takes of memory comes from an arena, and what it takes of time stays
 * in proportion to the text, whatever a sender writes. */

#include <cmark.h>

#include <parley/arena.h>

/* No text needs more of an arena's memory: cmark's worst is 230 bytes a byte ("*_*_…"). */
#define MARKUP_BYTES_PER_BYTE 288
#define MARKUP_BYTES_AT_LEAST (1u << 20)

/* The longest text that cmark's 32-bit sizes bear. */
#define MARKUP_TEXT_MAX (64u << 20)

/* The tree of `text`, which is UTF-8 without NUL.  Owns: the arena, wholly: nothing of cmark's is
 * to be freed, and nothing called that allocates.  Threads: any.  Returns: NULL when there is no
 * memory. */
cmark_node *markup_parse(struct parley_arena *arena, struct parley_bytes text) PARLEY_MUST_CHECK;

/* A copy of `text`, no longer than it and with as many lines, that cmark reads in linear time: what
 * would make its work quadratic (containers in one another by the hundred, images in one another by
 * the hundred) becomes plain text or loses blanks. Each line of it differs only by blanks missing
 * at its start, and by single characters. Where nothing needs that, `text` itself. Owns: the arena.
 * Returns: data NULL when there is no memory. */
struct parley_bytes markup_tame(struct parley_arena *arena, struct parley_bytes text);

/* The length of the first line with its end: a line feed, a carriage return, or both. */
size_t markup_line_length(struct parley_bytes text);

/* What of those bytes is the end. */
size_t markup_line_end_length(struct parley_bytes line);
