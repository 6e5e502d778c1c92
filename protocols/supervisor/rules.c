/* SPDX-License-Identifier: Apache-2.0 */

/* The rules of the supervisor IPC. docs/protocols/supervisor.md says how they follow from the
 * protocol's document, which comments call "schema" as it does. The parts of a checkpoint and of a
 * WAL entry occur in several messages, so those places are macros over the path to the part and the
 * types that have it. */

#include "supervisor.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define FOR(type) PARLEY_TYPE_BIT(SUPERVISOR_##type)

/* "When buffer reaches 100 entries" (schema, WAL Batch). */
#define WAL_BATCH_ENTRIES 100

/* ---- rules over several members ---- */

static bool names_a_side(const struct parley_options *options) {
    return options->values[SUPERVISOR_FROM].text != NULL;
}

static bool is_sent_by_other_side(const struct parley_captures *captures) {
    const unsigned sides = supervisor_sides(captures->type);
    const unsigned side =
        supervisor_side_of(parley_bytes_of(captures->options->values[SUPERVISOR_FROM].text));
    return sides != 0 && (sides & side) == 0;
}

/* Parley alone writes pointers, and a message that has one says so in a header (ADR 31). */
static bool is_without_object(const struct parley_options *options) {
    return !options->has_object;
}

static bool may_have_object(const struct parley_options *options) {
    return options->has_object;
}

#define IS_COMPRESSED                                                                              \
    { .field = SUPERVISOR_COMPRESSED, .asks = PARLEY_IS_TRUE }

/* Additions of version 2 ("metadata and compression support": schema, Versioning). */
static bool is_of_version_2(const struct parley_captures *captures) {
    const struct parley_value *version = &captures->values[SUPERVISOR_VERSION];
    const bool has_new_members = captures->values[SUPERVISOR_METADATA].kind != PARLEY_ABSENT ||
                                 captures->values[SUPERVISOR_COMPRESSED].kind != PARLEY_ABSENT;
    return version->kind == PARLEY_NUMBER && version->number == 1 && has_new_members;
}

static bool has_many_entries(const struct parley_captures *captures) {
    const struct parley_value *data = &captures->values[SUPERVISOR_DATA];
    return data->kind == PARLEY_ARRAY && data->count > WAL_BATCH_ENTRIES;
}

/* Two percentiles that are both there, and the lower of them is the larger. */
static bool falls(const struct parley_captures *captures, enum supervisor_field lower,
                  enum supervisor_field upper) {
    const struct parley_value *a = &captures->values[lower], *b = &captures->values[upper];
    return a->kind == PARLEY_NUMBER && b->kind == PARLEY_NUMBER && a->number > b->number;
}

static bool p95_is_below_p50(const struct parley_captures *captures) {
    return falls(captures, SUPERVISOR_P50_LATENCY, SUPERVISOR_P95_LATENCY);
}

/* If there is no p95 between them, the 50th percentile is compared. */
static bool p99_is_below_the_others(const struct parley_captures *captures) {
    const bool has_p95 = captures->values[SUPERVISOR_P95_LATENCY].kind == PARLEY_NUMBER;
    return falls(captures, has_p95 ? SUPERVISOR_P95_LATENCY : SUPERVISOR_P50_LATENCY,
                 SUPERVISOR_P99_LATENCY);
}

static bool contradicts_itself(const struct parley_captures *captures) {
    const struct parley_value *success = &captures->values[SUPERVISOR_SUCCESS];
    const struct parley_value *decision = &captures->values[SUPERVISOR_DECISION];
    return success->kind == PARLEY_BOOLEAN &&
           parley_value_is(decision, success->number != 0 ? "rejected" : "promoted");
}

/* ---- places that occur in several messages ---- */

/* A number of 0 or more without a fraction, and one from 0 to 1. */
#define COUNT .kinds = PARLEY_INTEGER, .constraint = PARLEY_MINIMUM, .minimum = 0
#define SHARE .kinds = PARLEY_NUMBER, .constraint = PARLEY_RANGE, .minimum = 0, .maximum = 1

#define AGENT_STATE(at, types)                                                                     \
    {.path = at "/agent_state",                                                                    \
     .kinds = PARLEY_OBJECT,                                                                       \
     .for_types = (types),                                                                         \
     .hint = "Make `agent_state` a map, or leave it out."},                                        \
        {.path = at "/agent_state/id", .kinds = PARLEY_STRING, .for_types = (types)},              \
        {.path = at "/agent_state/name", .kinds = PARLEY_STRING, .for_types = (types)},            \
        {.path = at "/agent_state/version", .kinds = PARLEY_STRING, .for_types = (types)}, {       \
        .path = at "/agent_state/status", .kinds = PARLEY_STRING, .constraint = PARLEY_ONE_OF,     \
        .choices = LIST("idle", "thinking", "acting", "evolving"), .for_types = (types),           \
        .hint =                                                                                    \
            "Set `status` to \"idle\", \"thinking\", \"acting\" or \"evolving\", or leave it out." \
    }

#define MEMORY_BLOCKS(at, types)                                                                   \
    {.path = at "/memory_blocks",                                                                  \
     .kinds = PARLEY_ARRAY,                                                                        \
     .for_types = (types),                                                                         \
     .hint = "Make `memory_blocks` an array of maps, or leave it out."},                           \
        {.path = at "/memory_blocks/*",                                                            \
         .kinds = PARLEY_OBJECT,                                                                   \
         .for_types = (types),                                                                     \
         .hint = "Write each memory block as a map: {\"id\": \"…\", \"text\": \"…\"}."},           \
        {.path = at "/memory_blocks/*/id",                                                         \
         .kinds = PARLEY_STRING,                                                                   \
         .is_required = true,                                                                      \
         .for_types = (types),                                                                     \
         .hint = "Give each memory block an `id`: a string."},                                     \
        {.path = at "/memory_blocks/*/text",                                                       \
         .kinds = PARLEY_STRING,                                                                   \
         .is_required = true,                                                                      \
         .for_types = (types),                                                                     \
         .hint = "Give each memory block its `text`: a string."},                                  \
        {.path = at "/memory_blocks/*/embedding", .kinds = PARLEY_ARRAY, .for_types = (types)},    \
        {.path = at "/memory_blocks/*/embedding/*", .kinds = PARLEY_NUMBER, .for_types = (types)}, \
        {.path = at "/memory_blocks/*/metadata", .kinds = PARLEY_OBJECT, .for_types = (types)},    \
        {.path = at "/memory_blocks/*/importance", SHARE, .for_types = (types)},                   \
        {.path = at "/memory_blocks/*/access_count", COUNT, .for_types = (types)}, {               \
        .path = at "/memory_blocks/*/created", COUNT, .for_types = (types)                         \
    }

#define TOOL_REGISTRY(at, types)                                                                   \
    {.path = at "/tool_registry",                                                                  \
     .kinds = PARLEY_OBJECT,                                                                       \
     .for_types = (types),                                                                         \
     .hint = "Make `tool_registry` a map: {\"tools\": […]}, or leave it out."},                    \
        {.path = at "/tool_registry/tools",                                                        \
         .kinds = PARLEY_ARRAY,                                                                    \
         .for_types = (types),                                                                     \
         .hint = "Make `tools` an array of maps, or leave it out."},                               \
        {.path = at "/tool_registry/tools/*",                                                      \
         .kinds = PARLEY_OBJECT,                                                                   \
         .for_types = (types),                                                                     \
         .hint = "Write each tool as a map: {\"name\": \"…\"}."},                                  \
        {.path = at "/tool_registry/tools/*/name",                                                 \
         .kinds = PARLEY_STRING,                                                                   \
         .is_required = true,                                                                      \
         .for_types = (types),                                                                     \
         .hint = "Give each tool a `name`: a string."},                                            \
        {.path = at "/tool_registry/tools/*/params",                                               \
         .kinds = PARLEY_ARRAY,                                                                    \
         .for_types = (types),                                                                     \
         .hint = "List a tool's parameters by their names: an array of strings."},                 \
        {.path = at "/tool_registry/tools/*/params/*",                                             \
         .kinds = PARLEY_STRING,                                                                   \
         .for_types = (types),                                                                     \
         .hint = "List a tool's parameters by their names: an array of strings."},                 \
        {.path = at "/tool_registry/tools/*/doc", .kinds = PARLEY_STRING, .for_types = (types)}, { \
        .path = at "/tool_registry/tools/*/unsafe", .kinds = PARLEY_BOOLEAN, .for_types = (types)  \
    }

#define CONVERSATION_HISTORY(at, types)                                                            \
    {.path = at "/conversation_history",                                                           \
     .kinds = PARLEY_ARRAY,                                                                        \
     .for_types = (types),                                                                         \
     .hint = "Make `conversation_history` an array of maps, or leave it out."},                    \
        {.path = at "/conversation_history/*", .kinds = PARLEY_OBJECT, .for_types = (types)},      \
        {.path = at "/conversation_history/*/role",                                                \
         .kinds = PARLEY_STRING,                                                                   \
         .is_required = true,                                                                      \
         .constraint = PARLEY_ONE_OF,                                                              \
         .choices = LIST("user", "assistant"),                                                     \
         .for_types = (types)},                                                                    \
        {.path = at "/conversation_history/*/content",                                             \
         .kinds = PARLEY_STRING,                                                                   \
         .is_required = true,                                                                      \
         .for_types = (types)},                                                                    \
    {                                                                                              \
        .path = at "/conversation_history/*/timestamp", .kinds = PARLEY_INTEGER,                   \
        .is_required = true, .for_types = (types)                                                  \
    }

/* A map of numbers that may be left out. */
#define MAP_OF_NUMBERS(at, types)                                                                  \
    {.path = (at), .kinds = PARLEY_OBJECT, .for_types = (types)}, {                                \
        .path = at "/*", .kinds = PARLEY_NUMBER, .for_types = (types)                              \
    }

#define OPERATION(at, types)                                                                       \
    {                                                                                              \
        .path = at "/operation", .kinds = PARLEY_STRING, .is_required = true,                      \
        .constraint = PARLEY_ONE_OF,                                                               \
        .choices = LIST("memory_add", "tool_register", "state_update"), .for_types = (types)       \
    }

#define PARAMS(at, types)                                                                          \
    { .path = at "/params", .kinds = PARLEY_OBJECT, .is_required = true, .for_types = (types) }

#define SEQUENCE(at, types)                                                                        \
    { .path = at "/sequence", COUNT, .is_required = true, .for_types = (types) }
#define LOGGED(at, types)                                                                          \
    { .path = at "/sequence", .for_types = (types) }

/* ---- the table ---- */

const struct parley_rule supervisor_rules[SUPERVISOR_RULE_COUNT] = {
    {
        .id = "IPC-001",
        .severity = PARLEY_ERROR,
        .summary = "`type` is a string",
        .source = "docs/protocols/supervisor.md#base",
        .hint = "Set `type` to the type of the message, such as \"heartbeat\".",
        PARLEY_PLACES({.path = "/type", .kinds = PARLEY_STRING, .is_required = true}),
    },
    {
        .id = "IPC-002",
        .severity = PARLEY_ERROR,
        .summary = "`timestamp` is an integer of 0 or more: Unix time in seconds",
        .source = "docs/protocols/supervisor.md#base",
        .hint =
            "Set `timestamp` to the Unix time in whole seconds, such as 1705392000. Or leave it "
            "out and let parley fill it in: `stamp=true` or `--stamp`.",
        PARLEY_PLACES({.path = "/timestamp", COUNT, .is_required = true}),
    },
    {
        .id = "IPC-003",
        .severity = PARLEY_ERROR,
        .summary = "`type` is heartbeat, checkpoint, wal_entry, wal_batch, evolution_intent, "
                   "metrics, checkpoint_ack, restore, hot_reload, evolution_result, "
                   "process_request, shutdown or error (case-sensitive)",
        .source = "docs/protocols/supervisor.md#base",
        .hint = "Set `type` to one of the types of this protocol, in lower case.",
        PARLEY_PLACES({.path = "/type",
                       .kinds = PARLEY_STRING,
                       .constraint = PARLEY_ONE_OF,
                       .choices = supervisor_types}),
    },
    {
        .id = "IPC-004",
        .severity = PARLEY_ERROR,
        .summary = "if the request names the sending side (`from=gerbil`, `from=elixir`), `type` "
                   "is one that this side sends",
        .source = "docs/protocols/supervisor.md#base",
        .hint = "Send this type from the other side, or set the request's `from` (`--from`) to the "
                "side "
                "that sends it.",
        PARLEY_PLACES({.path = "/type",
                       .is_asked = names_a_side,
                       .is_broken = is_sent_by_other_side,
                       .message = "the side that `from` names does not send messages of this "
                                  "type"}),
    },
    {
        .id = "IPC-005",
        .severity = PARLEY_ERROR,
        .summary = "`version`, if any, is 1 or 2",
        .source = "docs/protocols/supervisor.md#version",
        .hint = "Set `version` to 1 or 2, or leave it out.",
        PARLEY_PLACES({.path = "/version",
                       .kinds = PARLEY_INTEGER,
                       .constraint = PARLEY_RANGE,
                       .minimum = 1,
                       .maximum = 2}),
    },
    {
        .id = "IPC-006",
        .severity = PARLEY_ERROR,
        .summary = "`metadata`, if any, is a map",
        .source = "docs/protocols/supervisor.md#base",
        .hint = "Make `metadata` a map, or leave it out.",
        PARLEY_PLACES({.path = "/metadata", .kinds = PARLEY_OBJECT}),
    },
    [SUPERVISOR_IPC_007] =
        {
            .id = "IPC-007",
            .severity = PARLEY_ERROR,
            .summary =
                "the MessagePack payload is within the limit for its type: heartbeat 100 bytes, "
                "wal_entry and metrics 10 KiB, evolution_intent 1 MiB, checkpoint 100 MiB; other "
                "types have none. JSON is measured in its shortest MessagePack form",
            .source = "docs/protocols/supervisor.md#sizes",
            .hint = "Send less: leave out what the receiver does not need, or split it into "
                    "several messages.",
            PARLEY_PLACES({.path = "", .by_inspection = true}),
        },
    {
        .id = "IPC-010",
        .severity = PARLEY_ERROR,
        .summary = "the `data` of a checkpoint is a map or, if `compressed` is true, a string",
        .source = "docs/protocols/supervisor.md#checkpoint",
        PARLEY_PLACES(
            {.path = "/data",
             .kinds = PARLEY_OBJECT | PARLEY_STRING,
             .is_required = true,
             .for_types = FOR(CHECKPOINT),
             .hint = "Put the agent's state into `data`: a map, or a string if it is compressed "
                     "and `compressed` is true."},
            {.path = "/data",
             .for_types = FOR(CHECKPOINT),
             .when = PARLEY_TESTS(
                 {.field = SUPERVISOR_DATA, .asks = PARLEY_IS_THERE, .kinds = PARLEY_STRING}),
             .wants = PARLEY_TESTS(IS_COMPRESSED),
             .message = "`data` is a string, but `compressed` is not true",
             .hint = "Make `data` a map, or, if it is compressed, set `compressed` to true."},
            {.path = "/data",
             .for_types = FOR(CHECKPOINT),
             .when = PARLEY_TESTS(IS_COMPRESSED, {.field = SUPERVISOR_DATA,
                                                  .asks = PARLEY_IS_THERE,
                                                  .kinds = PARLEY_OBJECT | PARLEY_STRING}),
             .wants = PARLEY_TESTS(
                 {.field = SUPERVISOR_DATA, .asks = PARLEY_IS_THERE, .kinds = PARLEY_STRING},
                 {.field = SUPERVISOR_OBJECT, .asks = PARLEY_IS_THERE, .kinds = PARLEY_STRING}),
             .message = "`compressed` is true, but `data` is a map",
             .hint = "Leave `compressed` out, or compress `data` into a string."}),
    },
    {
        .id = "IPC-011",
        .severity = PARLEY_ERROR,
        .summary = "the `agent_state` of a checkpoint is a map; its `id`, `name` and `version` are "
                   "strings, its `status` is idle, thinking, acting or evolving",
        .source = "docs/protocols/supervisor.md#checkpoint",
        .hint = "Make this member of `agent_state` a string, or leave it out.",
        PARLEY_PLACES(AGENT_STATE("/data", FOR(CHECKPOINT)),
                      AGENT_STATE("/snapshot", FOR(RESTORE))),
    },
    {
        .id = "IPC-012",
        .severity = PARLEY_ERROR,
        .summary = "the `memory_blocks` of a checkpoint are an array of maps with strings `id` and "
                   "`text`; `embedding` is an array of numbers, `metadata` a map, `importance` a "
                   "number from 0 to 1, `access_count` and `created` are integers of 0 or more",
        .source = "docs/protocols/supervisor.md#checkpoint",
        .hint = "Give this member of the memory block a value of the right type, or leave it out.",
        PARLEY_PLACES(MEMORY_BLOCKS("/data", FOR(CHECKPOINT)),
                      MEMORY_BLOCKS("/snapshot", FOR(RESTORE))),
    },
    {
        .id = "IPC-013",
        .severity = PARLEY_ERROR,
        .summary = "the `tool_registry` of a checkpoint is a map; its `tools` are an array of maps "
                   "with a string `name`; `params` is an array of strings, `doc` a string, "
                   "`unsafe` a boolean",
        .source = "docs/protocols/supervisor.md#checkpoint",
        .hint = "Give this member of the tool a value of the right type, or leave it out.",
        PARLEY_PLACES(TOOL_REGISTRY("/data", FOR(CHECKPOINT)),
                      TOOL_REGISTRY("/snapshot", FOR(RESTORE))),
    },
    {
        .id = "IPC-014",
        .severity = PARLEY_ERROR,
        .summary = "the `conversation_history` of a checkpoint is an array of maps with a `role` "
                   "of user or assistant, a string `content` and an integer `timestamp`",
        .source = "docs/protocols/supervisor.md#checkpoint",
        .hint = "Write each turn as {\"role\": \"user\", \"content\": \"…\", \"timestamp\": "
                "1234567890}, with the role \"user\" or \"assistant\".",
        PARLEY_PLACES(CONVERSATION_HISTORY("/data", FOR(CHECKPOINT)),
                      CONVERSATION_HISTORY("/snapshot", FOR(RESTORE))),
    },
    {
        .id = "IPC-015",
        .severity = PARLEY_ERROR,
        .summary = "the `metrics` of a checkpoint are a map of numbers",
        .source = "docs/protocols/supervisor.md#checkpoint",
        .hint = "Make `metrics` a map whose values are all numbers, or leave it out.",
        PARLEY_PLACES(MAP_OF_NUMBERS("/data/metrics", FOR(CHECKPOINT)),
                      MAP_OF_NUMBERS("/snapshot/metrics", FOR(RESTORE))),
    },
    [SUPERVISOR_IPC_016] =
        {
            .id = "IPC-016",
            .severity = PARLEY_ERROR,
            .summary = "the `compressed` of a checkpoint is a boolean; if it is true, "
                       "`compression` is `zstd` and `data` is base64 (RFC 4648, with padding) that "
                       "decompresses to one MessagePack map or JSON object of at most 100 MiB, "
                       "which is checked like plain checkpoint data",
            .source = "docs/protocols/supervisor.md#compression",
            .hint = "Encode the checkpoint's data, a map, as MessagePack or JSON, compress it with "
                    "zstd, and write it as base64 into `data`.",
            PARLEY_PLACES(
                {.path = "/compressed",
                 .kinds = PARLEY_BOOLEAN,
                 .for_types = FOR(CHECKPOINT),
                 .hint = "Set `compressed` to true or false, or leave it out."},
                {.path = "/compression",
                 .for_types = FOR(CHECKPOINT),
                 .when = PARLEY_TESTS(IS_COMPRESSED),
                 .wants = PARLEY_TESTS(
                     {.field = SUPERVISOR_COMPRESSION, .asks = PARLEY_IS_TEXT, .text = "zstd"}),
                 .suggested = "\"zstd\"",
                 .message = "`compressed` is true, but `compression` is not \"zstd\"",
                 .hint = "Compress with zstd, and set `compression` to \"zstd\"."},
                {.path = "/data", .for_types = FOR(CHECKPOINT), .by_inspection = true}),
        },
    {
        .id = "IPC-017",
        .severity = PARLEY_ERROR,
        .summary = "the `data` of a checkpoint has no member `$object`: parley writes it into the "
                   "messages whose `data` it keeps in an object store, and nobody else does. In a "
                   "message that parley has stored it names an object, and only the object's "
                   "`size` and `digest` are beside it",
        .source = "docs/protocols/supervisor.md#objects",
        .hint = "Read the message again as parley has stored it.",
        PARLEY_PLACES(
            {.path = "/data/$object",
             .for_types = FOR(CHECKPOINT),
             .is_asked = is_without_object,
             .is_broken = supervisor_is_pointer,
             .message = "only parley writes `$object`",
             .hint =
                 "Send the checkpoint's data itself, or rename the member. What parley has stored "
                 "is checked with `--stored`."},
            {.path = "/data/$object",
             .for_types = FOR(CHECKPOINT),
             .is_asked = may_have_object,
             .is_broken = supervisor_pointer_lacks_name,
             .message = "`$object` names no object: an agent or `_`, a slash and a UUID"},
            {.path = "/data/size",
             .for_types = FOR(CHECKPOINT),
             .is_asked = may_have_object,
             .is_broken = supervisor_pointer_lacks_size,
             .message = "the `size` beside `$object` is not an integer of 1 or more"},
            {.path = "/data/digest",
             .for_types = FOR(CHECKPOINT),
             .is_asked = may_have_object,
             .is_broken = supervisor_pointer_lacks_digest,
             .message = "the `digest` beside `$object` is not SHA-256= and 32 bytes in padded "
                        "base64url"},
            {.path = "/data",
             .for_types = FOR(CHECKPOINT),
             .is_asked = may_have_object,
             .is_broken = supervisor_pointer_has_more,
             .message = "there is more beside `$object` than `size` and `digest`"}),
    },
    {
        .id = "IPC-020",
        .severity = PARLEY_ERROR,
        .summary = "the `data` of a wal_entry is a map",
        .source = "docs/protocols/supervisor.md#wal",
        .hint =
            "Put the entry into `data`: {\"operation\": \"…\", \"params\": {}, \"sequence\": 1}.",
        PARLEY_PLACES({.path = "/data",
                       .kinds = PARLEY_OBJECT,
                       .is_required = true,
                       .for_types = FOR(WAL_ENTRY)}),
    },
    {
        .id = "IPC-021",
        .severity = PARLEY_ERROR,
        .summary = "the `operation` of an entry is memory_add, tool_register or state_update",
        .source = "docs/protocols/supervisor.md#wal",
        .hint = "Set `operation` to \"memory_add\", \"tool_register\" or \"state_update\".",
        PARLEY_PLACES(OPERATION("/data", FOR(WAL_ENTRY)), OPERATION("/data/*", FOR(WAL_BATCH)),
                      OPERATION("/wal_entries/*", FOR(RESTORE))),
    },
    {
        .id = "IPC-022",
        .severity = PARLEY_ERROR,
        .summary = "the `params` of an entry are a map",
        .source = "docs/protocols/supervisor.md#wal",
        .hint = "Put the parameters of the operation into `params`: a map, {} if there are none.",
        PARLEY_PLACES(PARAMS("/data", FOR(WAL_ENTRY)), PARAMS("/data/*", FOR(WAL_BATCH)),
                      PARAMS("/wal_entries/*", FOR(RESTORE))),
    },
    {
        .id = "IPC-023",
        .severity = PARLEY_ERROR,
        .summary = "the `sequence` of an entry is an integer of 0 or more",
        .source = "docs/protocols/supervisor.md#wal",
        .hint = "Set `sequence` to the number of the entry: an integer of 0 or more.",
        PARLEY_PLACES(SEQUENCE("/data", FOR(WAL_ENTRY)), SEQUENCE("/data/*", FOR(WAL_BATCH)),
                      SEQUENCE("/wal_entries/*", FOR(RESTORE))),
    },
    {
        .id = "IPC-024",
        .severity = PARLEY_ERROR,
        .summary = "the `data` of a wal_batch is an array of maps that is not empty",
        .source = "docs/protocols/supervisor.md#wal",
        PARLEY_PLACES({.path = "/data",
                       .kinds = PARLEY_ARRAY,
                       .is_required = true,
                       .constraint = PARLEY_MIN_ITEMS,
                       .minimum = 1,
                       .for_types = FOR(WAL_BATCH),
                       .hint = "List the entries in `data`: an array of at least one."},
                      {.path = "/data/*",
                       .kinds = PARLEY_OBJECT,
                       .for_types = FOR(WAL_BATCH),
                       .hint = "Write each entry as a map: {\"operation\": \"…\", \"params\": {}, "
                               "\"sequence\": 1}."}),
    },
    {
        .id = "IPC-025",
        .severity = PARLEY_ERROR,
        .summary = "the sequences of a wal_batch strictly increase",
        .source = "docs/protocols/supervisor.md#wal",
        .hint = "Sort the entries by `sequence`, and give each its own number.",
        PARLEY_PLACES({.path = "/data/*/sequence",
                       .kinds = PARLEY_INTEGER,
                       .constraint = PARLEY_INCREASING,
                       .for_types = FOR(WAL_BATCH)}),
    },
    {
        .id = "IPC-030",
        .severity = PARLEY_ERROR,
        .summary = "the `hypothesis` of an evolution_intent is a map with strings `reason`, "
                   "`target` and `new_code`",
        .source = "docs/protocols/supervisor.md#evolution",
        PARLEY_PLACES({.path = "/hypothesis",
                       .kinds = PARLEY_OBJECT,
                       .is_required = true,
                       .for_types = FOR(EVOLUTION_INTENT),
                       .hint = "Describe the change in `hypothesis`: {\"reason\": \"…\", "
                               "\"target\": \"…\", \"new_code\": \"…\"}."},
                      {.path = "/hypothesis/reason",
                       .kinds = PARLEY_STRING,
                       .is_required = true,
                       .for_types = FOR(EVOLUTION_INTENT),
                       .hint = "Give the reason in `reason`: a string."},
                      {.path = "/hypothesis/target",
                       .kinds = PARLEY_STRING,
                       .is_required = true,
                       .for_types = FOR(EVOLUTION_INTENT),
                       .hint = "Name what changes in `target`: a string such as "
                               "\"memory_system\"."},
                      {.path = "/hypothesis/new_code",
                       .kinds = PARLEY_STRING,
                       .is_required = true,
                       .for_types = FOR(EVOLUTION_INTENT),
                       .hint = "Put the code into `new_code`: a string."}),
    },
    {
        .id = "IPC-031",
        .severity = PARLEY_ERROR,
        .summary = "the `expected_improvement` of an evolution_intent, if any, is a map of numbers",
        .source = "docs/protocols/supervisor.md#evolution",
        .hint = "Make `expected_improvement` a map whose values are all numbers, such as "
                "{\"latency\": -0.2}, or leave it out.",
        PARLEY_PLACES(MAP_OF_NUMBERS("/hypothesis/expected_improvement", FOR(EVOLUTION_INTENT))),
    },
    {
        .id = "IPC-040",
        .severity = PARLEY_ERROR,
        .summary = "the `data` of metrics is a map of numbers",
        .source = "docs/protocols/supervisor.md#metrics",
        .hint = "Put the figures into `data`: a map whose values are all numbers.",
        PARLEY_PLACES({.path = "/data",
                       .kinds = PARLEY_OBJECT,
                       .is_required = true,
                       .for_types = FOR(METRICS)},
                      {.path = "/data/*", .kinds = PARLEY_NUMBER, .for_types = FOR(METRICS)}),
    },
    {
        .id = "IPC-041",
        .severity = PARLEY_ERROR,
        .summary = "the `error_rate` of metrics is from 0 to 1",
        .source = "docs/protocols/supervisor.md#metrics",
        .hint = "Write `error_rate` as a fraction: 1.5 % is 0.015.",
        PARLEY_PLACES({.path = "/data/error_rate", SHARE, .for_types = FOR(METRICS)}),
    },
    {
        .id = "IPC-050",
        .severity = PARLEY_ERROR,
        .summary = "the `checkpoint_id` of a checkpoint_ack is a UUID; its `size`, if any, an "
                   "integer of 0 or more",
        .source = "docs/protocols/supervisor.md#checkpoint-ack",
        PARLEY_PLACES(
            {.path = "/checkpoint_id",
             .kinds = PARLEY_STRING,
             .is_required = true,
             .constraint = PARLEY_UUID,
             .for_types = FOR(CHECKPOINT_ACK),
             .hint = "Set `checkpoint_id` to the UUID of the checkpoint that was saved."},
            {.path = "/size",
             COUNT,
             .for_types = FOR(CHECKPOINT_ACK),
             .hint = "Set `size` to the number of bytes that were saved, or leave it out."}),
    },
    {
        .id = "IPC-051",
        .severity = PARLEY_ERROR,
        .summary = "the `checkpoint_id` of a restore is a UUID, its `snapshot` a map (checked like "
                   "a checkpoint's data), its `wal_entries`, if any, an array of maps (each "
                   "checked like an entry)",
        .source = "docs/protocols/supervisor.md#restore",
        PARLEY_PLACES({.path = "/checkpoint_id",
                       .kinds = PARLEY_STRING,
                       .is_required = true,
                       .constraint = PARLEY_UUID,
                       .for_types = FOR(RESTORE),
                       .hint = "Set `checkpoint_id` to the UUID of the checkpoint to restore."},
                      {.path = "/snapshot",
                       .kinds = PARLEY_OBJECT,
                       .is_required = true,
                       .for_types = FOR(RESTORE),
                       .hint = "Put the checkpoint's data into `snapshot`: a map."},
                      {.path = "/wal_entries",
                       .kinds = PARLEY_ARRAY,
                       .for_types = FOR(RESTORE),
                       .hint = "Make `wal_entries` an array of maps, or leave it out."},
                      {.path = "/wal_entries/*",
                       .kinds = PARLEY_OBJECT,
                       .for_types = FOR(RESTORE),
                       .hint = "Write each entry as a map: {\"operation\": \"…\", \"params\": {}, "
                               "\"sequence\": 1}."}),
    },
    {
        .id = "IPC-053",
        .severity = PARLEY_ERROR,
        .summary = "the `code` of a hot_reload is a string; so is its `module`, if any, and its "
                   "`backup_checkpoint_id`, if any, is a UUID",
        .source = "docs/protocols/supervisor.md#hot-reload",
        PARLEY_PLACES(
            {.path = "/code",
             .kinds = PARLEY_STRING,
             .is_required = true,
             .for_types = FOR(HOT_RELOAD),
             .hint = "Put the code to load into `code`: a string."},
            {.path = "/module",
             .kinds = PARLEY_STRING,
             .for_types = FOR(HOT_RELOAD),
             .hint =
                 "Set `module` to the name of the module to replace: a string, or leave it out."},
            {.path = "/backup_checkpoint_id",
             .kinds = PARLEY_STRING,
             .constraint = PARLEY_UUID,
             .for_types = FOR(HOT_RELOAD),
             .hint = "Set `backup_checkpoint_id` to the UUID of the checkpoint to fall back to, or "
                     "leave it out."}),
    },
    {
        .id = "IPC-054",
        .severity = PARLEY_ERROR,
        .summary = "the `success` of an evolution_result is a boolean, its `decision` promoted or "
                   "rejected; its `reason`, if any, is a string, its `metrics` are a map of "
                   "numbers",
        .source = "docs/protocols/supervisor.md#evolution",
        .hint = "Make `metrics` a map whose values are all numbers, or leave it out.",
        PARLEY_PLACES({.path = "/success",
                       .kinds = PARLEY_BOOLEAN,
                       .is_required = true,
                       .for_types = FOR(EVOLUTION_RESULT),
                       .hint = "Set `success` to true or false."},
                      {.path = "/decision",
                       .kinds = PARLEY_STRING,
                       .is_required = true,
                       .constraint = PARLEY_ONE_OF,
                       .choices = LIST("promoted", "rejected"),
                       .for_types = FOR(EVOLUTION_RESULT),
                       .hint = "Set `decision` to \"promoted\" or \"rejected\"."},
                      {.path = "/reason",
                       .kinds = PARLEY_STRING,
                       .for_types = FOR(EVOLUTION_RESULT),
                       .hint = "Make `reason` a string, or leave it out."},
                      MAP_OF_NUMBERS("/metrics", FOR(EVOLUTION_RESULT))),
    },
    {
        .id = "IPC-055",
        .severity = PARLEY_ERROR,
        .summary = "the `request_id` of a process_request is a string, its `data` a map with a "
                   "string `message`; `context`, if any, is a map, `user_id` a string",
        .source = "docs/protocols/supervisor.md#process-request",
        PARLEY_PLACES({.path = "/request_id",
                       .kinds = PARLEY_STRING,
                       .is_required = true,
                       .for_types = FOR(PROCESS_REQUEST),
                       .hint = "Name the request in `request_id`: a string, such as a UUID."},
                      {.path = "/data",
                       .kinds = PARLEY_OBJECT,
                       .is_required = true,
                       .for_types = FOR(PROCESS_REQUEST),
                       .hint = "Put the request into `data`: {\"message\": \"…\"}."},
                      {.path = "/data/message",
                       .kinds = PARLEY_STRING,
                       .is_required = true,
                       .for_types = FOR(PROCESS_REQUEST),
                       .hint = "Put what the user said into `message`: a string."},
                      {.path = "/data/context",
                       .kinds = PARLEY_OBJECT,
                       .for_types = FOR(PROCESS_REQUEST),
                       .hint = "Make `context` a map, or leave it out."},
                      {.path = "/data/user_id",
                       .kinds = PARLEY_STRING,
                       .for_types = FOR(PROCESS_REQUEST),
                       .hint = "Make `user_id` a string, or leave it out."}),
    },
    {
        .id = "IPC-056",
        .severity = PARLEY_ERROR,
        .summary = "the `reason` of a shutdown is a string; its `create_checkpoint`, if any, a "
                   "boolean",
        .source = "docs/protocols/supervisor.md#shutdown",
        PARLEY_PLACES({.path = "/reason",
                       .kinds = PARLEY_STRING,
                       .is_required = true,
                       .for_types = FOR(SHUTDOWN),
                       .hint = "Give the reason for the shutdown in `reason`: a string."},
                      {.path = "/create_checkpoint",
                       .kinds = PARLEY_BOOLEAN,
                       .for_types = FOR(SHUTDOWN),
                       .hint = "Set `create_checkpoint` to true or false, or leave it out."}),
    },
    {
        .id = "IPC-057",
        .severity = PARLEY_ERROR,
        .summary = "the `error` of an error is a map with strings `code` and `message`; "
                   "`stack_trace`, if any, is a string, `context` and `details` are maps",
        .source = "docs/protocols/supervisor.md#error",
        PARLEY_PLACES(
            {.path = "/error",
             .kinds = PARLEY_OBJECT,
             .is_required = true,
             .for_types = FOR(ERROR),
             .hint = "Describe the error in `error`: {\"code\": \"…\", \"message\": \"…\"}."},
            {.path = "/error/code",
             .kinds = PARLEY_STRING,
             .is_required = true,
             .for_types = FOR(ERROR),
             .hint = "Give the error a `code`: a string such as \"EVAL_ERROR\"."},
            {.path = "/error/message",
             .kinds = PARLEY_STRING,
             .is_required = true,
             .for_types = FOR(ERROR),
             .hint = "Describe the error in `message`: a string."},
            {.path = "/error/stack_trace",
             .kinds = PARLEY_STRING,
             .for_types = FOR(ERROR),
             .hint = "Make `stack_trace` a string, or leave it out."},
            {.path = "/error/context",
             .kinds = PARLEY_OBJECT,
             .for_types = FOR(ERROR),
             .hint = "Make `context` a map, or leave it out."},
            {.path = "/error/details",
             .kinds = PARLEY_OBJECT,
             .for_types = FOR(ERROR),
             .hint = "Make `details` a map, or leave it out."}),
    },
    [SUPERVISOR_IPC_101] =
        {
            .id = "IPC-101",
            .severity = PARLEY_WARNING,
            .summary = "a checkpoint over 1 MiB (measured as for IPC-007) is compressed",
            .source = "docs/protocols/supervisor.md#sizes",
            .hint = "Compress `data` with zstd, write it as base64, and set `compressed` to true "
                    "and `compression` to \"zstd\".",
            PARLEY_PLACES({.path = "", .for_types = FOR(CHECKPOINT), .by_inspection = true}),
        },
    {
        .id = "IPC-102",
        .severity = PARLEY_WARNING,
        .summary = "a wal_batch has at most 100 entries",
        .source = "docs/protocols/supervisor.md#wal",
        .hint = "Send the entries in several batches of at most 100.",
        PARLEY_PLACES({.path = "/data",
                       .for_types = FOR(WAL_BATCH),
                       .is_broken = has_many_entries,
                       .message = "the batch has more than 100 entries"}),
    },
    {
        .id = "IPC-103",
        .severity = PARLEY_WARNING,
        .summary = "the percentiles of metrics do not decrease: `p50_latency` <= `p95_latency` <= "
                   "`p99_latency`",
        .source = "docs/protocols/supervisor.md#metrics",
        .hint = "Check how the percentiles are computed: a higher percentile cannot have a smaller "
                "value.",
        PARLEY_PLACES({.path = "/data/p95_latency",
                       .for_types = FOR(METRICS),
                       .is_broken = p95_is_below_p50,
                       .message = "`p95_latency` is below `p50_latency`"},
                      {.path = "/data/p99_latency",
                       .for_types = FOR(METRICS),
                       .is_broken = p99_is_below_the_others,
                       .message = "`p99_latency` is below a lower percentile"}),
    },
    {
        .id = "IPC-104",
        .severity = PARLEY_WARNING,
        .summary = "`success` and `decision` of an evolution_result agree: promoted after a "
                   "success, rejected after a failure",
        .source = "docs/protocols/supervisor.md#evolution",
        .hint = "Set `decision` to \"promoted\" if `success` is true, else to \"rejected\".",
        PARLEY_PLACES({.path = "/decision",
                       .for_types = FOR(EVOLUTION_RESULT),
                       .is_broken = contradicts_itself,
                       .message = "`success` and `decision` contradict each other"}),
    },
    {
        .id = "IPC-105",
        .severity = PARLEY_WARNING,
        .summary =
            "a message of `version` 1 has neither `metadata` nor `compressed`, which came with "
            "version 2",
        .source = "docs/protocols/supervisor.md#version",
        .hint = "Set `version` to 2.",
        PARLEY_PLACES({.path = "/version",
                       .is_broken = is_of_version_2,
                       .suggested = "2",
                       .message = "`version` is 1, but `metadata` and `compressed` came with "
                                  "version 2"}),
    },
    {
        .id = "IPC-201",
        .severity = PARLEY_WARNING,
        .summary = "the sequences of an agent's log have no hole: each is the last one plus 1",
        .source = "docs/protocols/supervisor.md#continuity",
        .hint = "Send the entries that are missing, if they were logged: entries that are stored "
                "already may be sent again.",
        .spans_messages = true,
        PARLEY_PLACES(LOGGED("/data", FOR(WAL_ENTRY)), LOGGED("/data/*", FOR(WAL_BATCH))),
    },
    {
        .id = "IPC-202",
        .severity = PARLEY_WARNING,
        .summary = "the sequences of an agent's log do not step back or repeat, except in a "
                   "message that was sent again and is stored once",
        .source = "docs/protocols/supervisor.md#continuity",
        .hint = "Go on with the sequence after the last one, also after a restart: the agent's "
                "answer of /agents names it.",
        .spans_messages = true,
        PARLEY_PLACES(LOGGED("/data", FOR(WAL_ENTRY)), LOGGED("/data/*", FOR(WAL_BATCH))),
    },
    {
        .id = "IPC-203",
        .severity = PARLEY_WARNING,
        .summary = "an agent has what its supervisor names: the checkpoint of an id, an "
                   "evolution_intent without a result for an evolution_result, a promoted "
                   "evolution_result for a hot_reload",
        .source = "docs/protocols/supervisor.md#history",
        .hint = "Compare the agent's name and what is in its stream: "
                "/v1/supervisor/agents/NAME/checkpoints lists its checkpoints.",
        .spans_messages = true,
        PARLEY_PLACES({.path = "/checkpoint_id", .for_types = FOR(CHECKPOINT_ACK) | FOR(RESTORE)},
                      {.path = "/backup_checkpoint_id", .for_types = FOR(HOT_RELOAD)},
                      {.path = "/decision", .for_types = FOR(EVOLUTION_RESULT)},
                      {.path = "/type", .for_types = FOR(HOT_RELOAD)}),
    },
};
