/* SPDX-License-Identifier: Apache-2.0 */

/* See index_bearers.h. Keys of texts are looked up, and then the texts compared. */

#include "index_bearers.h"

/* ---- nodes ---- */

struct parley_bytes index_text_copy(struct index_asking *asking, struct parley_arena *arena,
                                    struct parley_bytes text) {
    if (text.length == 0) {
        return (struct parley_bytes){0};
    }
    const char *copy = parley_arena_copy(arena, text);
    if (copy == NULL) {
        asking->answered = INDEX_NO_MEMORY;
    }
    return (struct parley_bytes){copy, copy != NULL ? text.length : 0};
}

struct ledger_node index_node_of(struct index_asking *asking, struct parley_arena *arena,
                                 const struct index_message *message) {
    return (struct ledger_node){.at = message->at,
                                .type = message->type,
                                .id = index_text_copy(asking, arena, message->id),
                                .thread = index_text_copy(asking, arena, message->thread),
                                .sender = index_text_copy(asking, arena, message->sender)};
}

/* ---- bearers ---- */

static bool is_of_question(const struct index_asking *asking, const struct index_message *message) {
    return message->protocol_number == asking->question->protocol &&
           index_is_visible(asking, message);
}

void index_bearers_find(struct index_asking *asking, struct index_bearers *bearers,
                        struct parley_bytes id, int64_t key) {
    sqlite3_stmt *find = index_prepare(asking, INDEX_BY_ID_SQL);
    sqlite3_bind_int64(find, 1, key);
    bearers->count = 0;
    parley_arena_reset(&bearers->arena);
    while (index_step(asking, find) && index_may_read(asking)) {
        struct index_message message;
        index_message_read(find, &message);
        if (!is_of_question(asking, &message) ||
            !index_texts_equal(message.protocol, message.id, id)) {
            continue;
        }
        if (bearers->count == INDEX_BEARERS_MAX) {
            asking->is_cut = true;
            break;
        }
        bearers->items[bearers->count++] = index_node_of(asking, &bearers->arena, &message);
    }
    sqlite3_finalize(find);
}

void index_bearers_finish(struct index_bearers *bearers) {
    parley_arena_finish(&bearers->arena);
}

bool index_bearers_is_meant(const struct index_bearers *bearers, const struct index_message *from,
                            int64_t pos) {
    const struct ledger_node node = {
        .at = from->at, .thread = from->thread, .sender = from->sender};
    const size_t chosen = ledger_choose(&node, bearers->items, bearers->count);
    return chosen != SIZE_MAX && bearers->items[chosen].at.pos == pos;
}

/* ---- referrers ---- */

sqlite3_stmt *index_referrers_begin(struct index_asking *asking, int64_t key) {
    sqlite3_stmt *find = index_prepare(asking, INDEX_BY_TARGET_SQL);
    sqlite3_bind_int64(find, 1, key);
    return find;
}

bool index_referrers_next(struct index_asking *asking, sqlite3_stmt *find, struct parley_bytes id,
                          struct index_message *out, unsigned *out_relation) {
    while (index_step(asking, find) && index_may_read(asking)) {
        index_message_read(find, out);
        if (is_of_question(asking, out) &&
            index_texts_equal(out->protocol, index_column_text(find, INDEX_TARGET_COLUMN), id)) {
            *out_relation = (unsigned)sqlite3_column_int(find, INDEX_RELATION_COLUMN);
            return true;
        }
    }
    return false;
}
