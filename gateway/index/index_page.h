/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Pages of a list of messages in the order of their storage, for views that judge messages by their
 * threads: a message may be several items, and a page may end between two of them. */

#include "index_duties.h"

/* Private, except duties and skipped. */
struct index_page {
    struct index_duties duties;
    struct index_cursor from; /* the last message that is done with … */
    size_t skipped;           /* … and of the next so many recipients */
    size_t rows_read;
    bool is_full;
};

/* `out`: zeroed; the caller finishes it, whatever this returns.  Owns: borrows asking.
 * Returns: false: the question's cursor is none of such a list. */
bool index_page_begin(struct index_page *out, struct index_asking *asking);
void index_page_finish(struct index_page *page);

/* Rows of one statement.  Owns: zeroed has none; index_page_rows_finish frees it. */
struct index_page_rows {
    sqlite3_stmt *statement;
    struct index_duties_row row;
    bool is_there;
};

/* The rows of a statement of pages; `text`: of the thread, the receiver or the label that it is
 * about; data NULL: it is about none. */
void index_page_rows_begin(struct index_page *page, struct index_page_rows *rows,
                           enum index_duty_statement number, struct parley_bytes text);
void index_page_rows_finish(struct index_page_rows *rows);

/* Returns: false: the page is full before the message is done with; `skipped` of its recipients
 * are. */
typedef bool index_page_take(struct index_page *page, const struct index_duties_row *row);

/* Gives one row to `take`.  Returns: false: the page is full. */
bool index_page_give(struct index_page *page, const struct index_duties_row *row,
                     index_page_take *take);

/* Gives the rows of both, each message once, to `take`, until the page is full. */
void index_page_walk(struct index_page *page, struct index_page_rows *one,
                     struct index_page_rows *other, index_page_take *take);

/* Whether it is the first message of the page: that one is answered, however long its thread. */
bool index_page_is_first(const struct index_page *page);

/* The cursor of the next page, in `out`.  Returns: NULL: there is none. */
const char *index_page_next(struct index_page *page, char out[INDEX_CURSOR_SIZE]);
