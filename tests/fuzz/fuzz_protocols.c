/* SPDX-License-Identifier: Apache-2.0 */

/* Every protocol, in every encoding that it reads: a valid message stays valid, and stays the same,
 * when it is encoded, converted to another encoding, and converted back. The first byte of an input
 * picks the protocol, the second the encoding, the third the options; the rest is the message. */

#include <stdlib.h>

#include <jansson.h>

#include <parley/message.h>

#include "fuzz.h"

#include "lib/protocol_options.h"

enum { PROTOCOLS_MAX = 8, HEAD_BYTES = 3 };

static struct parley_schema *schemas[PROTOCOLS_MAX];

/* Made once, and kept: it is the messages that are looked at. */
static struct parley_schema *schema_of(size_t number) {
    if (schemas[number] == NULL) {
        require(parley_schema_create(parley_protocols[number], &schemas[number]) == PARLEY_OK,
                "the schema is made");
    }
    return schemas[number];
}

static size_t codec_count(const struct parley_protocol *protocol) {
    size_t count = 0;
    while (protocol->codecs[count] != NULL) {
        count++;
    }
    return count;
}

/* Frames are cut by the splitter; what a converted one bears is behind its length. */
static struct parley_bytes unframed(struct parley_bytes bytes, const struct parley_codec *codec) {
    enum { LENGTH_BYTES = 4 };
    if (codec->framing != PARLEY_FRAMING_FRAMES) {
        return bytes;
    }
    require(bytes.length > LENGTH_BYTES, "a frame has a length and a message");
    return (struct parley_bytes){bytes.data + LENGTH_BYTES, bytes.length - LENGTH_BYTES};
}

static bool check(struct parley_message *message, struct parley_bytes bytes,
                  const struct parley_codec *codec, const struct parley_options *options) {
    const struct parley_position origin = {1, 1};
    const enum parley_status status = parley_message_check(message, bytes, codec, options, origin);
    require(status == PARLEY_OK, "a verdict is reached");
    struct parley_buffer verdict;
    parley_buffer_init(&verdict);
    require(parley_message_write_verdict(message, &verdict) == PARLEY_OK, "the verdict is written");
    parley_buffer_finish(&verdict);
    for (size_t i = 0; i < message->findings.count; i++) {
        require(message->findings.items[i].at.line != 0, "a finding has a place");
    }
    return parley_message_is_valid(message);
}

/* The message as JSON that can be compared: `body` is another name of `body_md`, which Markdown
 * cannot keep apart. */
static json_t *meaning(struct parley_bytes text) {
    json_t *tree =
        json_loadb(text.data, text.length, JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, NULL);
    require(tree != NULL, "what is encoded is JSON");
    json_t *body = json_object_get(tree, "body");
    if (body != NULL && json_is_string(body) && !json_is_string(json_object_get(tree, "body_md"))) {
        json_object_set(tree, "body_md", body);
    }
    json_object_del(tree, "body");
    return tree;
}

static void require_same(struct parley_bytes a, struct parley_bytes b) {
    json_t *one = meaning(a), *other = meaning(b);
    require(json_equal(one, other), "there and back again is the same message");
    json_decref(one);
    json_decref(other);
}

static void convert(struct parley_message *message, const struct parley_codec *to,
                    struct parley_buffer *out) {
    parley_buffer_init(out);
    require(message->protocol->convert(message, to, out) == PARLEY_OK, "a valid message converts");
}

/* To `to` and from there to JSON, which must be what the message was as JSON. */
static void there_and_back(struct parley_message *message, const struct parley_codec *to,
                           struct parley_message *second, const struct parley_options *options) {
    struct parley_buffer json, there, back;
    convert(message, &parley_codec_json, &json);
    convert(message, to, &there);
    require(check(second, unframed(parley_buffer_bytes(&there), to), to, options),
            "a converted message is valid");
    convert(second, &parley_codec_json, &back);
    require_same(parley_buffer_bytes(&json), parley_buffer_bytes(&back));
    parley_buffer_finish(&json);
    parley_buffer_finish(&there);
    parley_buffer_finish(&back);
}

static void encode_twice(struct parley_message *message, struct parley_message *second,
                         const struct parley_options *options) {
    struct parley_buffer once, twice;
    parley_buffer_init(&once);
    parley_buffer_init(&twice);
    require(message->protocol->encode(message, &once) == PARLEY_OK, "a valid message encodes");
    require(memchr(once.data, '\n', once.length) == NULL, "a payload is one line");
    require(check(second, parley_buffer_bytes(&once), &parley_codec_json, options),
            "what goes to NATS is valid");
    require(second->protocol->encode(second, &twice) == PARLEY_OK, "it encodes again");
    require(parley_bytes_equal(parley_buffer_bytes(&once), parley_buffer_bytes(&twice)),
            "encoding is a fixed point");
    parley_buffer_finish(&once);
    parley_buffer_finish(&twice);
}

/* `message` is fixed; `second` is the same text as it is. */
static void fix(struct parley_message *message, struct parley_message *second,
                struct parley_bytes text, const struct parley_codec *codec,
                const struct parley_options *options, enum parley_fixing fixing) {
    struct parley_options fixes = *options;
    fixes.fix = fixing;
    const bool was_valid = check(second, text, codec, options);
    const bool is_valid = check(message, text, codec, &fixes);
    require(is_valid || !was_valid, "a fix leaves a valid message valid");
    require(message->is_decoded == second->is_decoded, "a fixed message can be read");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < HEAD_BYTES) {
        return 0;
    }
    const size_t number = data[0] % parley_protocol_count();
    const struct parley_protocol *protocol = parley_protocols[number];
    const struct parley_codec *codec = protocol->codecs[data[1] % codec_count(protocol)];
    struct parley_options options = {.stamp = (data[2] & 2) != 0,
                                     .has_object = (data[2] & 8) != 0,
                                     .now = "2026-01-02T03:04:05Z",
                                     .now_seconds = 1767323045,
                                     .fresh_id = "0c9c2d3e-6f6a-4c43-9a5b-0a8f4f0f1a2b",
                                     .message_bytes_max = 1 << 26};
    set_option(&options, protocol, "strict", (data[2] & 1) != 0 ? "true" : "false");
    set_option(&options, protocol, "from", (data[2] & 4) != 0 ? "elixir" : NULL);
    struct parley_options again = options;
    again.stamp = false;
    struct parley_message message, second;
    parley_message_init(&message, schema_of(number));
    parley_message_init(&second, schema_of(number));
    const struct parley_bytes text = {(const char *)data + HEAD_BYTES, size - HEAD_BYTES};
    fix(&message, &second, text, codec, &options,
        (data[2] & 16) != 0 ? PARLEY_FIX_ALL : PARLEY_FIX_SAFELY);
    if (check(&message, text, codec, &options)) {
        encode_twice(&message, &second, &again);
        for (size_t i = 0; protocol->codecs[i] != NULL; i++) {
            there_and_back(&message, protocol->codecs[i], &second, &again);
        }
    }
    parley_message_finish(&message);
    parley_message_finish(&second);
    return 0;
}
