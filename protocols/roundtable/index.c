/* SPDX-License-Identifier: Apache-2.0 */

/* What a Round Table message says of itself, for an index. The correlationId of a request names the
 * task that it retries, that of any other message its own. */

#include "roundtable.h"

#include <parley/index.h>

#include "json_index.h"

enum relation { TASK, RETRIES };

static const struct parley_index_relation relations[] = {
    [TASK] = {.name = "task", .is_label = false},
    [RETRIES] = {.name = "retries", .is_label = false},
    {.name = NULL, .is_label = false},
};

#define REPLIES                                                                                    \
    (PARLEY_TYPE_BIT(ROUNDTABLE_CLAIMED) | PARLEY_TYPE_BIT(ROUNDTABLE_PROGRESS) |                  \
     PARLEY_TYPE_BIT(ROUNDTABLE_RESULT) | PARLEY_TYPE_BIT(ROUNDTABLE_FAILED))

static const struct json_index_row rows[] = {
    {NULL, "correlationId", RETRIES, PARLEY_TYPE_BIT(ROUNDTABLE_REQUEST)},
    {NULL, "correlationId", TASK, REPLIES},
    {NULL, "priority", JSON_INDEX_MEMBER, 0},
    {NULL, "ttl", JSON_INDEX_MEMBER, 0},
    {"payload", "task", JSON_INDEX_MEMBER, PARLEY_TYPE_BIT(ROUNDTABLE_REQUEST)},
    {"payload", "percent", JSON_INDEX_MEMBER, PARLEY_TYPE_BIT(ROUNDTABLE_PROGRESS)},
    {"payload", "message", JSON_INDEX_MEMBER, REPLIES},
    {"payload", "status", JSON_INDEX_MEMBER, 0},
    {"payload", "error", JSON_INDEX_MEMBER, PARLEY_TYPE_BIT(ROUNDTABLE_FAILED)},
    {"payload", "retryable", JSON_INDEX_MEMBER, PARLEY_TYPE_BIT(ROUNDTABLE_FAILED)},
    {"payload", "result", JSON_INDEX_CONTENT, PARLEY_TYPE_BIT(ROUNDTABLE_RESULT)},
    {NULL, NULL, 0, 0},
};

static enum parley_status read(struct parley_message *message, struct parley_index_entry *out) {
    return json_index_read(message, rows, out);
}

const struct parley_index_kind roundtable_index = {
    .relations = relations,
    .passing_types = PARLEY_TYPE_BIT(ROUNDTABLE_HEARTBEAT),
    .has_words = true,
    .read = read,
};
