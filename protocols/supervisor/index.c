/* SPDX-License-Identifier: Apache-2.0 */

/* What a supervisor message says of itself, for an index: which checkpoint it is about, and how an
 * evolution went. */

#include "supervisor.h"

#include <parley/index.h>

#include "json_index.h"

enum relation { CHECKPOINT, BACKUP };

static const struct parley_index_relation relations[] = {
    [CHECKPOINT] = {.name = "checkpoint", .target_types = PARLEY_TYPE_BIT(SUPERVISOR_CHECKPOINT)},
    [BACKUP] = {.name = "backup", .target_types = PARLEY_TYPE_BIT(SUPERVISOR_CHECKPOINT)},
    {.name = NULL, .is_label = false},
};

#define ABOUT_CHECKPOINT                                                                           \
    (PARLEY_TYPE_BIT(SUPERVISOR_CHECKPOINT_ACK) | PARLEY_TYPE_BIT(SUPERVISOR_RESTORE))
#define HAS_REASON                                                                                 \
    (PARLEY_TYPE_BIT(SUPERVISOR_EVOLUTION_RESULT) | PARLEY_TYPE_BIT(SUPERVISOR_SHUTDOWN))

static const struct json_index_row rows[] = {
    {NULL, "checkpoint_id", CHECKPOINT, ABOUT_CHECKPOINT},
    {NULL, "backup_checkpoint_id", BACKUP, PARLEY_TYPE_BIT(SUPERVISOR_HOT_RELOAD)},
    {NULL, "module", JSON_INDEX_MEMBER, PARLEY_TYPE_BIT(SUPERVISOR_HOT_RELOAD)},
    {NULL, "success", JSON_INDEX_MEMBER, PARLEY_TYPE_BIT(SUPERVISOR_EVOLUTION_RESULT)},
    {NULL, "decision", JSON_INDEX_MEMBER, PARLEY_TYPE_BIT(SUPERVISOR_EVOLUTION_RESULT)},
    {NULL, "reason", JSON_INDEX_MEMBER, HAS_REASON},
    {"hypothesis", "target", JSON_INDEX_MEMBER, PARLEY_TYPE_BIT(SUPERVISOR_EVOLUTION_INTENT)},
    {"hypothesis", "reason", JSON_INDEX_MEMBER, PARLEY_TYPE_BIT(SUPERVISOR_EVOLUTION_INTENT)},
    {"data", "operation", JSON_INDEX_MEMBER, PARLEY_TYPE_BIT(SUPERVISOR_WAL_ENTRY)},
    {"data", "sequence", JSON_INDEX_MEMBER, PARLEY_TYPE_BIT(SUPERVISOR_WAL_ENTRY)},
    {"error", "code", JSON_INDEX_MEMBER, PARLEY_TYPE_BIT(SUPERVISOR_ERROR)},
    {"error", "message", JSON_INDEX_MEMBER, PARLEY_TYPE_BIT(SUPERVISOR_ERROR)},
    {NULL, NULL, 0, 0},
};

static enum parley_status read(struct parley_message *message, struct parley_index_entry *out) {
    return json_index_read(message, rows, out);
}

/* Source: schema, Evolution Intent, Evolution Result, Hot Reload;
 * docs/protocols/supervisor.md#history
 */
static const struct parley_index_evolutions evolutions = {.intent = SUPERVISOR_EVOLUTION_INTENT,
                                                          .result = SUPERVISOR_EVOLUTION_RESULT,
                                                          .reload = SUPERVISOR_HOT_RELOAD,
                                                          .decision = "decision",
                                                          .promoted = "promoted",
                                                          .backup = BACKUP};

const struct parley_index_kind supervisor_index = {
    .relations = relations,
    .passing_types = PARLEY_TYPE_BIT(SUPERVISOR_HEARTBEAT) | PARLEY_TYPE_BIT(SUPERVISOR_METRICS),
    .landmark_types = PARLEY_TYPE_BIT(SUPERVISOR_EVOLUTION_INTENT) |
                      PARLEY_TYPE_BIT(SUPERVISOR_EVOLUTION_RESULT) |
                      PARLEY_TYPE_BIT(SUPERVISOR_HOT_RELOAD),
    .evolutions = &evolutions,
    .read = read,
};
