/* SPDX-License-Identifier: Apache-2.0 */

/* The view of one message: which messages of its protocol it refers to, and which refer to it. It
 * appends members to the message's own event, which is not read from the index. */

#include "index_messages.h"

#include <stdio.h>

#include <parley/index.h>

#include "index_bearers.h"

enum { NEIGHBOURS_MAX = 100 };

enum { MESSAGE_AT, TARGETS_OF, BY_ID, BY_TARGET };

#define MESSAGES "SELECT " INDEX_COLUMNS " FROM messages m WHERE "

const char *const index_neighbours_statements[] = {
    [MESSAGE_AT] = MESSAGES "m.pos=?1",
    [TARGETS_OF] = "SELECT target, target_key, relation FROM refs WHERE pos=?1 AND is_label=0",
    [BY_ID] = MESSAGES "m.id_key=?1 ORDER BY m.stored, m.pos",
    [BY_TARGET] = INDEX_BY_TARGET_SQL,
    NULL,
};

/* What a list of neighbours holds so far. */
struct neighbours {
    struct index_asking *asking;
    unsigned protocol;
    size_t count;
};

static const char *relation_of(const struct neighbours *found, int relation) {
    return parley_protocols[found->protocol]->index->relations[relation].name;
}

static void add(struct neighbours *found, const struct index_message *message, int relation) {
    struct parley_buffer *out = found->asking->out;
    if (found->count == NEIGHBOURS_MAX || message->protocol_number != found->protocol ||
        !index_is_visible(found->asking, message)) {
        return;
    }
    parley_buffer_text(out, found->count++ > 0 ? "," : "");
    index_message_begin(found->asking, message);
    parley_buffer_format(out, ",\"relation\":\"%s\"}", relation_of(found, relation));
}

/* Returns: whether a message bears the id. */
static bool add_bearers(struct neighbours *found, struct parley_bytes id, int64_t key,
                        int relation) {
    struct index_asking *asking = found->asking;
    sqlite3_stmt *find = index_prepare(asking, index_neighbours_statements[BY_ID]);
    const size_t before = found->count;
    sqlite3_bind_int64(find, 1, key);
    while (found->count < NEIGHBOURS_MAX && index_step(asking, find)) {
        struct index_message message;
        index_message_read(find, &message);
        if (index_texts_equal(message.protocol, message.id, id)) {
            add(found, &message, relation);
        }
    }
    sqlite3_finalize(find);
    return found->count > before || found->count == NEIGHBOURS_MAX;
}

/* References to nothing, of which the index knows the text alone. */
static void write_targets(struct neighbours *found, int64_t pos) {
    struct index_asking *asking = found->asking;
    struct parley_buffer unresolved;
    sqlite3_stmt *find = index_prepare(asking, index_neighbours_statements[TARGETS_OF]);
    parley_buffer_init(&unresolved);
    sqlite3_bind_int64(find, 1, pos);
    parley_buffer_text(asking->out, ",\"refers_to\":[");
    while (index_step(asking, find)) {
        const struct parley_bytes target = index_column_text(find, 0);
        if (!add_bearers(found, target, sqlite3_column_int64(find, 1),
                         sqlite3_column_int(find, 2))) {
            parley_buffer_text(&unresolved, unresolved.length > 0 ? "," : "");
            parley_buffer_json(&unresolved, target);
        }
    }
    sqlite3_finalize(find);
    parley_buffer_text(asking->out, "],\"unresolved\":[");
    parley_buffer_append(asking->out, parley_buffer_bytes(&unresolved));
    parley_buffer_char(asking->out, ']');
    asking->out->has_failed = asking->out->has_failed || unresolved.has_failed;
    parley_buffer_finish(&unresolved);
}

static void write_referring(struct neighbours *found, struct parley_bytes id) {
    struct index_asking *asking = found->asking;
    sqlite3_stmt *find = index_prepare(asking, index_neighbours_statements[BY_TARGET]);
    sqlite3_bind_int64(find, 1, index_key(asking->secret, id));
    parley_buffer_text(asking->out, ",\"referred_by\":[");
    found->count = 0;
    while (id.length > 0 && found->count < NEIGHBOURS_MAX && index_step(asking, find)) {
        struct index_message message;
        index_message_read(find, &message);
        if (index_texts_equal(message.protocol, index_column_text(find, INDEX_TARGET_COLUMN), id)) {
            add(found, &message, sqlite3_column_int(find, INDEX_RELATION_COLUMN));
        }
    }
    sqlite3_finalize(find);
    parley_buffer_char(asking->out, ']');
}

/* A message that is not indexed so far has no such members. */
enum index_answered index_neighbours_write(struct index_asking *asking) {
    const struct stream_token *place = &asking->question->place;
    char stream[INDEX_STREAM_SIZE];
    snprintf(stream, sizeof stream, "%.*s", (int)place->stream.length, place->stream.data);
    const unsigned number = index_stream_number(asking, stream);
    const int64_t pos = (int64_t)((uint64_t)number << INDEX_SEQUENCE_BITS | place->sequence);
    struct neighbours found = {.asking = asking, .protocol = asking->question->protocol};
    struct index_message message;
    sqlite3_stmt *find = index_prepare(asking, index_neighbours_statements[MESSAGE_AT]);
    sqlite3_bind_int64(find, 1, pos);
    if (number != 0 && index_step(asking, find)) {
        index_message_read(find, &message);
        write_targets(&found, pos);
        write_referring(&found, message.id);
    }
    sqlite3_finalize(find);
    return asking->answered;
}
