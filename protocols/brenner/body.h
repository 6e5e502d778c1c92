/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The structure of a Brenner body: its sections and its delta blocks, from cmark's tree
 * (docs/protocols/brenner.md#sections). */

#include <parley/arena.h>
#include <parley/buffer.h>
#include <parley/findings.h>

/* A heading of level 1 or 2 at the top level of the document, with the text after it up to the next
 * one of its level or above. */
struct brenner_section {
    unsigned level;
    bool is_empty;             /* there is nothing below the heading */
    struct parley_position at; /* of the heading, in the body */
    size_t line_at;            /* of its line, in the source */
    struct parley_bytes title; /* its text, without markup */
    struct parley_bytes text;  /* all text below it without markup, inner headings' too, trimmed */
    struct brenner_section *next;
    size_t title_start, title_end, text_start, text_end; /* private, while it is read */
};

/* A fenced code block whose info string's first word is `delta`, anywhere in the tree. */
struct brenner_block {
    size_t number; /* from 1 */
    struct parley_position at;
    struct parley_bytes text;
    size_t start, end;    /* the bytes of its lines in the source, but for the closing fence */
    size_t content_start; /* of the line after the fence */
    struct brenner_block *next;
};

struct brenner_body {
    struct parley_bytes source;       /* the body; a NUL is U+FFFD, as CommonMark reads it … */
    bool is_replaced;                 /* … so that the offsets in it are not those in the body */
    struct brenner_section *sections; /* in the order of the document */
    struct brenner_block *deltas;
    void *tree;                 /* private: cmark's */
    struct parley_arena arena;  /* private: holds all of this … */
    struct parley_buffer plain; /* … but the text without markup */
};

/* Owns: `markdown` is borrowed; the caller must free the rest with brenner_body_finish(), after a
 * failure too.
 * Units: lines end as in CommonMark; columns are code points, without a leading byte-order mark.
 * Returns: PARLEY_E_MEMORY; PARLEY_E_LIMIT for a text of more than 64 MiB. */
enum parley_status brenner_body_read(struct brenner_body *body,
                                     struct parley_bytes markdown) PARLEY_MUST_CHECK;

/* The same for callers that need only delta blocks: without sections and their text. */
enum parley_status brenner_body_read_deltas(struct brenner_body *body,
                                            struct parley_bytes markdown) PARLEY_MUST_CHECK;
void brenner_body_finish(struct brenner_body *body);

/* Whether the section's title is `name`, ignoring case and a trailing "(optional)" or "(if
 * applicable)". */
bool brenner_section_is(const struct brenner_section *section, const char *name);

/* The first section of level 2 with that name, or NULL. */
const struct brenner_section *brenner_body_section(const struct brenner_body *body,
                                                   const char *name);

/* The place in the body of a byte of a block's text. */
struct parley_position brenner_block_place(const struct brenner_body *body,
                                           const struct brenner_block *block, size_t offset);

/* The lines of the block's text in the source, from content_start on, with what the quotes and list
 * items around it put there; data NULL: they cannot be told apart. */
struct parley_bytes brenner_block_source(const struct brenner_body *body,
                                         const struct brenner_block *block);

/* A copy of the source that is as long, in which the markers of block quotes (`>`) are replaced by
 * spaces, so that quoted text is as its author wrote it. A `>` that is part of a text, of code or
 * of HTML stays. Owns: body.  Returns: data NULL when there is no memory. */
struct parley_bytes brenner_body_unquoted(struct brenner_body *body);

/* Advances `*at` to the byte `to` of the source, and `*here` to its place.  `*at` <= `to`; begin
 * with 0 and {1, 1}. */
void brenner_body_move(const struct brenner_body *body, size_t *at, struct parley_position *here,
                       size_t to);
