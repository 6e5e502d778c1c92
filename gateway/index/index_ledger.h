/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the messages of a chain are worth, from who corrects whom. Pure: it knows nothing of the
 * file. */

#include <parley/index.h>

#include "index_item.h"

enum { LEDGER_NODES_MAX = 1000, LEDGER_DEPTH_MAX = 64 };

enum ledger_state {
    LEDGER_UNDISPUTED, /* nothing is said of it */
    LEDGER_AUTHORITATIVE,
    LEDGER_SUPERSEDED,
    LEDGER_DISPUTED,
    LEDGER_STALE,
};

/* Owns: texts are borrowed. */
struct ledger_node {
    struct index_cursor at;
    unsigned type;
    struct parley_bytes id, thread, sender; /* data NULL: it has none */
    size_t parent;                          /* of all but the first, which is the root */
    unsigned relation;                      /* to the parent */
    size_t depth;                           /* 0: the root */
    bool is_ambiguous;                      /* several messages bear the id that it names */
    enum ledger_state state;
    size_t first_edge, edge_count; /* of what refers to it */
};

/* A node that supports or corrects another. */
struct ledger_edge {
    size_t child, parent;
    enum parley_index_effect effect;
};

/* Owns: ledger_finish frees the edges. */
struct ledger {
    struct ledger_node nodes[LEDGER_NODES_MAX]; /* a parent precedes its children */
    size_t count;
    struct ledger_edge *edges; /* those of a parent lie together */
    size_t edge_count, edge_capacity;
};

/* Whether `one` was stored before `other`. */
bool ledger_is_before(const struct index_cursor *one, const struct index_cursor *other);

/* Whether a correction of `wrong` by `right` counts: it was stored later, and is of the same sender
 * or thread. */
bool ledger_may_correct(const struct ledger_node *right, const struct ledger_node *wrong);

/* Of the messages that bear an id, the one that `from` means: of its thread, else its sender's,
 * else any; of several the newest that was stored before it, else the newest.  Returns: SIZE_MAX:
 * none but itself bears it. */
size_t ledger_choose(const struct ledger_node *from, const struct ledger_node *bearers,
                     size_t count);

/* Notes an edge below nodes[parent], whose edges are the last.  Returns: PARLEY_E_MEMORY. */
enum parley_status ledger_add_edge(struct ledger *ledger, size_t child, size_t parent,
                                   enum parley_index_effect effect) PARLEY_MUST_CHECK;

/* Says the state of each node. A correction counts if it was stored later than what it corrects,
 * and is of its sender or its thread: of those that end a chain of such corrections the newest is
 * authoritative; one of a stranger is disputed. What supports only messages that are superseded is
 * stale.  Returns: PARLEY_E_MEMORY. */
enum parley_status ledger_judge(struct ledger *ledger) PARLEY_MUST_CHECK;

void ledger_finish(struct ledger *ledger);
