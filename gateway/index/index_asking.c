/* SPDX-License-Identifier: Apache-2.0 */

#include "index_asking.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#include "agent_page.h"
#include "stream_envelope.h"

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

void index_bind_text(sqlite3_stmt *statement, int place, struct parley_bytes text) {
    sqlite3_bind_text64(statement, place, text.data, text.length, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/* ---- rows ---- */

struct parley_bytes index_column_text(sqlite3_stmt *statement, int number) {
    const char *text = (const char *)sqlite3_column_text(statement, number);
    return (struct parley_bytes){text, (size_t)sqlite3_column_bytes(statement, number)};
}

void index_message_read(sqlite3_stmt *statement, struct index_message *out) {
    enum { POS, STORED, PROTOCOL, TYPE, TEXTS, SIZE = 12, TRACE, MEMBERS, MORE };
    const unsigned number = (unsigned)sqlite3_column_int(statement, PROTOCOL);
    *out = (struct index_message){.at = {.stored = sqlite3_column_int64(statement, STORED),
                                         .pos = sqlite3_column_int64(statement, POS)},
                                  .protocol = parley_protocols[number],
                                  .protocol_number = number,
                                  .type = (unsigned)sqlite3_column_int(statement, TYPE),
                                  .size = sqlite3_column_int64(statement, SIZE),
                                  .trace = index_column_text(statement, TRACE),
                                  .members = index_column_text(statement, MEMBERS),
                                  .has_more = sqlite3_column_int(statement, MORE) != 0};
    struct parley_bytes *const texts[] = {&out->lane,   &out->source, &out->id,   &out->thread,
                                          &out->sender, &out->agent,  &out->time, &out->subject};
    for (int i = 0; i < (int)(sizeof texts / sizeof texts[0]); i++) {
        *texts[i] = index_column_text(statement, TEXTS + i);
    }
}

/* An unreadable one may be private, of any agent: as readers of streams see it. */
bool index_message_is_visible(const struct index_asking *asking,
                              const struct index_message *message) {
    const struct index_question *question = asking->question;
    const struct parley_protocol *protocol = message->protocol;
    const bool is_private = message->type == INDEX_TYPE_FOREIGN
                                ? protocol->private_types != 0
                                : (protocol->private_types >> message->type & 1) != 0;
    return (question->readable >> message->protocol_number & 1) != 0 &&
           (!is_private || question->own == NULL ||
            parley_bytes_equal(message->agent, parley_bytes_of(question->own)));
}

bool index_texts_equal(const struct parley_protocol *protocol, struct parley_bytes one,
                       struct parley_bytes other) {
    return one.length == other.length &&
           (protocol->is_thread_caseless
                ? one.length == 0 || strncasecmp(one.data, other.data, one.length) == 0
                : parley_bytes_equal(one, other) != 0);
}

/* ---- streams ---- */

void index_stream_name(struct index_asking *asking, unsigned number, char out[256]) {
    sqlite3_stmt *find = index_prepare(asking, "SELECT name FROM streams WHERE stream=?1");
    sqlite3_bind_int64(find, 1, number);
    out[0] = '\0';
    if (index_step(asking, find)) {
        snprintf(out, 256, "%s", (const char *)sqlite3_column_text(find, 0));
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

/* ---- the answer ---- */

static void write_type(struct parley_buffer *out, const struct index_message *message) {
    if (message->type == INDEX_TYPE_FOREIGN) {
        parley_buffer_text(out, ",\"type\":\"parley.foreign\"");
    } else {
        parley_buffer_format(out, ",\"type\":\"%s.%s\"", message->protocol->name,
                             message->protocol->types[message->type]);
    }
}

static void write_member(struct parley_buffer *out, const char *name, struct parley_bytes text) {
    if (text.data != NULL) {
        stream_write_member(out, name, text);
    }
}

/* A message without any id is known by its place. */
static void write_head(struct index_asking *asking, const struct index_message *message) {
    struct parley_buffer *out = asking->out;
    const uint64_t pos = (uint64_t)message->at.pos;
    const uint64_t sequence = pos & ((UINT64_C(1) << INDEX_SEQUENCE_BITS) - 1);
    char stream[256];
    index_stream_name(asking, (unsigned)(pos >> INDEX_SEQUENCE_BITS), stream);
    parley_buffer_text(out, "{\"specversion\":\"1.0\"");
    if (message->id.data != NULL) {
        stream_write_member(out, ",\"id\":", message->id);
    } else {
        parley_buffer_format(out, ",\"id\":\"%s:%" PRIu64 "\"", stream, sequence);
    }
    if (message->source.data != NULL) {
        stream_write_member(out, ",\"source\":", message->source);
    } else {
        parley_buffer_format(out, ",\"source\":\"/%s\"", message->protocol->name);
    }
    write_type(out, message);
    parley_buffer_format(out, ",\"stream\":\"%s\",\"sequence\":\"%" PRIu64 "\"", stream, sequence);
}

void index_message_write(struct index_asking *asking, const struct index_message *message) {
    struct parley_buffer *out = asking->out;
    write_head(asking, message);
    write_member(out, ",\"subject\":", message->subject);
    if (message->time.data != NULL) {
        stream_write_member(out, ",\"time\":", message->time);
    } else {
        stream_write_time(out, message->at.stored * NS_A_MS);
    }
    write_member(out, ",\"lane\":", message->lane);
    write_member(out, ",\"thread\":", message->thread);
    write_member(out, ",\"sender\":", message->sender);
    write_member(out, ",\"agent\":", message->agent);
    write_member(out, ",\"trace\":", message->trace);
    parley_buffer_format(out, ",\"size\":%" PRId64, message->size);
    if (message->members.data != NULL) {
        parley_buffer_text(out, ",\"members\":");
        parley_buffer_append(out, message->members);
    }
    parley_buffer_text(out, message->has_more ? ",\"more\":true" : "");
}

void index_item_begin(struct index_asking *asking) {
    const char *first = asking->question->is_lines ? "" : "{\"items\":[";
    const char *later = asking->question->is_lines ? "" : ",";
    parley_buffer_text(asking->out, asking->item_count++ == 0 ? first : later);
}

void index_item_end(struct index_asking *asking) {
    parley_buffer_text(asking->out, asking->question->is_lines ? "}\n" : "}");
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

void index_list_end(struct index_asking *asking, const char *next) {
    struct parley_buffer *out = asking->out;
    const bool is_lines = asking->question->is_lines;
    if (!is_lines) {
        parley_buffer_text(out, asking->item_count == 0 ? "{\"items\":[]," : "],");
    }
    parley_buffer_text(out, is_lines ? "{\"next\":" : "\"next\":");
    if (next != NULL) {
        parley_buffer_json(out, parley_bytes_of(next));
    } else {
        parley_buffer_text(out, "null");
    }
    write_since(asking);
    parley_buffer_text(out, "}\n");
}
