/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The messages that bear an id, and those that refer to one: for views that ask which of several
 * messages with one id is meant. */

#include <parley/arena.h>

#include "index_asking.h"
#include "index_ledger.h"

enum { INDEX_BEARERS_MAX = 64 };

#define INDEX_BY_ID_SQL                                                                            \
    "SELECT " INDEX_COLUMNS " FROM messages m WHERE m.id_key=?1 "                                  \
    "ORDER BY m.stored DESC, m.pos DESC"
#define INDEX_BY_TARGET_SQL                                                                        \
    "SELECT " INDEX_COLUMNS ", o.target, o.relation FROM refs o CROSS JOIN messages m "            \
    "WHERE m.pos=o.pos AND o.target_key=?1 AND o.is_label=0 ORDER BY o.stored, o.pos"

/* The columns after those of a message. */
enum { INDEX_TARGET_COLUMN = INDEX_COLUMN_COUNT, INDEX_RELATION_COLUMN };

/* The messages of the question's protocol that bear an id, the newest first.
 * Owns: zeroed is empty; index_bearers_finish frees the texts. */
struct index_bearers {
    struct ledger_node items[INDEX_BEARERS_MAX];
    size_t count;
    struct parley_arena arena;
};

/* Of more than fit the oldest are left out, and asking->is_cut says so. */
void index_bearers_find(struct index_asking *asking, struct index_bearers *bearers,
                        struct parley_bytes id, int64_t key);
void index_bearers_finish(struct index_bearers *bearers);

/* Whether it is the one at `pos` that a message means by the id that they bear. */
bool index_bearers_is_meant(const struct index_bearers *bearers, const struct index_message *from,
                            int64_t pos);

/* Those that refer to the id, in the order of storage, each with its relation.  Owns: the caller
 * finalizes the statement; a message is borrowed until the next call. */
sqlite3_stmt *index_referrers_begin(struct index_asking *asking, int64_t key);
bool index_referrers_next(struct index_asking *asking, sqlite3_stmt *find, struct parley_bytes id,
                          struct index_message *out, unsigned *out_relation);

/* What a ledger asks of a message.  Owns: its texts are copied into the arena. */
struct ledger_node index_node_of(struct index_asking *asking, struct parley_arena *arena,
                                 const struct index_message *message);
struct parley_bytes index_text_copy(struct index_asking *asking, struct parley_arena *arena,
                                    struct parley_bytes text);
