/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Block quotes and list items, by what they put at the start of each line: `> ` or indentation. An
 * edit inside of them must keep it (docs/api.md#edits). */

#include <stdbool.h>

#include <parley/buffer.h>
#include <parley/fix.h>

/* What a block is in. */
struct brenner_container {
    struct parley_bytes opener; /* what is before the block on its first line, such as "> 1. " */
    bool has_quote, has_item;
};

/* Where the first line begins: after a byte-order mark, which is none of it. */
size_t brenner_first_line(struct parley_bytes body);

/* Reads what a line that begins a block has before it, without the block's own indentation: quotes,
 * and items of lists that can begin anywhere (a bullet or 1).  Owns: borrows `line`. */
struct brenner_container brenner_container_read(struct parley_bytes line);

/* How many bytes of a later line are what the container puts there. `out_is_inside`: whether the
 * line belongs to the container; a tab in place of spaces may be judged wrongly. */
size_t brenner_container_skip(const struct brenner_container *container, struct parley_bytes line,
                              bool *out_is_inside);

/* The lines after the fence of a code block. */
struct brenner_content {
    struct brenner_container container;
    struct parley_bytes fence;  /* the line of the fence, from it on, with its end */
    struct parley_bytes source; /* all lines, each with what the container puts there */
};

/* Units: the content of a fenced code block is `length` bytes at `start` of the body.  Owns:
 * borrows the body. */
struct brenner_content brenner_content_of(struct parley_bytes body, size_t start, size_t length);

/* Whether the content is `text`, as cmark gives it, but for blanks at the starts of lines. */
bool brenner_content_is(const struct brenner_content *content, struct parley_bytes text);

/* Appends the lines without what the container puts there. */
void brenner_content_write(const struct brenner_content *content, struct parley_buffer *out);

/* Makes of an edit of what brenner_content_write writes the edit of the source. What it inserts is
 * written to `out`, which is empty.  Returns: false: it would insert more than `inserted_max`, or
 * lines after the last one. */
bool brenner_content_edit(const struct brenner_content *content, const struct parley_edit *edit,
                          size_t inserted_max, struct parley_buffer *out,
                          struct parley_edit *out_edit);
