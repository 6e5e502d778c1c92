/* SPDX-License-Identifier: Apache-2.0 */

/* See index_search.h. The parts of a stream (index_words.h) follow each other in time, and each has
 * its messages in the order of the stream: they are read one after the other, and the streams of
 * the protocol side by side, always the one whose next message is the oldest. */

#include "index_search.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "index_ledger.h"
#include "index_messages.h"
#include "index_words.h"

enum { TERMS_MAX = 32, WORDS_BYTES_MAX = 1024, STREAMS_MAX = 64 };

/* ---- what is searched ---- */

/* Which other characters are letters or digits, FTS5 knows. */
static bool has_word(sqlite3 *file, const char *text, size_t length) {
    bool has_other = false;
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c < 0x80 && isalnum(c)) {
            return true;
        }
        has_other = has_other || c >= 0x80;
    }
    return has_other && index_words_has_any(file, (struct parley_bytes){text, length});
}

static bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* A word ends with a blank or a quote, a phrase with a quote, or with the text. */
static size_t term_length(const char *at, bool is_phrase) {
    size_t length = 0;
    while (at[length] != '\0' && at[length] != '"' && (is_phrase || !is_blank(at[length]))) {
        length++;
    }
    return length;
}

bool index_search_expression(sqlite3 *file, const char *q, struct parley_buffer *out) {
    size_t count = 0;
    if (strlen(q) > WORDS_BYTES_MAX) {
        return false;
    }
    while (*q != '\0') {
        const bool is_phrase = *q == '"';
        q += is_phrase ? 1 : 0;
        const size_t length = term_length(q, is_phrase);
        if (has_word(file, q, length)) {
            parley_buffer_text(out, count++ > 0 ? " \"" : "\"");
            parley_buffer_append(out, (struct parley_bytes){q, length});
            parley_buffer_char(out, '"');
        }
        q += length;
        q += (is_phrase && *q == '"') || is_blank(*q) ? 1 : 0;
    }
    return count > 0 && count <= TERMS_MAX;
}

/* ?1: the expression; ?2: beyond this place; ?3, ?4: stored between. */
void index_search_sql(int64_t part, char out[INDEX_SEARCH_SQL_MAX]) {
    snprintf(out, INDEX_SEARCH_SQL_MAX,
             "SELECT " INDEX_COLUMNS " FROM words_%" PRId64
             " w CROSS JOIN messages m ON m.pos=w.rowid "
             "WHERE w.words_%" PRId64 " MATCH ?1 AND w.rowid>?2 AND m.stored>=?3 AND m.stored<=?4 "
             "ORDER BY w.rowid",
             part, part);
}

/* ---- a stream ---- */

struct walk {
    int64_t base; /* of its places */
    int64_t part; /* that is read; base - 1: none so far */
    sqlite3_stmt *find;
    struct index_message message; /* the next one, while there is any */
    bool has_message;
};

struct search {
    struct index_asking *asking;
    struct parley_buffer expression;
    struct index_cursor from;
    sqlite3_stmt *next_part;
    struct walk walks[STREAMS_MAX];
    size_t walk_count;
};

/* What precedes the cursor is not read again. */
static int64_t after_of(const struct search *search, const struct walk *walk) {
    const bool is_cursors = search->from.pos >= walk->base &&
                            search->from.pos < walk->base + (INT64_C(1) << INDEX_SEQUENCE_BITS);
    return is_cursors ? search->from.pos : walk->base - 1;
}

/* The parts of the days that are asked.  Returns: false: there is no other. */
static bool find_next_part(struct search *search, struct walk *walk) {
    const struct index_question *question = search->asking->question;
    sqlite3_stmt *find = search->next_part;
    sqlite3_bind_int64(find, 1, walk->part);
    sqlite3_bind_int64(find, 2, walk->base + (INT64_C(1) << INDEX_SEQUENCE_BITS));
    sqlite3_bind_int64(find, 3, after_of(search, walk));
    sqlite3_bind_int64(find, 4, question->since_ms / INDEX_DAY_MS);
    sqlite3_bind_int64(find, 5, question->until_ms / INDEX_DAY_MS);
    const bool is_there = index_step(search->asking, find);
    if (is_there) {
        walk->part = sqlite3_column_int64(find, 0);
    }
    sqlite3_reset(find);
    return is_there;
}

static bool open_next_part(struct search *search, struct walk *walk) {
    const struct index_question *question = search->asking->question;
    char sql[INDEX_SEARCH_SQL_MAX];
    sqlite3_finalize(walk->find);
    walk->find = NULL;
    if (!find_next_part(search, walk)) {
        return false;
    }
    index_search_sql(walk->part, sql);
    walk->find = index_prepare(search->asking, sql);
    if (walk->find == NULL) {
        return false;
    }
    index_bind_text(walk->find, 1, parley_buffer_bytes(&search->expression));
    sqlite3_bind_int64(walk->find, 2, after_of(search, walk));
    sqlite3_bind_int64(walk->find, 3, question->since_ms);
    sqlite3_bind_int64(walk->find, 4, question->until_ms);
    return true;
}

/* Reads the next message of the stream that is not before the cursor, which is of another one. */
static void advance(struct search *search, struct walk *walk) {
    const bool is_cursors = after_of(search, walk) == search->from.pos;
    walk->has_message = false;
    while (!walk->has_message) {
        if (walk->find == NULL || !index_step(search->asking, walk->find)) {
            if (!open_next_part(search, walk)) {
                return;
            }
            continue;
        }
        index_message_read(walk->find, &walk->message);
        walk->has_message = is_cursors || ledger_is_before(&search->from, &walk->message.at);
    }
}

/* ---- the list ---- */

static void begin_walks(struct search *search) {
    sqlite3_stmt *find =
        index_prepare(search->asking, "SELECT stream FROM streams WHERE protocol=?1");
    sqlite3_bind_int64(find, 1, search->asking->question->protocol);
    while (search->walk_count < STREAMS_MAX && index_step(search->asking, find)) {
        const int64_t base = sqlite3_column_int64(find, 0) << INDEX_SEQUENCE_BITS;
        search->walks[search->walk_count++] = (struct walk){.base = base, .part = base - 1};
    }
    sqlite3_finalize(find);
    search->next_part = index_prepare(search->asking, index_search_statements[0]);
    for (size_t i = 0; i < search->walk_count; i++) {
        advance(search, &search->walks[i]);
    }
}

static struct walk *oldest(struct search *search) {
    struct walk *found = NULL;
    for (size_t i = 0; i < search->walk_count; i++) {
        struct walk *walk = &search->walks[i];
        if (walk->has_message &&
            (found == NULL || ledger_is_before(&walk->message.at, &found->message.at))) {
            found = walk;
        }
    }
    return found;
}

static void write_list(struct search *search) {
    struct index_asking *asking = search->asking;
    struct index_cursor last = search->from;
    char next[INDEX_CURSOR_SIZE] = "";
    begin_walks(search);
    for (struct walk *walk; (walk = oldest(search)) != NULL; advance(search, walk)) {
        if (asking->item_count == asking->question->limit || asking->rows_read == INDEX_ROWS_MAX) {
            index_cursor_of(asking, &last, next);
            break;
        }
        asking->rows_read++;
        last = walk->message.at;
        if (index_messages_match(asking, &walk->message)) {
            index_message_add(asking, &walk->message);
        }
    }
    index_list_end(asking, next[0] != '\0' ? next : NULL);
}

static void finish(struct search *search) {
    for (size_t i = 0; i < search->walk_count; i++) {
        sqlite3_finalize(search->walks[i].find);
    }
    sqlite3_finalize(search->next_part);
    parley_buffer_finish(&search->expression);
    free(search);
}

static bool has_words(struct index_asking *asking) {
    sqlite3_stmt *find =
        index_prepare(asking, "SELECT 1 FROM sqlite_master WHERE name='words' LIMIT 1");
    const bool is_there = index_step(asking, find);
    sqlite3_finalize(find);
    return is_there;
}

enum index_answered index_search_write(struct index_asking *asking) {
    const struct index_question *question = asking->question;
    const struct parley_protocol *protocol = parley_protocols[question->protocol];
    const char *cursor = question->values[INDEX_CURSOR];
    enum index_answered answered = INDEX_BAD_WORDS;
    if (!question->has_words) {
        return INDEX_NO_WORDS;
    }
    if (!has_words(asking)) {
        return INDEX_BROKEN; /* it is about to be made again */
    }
    if (protocol->index == NULL || !protocol->index->has_words) {
        return INDEX_WORDLESS;
    }
    struct search *search = calloc(1, sizeof *search);
    if (search == NULL) {
        return INDEX_NO_MEMORY;
    }
    search->asking = asking;
    search->from = (struct index_cursor){.stored = question->since_ms, .pos = -1};
    parley_buffer_init(&search->expression);
    if (cursor != NULL && !index_cursor_read(asking, cursor, &search->from)) {
        answered = INDEX_BAD_CURSOR;
    } else if (index_search_expression(asking->file, question->values[INDEX_WORDS],
                                       &search->expression)) {
        write_list(search);
        answered = search->expression.has_failed ? INDEX_NO_MEMORY : asking->answered;
    }
    finish(search);
    return answered;
}

const char *const index_search_statements[] = {
    "SELECT first FROM words WHERE first>?1 AND first<?2 AND last>?3 AND day>=?4 AND day<=?5 "
    "ORDER BY first LIMIT 1",
    NULL,
};
