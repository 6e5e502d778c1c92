/* SPDX-License-Identifier: Apache-2.0 */

/* As little of a protocol as shows what readers tell the rules: a type that decides which rules
 * hold, an integer, items, and a warning. */

#include "msgpack_protocol.h"

#include "json/json_message.h"
#include "msgpack/msgpack_message.h"

enum { TYPE, TIMESTAMP, LABEL };

static const char *const fields[] = {"/type", "/timestamp", "/label", NULL};
static const char *const types[] = {"beat", "note", NULL};

static const struct parley_rule rules[] = {
    {.id = "T-001",
     .severity = PARLEY_ERROR,
     .summary = "a type is a string",
     .hint = "-",
     PARLEY_PLACES({.path = "/type", .kinds = PARLEY_STRING, .is_required = true})},
    {.id = "T-002",
     .severity = PARLEY_ERROR,
     .summary = "a timestamp is an integer",
     .hint = "-",
     PARLEY_PLACES({.path = "/timestamp", .kinds = PARLEY_INTEGER, .is_required = true})},
    {.id = "T-003",
     .severity = PARLEY_ERROR,
     .summary = "a note has data",
     .hint = "-",
     PARLEY_PLACES({.path = "/data", .is_required = true, .for_types = PARLEY_TYPE_BIT(1)},
                   {.path = "/data/list/*", .kinds = PARLEY_STRING})},
    {.id = "T-004",
     .severity = PARLEY_WARNING,
     .summary = "a label is short",
     .hint = "-",
     PARLEY_PLACES({.path = "/label", .constraint = PARLEY_MAX_LENGTH, .maximum = 4})},
};

const struct parley_codec msgpack_protocol_codec = {
    .name = "msgpack", .framing = PARLEY_FRAMING_WHOLE, .is_binary = true};

static const struct parley_codec *const codecs[] = {&parley_codec_json, &msgpack_protocol_codec,
                                                    NULL};

static const struct parley_stamp stamps[] = {{.member = "timestamp", .with = PARLEY_STAMP_SECONDS},
                                             {.member = NULL}};

static enum parley_status decode(struct parley_message *message, const struct parley_codec *codec) {
    return codec->is_binary ? msgpack_decode(message, codec) : json_decode(message, codec);
}

static enum parley_status validate(struct parley_message *message) {
    return message->codec->is_binary ? msgpack_validate(message) : json_validate(message);
}

static enum parley_status encode(struct parley_message *message, struct parley_buffer *out) {
    return message->codec->is_binary ? msgpack_encode(message, out) : json_encode(message, out);
}

static enum parley_status stamp(struct parley_message *message, const struct parley_codec *codec) {
    return codec->is_binary ? msgpack_stamp(message, codec) : json_stamp(message, codec);
}

static enum parley_status route(struct parley_message *message, struct parley_route *out) {
    (void)message;
    *out = (struct parley_route){.subject = {0}};
    return PARLEY_OK;
}

const struct parley_protocol msgpack_protocol = {
    .name = "test",
    .message_bytes_max = 1 << 20,
    .types = types,
    .fields = fields,
    .type_field = TYPE,
    .rules = rules,
    .rule_count = sizeof rules / sizeof rules[0],
    .codecs = codecs,
    .stamps = stamps,
    .decode = decode,
    .validate = validate,
    .encode = encode,
    .route = route,
    .convert = json_convert,
    .stamp = stamp,
    .inspects_size = true,
};
