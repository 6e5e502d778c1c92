/* SPDX-License-Identifier: Apache-2.0 */

/* The view chain: the ledger of a message, which is all that supports, answers, corrects or names
 * it, and what does so with these. A chain has at most 1,000 messages and 64 steps, and each
 * message once, so that circles end. */

#include "index_messages.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <parley/arena.h>

#include "index_bearers.h"

enum { NOTES_MAX = 100 };

enum { BY_ID, BY_TARGET, TARGETS_OF, MESSAGE_AT };

const char *const index_chain_statements[] = {
    [BY_ID] = INDEX_BY_ID_SQL,
    [BY_TARGET] = INDEX_BY_TARGET_SQL,
    [TARGETS_OF] = "SELECT target, target_key, relation FROM refs WHERE pos=?1 AND is_label=0",
    [MESSAGE_AT] = "SELECT " INDEX_COLUMNS " FROM messages m WHERE m.pos=?1",
    NULL,
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
    struct index_bearers bearers;
    struct parley_buffer candidates; /* of the root: a JSON array's elements */
    size_t candidate_count;
    struct notes unresolved, mismatched;
};

static void fail(struct chain *chain) {
    chain->asking->answered = INDEX_NO_MEMORY;
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
    root->id = index_text_copy(chain->asking, &chain->arena, bearer->id);
    root->thread = index_text_copy(chain->asking, &chain->arena, bearer->thread);
    root->sender = index_text_copy(chain->asking, &chain->arena, bearer->sender);
}

static void find_root(struct chain *chain) {
    const char *wanted = chain->asking->question->values[INDEX_ID];
    char room[INDEX_DIGEST_SIZE];
    const struct parley_bytes id = index_short_text(parley_bytes_of(wanted), room);
    index_bearers_find(chain->asking, &chain->bearers, id, index_key(chain->asking->secret, id));
    for (size_t i = 0; i < chain->bearers.count; i++) {
        const struct ledger_node *bearer = &chain->bearers.items[i];
        if (!is_wanted(chain, bearer)) {
            continue;
        }
        if (chain->candidate_count == 0) {
            keep_root(chain, bearer);
        }
        parley_buffer_text(&chain->candidates, chain->candidate_count++ > 0 ? "," : "");
        index_place_write(chain->asking, &chain->candidates, bearer->at.pos);
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
        chain->asking->is_cut = true;
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

static void take(struct chain *chain, size_t parent, const struct index_message *message,
                 unsigned relation) {
    const enum parley_index_effect effect = chain->relations[relation].effect;
    const size_t number = find_node(chain, message->at.pos);
    if (!index_bearers_is_meant(&chain->bearers, message, chain->ledger.nodes[parent].at.pos)) {
        return;
    }
    if (number == chain->ledger.count) {
        const struct ledger_node node = index_node_of(chain->asking, &chain->arena, message);
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
    index_bearers_find(chain->asking, &chain->bearers, id, key);
    sqlite3_stmt *find = index_referrers_begin(chain->asking, key);
    struct index_message message;
    unsigned relation;
    while (index_referrers_next(chain->asking, find, id, &message, &relation)) {
        take(chain, number, &message, relation);
    }
    sqlite3_finalize(find);
}

/* ---- references that lead nowhere ---- */

static bool begin_note(struct chain *chain, struct notes *notes, const struct ledger_node *node,
                       const char *relation, struct parley_bytes id) {
    if (notes->count == NOTES_MAX) {
        chain->asking->is_cut = true;
        return false;
    }
    parley_buffer_text(&notes->text, notes->count++ > 0 ? ",{\"of\":" : "{\"of\":");
    index_place_write(chain->asking, &notes->text, node->at.pos);
    parley_buffer_format(&notes->text, ",\"relation\":\"%s\",\"id\":", relation);
    parley_buffer_json(&notes->text, id);
    return true;
}

static void check_target(struct chain *chain, const struct ledger_node *node,
                         struct parley_bytes target, const struct parley_index_relation *relation) {
    const struct parley_protocol *protocol = parley_protocols[chain->asking->question->protocol];
    const struct index_bearers *bearers = &chain->bearers;
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
    while (index_step(chain->asking, find) && index_may_read(chain->asking)) {
        const struct parley_bytes target = index_column_text(find, 0);
        index_bearers_find(chain->asking, &chain->bearers, target, sqlite3_column_int64(find, 1));
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
        index_place_write(chain->asking, out, chain->ledger.nodes[node->parent].at.pos);
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
    parley_buffer_text(&members, chain->asking->is_cut ? ",\"more\":true" : "");
    index_list_end_with(chain->asking, NULL, &members);
    parley_buffer_finish(&members);
}

/* May be called with the chain half made. */
static void finish(struct chain *chain) {
    parley_buffer_finish(&chain->candidates);
    parley_buffer_finish(&chain->unresolved.text);
    parley_buffer_finish(&chain->mismatched.text);
    index_bearers_finish(&chain->bearers);
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
