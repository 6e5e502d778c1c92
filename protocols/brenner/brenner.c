/* SPDX-License-Identifier: Apache-2.0 */

/* Brenner, version 0.1 of its message bodies: research sessions of agents as Markdown, in an
 * envelope of JSON or of YAML front matter. */

#include "brenner.h"

#include <parley/artifact.h>

#include "json_message.h"
#include "markdown.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

const char *const brenner_types[] = {"kickoff", "delta",   "compiled", "critique", "ack", "claim",
                                     "handoff", "blocked", "question", "info",     NULL};

/* The prefix of a subject, by type; DELTA also contains the role of its agent. */
static const char *const prefixes[] = {"KICKOFF", "DELTA[",  "COMPILED", "CRITIQUE", "ACK", "CLAIM",
                                       "HANDOFF", "BLOCKED", "QUESTION", "INFO",     NULL};

static const char *const fields[] = {
    [BRENNER_SUBJECT] = "/subject",
    [BRENNER_BODY_MD] = "/body_md",
    [BRENNER_BODY] = "/body",
    [BRENNER_FROM] = "/from",
    [BRENNER_SENDER_NAME] = "/sender_name",
    [BRENNER_TO] = "/to",
    [BRENNER_THREAD_ID] = "/thread_id",
    [BRENNER_ACK_REQUIRED] = "/ack_required",
    [BRENNER_ID] = "/id",
    [BRENNER_IMPORTANCE] = "/importance",
    NULL,
};

static const struct parley_stamp stamps[] = {
    {.member = "id", .with = PARLEY_STAMP_ID},
    {.member = NULL},
};

const struct parley_codec brenner_codec_markdown = {
    .name = "markdown",
    .media_types = LIST("text/markdown"),
    .extensions = LIST("md", "markdown"),
    .framing = PARLEY_FRAMING_WHOLE,
    .begins = markdown_begins,
};

static const struct parley_codec *const codecs[] = {&parley_codec_json, &parley_codec_ndjson,
                                                    &brenner_codec_markdown, NULL};

/* The length of "opus]", which is required after DELTA[. */
static size_t role_length(struct parley_bytes rest) {
    size_t length = 0;
    while (length < rest.length && rest.data[length] >= 'a' && rest.data[length] <= 'z') {
        length++;
    }
    return length > 0 && length < rest.length && rest.data[length] == ']' ? length + 1 : 0;
}

unsigned brenner_type_of(struct parley_bytes subject) {
    for (unsigned type = 0; prefixes[type] != NULL; type++) {
        size_t length = strlen(prefixes[type]);
        if (subject.length <= length || memcmp(subject.data, prefixes[type], length) != 0) {
            continue;
        }
        if (type == BRENNER_DELTA) {
            const size_t role =
                role_length((struct parley_bytes){subject.data + length, subject.length - length});
            length += role > 0 ? role : subject.length;
        }
        if (length < subject.length && subject.data[length] == ':') {
            return type;
        }
    }
    return PARLEY_TYPE_OTHER;
}

static enum parley_status decode(struct parley_message *message, const struct parley_codec *codec) {
    return codec == &brenner_codec_markdown ? markdown_decode(message)
                                            : json_decode(message, codec);
}

static enum parley_status validate(struct parley_message *message) {
    return message->codec == &brenner_codec_markdown ? markdown_validate(message)
                                                     : json_validate(message);
}

static enum parley_status encode(struct parley_message *message, struct parley_buffer *out) {
    return message->codec == &brenner_codec_markdown ? markdown_encode(message, out)
                                                     : json_encode(message, out);
}

static struct parley_position place_of(const struct parley_message *message, unsigned field) {
    return markdown_place(message, fields[field]);
}

static unsigned sender_field(const struct parley_message *message) {
    return brenner_claimed_field(message);
}

extern const struct parley_protocol brenner_protocol;
const struct parley_protocol brenner_protocol = {
    .name = "brenner",
    .title = "Brenner",
    .spec_version = "0.1",
    .stream = "BRENNER",
    .subjects = "brenner.>",
    .message_bytes_max = BRENNER_BYTES_MAX,
    .types = brenner_types,
    .has_receivers = true,
    .fields = fields,
    .type_field = BRENNER_SUBJECT,
    .rules = brenner_rules,
    .rule_count = BRENNER_RULE_COUNT,
    .codecs = codecs,
    .stamps = stamps,
    .examples = brenner_examples,
    .dialects = brenner_dialects,
    .decode = decode,
    .validate = validate,
    .encode = encode,
    .route = brenner_route,
    .convert = brenner_convert,
    .sender_field = sender_field,
    .other_speaker = brenner_other_speaker,
    .place_of = place_of,
    .type_of = brenner_type_of,
    .stamp = json_stamp,
    .inspect = brenner_inspect,
    .inspects_captures = true,
    .refusal_media_type = "text/markdown",
    .write_refusal = markdown_write_refusal,
    .edit_of = markdown_edit_of,
    .artifact = &brenner_artifact,
    .index = &brenner_index,
};
