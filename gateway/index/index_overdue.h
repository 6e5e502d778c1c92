/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Acknowledgements that are overdue, for those who ask for them again: a page of the view acks, of
 * which each item is noted. */

#include <parley/arena.h>
#include <parley/index.h>

#include "index_asking.h"

enum { INDEX_OVERDUE_MAX = 32, INDEX_REMINDER_PLACE_SIZE = INDEX_STREAM_SIZE + 24 };

/* Owns: texts are in the page's arena. */
struct index_overdue_item {
    struct parley_reminder reminder;
    int64_t stored_ms;
    size_t text_at, text_length; /* the item of acks, in what was answered */
    bool is_reminded;            /* the reminder is stored … */
    bool is_nameless; /* … or cannot be addressed: of a long name the index has a digest alone */
};

/* Owns: index_overdue_finish frees it, and the caller its room. */
struct index_overdue {
    struct index_overdue_item items[INDEX_OVERDUE_MAX];
    size_t count;
    char next[INDEX_CURSOR_SIZE]; /* the cursor of the next page; "": there is none */
    struct parley_arena arena;
};

void index_overdue_begin(struct index_overdue *page);
void index_overdue_finish(struct index_overdue *page);

/* What to ask an index_service: what was due in (from_ms, until_ms], Unix time, and is open for
 * longer than `overdue_ms`.  `cursor`: "", or the page's before; borrowed, as `page`. */
struct index_overdue_range {
    unsigned protocol; /* index into parley_protocols: one with acknowledgements */
    int64_t overdue_ms, from_ms, until_ms;
    const char *cursor;
};
struct index_question index_overdue_question(const struct index_overdue_range *range,
                                             const struct channel *channels,
                                             struct index_overdue *page);

/* ---- for index_acks.c ---- */

/* Notes an item that was just appended, as a line that begins at `text_at`.  `recipient`: data
 * NULL: anyone.  Returns: PARLEY_E_MEMORY. */
enum parley_status index_overdue_note(struct index_asking *asking,
                                      const struct index_message *message,
                                      struct parley_bytes subject, struct parley_bytes recipient,
                                      size_t text_at);
