/* SPDX-License-Identifier: Apache-2.0 */

/* Round Table, version 1 of its message contract: tasks that agents give, claim and answer, as
 * JSON. The engine decodes and encodes them. */

#include "roundtable.h"

#include <parley/notice.h>

#include "json_message.h"
#include "json_canonical.h"

const char *const roundtable_types[] = {"task.request",
                                        "task.claimed",
                                        "task.progress",
                                        "task.result",
                                        "task.failed",
                                        "heartbeat",
                                        NULL};

const char *const roundtable_priorities[] = {"low", "normal", "high", "critical", NULL};

static const char *const fields[] = {
    [ROUNDTABLE_ID] = "/id",
    [ROUNDTABLE_TYPE] = "/type",
    [ROUNDTABLE_FROM] = "/from",
    [ROUNDTABLE_TO] = "/to",
    [ROUNDTABLE_TIMESTAMP] = "/timestamp",
    [ROUNDTABLE_CORRELATION_ID] = "/correlationId",
    [ROUNDTABLE_PRIORITY] = "/priority",
    [ROUNDTABLE_TTL] = "/ttl",
    [ROUNDTABLE_PAYLOAD] = "/payload",
    [ROUNDTABLE_TASK] = "/payload/task",
    [ROUNDTABLE_STATUS] = "/payload/status",
    [ROUNDTABLE_TASK_RESULT] = "/payload/result",
    [ROUNDTABLE_RESULT_FORMAT] = "/payload/result/format",
    [ROUNDTABLE_RESULT_CONTENT] = "/payload/result/content",
    [ROUNDTABLE_RESULT_METADATA] = "/payload/result/metadata",
    [ROUNDTABLE_ERROR] = "/payload/error",
    [ROUNDTABLE_RETRYABLE] = "/payload/retryable",
    [ROUNDTABLE_RETRY_AFTER] = "/payload/retryAfterSeconds",
    [ROUNDTABLE_PERCENT] = "/payload/percent",
    [ROUNDTABLE_MESSAGE] = "/payload/message",
    NULL,
};

static const struct parley_stamp stamps[] = {
    {.member = "id", .with = PARLEY_STAMP_ID},
    {.member = "version", .with = PARLEY_STAMP_TEXT, .text = "1.0"},
    {.member = "timestamp", .with = PARLEY_STAMP_TIME},
    {.member = NULL},
};

static const struct parley_codec *const codecs[] = {&parley_codec_json, &parley_codec_ndjson, NULL};

/* An agent that retries may send another time, priority or time to live. */
static enum parley_status fingerprint(struct parley_message *message, struct parley_bytes *out) {
    static const unsigned same[] = {ROUNDTABLE_FROM, ROUNDTABLE_TO, ROUNDTABLE_CORRELATION_ID,
                                    ROUNDTABLE_PAYLOAD};
    return json_canonical_members(message, same, sizeof same / sizeof same[0], out);
}

static unsigned sender_field(const struct parley_message *message) {
    (void)message;
    return ROUNDTABLE_FROM;
}

static const struct parley_facts_kind facts = {
    .bucket = "parley_tasks",
    .subjects = (const char *const[]){"tasks.>", "events.task.claimed", "events.task.progress",
                                      "results.>", NULL},
    .mode = &roundtable_options[ROUNDTABLE_OPTION_LIFECYCLE],
    .decide = roundtable_decide,
};

/* docs/webhooks.md */
static const struct parley_notice notices[] = {
    {.event = "task.ended", .keys = "*.end"},
    {.event = "task.expired", .keys = "*.expired", .is_moment = true},
    {.event = "task.lapsed", .keys = "*.lapsed.*", .is_moment = true},
    {.event = NULL},
};

extern const struct parley_protocol roundtable_protocol;
const struct parley_protocol roundtable_protocol = {
    .name = "roundtable",
    .title = "Round Table",
    .spec_version = "1.0",
    .stream = "ROUNDTABLE",
    .subjects = "roundtable.>",
    .families = (const char *const[]){"tasks.>", "events.>", "results.>", "heartbeat.>", NULL},
    .message_bytes_max = 1 << 20,
    .types = roundtable_types,
    .priorities = roundtable_priorities,
    .has_domains = true,
    .has_receivers = true,
    .is_thread_caseless = true, /* a UUID (RT-001, RT-008) */
    .fields = fields,
    .type_field = ROUNDTABLE_TYPE,
    .rules = roundtable_rules,
    .rule_count = ROUNDTABLE_RULE_COUNT,
    .codecs = codecs,
    .stamps = stamps,
    .problems = roundtable_problems,
    .options = roundtable_options,
    .examples = roundtable_examples,
    .dialects = roundtable_dialects,
    .decode = json_decode,
    .validate = json_validate,
    .encode = json_encode,
    .route = roundtable_route,
    .fingerprint = fingerprint,
    .convert = json_convert,
    .sender_field = sender_field,
    .stamp = json_stamp,
    .tasks = &roundtable_tasks,
    .facts = &facts,
    .agents = &roundtable_agents,
    .notices = notices,
    .index = &roundtable_index,
};
