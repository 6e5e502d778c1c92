/* SPDX-License-Identifier: Apache-2.0 */

/* The view chain: the ledger of a message, which is all that supports, answers, corrects or names
 * it, and what does so with these. A chain has at most 1,000 messages and 64 steps, and each
 * message once, so that circles end. */

#include "index_messages.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <parley/arena.h>

#include "index_ledger.h"

enum { BEARERS_MAX = 64, NOTES_MAX = 100 };

enum { BY_ID, BY_TARGET, TARGETS_OF, MESSAGE_AT };

#define MESSAGES "SELECT " INDEX_COLUMNS " FROM messages m WHERE "

const char *const index_chain_statements[] = {
    [BY_ID] = MESSAGES "m.id_key=?1 ORDER BY m.stored DESC, m.pos DESC",
    [BY_TARGET] =
        "SELECT " INDEX_COLUMNS ", o.target, o.relation FROM refs o CROSS JOIN messages m "
        "WHERE m.pos=o.pos AND o.target_key=?1 AND o.is_label=0 ORDER BY o.stored, o.pos",
    [TARGETS_OF] = "SELECT target, target_key, relation FROM refs WHERE pos=?1 AND is_label=0",
    [MESSAGE_AT] = MESSAGES "m.pos=?1",
    NULL,
};

enum { TARGET = 16, RELATION /* the columns after those of a message */ };

/* The messages that bear an id, the newest first. */
struct bearers {
    struct ledger_node items[BEARERS_MAX];
    size_t count;
    struct parley_arena arena; /* of their texts */
};

/* References that lead nowhere, or to a message of another type than they are meant for. */
struct notes {
    struct parley_buffer text;
    size_t count;
};

struct chain {
    struct index_asking *asking;
    const struct parley_index_relation *relations;
    struct ledger ledger;
    struct parley_arena arena;
    struct bearers bearers;
    struct parley_buffer candidates; /* of the root: a JSON array's elements */
    size_t candidate_count;
    struct notes unresolved, mismatched;
    bool is_cut;
};

static bool may_read(struct chain *chain) {
    const bool has_room = chain->asking->rows_read < INDEX_ROWS_MAX;
    chain->is_cut = chain->is_cut || !has_room;
    chain->asking->rows_read += has_room;
    return has_room;
}

static bool is_of_chain(const struct chain *chain, const struct index_message *message) {
    return message->protocol_number == chain->asking->question->protocol &&
           index_is_visible(chain->asking, message);
}

static void fail(struct chain *chain) {
    chain->asking->answered = INDEX_NO_MEMORY;
}

static struct parley_bytes copy_text(struct chain *chain, struct parley_arena *arena,
                                     struct parley_bytes text) {
    if (text.length == 0) {
        return (struct parley_bytes){0};
    }
    const char *copy = parley_arena_copy(arena, text);
    if (copy == NULL) {
        fail(chain);
    }
    return (struct parley_bytes){copy, copy != NULL ? text.length : 0};
}

static struct ledger_node node_of(struct chain *chain, struct parley_arena *arena,
                                  const struct index_message *message) {
    return (struct ledger_node){.at = message->at,
                                .type = message->type,
                                .id = copy_text(chain, arena, message->id),
                                .thread = copy_text(chain, arena, message->thread),
                                .sender = copy_text(chain, arena, message->sender)};
}

static void find_bearers(struct chain *chain, struct parley_bytes id, int64_t key) {
    struct bearers *bearers = &chain->bearers;
    sqlite3_stmt *find = index_prepare(chain->asking, index_chain_statements[BY_ID]);
    sqlite3_bind_int64(find, 1, key);
    bearers->count = 0;
    parley_arena_reset(&bearers->arena);
    while (index_step(chain->asking, find) && may_read(chain)) {
        struct index_message message;
        index_message_read(find, &message);
        if (!is_of_chain(chain, &message) || !index_texts_equal(message.protocol, message.id, id)) {
            continue;
        }
        if (bearers->count == BEARERS_MAX) {
            chain->is_cut = true;
            break;
        }
        bearers->items[bearers->count++] = node_of(chain, &bearers->arena, &message);
    }
    sqlite3_finalize(find);
}

static void write_place(struct chain *chain, struct parley_buffer *out, int64_t pos) {
    char stream[INDEX_STREAM_SIZE];
    index_stream_name(chain->asking, (unsigned)((uint64_t)pos >> INDEX_SEQUENCE_BITS), stream);
    parley_buffer_format(out, "\"%s:%" PRIu64 "\"", stream, index_sequence_of(pos));
}

/* ---- the root ---- */

static bool is_wanted(const struct chain *chain, const struct ledger_node *bearer) {
    const struct index_question *question = chain->asking->question;
    const char *session = question->values[INDEX_SESSION], *sender = question->values[INDEX_SENDER];
    char digest[INDEX_DIGEST_SIZE], room[INDEX_TEXT_MAX];
    return (session == NULL ||
            parley_bytes_equal(bearer->thread,
                               index_thread_text(parley_protocols[question->protocol],
                                                 parley_bytes_of(session), room))) &&
           (sender == NULL ||
            parley_bytes_equal(bearer->sender, index_short_text(parley_bytes_of(sender), digest)));
}

static void keep_root(struct chain *chain, const struct ledger_node *bearer) {
    struct ledger_node *root = &chain->ledger.nodes[chain->ledger.count++];
    *root = *bearer;
    root->id = copy_text(chain, &chain->arena, bearer->id);
    root->thread = copy_text(chain, &chain->arena, bearer->thread);
    root->sender = copy_text(chain, &chain->arena, bearer->sender);
}

static void find_root(struct chain *chain) {
    const char *wanted = chain->asking->question->values[INDEX_ID];
    char room[INDEX_DIGEST_SIZE];
    const struct parley_bytes id = index_short_text(parley_bytes_of(wanted), room);
    find_bearers(chain, id, index_key(chain->asking->secret, id));
    for (size_t i = 0; i < chain->bearers.count; i++) {
        const struct ledger_node *bearer = &chain->bearers.items[i];
        if (!is_wanted(chain, bearer)) {
            continue;
        }
        if (chain->candidate_count == 0) {
            keep_root(chain, bearer);
        }
        parley_buffer_text(&chain->candidates, chain->candidate_count++ > 0 ? "," : "");
        write_place(chain, &chain->candidates, bearer->at.pos);
    }
    chain->ledger.nodes[0].is_ambiguous = chain->candidate_count > 1;
}

/* ---- what refers to a node ---- */

static size_t find_node(const struct chain *chain, int64_t pos) {
    size_t number = 0;
    while (number < chain->ledger.count && chain->ledger.nodes[number].at.pos != pos) {
        number++;
    }
    return number;
}

/* Returns: false: there is no room. */
static bool add_node(struct chain *chain, size_t parent, const struct ledger_node *node,
                     unsigned relation) {
    struct ledger *ledger = &chain->ledger;
    const size_t depth = ledger->nodes[parent].depth + 1;
    if (ledger->count == LEDGER_NODES_MAX || depth > LEDGER_DEPTH_MAX) {
        chain->is_cut = true;
        return false;
    }
    ledger->nodes[ledger->count] = *node;
    ledger->nodes[ledger->count].parent = parent;
    ledger->nodes[ledger->count].relation = relation;
    ledger->nodes[ledger->count].depth = depth;
    ledger->nodes[ledger->count].is_ambiguous = chain->bearers.count > 1;
    ledger->count++;
    return true;
}

/* Whether it is this one of several with its id that the message means. */
static bool means(struct chain *chain, const struct ledger_node *from, size_t parent) {
    const struct bearers *bearers = &chain->bearers;
    const size_t chosen = ledger_choose(from, bearers->items, bearers->count);
    return chosen != SIZE_MAX &&
           bearers->items[chosen].at.pos == chain->ledger.nodes[parent].at.pos;
}

static void take(struct chain *chain, size_t parent, const struct index_message *message,
                 unsigned relation) {
    const enum parley_index_effect effect = chain->relations[relation].effect;
    const struct ledger_node compared = {
        .at = message->at, .thread = message->thread, .sender = message->sender};
    const size_t number = find_node(chain, message->at.pos);
    if (!means(chain, &compared, parent)) {
        return;
    }
    if (number == chain->ledger.count) {
        const struct ledger_node node = node_of(chain, &chain->arena, message);
        if (!add_node(chain, parent, &node, relation)) {
            return;
        }
    }
    if (effect != PARLEY_INDEX_REFERS &&
        ledger_add_edge(&chain->ledger, number, parent, effect) != PARLEY_OK) {
        fail(chain);
    }
}

static void expand(struct chain *chain, size_t number) {
    const struct parley_bytes id = chain->ledger.nodes[number].id;
    const int64_t key = index_key(chain->asking->secret, id);
    if (id.length == 0) {
        return;
    }
    find_bearers(chain, id, key);
    sqlite3_stmt *find = index_prepare(chain->asking, index_chain_statements[BY_TARGET]);
    sqlite3_bind_int64(find, 1, key);
    while (index_step(chain->asking, find) && may_read(chain)) {
        struct index_message message;
        index_message_read(find, &message);
        if (is_of_chain(chain, &message) &&
            index_texts_equal(message.protocol, index_column_text(find, TARGET), id)) {
            take(chain, number, &message, (unsigned)sqlite3_column_int(find, RELATION));
        }
    }
    sqlite3_finalize(find);
}

/* ---- references that lead nowhere ---- */

static bool begin_note(struct chain *chain, struct notes *notes, const struct ledger_node *node,
                       const char *relation, struct parley_bytes id) {
    if (notes->count == NOTES_MAX) {
        chain->is_cut = true;
        return false;
    }
    parley_buffer_text(&notes->text, notes->count++ > 0 ? ",{\"of\":" : "{\"of\":");
    write_place(chain, &notes->text, node->at.pos);
    parley_buffer_format(&notes->text, ",\"relation\":\"%s\",\"id\":", relation);
    parley_buffer_json(&notes->text, id);
    return true;
}

static void check_target(struct chain *chain, const struct ledger_node *node,
                         struct parley_bytes target, const struct parley_index_relation *relation) {
    const struct parley_protocol *protocol = parley_protocols[chain->asking->question->protocol];
    const struct bearers *bearers = &chain->bearers;
    const size_t chosen = ledger_choose(node, bearers->items, bearers->count);
    const unsigned type = chosen != SIZE_MAX ? bearers->items[chosen].type : 0;
    if (chosen == SIZE_MAX) {
        if (begin_note(chain, &chain->unresolved, node, relation->name, target)) {
            parley_buffer_char(&chain->unresolved.text, '}');
        }
    } else if (relation->target_types != 0 && type != INDEX_TYPE_FOREIGN &&
               (relation->target_types >> type & 1) == 0 &&
               begin_note(chain, &chain->mismatched, node, relation->name, target)) {
        parley_buffer_format(&chain->mismatched.text, ",\"type\":\"%s.%s\"}", protocol->name,
                             protocol->types[type]);
    }
}

static void check_targets(struct chain *chain, const struct ledger_node *node) {
    sqlite3_stmt *find = index_prepare(chain->asking, index_chain_statements[TARGETS_OF]);
    sqlite3_bind_int64(find, 1, node->at.pos);
    while (index_step(chain->asking, find) && may_read(chain)) {
        const struct parley_bytes target = index_column_text(find, 0);
        find_bearers(chain, target, sqlite3_column_int64(find, 1));
        check_target(chain, node, target, &chain->relations[sqlite3_column_int(find, 2)]);
    }
    sqlite3_finalize(find);
}

/* ---- the list ---- */

static void write_state(struct parley_buffer *out, enum ledger_state state) {
    static const char *const names[] = {[LEDGER_UNDISPUTED] = "null",
                                        [LEDGER_AUTHORITATIVE] = "\"authoritative\"",
                                        [LEDGER_SUPERSEDED] = "\"superseded\"",
                                        [LEDGER_DISPUTED] = "\"disputed\"",
                                        [LEDGER_STALE] = "\"stale\""};
    parley_buffer_format(out, ",\"state\":%s", names[state]);
}

static void write_relation(struct chain *chain, size_t number) {
    const struct ledger_node *node = &chain->ledger.nodes[number];
    struct parley_buffer *out = chain->asking->out;
    if (number == 0) {
        parley_buffer_text(out, ",\"relation\":null,\"of\":null");
    } else {
        parley_buffer_format(out,
                             ",\"relation\":\"%s\",\"of\":", chain->relations[node->relation].name);
        write_place(chain, out, chain->ledger.nodes[node->parent].at.pos);
    }
    write_state(out, node->state);
    parley_buffer_text(out, node->is_ambiguous ? ",\"ambiguous\":true" : "");
}

static void write_node(struct chain *chain, size_t number) {
    struct index_asking *asking = chain->asking;
    sqlite3_stmt *find = index_prepare(asking, index_chain_statements[MESSAGE_AT]);
    sqlite3_bind_int64(find, 1, chain->ledger.nodes[number].at.pos);
    if (index_step(asking, find)) {
        struct index_message message;
        index_message_read(find, &message);
        index_item_begin(asking);
        index_message_begin(asking, &message);
        write_relation(chain, number);
        index_item_end(asking);
    }
    sqlite3_finalize(find);
}

static void write_array(struct parley_buffer *out, const char *name,
                        const struct parley_buffer *elements) {
    parley_buffer_format(out, ",\"%s\":[", name);
    parley_buffer_append(out, parley_buffer_bytes(elements));
    parley_buffer_char(out, ']');
    out->has_failed = out->has_failed || elements->has_failed;
}

static void write_chain(struct chain *chain) {
    struct parley_buffer members;
    parley_buffer_init(&members);
    for (size_t i = 0; i < chain->ledger.count; i++) {
        write_node(chain, i);
    }
    write_array(&members, "unresolved", &chain->unresolved.text);
    write_array(&members, "mismatched", &chain->mismatched.text);
    if (chain->candidate_count > 1) {
        parley_buffer_text(&members, ",\"ambiguous\":true");
        write_array(&members, "candidates", &chain->candidates);
    }
    parley_buffer_text(&members, chain->is_cut ? ",\"more\":true" : "");
    index_list_end_with(chain->asking, NULL, &members);
    parley_buffer_finish(&members);
}

/* May be called with the chain half made. */
static void finish(struct chain *chain) {
    parley_buffer_finish(&chain->candidates);
    parley_buffer_finish(&chain->unresolved.text);
    parley_buffer_finish(&chain->mismatched.text);
    parley_arena_finish(&chain->bearers.arena);
    parley_arena_finish(&chain->arena);
    ledger_finish(&chain->ledger);
    free(chain);
}

static bool is_running(const struct chain *chain) {
    return chain->asking->answered == INDEX_ANSWERED;
}

enum index_answered index_chain_write(struct index_asking *asking) {
    struct chain *chain = calloc(1, sizeof *chain);
    if (chain == NULL) {
        return INDEX_NO_MEMORY;
    }
    chain->asking = asking;
    chain->relations = parley_protocols[asking->question->protocol]->index->relations;
    parley_buffer_init(&chain->candidates);
    parley_buffer_init(&chain->unresolved.text);
    parley_buffer_init(&chain->mismatched.text);
    find_root(chain);
    for (size_t i = 0; i < chain->ledger.count && is_running(chain); i++) {
        expand(chain, i);
    }
    for (size_t i = 0; i < chain->ledger.count && is_running(chain); i++) {
        check_targets(chain, &chain->ledger.nodes[i]);
    }
    if (is_running(chain) && ledger_judge(&chain->ledger) != PARLEY_OK) {
        fail(chain);
    }
    if (is_running(chain)) {
        write_chain(chain);
    }
    finish(chain);
    return asking->answered;
}
