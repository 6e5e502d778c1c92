/* SPDX-License-Identifier: Apache-2.0 */

/* The rules of the Round Table. docs/protocols/roundtable.md says how they follow from the
 * protocol's document, which comments call "contract" as it does. */

#include "roundtable.h"

#include <math.h>

#include "text.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

#define REQUEST PARLEY_TYPE_BIT(ROUNDTABLE_REQUEST)
#define CLAIMED PARLEY_TYPE_BIT(ROUNDTABLE_CLAIMED)
#define PROGRESS PARLEY_TYPE_BIT(ROUNDTABLE_PROGRESS)
#define RESULT PARLEY_TYPE_BIT(ROUNDTABLE_RESULT)
#define FAILED PARLEY_TYPE_BIT(ROUNDTABLE_FAILED)
#define HEARTBEAT PARLEY_TYPE_BIT(ROUNDTABLE_HEARTBEAT)

/* An agent id becomes a token of `roundtable.heartbeat.<agent-id>`. */
#define AGENT_ID                                                                                   \
    .kinds = PARLEY_STRING, .constraint = PARLEY_TOKEN, .maximum = 128,                            \
    .words = "an agent id (1 to 128 characters, without space, control character, `.`, `*`, `>`)"
#define PLAIN_AGENT_ID                                                                             \
    .kinds = PARLEY_STRING, .constraint = PARLEY_PATTERN, .pattern = "^[A-Za-z0-9_-]+$",           \
    .maximum = 64, .words = "a plain agent id (1 to 64 of A-Z a-z 0-9 _ -)"

/* Semantic Versioning 2.0.0, and MAJOR.MINOR, which the contract's own examples have. */
#define NUMBER "(0|[1-9][0-9]*)"
#define PRE_RELEASE "(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
#define BUILD "[0-9A-Za-z-]+"
#define VERSION                                                                                    \
    "^" NUMBER "\\." NUMBER "(\\." NUMBER "(-" PRE_RELEASE "(\\." PRE_RELEASE ")*)?"               \
    "(\\+" BUILD "(\\." BUILD ")*)?)?$"

/* The conditions on the result of a completed task: the row's own test comes last. */
#define COMPLETED                                                                                  \
    { .field = ROUNDTABLE_STATUS, .asks = PARLEY_IS_TEXT, .text = "completed" }
#define HAS_RESULT                                                                                 \
    { .field = ROUNDTABLE_TASK_RESULT, .asks = PARLEY_IS_THERE, .kinds = PARLEY_OBJECT }

/* "default: 3600" (contract, Envelope Fields). */
#define DEFAULT_TTL_SECONDS 3600

/* ---- rules over several members ---- */

static bool is_any_of(const struct parley_value *value, const char *const *texts) {
    while (*texts != NULL && !parley_value_is(value, *texts)) {
        texts++;
    }
    return *texts != NULL;
}

static bool says_retryable(const struct parley_captures *captures, bool is_retryable) {
    const struct parley_value *retryable = &captures->values[ROUNDTABLE_RETRYABLE];
    return retryable->kind == PARLEY_BOOLEAN && (retryable->number != 0) == is_retryable;
}

/* The two halves of the table in contract, Error Codes; internal_error is in neither. */
static bool gives_up_on_passing_error(const struct parley_captures *captures) {
    return is_any_of(&captures->values[ROUNDTABLE_ERROR],
                     LIST("rate_limited", "timeout", "model_error")) &&
           says_retryable(captures, false);
}

static bool retries_lasting_error(const struct parley_captures *captures) {
    return is_any_of(&captures->values[ROUNDTABLE_ERROR],
                     LIST("skill_missing", "invalid_params")) &&
           says_retryable(captures, true);
}

/* Another rule checks whether time and ttl are valid. */
bool roundtable_deadline(const struct parley_value *values, const struct parley_options *options,
                         double *out_seconds) {
    const double due = (double)options->values[ROUNDTABLE_OPTION_NOT_BEFORE].number;
    const struct parley_value *ttl = &values[ROUNDTABLE_TTL];
    const double lifetime = ttl->kind == PARLEY_ABSENT ? DEFAULT_TTL_SECONDS : ttl->number;
    const bool has_lifetime =
        ttl->kind == PARLEY_ABSENT ||
        (ttl->kind == PARLEY_NUMBER && lifetime >= 1 && lifetime == floor(lifetime));
    double sent;
    if (!has_lifetime || !text_unix_time(parley_value_text(&values[ROUNDTABLE_TIMESTAMP]), &sent)) {
        return false;
    }
    *out_seconds = (due > 0 && due > sent ? due : sent) + lifetime;
    return true;
}

/* "Requested → Expired: TTL exceeded, no claim" (contract, Task Lifecycle). */
static bool has_expired(const struct parley_captures *captures) {
    double deadline;
    return captures->options->now_seconds != 0 &&
           roundtable_deadline(captures->values, captures->options, &deadline) &&
           deadline < (double)captures->options->now_seconds;
}

/* ---- the table ---- */

const struct parley_rule roundtable_rules[ROUNDTABLE_RULE_COUNT] = {
    {
        .id = "RT-001",
        .severity = PARLEY_ERROR,
        .summary = "`id` is a UUID of version 4",
        .source = "docs/protocols/roundtable.md#envelope",
        .hint =
            "Set `id` to a new random UUID (version 4): 8, 4, 4, 4 and 12 hexadecimal digits with "
            "dashes between them. Or leave it out and let parley fill it in: `stamp=true` or "
            "`--stamp`.",
        PARLEY_PLACES({.path = "/id",
                       .kinds = PARLEY_STRING,
                       .is_required = true,
                       .constraint = PARLEY_UUID4}),
    },
    {
        .id = "RT-002",
        .severity = PARLEY_ERROR,
        .summary = "`version` is MAJOR.MINOR, or a version of Semantic Versioning 2.0.0 "
                   "(MAJOR.MINOR.PATCH, pre-release and build allowed), without leading zeros",
        .source = "docs/protocols/roundtable.md#version",
        .hint = "Set `version` to \"1.0\", in quotes. Or leave it out and let parley fill it "
                "in: `stamp=true` or `--stamp`.",
        PARLEY_PLACES({.path = "/version",
                       .kinds = PARLEY_STRING,
                       .is_required = true,
                       .constraint = PARLEY_PATTERN,
                       .pattern = VERSION,
                       .words = "a version such as \"1.0\", \"1.2.3\" or \"1.0.0-rc.1\", without "
                                "leading zeros"}),
    },
    {
        .id = "RT-003",
        .severity = PARLEY_ERROR,
        .summary = "the major version is 1",
        .source = "docs/protocols/roundtable.md#version",
        .hint = "Set `version` to a version with the major number 1, such as \"1.0\".",
        .is_logged = true, /* "reject […] and log a warning" */
        PARLEY_PLACES({.path = "/version",
                       .kinds = PARLEY_STRING,
                       .constraint = PARLEY_PATTERN,
                       .pattern = "^1\\.",
                       .words = "a version whose major number is 1"}),
    },
    {
        .id = "RT-004",
        .severity = PARLEY_ERROR,
        .summary = "`type` is task.request, task.claimed, task.progress, task.result, task.failed "
                   "or heartbeat (case-sensitive)",
        .source = "docs/protocols/roundtable.md#envelope",
        .hint = "Set `type` to \"task.request\", \"task.claimed\", \"task.progress\", "
                "\"task.result\", \"task.failed\" or \"heartbeat\", in lower case.",
        PARLEY_PLACES({.path = "/type",
                       .kinds = PARLEY_STRING,
                       .is_required = true,
                       .constraint = PARLEY_ONE_OF,
                       .choices = roundtable_types}),
    },
    {
        .id = "RT-005",
        .severity = PARLEY_ERROR,
        .summary =
            "`from` is an agent id, one token of a subject: 1 to 128 characters, none of which "
            "is a space (U+0020), a control character (U+0000 to U+001F, U+007F to "
            "U+009F), `.`, `*` or `>`",
        .source = "docs/protocols/roundtable.md#agent-ids",
        .hint = "Name the agent that sends this in `from`, without spaces, dots, `*` or `>`, as in "
                "\"galahad\".",
        PARLEY_PLACES({.path = "/from",
                       AGENT_ID,
                       .is_required = true,
                       .aliases = LIST("sender", "sender_name")}),
    },
    {
        .id = "RT-006",
        .severity = PARLEY_ERROR,
        .summary = "`to`, if any, is an agent id as in RT-005",
        .source = "docs/protocols/roundtable.md#agent-ids",
        .hint = "Name one agent in `to`, without spaces, dots, `*` or `>`, or leave it out to "
                "address all agents.",
        PARLEY_PLACES({.path = "/to", AGENT_ID}),
    },
    {
        .id = "RT-007",
        .severity = PARLEY_ERROR,
        .summary = "`timestamp` is an RFC 3339 date-time",
        .source = "docs/protocols/roundtable.md#envelope",
        .hint = "Write `timestamp` as in 2026-02-08T15:00:00Z: date, T, time and offset; date and "
                "time must exist. Or leave it out and let parley fill it in: `stamp=true` or "
                "`--stamp`.",
        PARLEY_PLACES({.path = "/timestamp",
                       .kinds = PARLEY_STRING,
                       .is_required = true,
                       .constraint = PARLEY_TIME}),
    },
    {
        .id = "RT-008",
        .severity = PARLEY_ERROR,
        .summary = "`correlationId`, if any, is a UUID",
        .source = "docs/protocols/roundtable.md#envelope",
        .hint = "Set `correlationId` to the `id` of the message that this one belongs to.",
        PARLEY_PLACES(
            {.path = "/correlationId", .kinds = PARLEY_STRING, .constraint = PARLEY_UUID}),
    },
    {
        .id = "RT-009",
        .severity = PARLEY_ERROR,
        .summary = "task.claimed, task.progress, task.result and task.failed have a "
                   "`correlationId`",
        .source = "docs/protocols/roundtable.md#correlation",
        .hint = "Set `correlationId` to the `id` of the task.request that this message is about.",
        PARLEY_PLACES({.path = "/correlationId",
                       .is_required = true,
                       .for_types = CLAIMED | PROGRESS | RESULT | FAILED,
                       .message = "`correlationId` is missing: a message of this type must name "
                                  "the task that it is about"}),
    },
    {
        .id = "RT-010",
        .severity = PARLEY_ERROR,
        .summary = "`priority`, if any, is low, normal, high or critical",
        .source = "docs/protocols/roundtable.md#envelope",
        .hint = "Set `priority` to \"low\", \"normal\", \"high\" or \"critical\", or leave it out "
                "(normal).",
        PARLEY_PLACES({.path = "/priority",
                       .kinds = PARLEY_STRING,
                       .constraint = PARLEY_ONE_OF,
                       .choices = roundtable_priorities}),
    },
    {
        .id = "RT-011",
        .severity = PARLEY_ERROR,
        .summary = "`ttl`, if any, is a positive integer",
        .source = "docs/protocols/roundtable.md#expiry",
        .hint = "Set `ttl` to a whole number of seconds, 1 or more, or leave it out (3600).",
        PARLEY_PLACES(
            {.path = "/ttl", .kinds = PARLEY_INTEGER, .constraint = PARLEY_MINIMUM, .minimum = 1}),
    },
    {
        .id = "RT-012",
        .severity = PARLEY_ERROR,
        .summary = "`payload` is an object",
        .source = "docs/protocols/roundtable.md#envelope",
        .hint = "Put the content of the message into `payload`, an object.",
        PARLEY_PLACES({.path = "/payload", .kinds = PARLEY_OBJECT, .is_required = true}),
    },
    {
        .id = "RT-020",
        .severity = PARLEY_ERROR,
        .summary =
            "the `task` of a task.request is `<domain>.<action>`: two or more tokens of A-Z a-z "
            "0-9 _ - joined by dots, at most 128 characters",
        .source = "docs/protocols/roundtable.md#task-request",
        .hint =
            "Name the task in `payload.task` as domain and action, such as \"security.briefing\".",
        PARLEY_PLACES({.path = "/payload/task",
                       .kinds = PARLEY_STRING,
                       .is_required = true,
                       .constraint = PARLEY_PATTERN,
                       .pattern = "^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)+$",
                       .maximum = 128,
                       .words = "<domain>.<action> (two or more tokens of A-Z a-z 0-9 _ - joined "
                                "by dots, at most 128 characters)",
                       .for_types = REQUEST}),
    },
    {
        .id = "RT-021",
        .severity = PARLEY_ERROR,
        .summary = "in a task.request `params` is an object, `responseFormat` a string and "
                   "`maxTokens` a positive integer, each if present",
        .source = "docs/protocols/roundtable.md#task-request",
        PARLEY_PLACES({.path = "/payload/params",
                       .kinds = PARLEY_OBJECT,
                       .for_types = REQUEST,
                       .hint = "Make `params` an object, or leave it out."},
                      {.path = "/payload/responseFormat",
                       .kinds = PARLEY_STRING,
                       .for_types = REQUEST,
                       .hint = "Make `responseFormat` a string such as \"markdown\", or leave it "
                               "out."},
                      {.path = "/payload/maxTokens",
                       .kinds = PARLEY_INTEGER,
                       .constraint = PARLEY_MINIMUM,
                       .minimum = 1,
                       .for_types = REQUEST,
                       .hint = "Set `maxTokens` to a whole number, 1 or more, or leave it out."}),
    },
    {
        .id = "RT-022",
        .severity = PARLEY_ERROR,
        .summary = "in a task.claimed `estimatedDurationSeconds` is a number of 0 or more and "
                   "`message` a string, each if present",
        .source = "docs/protocols/roundtable.md#task-claimed",
        PARLEY_PLACES({.path = "/payload/estimatedDurationSeconds",
                       .kinds = PARLEY_NUMBER,
                       .constraint = PARLEY_MINIMUM,
                       .minimum = 0,
                       .for_types = CLAIMED,
                       .hint = "Set `estimatedDurationSeconds` to a number of 0 or more, or leave "
                               "it out."},
                      {.path = "/payload/message",
                       .kinds = PARLEY_STRING,
                       .for_types = CLAIMED,
                       .hint = "Make `message` a string, or leave it out."}),
    },
    {
        .id = "RT-023",
        .severity = PARLEY_ERROR,
        .summary = "in a task.progress `percent` is a number from 0 to 100 and `message` a string, "
                   "each if present",
        .source = "docs/protocols/roundtable.md#task-progress",
        PARLEY_PLACES({.path = "/payload/percent",
                       .kinds = PARLEY_NUMBER,
                       .constraint = PARLEY_RANGE,
                       .minimum = 0,
                       .maximum = 100,
                       .for_types = PROGRESS,
                       .hint = "Set `percent` to a number from 0 to 100, not in quotes, or leave "
                               "it out."},
                      {.path = "/payload/message",
                       .kinds = PARLEY_STRING,
                       .for_types = PROGRESS,
                       .hint = "Make `message` a string, or leave it out."}),
    },
    {
        .id = "RT-024",
        .severity = PARLEY_ERROR,
        .summary = "in a task.progress `subTasks`, if any, is an array of objects with a string "
                   "`id`, a string `status` that is not empty, and a string `description`, if any",
        .source = "docs/protocols/roundtable.md#task-progress",
        PARLEY_PLACES({.path = "/payload/subTasks",
                       .kinds = PARLEY_ARRAY,
                       .for_types = PROGRESS,
                       .hint = "Make `subTasks` an array of objects, or leave it out."},
                      {.path = "/payload/subTasks/*",
                       .kinds = PARLEY_OBJECT,
                       .for_types = PROGRESS,
                       .hint = "Write each sub-task as an object: {\"id\": \"…\", \"status\": "
                               "\"pending\"}."},
                      {.path = "/payload/subTasks/*/id",
                       .kinds = PARLEY_STRING,
                       .is_required = true,
                       .for_types = PROGRESS,
                       .hint = "Give each sub-task an `id`: a string."},
                      {.path = "/payload/subTasks/*/status",
                       .kinds = PARLEY_STRING,
                       .is_required = true,
                       .constraint = PARLEY_MIN_LENGTH,
                       .minimum = 1,
                       .for_types = PROGRESS,
                       .hint = "Set the sub-task's `status` to a string such as \"in_progress\"."},
                      {.path = "/payload/subTasks/*/description",
                       .kinds = PARLEY_STRING,
                       .for_types = PROGRESS,
                       .hint = "Make `description` a string, or leave it out."}),
    },
    {
        .id = "RT-025",
        .severity = PARLEY_ERROR,
        .summary = "the `status` of a task.result is completed or failed",
        .source = "docs/protocols/roundtable.md#task-result",
        .hint = "Set `payload.status` to \"completed\" or \"failed\".",
        PARLEY_PLACES({.path = "/payload/status",
                       .kinds = PARLEY_STRING,
                       .is_required = true,
                       .constraint = PARLEY_ONE_OF,
                       .choices = LIST("completed", "failed"),
                       .for_types = RESULT}),
    },
    {
        .id = "RT-026",
        .severity = PARLEY_ERROR,
        .summary = "a task.result that is completed has a `result`: an object with a string "
                   "`format` and a `content`, whose `metadata`, if any, is an object",
        .source = "docs/protocols/roundtable.md#task-result",
        PARLEY_PLACES(
            {.path = "/payload/result",
             .for_types = RESULT,
             .when = PARLEY_TESTS(COMPLETED),
             .wants = PARLEY_TESTS(HAS_RESULT),
             .message = "the task is completed, but `payload/result` is missing or not "
                        "an object",
             .hint = "Put the result of the task into `payload.result`: {\"format\": \"markdown\", "
                     "\"content\": \"…\"}."},
            {.path = "/payload/result/format",
             .for_types = RESULT,
             .when = PARLEY_TESTS(COMPLETED, HAS_RESULT),
             .wants = PARLEY_TESTS({.field = ROUNDTABLE_RESULT_FORMAT,
                                    .asks = PARLEY_IS_THERE,
                                    .kinds = PARLEY_STRING}),
             .message = "the result's `format` is missing or not a string",
             .hint =
                 "Set `format` to the format of the content, such as \"markdown\" or \"json\"."},
            {.path = "/payload/result/content",
             .for_types = RESULT,
             .when = PARLEY_TESTS(COMPLETED, HAS_RESULT),
             .wants = PARLEY_TESTS({.field = ROUNDTABLE_RESULT_CONTENT, .asks = PARLEY_IS_THERE}),
             .message = "the result has no `content`",
             .hint = "Put the result itself into `content`: text or any other JSON value."},
            {.path = "/payload/result/metadata",
             .for_types = RESULT,
             .when = PARLEY_TESTS(COMPLETED, HAS_RESULT,
                                  {.field = ROUNDTABLE_RESULT_METADATA, .asks = PARLEY_IS_THERE}),
             .wants = PARLEY_TESTS({.field = ROUNDTABLE_RESULT_METADATA,
                                    .asks = PARLEY_IS_THERE,
                                    .kinds = PARLEY_OBJECT}),
             .message = "the result's `metadata` is not an object",
             .hint = "Make `metadata` an object, or leave it out."}),
    },
    {
        .id = "RT-027",
        .severity = PARLEY_ERROR,
        .summary = "in a task.failed `error` is a string, and so is `message`, if any",
        .source = "docs/protocols/roundtable.md#task-failed",
        PARLEY_PLACES({.path = "/payload/error",
                       .kinds = PARLEY_STRING,
                       .is_required = true,
                       .for_types = FAILED,
                       .hint = "Set `payload.error` to an error code such as \"timeout\"."},
                      {.path = "/payload/message",
                       .kinds = PARLEY_STRING,
                       .for_types = FAILED,
                       .hint = "Make `message` a string, or leave it out."}),
    },
    {
        .id = "RT-028",
        .severity = PARLEY_ERROR,
        .summary = "in a task.failed `retryable` is a boolean, and `retryAfterSeconds`, if any, a "
                   "number of 0 or more",
        .source = "docs/protocols/roundtable.md#task-failed",
        PARLEY_PLACES({.path = "/payload/retryable",
                       .kinds = PARLEY_BOOLEAN,
                       .is_required = true,
                       .for_types = FAILED,
                       .hint = "Set `payload.retryable` to true if trying again may help, else to "
                               "false, without quotes."},
                      {.path = "/payload/retryAfterSeconds",
                       .kinds = PARLEY_NUMBER,
                       .constraint = PARLEY_MINIMUM,
                       .minimum = 0,
                       .for_types = FAILED,
                       .hint = "Set `retryAfterSeconds` to a number of 0 or more, or leave it "
                               "out."}),
    },
    {
        .id = "RT-029",
        .severity = PARLEY_ERROR,
        .summary = "a heartbeat has a string `status`; `uptime` is a number of 0 or more, "
                   "`capabilities` an array of strings, `activeTaskCount` an integer of 0 or more, "
                   "`model` and `version` are strings, each if present",
        .source = "docs/protocols/roundtable.md#heartbeat",
        PARLEY_PLACES(
            {.path = "/payload/status",
             .kinds = PARLEY_STRING,
             .is_required = true,
             .for_types = HEARTBEAT,
             .hint = "Set `payload.status` to the state of the agent, such as \"healthy\"."},
            {.path = "/payload/uptime",
             .kinds = PARLEY_NUMBER,
             .constraint = PARLEY_MINIMUM,
             .minimum = 0,
             .for_types = HEARTBEAT,
             .hint = "Set `uptime` to a number of seconds, 0 or more, or leave it out."},
            {.path = "/payload/capabilities",
             .kinds = PARLEY_ARRAY,
             .for_types = HEARTBEAT,
             .hint = "Make `capabilities` an array of task names, or leave it out."},
            {.path = "/payload/capabilities/*",
             .kinds = PARLEY_STRING,
             .for_types = HEARTBEAT,
             .hint = "Name each capability by a string, such as \"security.briefing\"."},
            {.path = "/payload/activeTaskCount",
             .kinds = PARLEY_INTEGER,
             .constraint = PARLEY_MINIMUM,
             .minimum = 0,
             .for_types = HEARTBEAT,
             .hint = "Set `activeTaskCount` to a whole number, 0 or more, or leave it "
                     "out."},
            {.path = "/payload/model",
             .kinds = PARLEY_STRING,
             .for_types = HEARTBEAT,
             .hint = "Make `model` a string, or leave it out."},
            {.path = "/payload/version",
             .kinds = PARLEY_STRING,
             .for_types = HEARTBEAT,
             .hint = "Make the agent's `version` a string, or leave it out."}),
    },
    {
        .id = "RT-101",
        .severity = PARLEY_WARNING,
        .summary = "the `error` of a task.failed is in the table of error codes: rate_limited, "
                   "timeout, model_error, skill_missing, invalid_params or internal_error",
        .source = "docs/protocols/roundtable.md#task-failed",
        .hint = "Use the closest code of the table, and put the details into `message`.",
        PARLEY_PLACES({.path = "/payload/error",
                       .kinds = PARLEY_STRING,
                       .constraint = PARLEY_ONE_OF,
                       .choices = LIST("rate_limited", "timeout", "model_error", "skill_missing",
                                       "invalid_params", "internal_error"),
                       .for_types = FAILED}),
    },
    {
        .id = "RT-102",
        .severity = PARLEY_WARNING,
        .summary = "`retryable` of a task.failed is what the table of error codes says: true with "
                   "rate_limited, timeout and model_error, false with skill_missing and "
                   "invalid_params",
        .source = "docs/protocols/roundtable.md#task-failed",
        PARLEY_PLACES(
            {.path = "/payload/retryable",
             .for_types = FAILED,
             .is_broken = gives_up_on_passing_error,
             .suggested = "true",
             .message = "`payload/retryable` is false, but an error with this code is temporary",
             .hint = "Set `retryable` to true, or use the error code that fits."},
            {.path = "/payload/retryable",
             .for_types = FAILED,
             .is_broken = retries_lasting_error,
             .suggested = "false",
             .message = "`payload/retryable` is true, but an error with this code is permanent",
             .hint = "Set `retryable` to false, or use the error code that fits."}),
    },
    {
        .id = "RT-103",
        .severity = PARLEY_WARNING,
        .summary = "a task.request has not expired: `timestamp` plus `ttl` (default: 3600 seconds) "
                   "is not in the past",
        .source = "docs/protocols/roundtable.md#expiry",
        .hint = "Send the request again with the current time, or with a longer `ttl`.",
        PARLEY_PLACES(
            {.path = "/timestamp",
             .for_types = REQUEST,
             .is_broken = has_expired,
             .message = "the request has expired: `timestamp` plus `ttl` is in the past"}),
    },
    {
        .id = "RT-104",
        .severity = PARLEY_WARNING,
        .summary = "`from` and `to` are 1 to 64 of A-Z a-z 0-9 _ -, which appear in subjects "
                   "unchanged; other agent ids are percent-encoded there",
        .source = "docs/protocols/roundtable.md#agent-ids",
        .hint = "Use an agent id of 1 to 64 letters, digits, `_` and `-`, such as \"galahad\".",
        PARLEY_PLACES({.path = "/from", PLAIN_AGENT_ID}, {.path = "/to", PLAIN_AGENT_ID}),
    },
    {
        .id = "RT-105",
        .severity = PARLEY_WARNING,
        .summary = "the `status` of a sub-task is pending, in_progress, completed or failed",
        .source = "docs/protocols/roundtable.md#task-progress",
        .hint = "Set the sub-task's `status` to \"pending\", \"in_progress\", \"completed\" or "
                "\"failed\".",
        PARLEY_PLACES({.path = "/payload/subTasks/*/status",
                       .kinds = PARLEY_STRING,
                       .constraint = PARLEY_ONE_OF,
                       .choices = LIST("pending", "in_progress", "completed", "failed"),
                       .for_types = PROGRESS}),
    },
    {
        .id = "RT-201",
        .severity = PARLEY_WARNING,
        .summary = "the task of a task.claimed, task.progress, task.result or task.failed is known",
        .source = "docs/protocols/roundtable.md#lifecycle",
        .hint =
            "Check `correlationId`: it is the id of the task.request, which is published before "
            "the other messages of a task.",
        .spans_messages = true,
        PARLEY_PLACES(
            {.path = "/correlationId", .for_types = CLAIMED | PROGRESS | RESULT | FAILED}),
    },
    {
        .id = "RT-202",
        .severity = PARLEY_WARNING,
        .summary = "a task.progress, task.result or task.failed comes from the agent that holds "
                   "the task, or from the one that requested it, unless nobody holds it",
        .source = "docs/protocols/roundtable.md#lifecycle",
        .hint = "Claim a task before you work on it, and stop working on what another agent "
                "holds.",
        .spans_messages = true,
        PARLEY_PLACES({.path = "/from", .for_types = PROGRESS | RESULT | FAILED}),
    },
    {
        .id = "RT-203",
        .severity = PARLEY_WARNING,
        .summary = "the task of a task.progress, task.result or task.failed is not over: it is "
                   "neither completed nor failed nor expired",
        .source = "docs/protocols/roundtable.md#lifecycle",
        .hint = "Stop working on the task. To try it again, request it with a new id and this one "
                "as its `correlationId`.",
        .spans_messages = true,
        PARLEY_PLACES({.path = "/correlationId", .for_types = PROGRESS | RESULT | FAILED}),
    },
    {
        .id = "RT-205",
        .severity = PARLEY_WARNING,
        .summary = "the task that a task.request names has failed, retryable, or has expired, and "
                   "was not tried again before; or it has completed",
        .source = "docs/protocols/roundtable.md#lifecycle",
        .hint = "Wait until the task is over, and try it again once: `retried_by` of the task is "
                "the request that does so.",
        .spans_messages = true,
        PARLEY_PLACES({.path = "/correlationId", .for_types = REQUEST}),
    },
};
