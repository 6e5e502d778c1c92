/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The structure of a Brenner body: its headings, its sections and its fenced blocks, from cmark's
 * tree (rules.md, Brenner). Read once a message. */

#include <parley/message.h>

struct brenner_section {
    unsigned level;             /* 1 or 2 */
    struct parley_bytes title;  /* as written, without markup */
    struct parley_bytes name;   /* in lower case, without a trailing "(optional)" … */
    struct parley_position at;  /* of the heading, in the body */
    struct parley_bytes text;   /* the whole text of the section without markup, trimmed */
    struct parley_bytes source; /* the Markdown below the heading, up to the section's end */
    bool is_empty;              /* nothing stands below the heading */
};

struct brenner_block {
    struct parley_bytes info, text; /* info string; content */
    bool is_delta;                  /* the first word of the info string is `delta` */
    struct parley_position at;      /* of the fence, in the body */
};

struct brenner_body {
    const struct brenner_section *sections; /* in the order of the document */
    size_t section_count;
    const struct brenner_block *blocks; /* fenced ones, wherever they stand in the tree */
    size_t block_count;
};

/* Owns: the arena; texts may lie in `markdown`.  Returns: PARLEY_E_MEMORY. */
enum parley_status brenner_body_read(struct parley_arena *arena, struct parley_bytes markdown,
                                     struct brenner_body *out) PARLEY_MUST_CHECK;
