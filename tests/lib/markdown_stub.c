/* SPDX-License-Identifier: Apache-2.0 */

#include "markdown_stub.h"

#include "brenner/markdown.h"
#include "engine/json.h"
#include "engine/walk.h"

enum { SUBJECT, BODY_MD, FIELD_COUNT };

static const char *const fields[] = {[SUBJECT] = "/subject", [BODY_MD] = "/body_md", NULL};
static const char *const types[] = {NULL};
static const char *const media_types[] = {"text/markdown", NULL};
static const char *const extensions[] = {"md", NULL};

const struct parley_codec markdown_stub_codec = {.name = "markdown",
                                                 .media_types = media_types,
                                                 .extensions = extensions,
                                                 .framing = PARLEY_FRAMING_WHOLE,
                                                 .begins = markdown_begins};

static const struct parley_codec *const codecs[] = {&parley_codec_json, &markdown_stub_codec, NULL};
static const struct parley_stamp stamps[] = {{.member = "id", .with = PARLEY_STAMP_ID},
                                             {.member = NULL}};

enum { TO, HAS_SUBJECT, WRONG, RULE_COUNT };

static const struct parley_rule rules[] = {
    [TO] = {.id = "S-001",
            .severity = PARLEY_ERROR,
            .summary = "`to` is text, or an array of text",
            .source = "tests",
            .hint = "Write names.",
            PARLEY_PLACES({.path = "/to", .kinds = PARLEY_STRING | PARLEY_ARRAY},
                          {.path = "/to/*", .kinds = PARLEY_STRING})},
    [HAS_SUBJECT] = {.id = "S-002",
                     .severity = PARLEY_ERROR,
                     .summary = "`subject` is there",
                     .source = "tests",
                     .hint = "Add a subject.",
                     PARLEY_PLACES({.path = "/subject", .is_required = true})},
    [WRONG] = {.id = "S-003",
               .severity = PARLEY_ERROR,
               .summary = "nothing in the body is wrong",
               .source = "tests",
               .hint = "Right it.",
               PARLEY_PLACES({.path = "/body_md", .by_inspection = true})},
};

/* Where "wrong" stands first in the body. */
static enum parley_status inspect(struct parley_message *message, struct walk *walk) {
    const struct parley_bytes body = message->values[BODY_MD].text;
    struct parley_position at = {1, 1};
    for (size_t i = 0; i + 5 <= body.length; i++) {
        if (memcmp(body.data + i, "wrong", 5) == 0) {
            walk_report(walk, WRONG,
                        (struct parley_finding){
                            .path = "/body_md", .message = "this is wrong", .body_at = at});
            break;
        }
        at = body.data[i] == '\n' ? (struct parley_position){at.line + 1, 1}
                                  : (struct parley_position){at.line, at.column + 1};
    }
    return PARLEY_OK;
}

static enum parley_status decode(struct parley_message *message, const struct parley_codec *codec) {
    return codec == &markdown_stub_codec ? markdown_decode(message) : json_decode(message, codec);
}

static enum parley_status validate(struct parley_message *message) {
    return message->source != NULL ? markdown_validate(message) : json_validate(message);
}

static enum parley_status route(struct parley_message *message, struct parley_route *out) {
    (void)message;
    *out = (struct parley_route){.dedupe = PARLEY_DEDUPE_NONE};
    return PARLEY_OK;
}

static enum parley_status convert(struct parley_message *message, const struct parley_codec *to,
                                  struct parley_buffer *out) {
    return to == &markdown_stub_codec ? markdown_write(message, out) : json_encode(message, out);
}

const struct parley_protocol markdown_stub = {
    .name = "stub",
    .title = "Stub",
    .spec_version = "1",
    .stream = "STUB",
    .subjects = "stub.>",
    .message_bytes_max = 1 << 20,
    .types = types,
    .fields = fields,
    .type_field = SUBJECT,
    .rules = rules,
    .rule_count = RULE_COUNT,
    .codecs = codecs,
    .stamps = stamps,
    .decode = decode,
    .validate = validate,
    .encode = json_encode,
    .route = route,
    .convert = convert,
    .stamp = json_stamp,
    .inspect = inspect,
    .refusal_media_type = "text/markdown",
    .write_refusal = markdown_write_refusal,
};
