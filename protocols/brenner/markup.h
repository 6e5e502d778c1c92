/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* cmark within bounds: its memory comes from an arena, and its time is linear in the length of the
 * text, whatever a sender writes. */

#include <cmark.h>

#include <parley/arena.h>

/* No text needs more of an arena's memory: cmark's worst is 230 bytes a byte ("*_*_…"). */
#define MARKUP_BYTES_PER_BYTE 288
#define MARKUP_BYTES_AT_LEAST (1u << 20)

/* The longest text that cmark's 32-bit sizes allow. */
#define MARKUP_TEXT_MAX (64u << 20)

/* The tree of `text`, which is UTF-8 without NUL.  Owns: the tree is in the arena: do not free it,
 * nor call functions of cmark that allocate.  Threads: any.  Returns: NULL when there is no
 * memory. */
cmark_node *markup_parse(struct parley_arena *arena, struct parley_bytes text) PARLEY_MUST_CHECK;

/* A copy of `text`, no longer than it and with as many lines, that cmark reads in linear time: what
 * would make its work quadratic (containers in one another by the hundred, images in one another by
 * the hundred) becomes plain text or loses spaces. Its lines differ only by missing spaces at their
 * starts, and by single characters. If nothing needs that, `text` itself. Owns: the arena.
 * Returns: data NULL when there is no memory. */
struct parley_bytes markup_tame(struct parley_arena *arena, struct parley_bytes text);

/* The length of the first line with its end: a line feed, a carriage return, or both. */
size_t markup_line_length(struct parley_bytes text);

/* The end of those bytes. */
size_t markup_line_end_length(struct parley_bytes line);

/* The length of the marker of a block quote or a list item at `at` of a line; 0: there is none. */
size_t markup_marker_length(struct parley_bytes line, size_t at);
