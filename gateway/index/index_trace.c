/* SPDX-License-Identifier: Apache-2.0 */

/* The view trace: all messages that an id reaches, over all protocols, by references in both
 * directions, by threads and by trace ids; in the order in which they were stored. Labels, such as
 * keywords, reach nothing. */

#include "index_messages.h"

#include <stdlib.h>

#include <parley/arena.h>

enum { NODES_MAX = 1000, NAMES_MAX = 4096 };

enum { BY_ID, BY_TARGET, BY_THREAD, BY_TRACE, TARGETS_OF, MESSAGE_AT };

#define MESSAGES "SELECT " INDEX_COLUMNS " FROM messages m WHERE "
#define REFERRING "SELECT " INDEX_COLUMNS ", o.target FROM refs o CROSS JOIN messages m WHERE "

enum { TARGET = INDEX_COLUMN_COUNT /* the column after those of the message */ };

const char *const index_trace_statements[] = {
    [BY_ID] = MESSAGES "m.id_key=?1 ORDER BY m.stored, m.pos",
    [BY_TARGET] =
        REFERRING "m.pos=o.pos AND o.target_key=?1 AND o.is_label=0 ORDER BY o.stored, o.pos",
    [BY_THREAD] = MESSAGES "m.protocol=?2 AND m.thread=?1 ORDER BY m.stored, m.pos",
    [BY_TRACE] = MESSAGES "m.trace=?1 ORDER BY m.pos",
    [TARGETS_OF] = "SELECT target FROM refs WHERE pos=?1 AND is_label=0",
    [MESSAGE_AT] = MESSAGES "m.pos=?1",
    NULL,
};

enum kind { ID, THREAD, TRACE };

/* What was asked for already. */
struct name {
    enum kind kind;
    int64_t key;
    struct parley_bytes text; /* in the arena */
};

struct trace {
    struct index_asking *asking;
    struct parley_arena arena;
    struct index_cursor nodes[NODES_MAX]; /* in the order in which they were found */
    size_t count, expanded;
    struct name names[NAMES_MAX];
    size_t name_count;
    bool is_cut;
};

static void add_node(struct trace *trace, const struct index_message *message) {
    for (size_t i = 0; i < trace->count; i++) {
        if (trace->nodes[i].pos == message->at.pos) {
            return;
        }
    }
    if (!index_is_visible(trace->asking, message)) {
        return;
    }
    if (trace->count == NODES_MAX) {
        trace->is_cut = true;
        return;
    }
    trace->nodes[trace->count++] = message->at;
}

/* Returns: false: that was asked for before, or there is no room to note it. */
static bool note_name(struct trace *trace, enum kind kind, struct parley_bytes text) {
    const int64_t key = index_key(trace->asking->secret, text);
    for (size_t i = 0; i < trace->name_count; i++) {
        const struct name *name = &trace->names[i];
        if (name->key == key && name->kind == kind && parley_bytes_equal(name->text, text)) {
            return false;
        }
    }
    const char *copy =
        trace->name_count < NAMES_MAX ? parley_arena_copy(&trace->arena, text) : NULL;
    if (copy == NULL) {
        trace->is_cut = true;
        return false;
    }
    trace->names[trace->name_count++] =
        (struct name){.kind = kind, .key = key, .text = {copy, text.length}};
    return true;
}

/* Keys of other texts may be the same. */
static bool is_named(const struct index_message *message, struct parley_bytes found,
                     struct parley_bytes text) {
    return text.data == NULL || index_texts_equal(message->protocol, found, text);
}

/* `text`: the id that its messages bear or name; data NULL: any. */
static void take_nodes(struct trace *trace, sqlite3_stmt *find, int statement,
                       struct parley_bytes text) {
    while (!trace->is_cut && index_step(trace->asking, find)) {
        struct index_message message;
        index_message_read(find, &message);
        if (is_named(&message,
                     statement == BY_TARGET ? index_column_text(find, TARGET) : message.id, text)) {
            add_node(trace, &message);
        }
    }
    sqlite3_finalize(find);
}

static void find_by_key(struct trace *trace, int statement, struct parley_bytes text) {
    sqlite3_stmt *find = index_prepare(trace->asking, index_trace_statements[statement]);
    sqlite3_bind_int64(find, 1, index_key(trace->asking->secret, text));
    take_nodes(trace, find, statement, text);
}

/* All messages with this id, and all that name it. */
static void reach_id(struct trace *trace, struct parley_bytes id) {
    if (id.length > 0 && note_name(trace, ID, id)) {
        find_by_key(trace, BY_ID, id);
        find_by_key(trace, BY_TARGET, id);
    }
}

static void reach_thread(struct trace *trace, struct parley_bytes thread) {
    if (thread.length == 0 || !note_name(trace, THREAD, thread)) {
        return;
    }
    for (int i = 0; parley_protocols[i] != NULL; i++) {
        char room[INDEX_TEXT_MAX];
        sqlite3_stmt *find = index_prepare(trace->asking, index_trace_statements[BY_THREAD]);
        index_bind_text(find, 1, index_thread_text(parley_protocols[i], thread, room));
        sqlite3_bind_int(find, 2, i);
        take_nodes(trace, find, BY_THREAD, (struct parley_bytes){0});
    }
}

static void reach_trace(struct trace *trace, struct parley_bytes id) {
    if (id.length > 0 && note_name(trace, TRACE, id)) {
        sqlite3_stmt *find = index_prepare(trace->asking, index_trace_statements[BY_TRACE]);
        index_bind_text(find, 1, id);
        take_nodes(trace, find, BY_TRACE, (struct parley_bytes){0});
    }
}

static void reach_targets(struct trace *trace, int64_t pos) {
    sqlite3_stmt *find = index_prepare(trace->asking, index_trace_statements[TARGETS_OF]);
    sqlite3_bind_int64(find, 1, pos);
    while (index_step(trace->asking, find)) {
        reach_id(trace, index_column_text(find, 0));
    }
    sqlite3_finalize(find);
}

static void expand(struct trace *trace, int64_t pos) {
    struct index_asking *asking = trace->asking;
    struct index_message message;
    sqlite3_stmt *find = index_prepare(asking, index_trace_statements[MESSAGE_AT]);
    sqlite3_bind_int64(find, 1, pos);
    if (index_step(asking, find)) {
        index_message_read(find, &message);
        reach_id(trace, message.id);
        reach_thread(trace, message.thread);
        reach_trace(trace, message.trace);
        reach_targets(trace, pos);
    }
    sqlite3_finalize(find);
}

static int compare(const void *one, const void *other) {
    const struct index_cursor *a = one, *b = other;
    return a->stored != b->stored ? (a->stored > b->stored) - (a->stored < b->stored)
                                  : (a->pos > b->pos) - (a->pos < b->pos);
}

static void write_nodes(struct trace *trace) {
    struct index_asking *asking = trace->asking;
    qsort(trace->nodes, trace->count, sizeof trace->nodes[0], compare);
    for (size_t i = 0; i < trace->count; i++) {
        struct index_message message;
        sqlite3_stmt *find = index_prepare(asking, index_trace_statements[MESSAGE_AT]);
        sqlite3_bind_int64(find, 1, trace->nodes[i].pos);
        if (index_step(asking, find)) {
            index_message_read(find, &message);
            index_message_add(asking, &message);
        }
        sqlite3_finalize(find);
    }
}

/* A page has it whole, or its first thousand: there is no next one. */
enum index_answered index_trace_write(struct index_asking *asking) {
    char room[INDEX_DIGEST_SIZE];
    struct trace *trace = calloc(1, sizeof *trace);
    if (trace == NULL) {
        return INDEX_NO_MEMORY;
    }
    trace->asking = asking;
    const struct parley_bytes id =
        index_short_text(parley_bytes_of(asking->question->values[INDEX_ID]), room);
    reach_id(trace, id);
    reach_thread(trace, id);
    while (trace->expanded < trace->count && asking->answered == INDEX_ANSWERED) {
        expand(trace, trace->nodes[trace->expanded++].pos);
    }
    write_nodes(trace);
    index_list_end(asking, NULL);
    parley_arena_finish(&trace->arena);
    free(trace);
    return asking->answered;
}
