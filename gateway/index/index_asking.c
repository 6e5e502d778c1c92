/* SPDX-License-Identifier: Apache-2.0 */

#include "index_asking.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "agent_page.h"

enum { NS_A_MS = 1000000 };

/* ---- SQLite ---- */

static void note(struct index_asking *asking, int result) {
    const bool is_first = asking->answered == INDEX_ANSWERED;
    if (is_first && result != SQLITE_OK && result != SQLITE_DONE && result != SQLITE_ROW) {
        asking->answered = (result & 0xff) == SQLITE_INTERRUPT ? INDEX_TOO_SLOW
                           : (result & 0xff) == SQLITE_NOMEM   ? INDEX_NO_MEMORY
                                                               : INDEX_BROKEN;
    }
}

sqlite3_stmt *index_prepare(struct index_asking *asking, const char *sql) {
    sqlite3_stmt *statement = NULL;
    note(asking, sqlite3_prepare_v2(asking->file, sql, -1, &statement, NULL));
    return statement;
}

bool index_step(struct index_asking *asking, sqlite3_stmt *statement) {
    if (statement == NULL || asking->answered != INDEX_ANSWERED) {
        return false;
    }
    const int result = sqlite3_step(statement);
    note(asking, result);
    return result == SQLITE_ROW;
}

bool index_may_read(struct index_asking *asking) {
    const bool has_room = asking->rows_read < INDEX_ROWS_MAX;
    asking->is_cut = asking->is_cut || !has_room;
    asking->rows_read += has_room;
    return has_room;
}

void index_bind_text(sqlite3_stmt *statement, int place, struct parley_bytes text) {
    sqlite3_bind_text64(statement, place, text.data, text.length, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/* ---- rows ---- */

struct parley_bytes index_column_text(sqlite3_stmt *statement, int number) {
    const char *text = (const char *)sqlite3_column_text(statement, number);
    return (struct parley_bytes){text, (size_t)sqlite3_column_bytes(statement, number)};
}

void index_message_read(sqlite3_stmt *statement, struct index_message *out) {
    enum { POS, STORED, PROTOCOL, TYPE, TEXTS, SIZE = 12, TRACE, MEMBERS, MORE, WAITS };
    const unsigned number = (unsigned)sqlite3_column_int(statement, PROTOCOL);
    *out = (struct index_message){.at = {.stored = sqlite3_column_int64(statement, STORED),
                                         .pos = sqlite3_column_int64(statement, POS)},
                                  .protocol = parley_protocols[number],
                                  .protocol_number = number,
                                  .type = (unsigned)sqlite3_column_int(statement, TYPE),
                                  .size = sqlite3_column_int64(statement, SIZE),
                                  .trace = index_column_text(statement, TRACE),
                                  .members = index_column_text(statement, MEMBERS),
                                  .has_more = sqlite3_column_int(statement, MORE) != 0,
                                  .is_waiting = sqlite3_column_int(statement, WAITS) != 0};
    struct parley_bytes *const texts[] = {&out->lane,   &out->source, &out->id,   &out->thread,
                                          &out->sender, &out->agent,  &out->time, &out->subject};
    for (int i = 0; i < (int)(sizeof texts / sizeof texts[0]); i++) {
        *texts[i] = index_column_text(statement, TEXTS + i);
    }
}

bool index_texts_equal(const struct parley_protocol *protocol, struct parley_bytes one,
                       struct parley_bytes other) {
    return one.length == other.length &&
           (protocol->is_thread_caseless
                ? one.length == 0 || strncasecmp(one.data, other.data, one.length) == 0
                : parley_bytes_equal(one, other) != 0);
}

/* ---- streams ---- */

void index_stream_name(struct index_asking *asking, unsigned number, char out[INDEX_STREAM_SIZE]) {
    sqlite3_stmt *find = index_prepare(asking, "SELECT name FROM streams WHERE stream=?1");
    sqlite3_bind_int64(find, 1, number);
    out[0] = '\0';
    if (index_step(asking, find)) {
        snprintf(out, INDEX_STREAM_SIZE, "%s", (const char *)sqlite3_column_text(find, 0));
    }
    sqlite3_finalize(find);
}

unsigned index_stream_number(struct index_asking *asking, const char *name) {
    sqlite3_stmt *find = index_prepare(asking, "SELECT stream FROM streams WHERE name=?1");
    index_bind_text(find, 1, parley_bytes_of(name));
    const unsigned number = index_step(asking, find) ? (unsigned)sqlite3_column_int64(find, 0) : 0;
    sqlite3_finalize(find);
    return number;
}

bool index_cursor_read(struct index_asking *asking, const char *text, struct index_cursor *out) {
    char *end;
    out->stored = strtoll(text, &end, 10);
    const uint64_t sequence = *end == ':' ? strtoull(end + 1, &end, 10) : 0;
    const unsigned stream = *end == ':' ? index_stream_number(asking, end + 1) : 0;
    out->pos = (int64_t)((uint64_t)stream << INDEX_SEQUENCE_BITS | sequence);
    return stream != 0 && sequence >> INDEX_SEQUENCE_BITS == 0;
}

void index_place_write(struct index_asking *asking, struct parley_buffer *out, int64_t pos) {
    char stream[INDEX_STREAM_SIZE];
    index_stream_name(asking, (unsigned)((uint64_t)pos >> INDEX_SEQUENCE_BITS), stream);
    parley_buffer_format(out, "\"%s:%" PRIu64 "\"", stream, index_sequence_of(pos));
}

void index_cursor_of(struct index_asking *asking, const struct index_cursor *last,
                     char out[INDEX_CURSOR_SIZE]) {
    char stream[INDEX_STREAM_SIZE];
    index_stream_name(asking, (unsigned)((uint64_t)last->pos >> INDEX_SEQUENCE_BITS), stream);
    index_cursor_write(last->stored, index_sequence_of(last->pos), stream, out);
}

/* ---- the answer ---- */

bool index_is_visible(const struct index_asking *asking, const struct index_message *message) {
    const struct index_question *question = asking->question;
    return index_message_is_visible(message, question->readable, question->own);
}

void index_message_begin(struct index_asking *asking, const struct index_message *message) {
    char stream[INDEX_STREAM_SIZE];
    index_stream_name(asking, (unsigned)((uint64_t)message->at.pos >> INDEX_SEQUENCE_BITS), stream);
    index_message_write(asking->out, stream, message);
}

void index_item_begin(struct index_asking *asking) {
    index_list_item(asking->out, asking->question->is_lines, asking->item_count++);
}

void index_item_end(struct index_asking *asking) {
    index_list_item_end(asking->out, asking->question->is_lines);
}

static void add_place(struct index_asking *asking, const struct index_message *message) {
    struct index_place_of place = {.protocol = message->protocol_number,
                                   .sequence = index_sequence_of(message->at.pos),
                                   .stored_ms = message->at.stored};
    index_stream_name(asking, (unsigned)((uint64_t)message->at.pos >> INDEX_SEQUENCE_BITS),
                      place.stream);
    asking->item_count++;
    if (index_places_add(asking->places, &place) != PARLEY_OK) {
        asking->answered = INDEX_NO_MEMORY;
    }
}

void index_message_add(struct index_asking *asking, const struct index_message *message) {
    if (asking->places != NULL) {
        add_place(asking, message);
        return;
    }
    index_item_begin(asking);
    index_message_begin(asking, message);
    index_item_end(asking);
}

/* The time from which on messages are indexed: older ones are not listed. */
static void write_since(struct index_asking *asking) {
    const struct index_question *question = asking->question;
    char since[AGENT_TIME_SIZE];
    int64_t oldest_ms = INT64_MAX;
    sqlite3_stmt *find =
        index_prepare(asking, "SELECT min(stored) FROM messages WHERE protocol=?1");
    for (int i = 0; parley_protocols[i] != NULL; i++) {
        sqlite3_bind_int(find, 1, i);
        if ((question->readable >> i & 1) != 0 && index_step(asking, find) &&
            sqlite3_column_type(find, 0) != SQLITE_NULL) {
            const int64_t ms = sqlite3_column_int64(find, 0);
            oldest_ms = ms < oldest_ms ? ms : oldest_ms;
        }
        sqlite3_reset(find);
    }
    sqlite3_finalize(find);
    parley_buffer_text(asking->out, ",\"since\":");
    if (oldest_ms == INT64_MAX) {
        parley_buffer_text(asking->out, "null");
        return;
    }
    agent_time_text(oldest_ms * NS_A_MS, since);
    parley_buffer_json(asking->out, parley_bytes_of(since));
}

/* With places, what precedes the end is written with the items. */
void index_list_end_with(struct index_asking *asking, const char *next,
                         const struct parley_buffer *members) {
    if (asking->places != NULL) {
        snprintf(asking->places->next, INDEX_CURSOR_SIZE, "%s", next != NULL ? next : "");
    } else {
        char list[LIST_NAME_SIZE];
        index_question_list(asking->question, list);
        index_list_next(asking->out, asking->question->is_lines, asking->item_count, list, next);
    }
    write_since(asking);
    if (members != NULL) {
        parley_buffer_append(asking->out, parley_buffer_bytes(members));
        asking->out->has_failed = asking->out->has_failed || members->has_failed;
    }
    parley_buffer_text(asking->out, "}\n");
}

void index_list_end(struct index_asking *asking, const char *next) {
    index_list_end_with(asking, next, NULL);
}
