/* SPDX-License-Identifier: Apache-2.0 */

/* The view trace: all messages that an id reaches, over all protocols, by references in both
 * directions, by threads and by trace ids; in the order in which they were stored. Labels, such as
 * keywords, reach nothing. */

#include "index_messages.h"

#include <stdlib.h>

enum { NODES_MAX = 1000, NAMES_MAX = 4096 };

enum { BY_ID, BY_TARGET, BY_THREAD, BY_TRACE, TARGETS_OF, MESSAGE_AT };

static const char message_at[] = "SELECT " INDEX_COLUMNS " FROM messages m WHERE m.pos=?1";

const char *const index_trace_statements[] = {
    [BY_ID] = "SELECT pos FROM messages WHERE id_key=?1 ORDER BY stored, pos",
    [BY_TARGET] = "SELECT pos FROM refs WHERE target_key=?1 AND is_label=0 ORDER BY stored, pos",
    [BY_THREAD] = "SELECT pos FROM messages WHERE protocol=?2 AND thread=?1 ORDER BY stored, pos",
    [BY_TRACE] = "SELECT pos FROM messages WHERE trace=?1 ORDER BY pos",
    [TARGETS_OF] = "SELECT target FROM refs WHERE pos=?1 AND is_label=0",
    [MESSAGE_AT] = message_at,
    NULL,
};

/* What was asked for already: a hash of its kind and its text. */
struct trace {
    struct index_asking *asking;
    struct index_cursor nodes[NODES_MAX]; /* in the order in which they were found */
    size_t count, expanded;
    int64_t names[NAMES_MAX];
    size_t name_count;
    bool is_cut;
};

static void add_node(struct trace *trace, int64_t pos) {
    struct index_asking *asking = trace->asking;
    struct index_message message;
    for (size_t i = 0; i < trace->count; i++) {
        if (trace->nodes[i].pos == pos) {
            return;
        }
    }
    if (trace->count == NODES_MAX) {
        trace->is_cut = true;
        return;
    }
    sqlite3_stmt *find = index_prepare(asking, index_trace_statements[MESSAGE_AT]);
    sqlite3_bind_int64(find, 1, pos);
    if (index_step(asking, find)) {
        index_message_read(find, &message);
        if (index_message_is_visible(asking, &message)) {
            trace->nodes[trace->count++] = message.at;
        }
    }
    sqlite3_finalize(find);
}

/* Returns: false: that was asked for before, or there is no room to note it. */
static bool note_name(struct trace *trace, char kind, struct parley_bytes text) {
    const int64_t name = index_key(trace->asking->secret, text) ^ kind;
    for (size_t i = 0; i < trace->name_count; i++) {
        if (trace->names[i] == name) {
            return false;
        }
    }
    if (trace->name_count == NAMES_MAX) {
        trace->is_cut = true;
        return false;
    }
    trace->names[trace->name_count++] = name;
    return true;
}

static void find_nodes(struct trace *trace, int statement, struct parley_bytes text, int protocol) {
    struct index_asking *asking = trace->asking;
    sqlite3_stmt *find = index_prepare(asking, index_trace_statements[statement]);
    if (statement == BY_ID || statement == BY_TARGET) {
        sqlite3_bind_int64(find, 1, index_key(asking->secret, text));
    } else {
        index_bind_text(find, 1, text);
    }
    if (statement == BY_THREAD) {
        sqlite3_bind_int(find, 2, protocol);
    }
    while (!trace->is_cut && index_step(asking, find)) {
        add_node(trace, sqlite3_column_int64(find, 0));
    }
    sqlite3_finalize(find);
}

/* All messages with this id, and all that name it. */
static void reach_id(struct trace *trace, struct parley_bytes id) {
    if (id.length > 0 && note_name(trace, 'i', id)) {
        find_nodes(trace, BY_ID, id, 0);
        find_nodes(trace, BY_TARGET, id, 0);
    }
}

static void reach_thread(struct trace *trace, struct parley_bytes thread) {
    if (thread.length == 0 || !note_name(trace, 't', thread)) {
        return;
    }
    for (int i = 0; parley_protocols[i] != NULL; i++) {
        find_nodes(trace, BY_THREAD, thread, i);
    }
}

static void reach_targets(struct trace *trace, int64_t pos) {
    sqlite3_stmt *find = index_prepare(trace->asking, index_trace_statements[TARGETS_OF]);
    sqlite3_bind_int64(find, 1, pos);
    while (index_step(trace->asking, find)) {
        reach_id(trace, (struct parley_bytes){(const char *)sqlite3_column_text(find, 0),
                                              (size_t)sqlite3_column_bytes(find, 0)});
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
        if (message.trace.length > 0 && note_name(trace, 'r', message.trace)) {
            find_nodes(trace, BY_TRACE, message.trace, 0);
        }
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
            index_item_begin(asking);
            index_message_write(asking, &message);
            index_item_end(asking);
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
    free(trace);
    return asking->answered;
}
