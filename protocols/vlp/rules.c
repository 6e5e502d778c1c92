/* SPDX-License-Identifier: Apache-2.0 */

/* The rules of VLP/1.1. docs/protocols/vlp.md says how they follow from the protocol's documents,
 * which comments call "overview" and "types" as it does. */

#include "vlp.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

/* "High confidence (≥0.9) requires provenance" (overview, Message Types). */
#define HIGH_CONFIDENCE 0.9

/* ---- rules over several members ---- */

static bool is_strict(const struct parley_options *options) {
    return options->values[VLP_STRICT].is_on;
}

static bool is_not_strict(const struct parley_options *options) {
    return !options->values[VLP_STRICT].is_on;
}

/* "confidence ≥ 0.9 → REQUIRE provenance OR safety.level = "review"" (overview, Validation Rules).
 * A provenance that is not an array has no items; an invalid item still counts as one. A missing
 * confidence asserts nothing, and one above 1 is VLP-007 alone. */
#define EARNED_CONFIDENCE                                                                          \
    .path = "/confidence", .suggested = "0.89",                                                    \
    .when = PARLEY_TESTS({.field = VLP_CONFIDENCE,                                                 \
                          .asks = PARLEY_IS_WITHIN,                                                \
                          .minimum = HIGH_CONFIDENCE,                                              \
                          .maximum = 1}),                                                          \
    .wants = PARLEY_TESTS({.field = VLP_PROVENANCE, .asks = PARLEY_HAS_ITEMS},                     \
                          {.field = VLP_SAFETY_LEVEL, .asks = PARLEY_IS_TEXT, .text = "review"})
#define MUST_BE_EARNED                                                                             \
    "a confidence of 0.9 or more must be earned: `provenance` has no item, and `safety.level` is " \
    "not \"review\""

static bool is_without_session_id(const struct parley_captures *captures) {
    return parley_value_is_nothing(&captures->values[VLP_SESSION_ID]);
}

static bool is_without_payload(const struct parley_captures *captures) {
    return parley_value_is_nothing(&captures->values[VLP_PAYLOAD]);
}

static bool is_without_keywords(const struct parley_captures *captures) {
    const struct parley_value *keywords = &captures->values[VLP_KEYWORDS];
    return parley_value_is_nothing(keywords) ||
           (keywords->kind == PARLEY_ARRAY && keywords->count == 0);
}

/* ---- the table ---- */

const struct parley_rule vlp_rules[VLP_RULE_COUNT] = {
    {
        .id = "VLP-001",
        .severity = PARLEY_ERROR,
        .summary = "`id` is a string that is not empty",
        .source = "docs/protocols/vlp.md#envelope",
        .hint = "Give the message a unique `id`: a string, such as a UUID. Or leave it out and "
                "let parley fill it in: `stamp=true` or `--stamp`.",
        PARLEY_PLACES({.path = "/id",
                       .kinds = PARLEY_STRING,
                       .is_required = true,
                       .constraint = PARLEY_MIN_LENGTH,
                       .minimum = 1}),
    },
    {
        .id = "VLP-002",
        .severity = PARLEY_ERROR,
        .summary = "`protocol` is exactly `VLP/1.1`",
        .source = "docs/protocols/vlp.md#envelope",
        .hint = "Set `protocol` to \"VLP/1.1\". Or leave it out and send with `stamp=true`, which "
                "fills "
                "it in.",
        PARLEY_PLACES({.path = "/protocol",
                       .kinds = PARLEY_STRING,
                       .is_required = true,
                       .constraint = PARLEY_ONE_OF,
                       .choices = LIST("VLP/1.1")}),
    },
    {
        .id = "VLP-003",
        .severity = PARLEY_ERROR,
        .summary = "`type` is claim, evidence, query, response, correction, notice or "
                   "session_context (case-sensitive)",
        .source = "docs/protocols/vlp.md#envelope",
        .hint = "Set `type` to \"claim\", \"evidence\", \"query\", \"response\", \"correction\", "
                "\"notice\" or \"session_context\", in lower case.",
        PARLEY_PLACES({.path = "/type",
                       .kinds = PARLEY_STRING,
                       .is_required = true,
                       .constraint = PARLEY_ONE_OF,
                       .choices = vlp_types}),
    },
    {
        .id = "VLP-004",
        .severity = PARLEY_ERROR,
        .summary = "`timestamp` is an RFC 3339 date-time",
        .source = "docs/protocols/vlp.md#envelope",
        .hint = "Write `timestamp` as in 2025-12-14T10:30:00Z: date, T, time and offset; date and "
                "time must exist. Or leave it out and let parley fill it in: `stamp=true` or "
                "`--stamp`.",
        PARLEY_PLACES({.path = "/timestamp",
                       .kinds = PARLEY_STRING,
                       .is_required = true,
                       .constraint = PARLEY_TIME}),
    },
    {
        .id = "VLP-005",
        .severity = PARLEY_ERROR,
        .summary = "`sender` is a string that is not empty",
        .source = "docs/protocols/vlp.md#envelope",
        .hint = "Name the agent that sends this in `sender`.",
        PARLEY_PLACES({.path = "/sender",
                       .kinds = PARLEY_STRING,
                       .is_required = true,
                       .constraint = PARLEY_MIN_LENGTH,
                       .minimum = 1,
                       .aliases = LIST("from", "sender_name")}),
    },
    {
        .id = "VLP-006",
        .severity = PARLEY_ERROR,
        .summary = "`content` is a string or an object",
        .source = "docs/protocols/vlp.md#envelope",
        .hint = "Put the content of the message into `content`: a string or an object.",
        PARLEY_PLACES(
            {.path = "/content", .kinds = PARLEY_STRING | PARLEY_OBJECT, .is_required = true}),
    },
    {
        .id = "VLP-007",
        .severity = PARLEY_ERROR,
        .summary = "`confidence` is a number from 0 to 1; a query may leave it out (default: 1.0)",
        .source = "docs/protocols/vlp.md#confidence",
        .hint = "Set `confidence` to a number from 0 to 1, not in quotes.",
        PARLEY_PLACES({.path = "/confidence",
                       .kinds = PARLEY_NUMBER,
                       .constraint = PARLEY_RANGE,
                       .minimum = 0,
                       .maximum = 1,
                       .for_types = PARLEY_TYPE_BIT(VLP_QUERY)},
                      {.path = "/confidence",
                       .kinds = PARLEY_NUMBER,
                       .is_required = true,
                       .constraint = PARLEY_RANGE,
                       .minimum = 0,
                       .maximum = 1,
                       .for_types = ~PARLEY_TYPE_BIT(VLP_QUERY)}),
    },
    {
        .id = "VLP-008",
        .severity = PARLEY_ERROR,
        .summary = "`provenance` is an array; each item is a string that is not empty, or an "
                   "object with such a string `ref`",
        .source = "docs/protocols/vlp.md#provenance",
        PARLEY_PLACES(
            {.path = "/provenance",
             .kinds = PARLEY_ARRAY,
             .hint = "Make `provenance` an array of sources, or leave it out."},
            {.path = "/provenance/*",
             .kinds = PARLEY_STRING | PARLEY_OBJECT,
             .constraint = PARLEY_MIN_LENGTH,
             .minimum = 1,
             .hint = "Name the source as a string that is not empty, or as an object "
                     "{\"ref\": \"…\"}."},
            {.path = "/provenance/*/ref",
             .kinds = PARLEY_STRING,
             .is_required = true,
             .constraint = PARLEY_MIN_LENGTH,
             .minimum = 1,
             .hint = "Give the source a `ref`: a string that tells readers where to find it."}),
    },
    {
        .id = "VLP-009",
        .severity = PARLEY_ERROR,
        .summary = "`refers_to` is a string, an array of strings, or null",
        .source = "docs/protocols/vlp.md#references",
        .hint = "Name the messages that this one refers to by their ids, as strings.",
        PARLEY_PLACES({.path = "/refers_to", .kinds = PARLEY_STRING | PARLEY_ARRAY | PARLEY_NULL},
                      {.path = "/refers_to/*", .kinds = PARLEY_STRING}),
    },
    {
        .id = "VLP-010",
        .severity = PARLEY_ERROR,
        .summary = "evidence, response and correction refer to at least one message",
        .source = "docs/protocols/vlp.md#references",
        .hint = "Set `refers_to` to the id of the message that this one supports, answers or "
                "corrects.",
        PARLEY_PLACES({.path = "/refers_to",
                       .for_types = PARLEY_TYPE_BIT(VLP_EVIDENCE) | PARLEY_TYPE_BIT(VLP_RESPONSE) |
                                    PARLEY_TYPE_BIT(VLP_CORRECTION),
                       .wants = PARLEY_TESTS({.field = VLP_REFERS_TO, .asks = PARLEY_IS_FILLED}),
                       .message = "a message of this type must refer to another one, and "
                                  "`refers_to` names none"}),
    },
    {
        .id = "VLP-011",
        .severity = PARLEY_ERROR,
        .summary = "evidence has at least one provenance item",
        .source = "docs/protocols/vlp.md#provenance",
        .hint = "List at least one source of the evidence in `provenance`.",
        PARLEY_PLACES({.path = "/provenance",
                       .for_types = PARLEY_TYPE_BIT(VLP_EVIDENCE),
                       .wants = PARLEY_TESTS({.field = VLP_PROVENANCE, .asks = PARLEY_HAS_ITEMS}),
                       .message = "evidence must name a source, and `provenance` has no item"}),
    },
    {
        .id = VLP_RULE_EARNED_CONFIDENCE,
        .severity = PARLEY_ERROR,
        .summary =
            "earned confidence: a claim with `confidence` of 0.9 or more has a provenance "
            "item or `safety.level` review; in strict mode, so has a message of any type (except a "
            "query without `confidence`)",
        .source = "docs/protocols/vlp.md#confidence",
        .hint = "Name a source in `provenance`, or set `safety.level` to \"review\", or lower "
                "`confidence` below 0.9.",
        PARLEY_PLACES(
            {EARNED_CONFIDENCE, .for_types = PARLEY_TYPE_BIT(VLP_CLAIM), .message = MUST_BE_EARNED},
            {EARNED_CONFIDENCE, .for_types = ~PARLEY_TYPE_BIT(VLP_CLAIM), .is_asked = is_strict,
             .message = MUST_BE_EARNED}),
    },
    {
        .id = "VLP-013",
        .severity = PARLEY_ERROR,
        .summary = "`safety` is an object whose `level` is safe, review or block, and whose "
                   "`issues`, if any, are objects with a string `code` (and `detail`, if any)",
        .source = "docs/protocols/vlp.md#safety",
        PARLEY_PLACES({.path = "/safety",
                       .kinds = PARLEY_OBJECT,
                       .hint = "Make `safety` an object such as {\"level\": \"review\"}, or leave "
                               "it out."},
                      {.path = "/safety/level",
                       .kinds = PARLEY_STRING,
                       .is_required = true,
                       .constraint = PARLEY_ONE_OF,
                       .choices = vlp_lanes,
                       .hint = "Set `safety.level` to \"safe\", \"review\" or \"block\"."},
                      {.path = "/safety/issues",
                       .kinds = PARLEY_ARRAY,
                       .hint = "Make `safety.issues` an array, or leave it out."},
                      {.path = "/safety/issues/*",
                       .kinds = PARLEY_OBJECT,
                       .hint = "Write each issue as an object: {\"code\": \"…\"}."},
                      {.path = "/safety/issues/*/code",
                       .kinds = PARLEY_STRING,
                       .is_required = true,
                       .hint = "Give each issue a `code`: a string."},
                      {.path = "/safety/issues/*/detail",
                       .kinds = PARLEY_STRING,
                       .hint = "Make `detail` a string, or leave it out."}),
    },
    {
        .id = "VLP-014",
        .severity = PARLEY_ERROR,
        .summary = "`session_id`, `receiver` and `topic` are strings or null, `seq` is an integer "
                   "of 0 or more or null, `constraints` and `keywords` are arrays of strings, "
                   "`payload` is an object or null, `_extras` is an object",
        .source = "docs/protocols/vlp.md#optional-members",
        .hint = "Give this optional member a value of the right type, or leave it out.",
        PARLEY_PLACES({.path = "/session_id", .kinds = PARLEY_STRING | PARLEY_NULL},
                      {.path = "/receiver", .kinds = PARLEY_STRING | PARLEY_NULL},
                      {.path = "/topic", .kinds = PARLEY_STRING | PARLEY_NULL},
                      {.path = "/seq",
                       .kinds = PARLEY_INTEGER | PARLEY_NULL,
                       .constraint = PARLEY_MINIMUM,
                       .minimum = 0},
                      {.path = "/constraints", .kinds = PARLEY_ARRAY},
                      {.path = "/constraints/*", .kinds = PARLEY_STRING},
                      {.path = "/keywords", .kinds = PARLEY_ARRAY},
                      {.path = "/keywords/*", .kinds = PARLEY_STRING},
                      {.path = "/payload", .kinds = PARLEY_OBJECT | PARLEY_NULL},
                      {.path = "/_extras", .kinds = PARLEY_OBJECT}),
    },
    {
        .id = "VLP-101",
        .severity = PARLEY_WARNING,
        .summary = "`id` has at least 3 characters",
        .source = "docs/protocols/vlp.md#envelope",
        .hint = "Use a unique id, such as a UUID.",
        PARLEY_PLACES(
            {.path = "/id", .kinds = PARLEY_STRING, .constraint = PARLEY_MIN_LENGTH, .minimum = 3}),
    },
    {
        .id = "VLP-102",
        .severity = PARLEY_WARNING,
        .summary = "`timestamp` is in UTC",
        .source = "docs/protocols/vlp.md#envelope",
        .hint = "Write the time in UTC, with a Z at the end.",
        PARLEY_PLACES(
            {.path = "/timestamp", .kinds = PARLEY_STRING, .constraint = PARLEY_TIME_UTC}),
    },
    {
        .id = "VLP-103",
        .severity = PARLEY_WARNING,
        .summary =
            "outside strict mode, response and correction with `confidence` of 0.9 or more have "
            "a provenance item or `safety.level` review",
        .source = "docs/protocols/vlp.md#confidence",
        .hint = "Name a source in `provenance`, or set `safety.level` to \"review\".",
        PARLEY_PLACES(
            {EARNED_CONFIDENCE,
             .for_types = PARLEY_TYPE_BIT(VLP_RESPONSE) | PARLEY_TYPE_BIT(VLP_CORRECTION),
             .is_asked = is_not_strict,
             .message = "a confidence of 0.9 or more should be earned: `provenance` has no item, "
                        "and `safety.level` is not \"review\""}),
    },
    {
        .id = "VLP-104",
        .severity = PARLEY_WARNING,
        .summary = "session_context has a `session_id`, a `payload` and `keywords`",
        .source = "docs/protocols/vlp.md#session-context",
        PARLEY_PLACES(
            {.path = "/session_id",
             .for_types = PARLEY_TYPE_BIT(VLP_SESSION_CONTEXT),
             .is_broken = is_without_session_id,
             .message = "the context has no `session_id`",
             .hint = "Name the session in `session_id`."},
            {.path = "/payload",
             .for_types = PARLEY_TYPE_BIT(VLP_SESSION_CONTEXT),
             .is_broken = is_without_payload,
             .message = "the context has no `payload` to resume from",
             .hint = "Put the session's metadata into `payload`, an object."},
            {.path = "/keywords",
             .for_types = PARLEY_TYPE_BIT(VLP_SESSION_CONTEXT),
             .is_broken = is_without_keywords,
             .message = "the context has no `keywords`",
             .hint = "State the progress of the work in `keywords`, as in [\"complete\"]."}),
    },
    {
        .id = "VLP-105",
        .severity = PARLEY_WARNING,
        .summary = "the `kind` of a provenance object is url, hash, document, api, snapshot, log, "
                   "excerpt or other",
        .source = "docs/protocols/vlp.md#provenance",
        .hint = "Set `kind` to \"url\", \"hash\", \"document\", \"api\", \"snapshot\", \"log\", "
                "\"excerpt\" or \"other\".",
        PARLEY_PLACES({.path = "/provenance/*/kind",
                       .kinds = PARLEY_STRING,
                       .constraint = PARLEY_ONE_OF,
                       .choices = LIST("url", "hash", "document", "api", "snapshot", "log",
                                       "excerpt", "other")}),
    },
};
