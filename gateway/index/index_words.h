/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The words of messages, in tables of SQLite's FTS5. Nothing can be removed from such a table,
 * which keeps no texts: there is one for each day of a stream, or for fewer messages, and it goes
 * whole once none of its messages is left. What it still knows of messages that are gone is left
 * out when it is asked, since their rows are gone. These return results of SQLite, and run in a
 * transaction of the caller. Threads: one. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include <parley/bytes.h>

#define INDEX_DAY_MS INT64_C(86400000)

/* Messages of a stream that were stored on one day: the first of them names the table. */
struct index_words_part {
    int64_t first, day;
    sqlite3_stmt *add, *note_last; /* add NULL: there is no part */
};

enum { INDEX_WORDS_OPEN_MAX = 8 };

/* Zeroed: nothing is kept. */
struct index_words {
    sqlite3 *file;
    bool is_kept;
    struct index_words_part parts[INDEX_WORDS_OPEN_MAX]; /* of different streams */
    size_t turn;                                         /* the part that is closed next */
};

/* Whether this SQLite can search words. */
bool index_words_are_possible(void);
/* Whether there is a word in the text, as FTS5 splits it.  `file`: any. */
bool index_words_has_any(sqlite3 *file, struct parley_bytes text);

/* See index_store_keep_words.  Owns: borrows the file. */
int index_words_begin(struct index_words *words, sqlite3 *file, bool is_wanted,
                      bool *out_is_lacking);
/* Before the file is closed. */
void index_words_finish(struct index_words *words);

/* `text`: split into words. `pos`: beyond all of its stream before. */
int index_words_add(struct index_words *words, int64_t pos, int64_t stored_ms,
                    struct parley_bytes text);
/* No message of from <= pos < end is left. */
int index_words_drop(struct index_words *words, int64_t from, int64_t end);
