/* SPDX-License-Identifier: Apache-2.0 */

/* VLP, the Vigilith Language Protocol 1.1: accountable claims as JSON. Its messages are plain JSON,
 * so that the engine decodes and encodes them. */

#include "vlp.h"

#include <parley/notice.h>

#include "json_message.h"

const char *const vlp_types[] = {"claim",      "evidence", "query",           "response",
                                 "correction", "notice",   "session_context", NULL};

const char *const vlp_lanes[] = {"safe", "review", "block", NULL};

static const char *const fields[] = {
    [VLP_ID] = "/id",
    [VLP_TYPE] = "/type",
    [VLP_TIMESTAMP] = "/timestamp",
    [VLP_SENDER] = "/sender",
    [VLP_RECEIVER] = "/receiver",
    [VLP_SESSION_ID] = "/session_id",
    [VLP_CONFIDENCE] = "/confidence",
    [VLP_PROVENANCE] = "/provenance",
    [VLP_REFERS_TO] = "/refers_to",
    [VLP_KEYWORDS] = "/keywords",
    [VLP_PAYLOAD] = "/payload",
    [VLP_SAFETY] = "/safety",
    [VLP_SAFETY_LEVEL] = "/safety/level",
    [VLP_SAFETY_ISSUES] = "/safety/issues",
    NULL,
};

static const struct parley_stamp stamps[] = {
    {.member = "id", .with = PARLEY_STAMP_ID},
    {.member = "protocol", .with = PARLEY_STAMP_TEXT, .text = "VLP/1.1"},
    {.member = "timestamp", .with = PARLEY_STAMP_TIME},
    {.member = NULL},
};

static const struct parley_codec *const codecs[] = {&parley_codec_json, &parley_codec_ndjson, NULL};

static unsigned sender_field(const struct parley_message *message) {
    (void)message;
    return VLP_SENDER;
}

/* docs/webhooks.md */
static const struct parley_notice notices[] = {
    {.event = "review.waiting", .subjects = "review.>"},
    {.event = NULL},
};

extern const struct parley_protocol vlp_protocol;
const struct parley_protocol vlp_protocol = {
    .name = "vlp",
    .title = "Vigilith Language Protocol",
    .spec_version = "VLP/1.1",
    .stream = "VLP",
    .subjects = "vlp.>",
    .message_bytes_max = 1 << 20,
    .types = vlp_types,
    .lanes = vlp_lanes,
    .has_receivers = true,
    .fields = fields,
    .type_field = VLP_TYPE,
    .rules = vlp_rules,
    .rule_count = VLP_RULE_COUNT,
    .codecs = codecs,
    .stamps = stamps,
    .options = vlp_options,
    .examples = vlp_examples,
    .decode = json_decode,
    .validate = json_validate,
    .encode = json_encode,
    .route = vlp_route,
    .convert = json_convert,
    .sender_field = sender_field,
    .stamp = json_stamp,
    .escalate = vlp_escalate,
    .halts = &vlp_halts,
    .reviews = &vlp_reviews,
    .notices = notices,
    .index = &vlp_index,
};
