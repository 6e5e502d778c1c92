/* SPDX-License-Identifier: Apache-2.0 */

/* See index_duties.h. An acknowledgement may name its message by id from any thread, so that those
 * of a message are its thread's, and all that refer to its id or to its place. */

#include "index_duties.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "index_bearers.h"

enum { THREADS_MAX = 1000, PLACE_SIZE = INDEX_STREAM_SIZE + 24 };

enum {
    PART = INDEX_COLUMN_COUNT,
    SUBJECT,
    STATUS,
    TARGET /* the columns after those of a message */
};

/* ?1 and ?2: the names of the members that have the subject and the status. */
#define COLUMNS INDEX_COLUMNS ", m.part, m.members->>?1, m.members->>?2"
#define ROWS "SELECT " COLUMNS " FROM messages m WHERE "
#define AFTER(table)                                                                               \
    " AND " table ".stored>=?4 AND (" table ".stored>?4 OR " table ".pos>?5) ORDER BY " table      \
    ".stored, " table ".pos"

const char *const index_duties_statements[DUTY_STATEMENT_COUNT + 1] = {
    [DUTY_BY_THREAD] = ROWS "m.protocol=?3 AND m.thread=?4 ORDER BY m.stored, m.pos",
    [DUTY_ALONE] = ROWS "m.pos=?3",
    [DUTY_BY_ID] = INDEX_BY_ID_SQL,
    [DUTY_BY_TARGET] = "SELECT " COLUMNS ", o.target FROM refs o CROSS JOIN messages m WHERE "
                       "m.pos=o.pos AND o.target_key=?3 AND o.relation=?4 "
                       "ORDER BY o.stored, o.pos",
    [DUTY_TARGETS_OF] = "SELECT target, target_key FROM refs WHERE pos=?1 AND relation=?2",
    [DUTY_MESSAGE_AT] = "SELECT " INDEX_COLUMNS " FROM messages m WHERE m.pos=?1",
    [DUTY_RECEIVERS_OF] = "SELECT receiver FROM receivers WHERE pos=?1",
    [DUTY_PAGE] = "SELECT " COLUMNS " FROM messages m INDEXED BY m_part "
                  "WHERE m.protocol=?3 AND m.part IS NOT NULL" AFTER("m"),
    [DUTY_PAGE_OF_THREAD] = ROWS "m.protocol=?3 AND m.thread=?6" AFTER("m"),
    [DUTY_PAGE_RECEIVED] =
        "SELECT " COLUMNS " FROM receivers o CROSS JOIN messages m WHERE m.pos=o.pos AND "
        "m.protocol=?3 AND o.receiver_key=?6" AFTER("o"),
    [DUTY_PAGE_LABELLED] = "SELECT " COLUMNS " FROM refs o CROSS JOIN messages m WHERE "
                           "m.pos=o.pos AND m.protocol=?3 AND o.target_key=?6 "
                           "AND o.relation=?7" AFTER("o"),
    [DUTY_STORED] = ROWS "m.pos>=?3 AND m.pos<?4 ORDER BY m.pos",
    [DUTY_OLDEST] = "SELECT min(pos) FROM messages WHERE pos>=?1 AND pos<?2",
    NULL,
};

static bool is_running(const struct index_duties *duties) {
    return duties->asking->answered == INDEX_ANSWERED;
}

static void note(struct index_duties *duties, enum parley_status status) {
    if (status != PARLEY_OK && is_running(duties)) {
        duties->asking->answered = INDEX_NO_MEMORY;
    }
}

static struct parley_bytes copy_text(struct index_duties *duties, struct parley_bytes text) {
    return index_text_copy(duties->asking, &duties->arena, text);
}

void index_duties_begin(struct index_duties *out, struct index_asking *asking) {
    out->asking = asking;
    out->acks = parley_protocols[asking->question->protocol]->index->acks;
    SLIST_INIT(&out->threads);
    parley_buffer_init(&out->place);
}

static void free_thread(struct index_duties_thread *thread) {
    duty_finish(&thread->duty);
    free(thread);
}

void index_duties_finish(struct index_duties *duties) {
    while (!SLIST_EMPTY(&duties->threads)) {
        struct index_duties_thread *thread = SLIST_FIRST(&duties->threads);
        SLIST_REMOVE_HEAD(&duties->threads, links);
        free_thread(thread);
    }
    for (size_t i = 0; i < DUTY_STATEMENT_COUNT; i++) {
        sqlite3_finalize(duties->statements[i]);
    }
    parley_buffer_finish(&duties->place);
    parley_arena_finish(&duties->arena);
}

/* ---- statements ---- */

sqlite3_stmt *index_duties_prepare(struct index_duties *duties, enum index_duty_statement number) {
    const char *sql = index_duties_statements[number];
    sqlite3_stmt *statement = index_prepare(duties->asking, sql);
    if (strstr(sql, "->>") != NULL) {
        index_bind_text(statement, 1, parley_bytes_of(duties->acks->subject));
        index_bind_text(statement, 2, parley_bytes_of(duties->acks->status));
    }
    return statement;
}

/* They are prepared once a question. */
static sqlite3_stmt *begin(struct index_duties *duties, enum index_duty_statement number) {
    sqlite3_stmt **statement = &duties->statements[number];
    if (*statement == NULL) {
        *statement = index_duties_prepare(duties, number);
    } else {
        sqlite3_reset(*statement);
    }
    return *statement;
}

static bool next(struct index_duties *duties, sqlite3_stmt *statement) {
    struct index_asking *asking = duties->asking;
    if (asking->rows_read >= INDEX_ROWS_MAX || !index_step(asking, statement)) {
        return false;
    }
    asking->rows_read++;
    return true;
}

void index_duties_row_read(sqlite3_stmt *statement, struct index_duties_row *out) {
    index_message_read(statement, &out->message);
    out->part = (unsigned)sqlite3_column_int64(statement, PART);
    out->subject = index_column_text(statement, SUBJECT);
    out->status = index_column_text(statement, STATUS);
}

static bool is_of_list(const struct index_duties *duties, const struct index_message *message) {
    return message->protocol_number == duties->asking->question->protocol &&
           index_is_visible(duties->asking, message);
}

/* STREAM:SEQUENCE, with the stream's name at hand. */
static void append_place(struct index_duties *duties, struct parley_buffer *out, int64_t pos) {
    const unsigned number = (unsigned)((uint64_t)pos >> INDEX_SEQUENCE_BITS);
    if (duties->stream_number != number) {
        index_stream_name(duties->asking, number, duties->stream_name);
        duties->stream_number = number;
    }
    parley_buffer_format(out, "%s:%" PRIu64, duties->stream_name, index_sequence_of(pos));
}

/* ---- which message an acknowledgement names ---- */

struct naming {
    const struct index_message *ack;
    struct duty_bearer bearers[INDEX_BEARERS_MAX];
    size_t count;
};

static void add_bearer(const struct index_duties *duties, struct naming *naming,
                       const struct index_message *message) {
    const struct parley_bytes thread = naming->ack->thread;
    if (naming->count < INDEX_BEARERS_MAX && is_of_list(duties, message)) {
        naming->bearers[naming->count++] = (struct duty_bearer){
            .at = message->at,
            .is_near = thread.data != NULL && parley_bytes_equal(thread, message->thread)};
    }
}

static void find_by_id(struct index_duties *duties, struct naming *naming, struct parley_bytes id,
                       int64_t key) {
    sqlite3_stmt *find = begin(duties, DUTY_BY_ID);
    sqlite3_bind_int64(find, 1, key);
    while (naming->count < INDEX_BEARERS_MAX && next(duties, find)) {
        struct index_message message;
        index_message_read(find, &message);
        if (index_texts_equal(message.protocol, message.id, id)) {
            add_bearer(duties, naming, &message);
        }
    }
}

static void find_by_place(struct index_duties *duties, struct naming *naming,
                          struct parley_bytes id) {
    struct stream_token place;
    char text[PLACE_SIZE], stream[INDEX_STREAM_SIZE];
    snprintf(text, sizeof text, "%.*s", (int)id.length, id.data);
    if (id.length >= sizeof text || !stream_place_parse(text, &place) ||
        place.stream.length >= sizeof stream || place.sequence >> INDEX_SEQUENCE_BITS != 0) {
        return;
    }
    snprintf(stream, sizeof stream, "%.*s", (int)place.stream.length, place.stream.data);
    const uint64_t number = index_stream_number(duties->asking, stream);
    sqlite3_stmt *find = begin(duties, DUTY_MESSAGE_AT);
    sqlite3_bind_int64(find, 1, (int64_t)(number << INDEX_SEQUENCE_BITS | place.sequence));
    if (number != 0 && next(duties, find)) {
        struct index_message message;
        index_message_read(find, &message);
        add_bearer(duties, naming, &message);
    }
}

/* `pos` of the message whose id or place the acknowledgement names; 0: there is none before it. */
static int64_t find_named(struct index_duties *duties, const struct index_message *ack) {
    struct naming naming = {.ack = ack};
    sqlite3_stmt *find = begin(duties, DUTY_TARGETS_OF);
    sqlite3_bind_int64(find, 1, ack->at.pos);
    sqlite3_bind_int64(find, 2, duties->acks->relation);
    while (next(duties, find)) {
        const struct parley_bytes id = index_column_text(find, 0);
        find_by_id(duties, &naming, id, sqlite3_column_int64(find, 1));
        find_by_place(duties, &naming, id);
    }
    const size_t chosen = duty_choose(&ack->at, naming.bearers, naming.count);
    return chosen != SIZE_MAX ? naming.bearers[chosen].at.pos : 0;
}

/* ---- a thread ---- */

/* 1 is the lowest status. */
static size_t rank_of(const struct index_duties *duties, struct parley_bytes status) {
    for (size_t i = 0; duties->acks->statuses[i] != NULL; i++) {
        const struct parley_bytes name = parley_bytes_of(duties->acks->statuses[i]);
        if (status.length >= name.length && memcmp(status.data, name.data, name.length) == 0) {
            return i + 1;
        }
    }
    return 0;
}

static void add_ack(struct index_duties *duties, struct duty_thread *thread,
                    const struct index_duties_row *row, int64_t of) {
    const struct duty_ack ack = {.at = row->message.at,
                                 .sender = copy_text(duties, row->message.sender),
                                 .topic = copy_text(duties, duties->acks->topic(row->subject)),
                                 .status = rank_of(duties, row->status),
                                 .of = of};
    note(duties, duty_add_ack(thread, &ack));
}

sqlite3_stmt *index_duties_referrers(struct index_duties *duties, int64_t key, unsigned relation) {
    sqlite3_stmt *find = begin(duties, DUTY_BY_TARGET);
    sqlite3_bind_int64(find, 3, key);
    sqlite3_bind_int64(find, 4, relation);
    return find;
}

bool index_duties_referrers_next(struct index_duties *duties, sqlite3_stmt *find,
                                 struct parley_bytes text, struct index_duties_row *out) {
    while (next(duties, find)) {
        index_duties_row_read(find, out);
        if (is_of_list(duties, &out->message) &&
            index_texts_equal(out->message.protocol, index_column_text(find, TARGET), text)) {
            return true;
        }
    }
    return false;
}

/* Those from other threads that name the message by this text. */
static void add_outer_acks(struct index_duties *duties, struct duty_thread *thread,
                           const struct index_message *message, struct parley_bytes id) {
    if (id.length == 0) {
        return;
    }
    struct index_duties_row row;
    sqlite3_stmt *find = index_duties_referrers(duties, index_key(duties->asking->secret, id),
                                                duties->acks->relation);
    while (index_duties_referrers_next(duties, find, id, &row)) {
        const bool is_inner =
            message->thread.data != NULL && parley_bytes_equal(row.message.thread, message->thread);
        if (!is_inner && find_named(duties, &row.message) == message->at.pos) {
            add_ack(duties, thread, &row, message->at.pos);
        }
    }
}

static void add_message(struct index_duties *duties, struct duty_thread *thread,
                        const struct index_duties_row *row) {
    const struct index_message *message = &row->message;
    const struct parley_bytes subject = copy_text(duties, row->subject);
    const struct duty_message added = {.at = message->at,
                                       .part = row->part,
                                       .sender = copy_text(duties, message->sender),
                                       .subject = subject,
                                       .topic = duties->acks->topic(subject)};
    note(duties, duty_add_message(thread, &added));
    if ((row->part & PARLEY_INDEX_ACKNOWLEDGES) != 0) {
        add_ack(duties, thread, row, find_named(duties, message));
    }
    parley_buffer_clear(&duties->place);
    append_place(duties, &duties->place, message->at.pos);
    note(duties, duties->place.has_failed ? PARLEY_E_MEMORY : PARLEY_OK);
    add_outer_acks(duties, thread, message, message->id);
    add_outer_acks(duties, thread, message, parley_buffer_bytes(&duties->place));
}

static void read_rows(struct index_duties *duties, struct duty_thread *thread, sqlite3_stmt *find) {
    while (next(duties, find)) {
        struct index_duties_row row;
        index_duties_row_read(find, &row);
        if (is_of_list(duties, &row.message)) {
            add_message(duties, thread, &row);
        }
    }
    thread->is_cut = duties->asking->rows_read >= INDEX_ROWS_MAX;
}

static struct index_duties_thread *find_thread(const struct index_duties *duties,
                                               const struct index_message *message) {
    struct index_duties_thread *thread;
    SLIST_FOREACH(thread, &duties->threads, links) {
        if (message->thread.length > 0 ? parley_bytes_equal(thread->name, message->thread)
                                       : thread->pos == message->at.pos) {
            return thread;
        }
    }
    return NULL;
}

/* A message without a thread is alone in one. */
static void read_thread(struct index_duties *duties, const struct index_message *message,
                        struct index_duties_thread *out) {
    const bool is_alone = message->thread.length == 0;
    sqlite3_stmt *find = begin(duties, is_alone ? DUTY_ALONE : DUTY_BY_THREAD);
    sqlite3_bind_int64(find, 3, is_alone ? message->at.pos : message->protocol_number);
    if (!is_alone) {
        out->name = copy_text(duties, message->thread);
        index_bind_text(find, 4, out->name);
    }
    out->pos = is_alone ? message->at.pos : 0;
    read_rows(duties, &out->duty, find);
    note(duties, duty_settle(&out->duty));
}

const struct duty_thread *index_duties_thread(struct index_duties *duties,
                                              const struct index_message *message, bool is_first) {
    struct index_duties_thread *thread = find_thread(duties, message);
    if (thread != NULL) {
        return &thread->duty;
    }
    thread = calloc(1, sizeof *thread);
    if (thread == NULL) {
        note(duties, PARLEY_E_MEMORY);
        return NULL;
    }
    read_thread(duties, message, thread);
    const bool has_room = duties->thread_count < THREADS_MAX && !thread->duty.is_cut;
    if (!is_running(duties) || (!has_room && !is_first)) {
        free_thread(thread);
        return NULL;
    }
    SLIST_INSERT_HEAD(&duties->threads, thread, links);
    duties->thread_count++;
    return &thread->duty;
}

/* ---- what a message refers to ---- */

struct parley_bytes index_duties_target(struct index_duties *duties,
                                        const struct index_message *message, unsigned relation,
                                        char room[INDEX_TEXT_MAX], int64_t *out_key) {
    sqlite3_stmt *find = begin(duties, DUTY_TARGETS_OF);
    sqlite3_bind_int64(find, 1, message->at.pos);
    sqlite3_bind_int64(find, 2, relation);
    if (!index_step(duties->asking, find)) {
        return (struct parley_bytes){0};
    }
    struct parley_bytes text = index_column_text(find, 0);
    text.length = text.length < INDEX_TEXT_MAX ? text.length : INDEX_TEXT_MAX;
    memcpy(room, text.data, text.length);
    *out_key = sqlite3_column_int64(find, 1);
    return (struct parley_bytes){room, text.length};
}

/* ---- receivers ---- */

static int compare(const void *one, const void *other) {
    const struct parley_bytes *a = one, *b = other;
    return duty_compare(*a, *b);
}

size_t index_duties_receivers(struct index_duties *duties, const struct index_message *message,
                              struct parley_bytes out[DUTY_NAMES_MAX], bool *out_named) {
    size_t count = 0;
    sqlite3_stmt *find = begin(duties, DUTY_RECEIVERS_OF);
    sqlite3_bind_int64(find, 1, message->at.pos);
    *out_named = false;
    while (count < DUTY_NAMES_MAX && index_step(duties->asking, find)) {
        const struct parley_bytes name = index_column_text(find, 0);
        *out_named = true;
        if (!parley_bytes_equal(name, message->sender)) {
            out[count++] = copy_text(duties, name);
        }
    }
    qsort(out, count, sizeof *out, compare);
    return count;
}

void index_duties_recipients(struct index_duties *duties, const struct duty_thread *thread,
                             size_t number, const struct index_duties_row *row,
                             struct index_recipients *out) {
    const struct index_message *message = &row->message;
    const uint32_t opening = duties->acks->opening_types;
    *out = (struct index_recipients){.is_cut = thread->is_cut || message->has_more};
    out->count = index_duties_receivers(duties, message, out->names, &out->is_named);
    if (out->is_named) {
        return;
    }
    if (number != SIZE_MAX && (message->type >= 32 || (opening >> message->type & 1) == 0)) {
        out->count = duty_writers(thread, number, out->names, &out->is_cut);
        out->is_cut = out->is_cut || thread->is_cut;
    }
    out->is_of_anyone = out->count == 0;
    if (out->is_of_anyone) {
        out->names[out->count++] = (struct parley_bytes){0};
    }
}
