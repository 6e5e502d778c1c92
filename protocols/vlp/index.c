/* SPDX-License-Identifier: Apache-2.0 */

/* What a VLP message says of itself, for an index. What `refers_to` means is said by the type:
 * evidence supports, a response answers, a correction corrects (Message Types, refers_to). */

#include "vlp.h"

#include <parley/index.h>

#include "json_index.h"

enum relation { SUPPORTS, ANSWERS, CORRECTS, REFERS, KEYWORD };

static const struct parley_index_relation relations[] = {
    [SUPPORTS] = {.name = "supports",
                  .target_types = PARLEY_TYPE_BIT(VLP_CLAIM),
                  .settles = true,
                  .effect = PARLEY_INDEX_SUPPORTS},
    [ANSWERS] = {.name = "answers", .target_types = PARLEY_TYPE_BIT(VLP_QUERY), .settles = true},
    [CORRECTS] = {.name = "corrects", .effect = PARLEY_INDEX_CORRECTS},
    [REFERS] = {.name = "refers", .is_label = false},
    [KEYWORD] = {.name = "keyword", .is_label = true},
    {.name = NULL, .is_label = false},
};

#define OTHER_TYPES                                                                                \
    (PARLEY_TYPE_BIT(VLP_CLAIM) | PARLEY_TYPE_BIT(VLP_QUERY) | PARLEY_TYPE_BIT(VLP_NOTICE) |       \
     PARLEY_TYPE_BIT(VLP_SESSION_CONTEXT))

static const struct json_index_row rows[] = {
    {NULL, "refers_to", SUPPORTS, PARLEY_TYPE_BIT(VLP_EVIDENCE)},
    {NULL, "refers_to", ANSWERS, PARLEY_TYPE_BIT(VLP_RESPONSE)},
    {NULL, "refers_to", CORRECTS, PARLEY_TYPE_BIT(VLP_CORRECTION)},
    {NULL, "refers_to", REFERS, OTHER_TYPES},
    {NULL, "keywords", KEYWORD, 0},
    {NULL, "confidence", JSON_INDEX_MEMBER, 0},
    {NULL, "content", JSON_INDEX_WORDS, 0},
    {NULL, NULL, 0, 0},
};

/* A query waits for a response, and a claim that names no source for evidence. */
static bool is_waiting(const struct parley_message *message) {
    const struct parley_value *provenance = &message->values[VLP_PROVENANCE];
    const bool has_source = provenance->kind == PARLEY_ARRAY && provenance->count > 0;
    return message->type == VLP_QUERY || (message->type == VLP_CLAIM && !has_source);
}

static enum parley_status read(struct parley_message *message, struct parley_index_entry *out) {
    out->is_waiting = is_waiting(message);
    return json_index_read(message, rows, out);
}

static const struct parley_index_sessions sessions = {.context = VLP_SESSION_CONTEXT,
                                                      .write_open = vlp_write_open};

const struct parley_index_kind vlp_index = {.relations = relations,
                                            .landmark_types = PARLEY_TYPE_BIT(VLP_SESSION_CONTEXT),
                                            .has_ledger = true,
                                            .has_words = true,
                                            .sessions = &sessions,
                                            .read = read};
