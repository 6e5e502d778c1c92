/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes MessagePack there and back. Whatever the bytes: there is a verdict with places in them; a
 * message as JSON has the same findings; packed from that JSON it has them too, is as long as was
 * said, and gives the same JSON again. */

#include "fuzz.h"

#include <stdlib.h>

#include "lib/msgpack_protocol.h"
#include "msgpack/msgpack_message.h"

struct fuzz_msgpack {
    struct parley_schema *schema;
    struct parley_message sent, as_json, packed;
    struct parley_buffer json, bytes, again;
};

static void start(struct fuzz_msgpack *fuzz) {
    require(parley_schema_create(&msgpack_protocol, &fuzz->schema) == PARLEY_OK,
            "the schema is made");
    parley_message_init(&fuzz->sent, fuzz->schema);
    parley_message_init(&fuzz->as_json, fuzz->schema);
    parley_message_init(&fuzz->packed, fuzz->schema);
    parley_buffer_init(&fuzz->json);
    parley_buffer_init(&fuzz->bytes);
    parley_buffer_init(&fuzz->again);
}

static void finish(struct fuzz_msgpack *fuzz) {
    parley_message_finish(&fuzz->sent);
    parley_message_finish(&fuzz->as_json);
    parley_message_finish(&fuzz->packed);
    parley_buffer_finish(&fuzz->json);
    parley_buffer_finish(&fuzz->bytes);
    parley_buffer_finish(&fuzz->again);
    parley_schema_destroy(fuzz->schema);
}

static void check(struct parley_message *message, struct parley_bytes bytes,
                  const struct parley_codec *codec, bool is_stamped) {
    const struct parley_options options = {.stamp = is_stamped, .now_seconds = 1705392000};
    require(parley_message_check(message, bytes, codec, &options, (struct parley_position){1, 1}) ==
                PARLEY_OK,
            "there is a verdict");
}

static void require_places(const struct parley_findings *findings, size_t size) {
    for (size_t i = 0; i < findings->count; i++) {
        const struct parley_position at = findings->items[i].at;
        require(at.line == PARLEY_IN_BYTES && at.column <= size, "a finding has a place");
    }
}

static void require_same(const struct parley_message *a, const struct parley_message *b) {
    require(a->is_decoded && b->is_decoded, "what was written can be read");
    require(a->type == b->type && a->findings.count == b->findings.count,
            "it has as many findings as before");
    for (size_t i = 0; i < a->findings.count; i++) {
        const struct parley_finding *left = &a->findings.items[i], *right = &b->findings.items[i];
        require(left->rule == right->rule && strcmp(left->path, right->path) == 0 &&
                    strcmp(left->message, right->message) == 0,
                "it has the same findings as before");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct fuzz_msgpack fuzz;
    start(&fuzz);
    check(&fuzz.sent, (struct parley_bytes){(const char *)data, size}, &msgpack_protocol_codec,
          (size & 1) != 0);
    require_places(&fuzz.sent.findings, size);
    if (fuzz.sent.is_decoded) {
        size_t length;
        require(msgpack_encode(&fuzz.sent, &fuzz.json) == PARLEY_OK, "it can be written as JSON");
        const struct parley_bytes json = parley_buffer_bytes(&fuzz.json);
        require(memchr(json.data, '\n', json.length) == NULL, "the JSON is one line");
        check(&fuzz.as_json, json, &parley_codec_json, false);
        require_same(&fuzz.sent, &fuzz.as_json);
        require(msgpack_from_json(&fuzz.as_json, &fuzz.bytes) == PARLEY_OK, "it can be packed");
        require(msgpack_size_from_json(&fuzz.as_json, &length) == PARLEY_OK &&
                    length == fuzz.bytes.length,
                "it is as long as was said");
        check(&fuzz.packed, parley_buffer_bytes(&fuzz.bytes), &msgpack_protocol_codec, false);
        require_same(&fuzz.as_json, &fuzz.packed);
        require(msgpack_encode(&fuzz.packed, &fuzz.again) == PARLEY_OK &&
                    parley_bytes_equal(json, parley_buffer_bytes(&fuzz.again)),
                "the JSON is the same again");
    }
    finish(&fuzz);
    return 0;
}
