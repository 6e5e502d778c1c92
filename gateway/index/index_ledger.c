/* SPDX-License-Identifier: Apache-2.0 */

/* See index_ledger.h. A correction that counts is later than what it corrects, so that these edges
 * make no circle: one pass from the newest node to the oldest finds where each chain ends. */

#include "index_ledger.h"

#include <stdint.h>
#include <stdlib.h>

enum { EDGES_FIRST = 64 };

/* What is known of a node while it is judged. */
struct judgement {
    size_t end; /* of the newest chain of corrections from it; itself: nothing corrects it */
    bool is_corrected, is_correction, is_strange; /* counted, or of a stranger */
    size_t supported, supported_superseded;
};

bool ledger_is_before(const struct index_cursor *one, const struct index_cursor *other) {
    return one->stored != other->stored ? one->stored < other->stored : one->pos < other->pos;
}

static bool is_same_text(struct parley_bytes one, struct parley_bytes other) {
    return one.length > 0 && parley_bytes_equal(one, other);
}

static bool is_kin(const struct ledger_node *one, const struct ledger_node *other) {
    return is_same_text(one->sender, other->sender) || is_same_text(one->thread, other->thread);
}

bool ledger_may_correct(const struct ledger_node *right, const struct ledger_node *wrong) {
    return is_kin(right, wrong) && ledger_is_before(&wrong->at, &right->at);
}

/* How near it is to what names it. */
static int nearness(const struct ledger_node *from, const struct ledger_node *bearer) {
    enum { BEFORE = 1, SENDER = 2, THREAD = 4 };
    return (is_same_text(from->thread, bearer->thread)   ? THREAD
            : is_same_text(from->sender, bearer->sender) ? SENDER
                                                         : 0) |
           (ledger_is_before(&bearer->at, &from->at) ? BEFORE : 0);
}

size_t ledger_choose(const struct ledger_node *from, const struct ledger_node *bearers,
                     size_t count) {
    size_t chosen = SIZE_MAX;
    int best = -1;
    for (size_t i = 0; i < count; i++) {
        const int near = nearness(from, &bearers[i]);
        const bool is_nearer =
            near > best || (near == best && ledger_is_before(&bearers[chosen].at, &bearers[i].at));
        if (bearers[i].at.pos != from->at.pos && is_nearer) {
            chosen = i;
            best = near;
        }
    }
    return chosen;
}

enum parley_status ledger_add_edge(struct ledger *ledger, size_t child, size_t parent,
                                   enum parley_index_effect effect) {
    if (ledger->edge_count == ledger->edge_capacity) {
        const size_t capacity = ledger->edge_capacity > 0 ? 2 * ledger->edge_capacity : EDGES_FIRST;
        struct ledger_edge *edges = realloc(ledger->edges, capacity * sizeof *edges);
        if (edges == NULL) {
            return PARLEY_E_MEMORY;
        }
        ledger->edges = edges;
        ledger->edge_capacity = capacity;
    }
    if (ledger->nodes[parent].edge_count++ == 0) {
        ledger->nodes[parent].first_edge = ledger->edge_count;
    }
    ledger->edges[ledger->edge_count++] =
        (struct ledger_edge){.child = child, .parent = parent, .effect = effect};
    return PARLEY_OK;
}

/* ---- judging ---- */

static bool counts(const struct ledger *ledger, const struct ledger_edge *edge) {
    return edge->effect == PARLEY_INDEX_CORRECTS &&
           ledger_may_correct(&ledger->nodes[edge->child], &ledger->nodes[edge->parent]);
}

static void note_corrections(const struct ledger *ledger, struct judgement *of) {
    for (size_t i = 0; i < ledger->edge_count; i++) {
        const struct ledger_edge *edge = &ledger->edges[i];
        if (counts(ledger, edge)) {
            of[edge->parent].is_corrected = of[edge->child].is_correction = true;
        } else if (edge->effect == PARLEY_INDEX_CORRECTS &&
                   !is_kin(&ledger->nodes[edge->child], &ledger->nodes[edge->parent])) {
            of[edge->child].is_strange = true;
        }
    }
}

/* What corrects it was asked before. */
static void find_end(const struct ledger *ledger, struct judgement *of, size_t number) {
    const struct ledger_node *node = &ledger->nodes[number];
    size_t end = number;
    for (size_t i = 0; i < node->edge_count; i++) {
        const struct ledger_edge *edge = &ledger->edges[node->first_edge + i];
        const size_t other = of[edge->child].end;
        if (counts(ledger, edge) &&
            ledger_is_before(&ledger->nodes[end].at, &ledger->nodes[other].at)) {
            end = other;
        }
    }
    of[number].end = end;
}

struct turn {
    struct index_cursor at;
    size_t number;
};

static int compare_newest_first(const void *one, const void *other) {
    const struct turn *a = one, *b = other;
    return ledger_is_before(&a->at, &b->at) - ledger_is_before(&b->at, &a->at);
}

static enum parley_status find_ends(const struct ledger *ledger, struct judgement *of) {
    struct turn *turns = calloc(ledger->count, sizeof *turns);
    if (turns == NULL) {
        return PARLEY_E_MEMORY;
    }
    for (size_t i = 0; i < ledger->count; i++) {
        turns[i] = (struct turn){.at = ledger->nodes[i].at, .number = i};
    }
    qsort(turns, ledger->count, sizeof *turns, compare_newest_first);
    for (size_t i = 0; i < ledger->count; i++) {
        find_end(ledger, of, turns[i].number);
    }
    free(turns);
    return PARLEY_OK;
}

/* First all that takes part in corrections is superseded or disputed; then the ends of chains are
 * what the chains' first messages let them be. */
static void say_corrections(struct ledger *ledger, const struct judgement *of) {
    for (size_t i = 0; i < ledger->count; i++) {
        ledger->nodes[i].state = of[i].is_corrected || of[i].is_correction ? LEDGER_SUPERSEDED
                                 : of[i].is_strange                        ? LEDGER_DISPUTED
                                                                           : LEDGER_UNDISPUTED;
    }
    for (size_t i = 0; i < ledger->count; i++) {
        enum ledger_state *end = &ledger->nodes[of[i].end].state;
        if (of[i].is_corrected && !of[i].is_correction && *end != LEDGER_AUTHORITATIVE) {
            *end = of[i].is_strange ? LEDGER_DISPUTED : LEDGER_AUTHORITATIVE;
        }
    }
}

static void say_supports(struct ledger *ledger, struct judgement *of) {
    for (size_t i = 0; i < ledger->edge_count; i++) {
        const struct ledger_edge *edge = &ledger->edges[i];
        if (edge->effect == PARLEY_INDEX_SUPPORTS) {
            of[edge->child].supported++;
            of[edge->child].supported_superseded +=
                ledger->nodes[edge->parent].state == LEDGER_SUPERSEDED;
        }
    }
    for (size_t i = 0; i < ledger->count; i++) {
        struct ledger_node *node = &ledger->nodes[i];
        if (node->state == LEDGER_UNDISPUTED && of[i].supported > 0 &&
            of[i].supported == of[i].supported_superseded) {
            node->state = LEDGER_STALE;
        }
    }
}

enum parley_status ledger_judge(struct ledger *ledger) {
    if (ledger->count == 0) {
        return PARLEY_OK;
    }
    struct judgement *of = calloc(ledger->count, sizeof *of);
    if (of == NULL) {
        return PARLEY_E_MEMORY;
    }
    note_corrections(ledger, of);
    const enum parley_status status = find_ends(ledger, of);
    if (status == PARLEY_OK) {
        say_corrections(ledger, of);
        say_supports(ledger, of);
    }
    free(of);
    return status;
}

void ledger_finish(struct ledger *ledger) {
    free(ledger->edges);
}
