/* SPDX-License-Identifier: Apache-2.0 */

/* See index_words.h. Letters are compared without case and accents. A part ends with its day, so
 * that a range of time chooses tables, and after so many messages, so that the words of messages
 * that are gone take little room where the size of the file is what removes them. */

#include "index_words.h"

#include <inttypes.h>
#include <stdio.h>

#include "index_store.h"

enum { PART_MESSAGES = 1 << 18, SQL_MAX = 256 };

static const char parts_table[] =
    "CREATE TABLE words(first INTEGER PRIMARY KEY, last INTEGER, day INTEGER)";

bool index_words_are_possible(void) {
    return sqlite3_compileoption_used("ENABLE_FTS5") != 0;
}

/* ---- words ---- */

/* As in the tables: see create_part. */
static const char *tokenizer_options[] = {"remove_diacritics", "2"};

/* NULL: there is none. */
static fts5_api *api_of(sqlite3 *file) {
    fts5_api *api = NULL;
    sqlite3_stmt *find = NULL;
    if (sqlite3_prepare_v2(file, "SELECT fts5(?1)", -1, &find, NULL) == SQLITE_OK) {
        sqlite3_bind_pointer(find, 1, (void *)&api, "fts5_api_ptr", NULL);
        sqlite3_step(find);
    }
    sqlite3_finalize(find);
    return api;
}

static int note_word(void *context, int flags, const char *word, int length, int start, int end) {
    (void)flags;
    (void)word;
    (void)length;
    (void)start;
    (void)end;
    *(bool *)context = true;
    return SQLITE_OK;
}

bool index_words_has_any(sqlite3 *file, struct parley_bytes text) {
    fts5_api *api = api_of(file);
    fts5_tokenizer unicode61;
    Fts5Tokenizer *tokenizer = NULL;
    void *context = NULL;
    bool has = false;
    if (api == NULL || api->xFindTokenizer(api, "unicode61", &context, &unicode61) != SQLITE_OK ||
        unicode61.xCreate(context, tokenizer_options, 2, &tokenizer) != SQLITE_OK) {
        return false;
    }
    (void)unicode61.xTokenize(tokenizer, &has, FTS5_TOKENIZE_QUERY, text.data, (int)text.length,
                              note_word);
    unicode61.xDelete(tokenizer);
    return has;
}

/* The first number that a question gives; `out_is_there`: whether it gives any. */
static int ask(sqlite3 *file, const char *sql, int64_t *out, bool *out_is_there) {
    sqlite3_stmt *find = NULL;
    int result = sqlite3_prepare_v2(file, sql, -1, &find, NULL);
    *out_is_there = false;
    if (result == SQLITE_OK) {
        result = sqlite3_step(find);
        *out_is_there = result == SQLITE_ROW;
        *out = *out_is_there ? sqlite3_column_int64(find, 0) : 0;
    }
    sqlite3_finalize(find);
    return result == SQLITE_ROW || result == SQLITE_DONE ? SQLITE_OK : result;
}

/* ---- parts ---- */

static void close_part(struct index_words_part *part) {
    sqlite3_finalize(part->add);
    sqlite3_finalize(part->note_last);
    *part = (struct index_words_part){.add = NULL};
}

static int open_part(struct index_words *words, struct index_words_part *part, int64_t first,
                     int64_t day) {
    char sql[SQL_MAX];
    *part = (struct index_words_part){.first = first, .day = day};
    snprintf(sql, sizeof sql, "INSERT INTO words_%" PRId64 "(rowid, text) VALUES(?1,?2)", first);
    int result =
        sqlite3_prepare_v3(words->file, sql, -1, SQLITE_PREPARE_PERSISTENT, &part->add, NULL);
    if (result == SQLITE_OK) {
        result = sqlite3_prepare_v3(words->file, "UPDATE words SET last=?2 WHERE first=?1", -1,
                                    SQLITE_PREPARE_PERSISTENT, &part->note_last, NULL);
    }
    return result;
}

static int create_part(struct index_words *words, struct index_words_part *part, int64_t first,
                       int64_t day) {
    char sql[SQL_MAX];
    close_part(part);
    snprintf(sql, sizeof sql,
             "INSERT INTO words VALUES(%" PRId64 ",%" PRId64 ",%" PRId64 ");"
             "CREATE VIRTUAL TABLE words_%" PRId64 " USING fts5(text, content='', columnsize=0, "
             "tokenize='unicode61 remove_diacritics 2')",
             first, first, day, first);
    const int result = sqlite3_exec(words->file, sql, NULL, NULL, NULL);
    return result == SQLITE_OK ? open_part(words, part, first, day) : result;
}

static int64_t stream_of(int64_t pos) {
    return pos >> INDEX_SEQUENCE_BITS;
}

/* The last part of the stream, opened; its `add` is NULL if there is none. */
static int find_part(struct index_words *words, int64_t pos, struct index_words_part **out) {
    char sql[SQL_MAX];
    bool is_there;
    int64_t first, day;
    for (size_t i = 0; i < INDEX_WORDS_OPEN_MAX; i++) {
        *out = &words->parts[i];
        if ((*out)->add != NULL && stream_of((*out)->first) == stream_of(pos)) {
            return SQLITE_OK;
        }
    }
    *out = &words->parts[words->turn++ % INDEX_WORDS_OPEN_MAX];
    close_part(*out);
    snprintf(sql, sizeof sql,
             "SELECT first FROM words WHERE first>=%" PRId64 " AND first<=%" PRId64
             " ORDER BY first DESC LIMIT 1",
             stream_of(pos) << INDEX_SEQUENCE_BITS, pos);
    int result = ask(words->file, sql, &first, &is_there);
    if (result != SQLITE_OK || !is_there) {
        return result;
    }
    snprintf(sql, sizeof sql, "SELECT day FROM words WHERE first=%" PRId64, first);
    result = ask(words->file, sql, &day, &is_there);
    return result == SQLITE_OK ? open_part(words, *out, first, day) : result;
}

static int step(sqlite3_stmt *statement) {
    const int result = sqlite3_step(statement);
    const int reset = sqlite3_reset(statement);
    return result == SQLITE_DONE ? reset : result;
}

int index_words_add(struct index_words *words, int64_t pos, int64_t stored_ms,
                    struct parley_bytes text) {
    struct index_words_part *part;
    const int64_t day = stored_ms / INDEX_DAY_MS;
    if (!words->is_kept) {
        return SQLITE_OK;
    }
    int result = find_part(words, pos, &part);
    if (result == SQLITE_OK &&
        (part->add == NULL || part->day != day || pos - part->first >= PART_MESSAGES)) {
        result = create_part(words, part, pos, day);
    }
    if (result != SQLITE_OK) {
        return result;
    }
    sqlite3_bind_int64(part->add, 1, pos);
    sqlite3_bind_text64(part->add, 2, text.data, text.length, SQLITE_STATIC, SQLITE_UTF8);
    result = step(part->add);
    sqlite3_clear_bindings(part->add);
    sqlite3_bind_int64(part->note_last, 1, part->first);
    sqlite3_bind_int64(part->note_last, 2, pos);
    return result == SQLITE_OK ? step(part->note_last) : result;
}

/* ---- removal ---- */

static int drop_part(struct index_words *words, int64_t first) {
    char sql[SQL_MAX];
    for (size_t i = 0; i < INDEX_WORDS_OPEN_MAX; i++) {
        if (words->parts[i].add != NULL && words->parts[i].first == first) {
            close_part(&words->parts[i]);
        }
    }
    snprintf(sql, sizeof sql,
             "DROP TABLE words_%" PRId64 "; DELETE FROM words WHERE first=%" PRId64, first, first);
    return sqlite3_exec(words->file, sql, NULL, NULL, NULL);
}

int index_words_drop(struct index_words *words, int64_t from, int64_t end) {
    char sql[SQL_MAX];
    int64_t first;
    bool is_there = words->is_kept;
    int result = SQLITE_OK;
    snprintf(sql, sizeof sql,
             "SELECT first FROM words WHERE first>=%" PRId64 " AND first<%" PRId64
             " AND last<%" PRId64 " LIMIT 1",
             from, end, end);
    while (result == SQLITE_OK && is_there) {
        result = ask(words->file, sql, &first, &is_there);
        if (result == SQLITE_OK && is_there) {
            result = drop_part(words, first);
        }
    }
    return result;
}

/* ---- whether words are kept ---- */

static int forget(struct index_words *words) {
    words->is_kept = true;
    const int result = index_words_drop(words, 0, INT64_MAX);
    words->is_kept = false;
    return result == SQLITE_OK ? sqlite3_exec(words->file, "DROP TABLE words", NULL, NULL, NULL)
                               : result;
}

int index_words_begin(struct index_words *words, sqlite3 *file, bool is_wanted,
                      bool *out_is_lacking) {
    int64_t ignored;
    bool is_there, has_rows;
    words->file = file;
    *out_is_lacking = false;
    int result = ask(file, "SELECT 1 FROM sqlite_master WHERE name='words'", &ignored, &is_there);
    if (result != SQLITE_OK || is_there == is_wanted) {
        words->is_kept = is_there;
        return result;
    }
    if (!is_wanted) {
        return forget(words);
    }
    result = ask(file, "SELECT 1 FROM messages LIMIT 1", &ignored, &has_rows);
    if (result == SQLITE_OK && !has_rows) {
        result = sqlite3_exec(file, parts_table, NULL, NULL, NULL);
        words->is_kept = true;
    }
    *out_is_lacking = has_rows;
    return result;
}

void index_words_finish(struct index_words *words) {
    for (size_t i = 0; i < INDEX_WORDS_OPEN_MAX; i++) {
        close_part(&words->parts[i]);
    }
    *words = (struct index_words){.file = NULL};
}
