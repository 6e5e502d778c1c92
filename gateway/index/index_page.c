/* SPDX-License-Identifier: Apache-2.0 */

/* See index_page.h. The cursor is TIME:SEQUENCE:STREAM of the last message that is done with, and
 * RECIPIENTS/ before it inside of the next one. */

#include "index_page.h"

#include <stdio.h>
#include <stdlib.h>

#include "index_ledger.h"

static bool is_running(const struct index_page *page) {
    return page->duties.asking->answered == INDEX_ANSWERED;
}

static const struct index_question *question_of(const struct index_page *page) {
    return page->duties.asking->question;
}

/* ---- the cursor ---- */

static bool read_cursor(struct index_page *page) {
    const char *text = question_of(page)->values[INDEX_CURSOR];
    const char *slash = text != NULL ? strchr(text, '/') : NULL;
    char *end = NULL;
    if (slash != NULL) {
        page->skipped = strtoull(text, &end, 10);
        if (end != slash || page->skipped > DUTY_NAMES_MAX) {
            return false;
        }
        text = slash[1] != '\0' ? slash + 1 : NULL; /* of the first message */
    }
    page->from = (struct index_cursor){.stored = question_of(page)->since_ms, .pos = -1};
    return text == NULL || index_cursor_read(page->duties.asking, text, &page->from);
}

bool index_page_begin(struct index_page *out, struct index_asking *asking) {
    index_duties_begin(&out->duties, asking);
    return read_cursor(out);
}

void index_page_finish(struct index_page *page) {
    index_duties_finish(&page->duties);
}

const char *index_page_next(struct index_page *page, char out[INDEX_CURSOR_SIZE]) {
    char place[INDEX_CURSOR_SIZE] = "";
    if (!page->is_full) {
        return NULL;
    }
    if (page->from.pos >= 0) {
        index_cursor_of(page->duties.asking, &page->from, place);
    }
    if (page->skipped == 0) {
        return memcpy(out, place, INDEX_CURSOR_SIZE);
    }
    snprintf(out, INDEX_CURSOR_SIZE, "%zu/%.280s", page->skipped, place);
    return out;
}

/* ---- rows ---- */

static void step(struct index_page *page, struct index_page_rows *rows) {
    rows->is_there = index_step(page->duties.asking, rows->statement);
    if (rows->is_there) {
        index_duties_row_read(rows->statement, &rows->row);
        rows->is_there = rows->row.message.at.stored <= question_of(page)->until_ms;
    }
}

void index_page_rows_begin(struct index_page *page, struct index_page_rows *rows,
                           enum index_duty_statement number, struct parley_bytes text) {
    sqlite3_stmt *statement = index_duties_prepare(&page->duties, number);
    char room[INDEX_DIGEST_SIZE], thread[INDEX_TEXT_MAX];
    const unsigned protocol = question_of(page)->protocol;
    const struct parley_bytes kept = index_short_text(text, room);
    rows->statement = statement;
    sqlite3_bind_int64(statement, 3, protocol);
    sqlite3_bind_int64(statement, 4, page->from.stored);
    sqlite3_bind_int64(statement, 5, page->from.pos);
    if (number == DUTY_PAGE_OF_THREAD) {
        index_bind_text(statement, 6, index_thread_text(parley_protocols[protocol], kept, thread));
    } else if (number == DUTY_PAGE_RECEIVED || number == DUTY_PAGE_LABELLED) {
        sqlite3_bind_int64(statement, 6, index_key(page->duties.asking->secret, kept));
    }
    if (number == DUTY_PAGE_LABELLED) {
        sqlite3_bind_int64(statement, 7, parley_protocols[protocol]->index->items->relation);
    }
    step(page, rows);
}

void index_page_rows_finish(struct index_page_rows *rows) {
    sqlite3_finalize(rows->statement);
}

bool index_page_is_first(const struct index_page *page) {
    return page->rows_read == 1;
}

bool index_page_give(struct index_page *page, const struct index_duties_row *row,
                     index_page_take *take) {
    page->rows_read++;
    page->is_full = page->rows_read > INDEX_ROWS_MAX || !take(page, row);
    return !page->is_full;
}

void index_page_walk(struct index_page *page, struct index_page_rows *one,
                     struct index_page_rows *other, index_page_take *take) {
    while (is_running(page) && (one->is_there || other->is_there)) {
        const bool is_one =
            one->is_there &&
            (!other->is_there || ledger_is_before(&one->row.message.at, &other->row.message.at));
        struct index_page_rows *rows = is_one ? one : other;
        const struct index_cursor at = rows->row.message.at;
        if (!index_page_give(page, &rows->row, take)) {
            return;
        }
        page->from = at;
        page->skipped = 0;
        step(page, rows);
        while (one->is_there && one->row.message.at.pos == at.pos) {
            step(page, one); /* names that differ in case have one key */
        }
    }
}
