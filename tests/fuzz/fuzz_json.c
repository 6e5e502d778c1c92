/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes decode → validate → encode → decode. Whatever the bytes: the two readers agree, the
 * verdict is JSON, and the payload of a message is a message with the same verdict and the same
 * payload. Which rules hold is not asked here. */

#include "fuzz.h"

#include <stdlib.h>

#include "lib/protocol_options.h"
#include "lib/cases.h"
#include "lib/readers.h"

struct fuzz_json {
    struct readers readers;
    struct parley_message first, second;
    struct parley_buffer payload, again, verdict;
};

static const char *const names[] = {"vlp", "roundtable", "brenner"};
enum { PROTOCOLS = sizeof names / sizeof names[0] };

/* Made once, and kept: to make one takes longer than to use it. */
static const struct parley_schema *schema_of(size_t number) {
    static struct parley_schema *schemas[PROTOCOLS];
    if (schemas[number] == NULL) {
        const struct parley_protocol *protocol =
            parley_protocol_find(parley_bytes_of(names[number]));
        require(parley_schema_create(protocol, &schemas[number]) == PARLEY_OK,
                "the schema is made");
    }
    return schemas[number];
}

static void start(struct fuzz_json *fuzz, const struct parley_schema *schema) {
    readers_init(&fuzz->readers, schema);
    parley_message_init(&fuzz->first, schema);
    parley_message_init(&fuzz->second, schema);
    parley_buffer_init(&fuzz->payload);
    parley_buffer_init(&fuzz->again);
    parley_buffer_init(&fuzz->verdict);
}

static void finish(struct fuzz_json *fuzz) {
    readers_finish(&fuzz->readers);
    parley_message_finish(&fuzz->first);
    parley_message_finish(&fuzz->second);
    parley_buffer_finish(&fuzz->payload);
    parley_buffer_finish(&fuzz->again);
    parley_buffer_finish(&fuzz->verdict);
}

static void check(struct parley_message *message, struct parley_bytes text,
                  const struct parley_options *options) {
    require(parley_message_check(message, text, &parley_codec_json, options,
                                 (struct parley_position){1, 1}) == PARLEY_OK,
            "there is a verdict");
}

static void demand_verdict_is_json(struct fuzz_json *fuzz) {
    struct parley_buffer *out = &fuzz->verdict;
    parley_buffer_char(out, '{');
    require(parley_message_write_verdict(&fuzz->first, out) == PARLEY_OK, "it can be written");
    parley_buffer_char(out, '}');
    json_t *json =
        json_loadb(out->data, out->length, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);
    require(json_is_true(json_object_get(json, "valid")) == parley_message_is_valid(&fuzz->first),
            "the verdict is JSON");
    json_decref(json);
}

static void require_same_findings(const struct parley_findings *a,
                                  const struct parley_findings *b) {
    require(a->count == b->count && a->has_error == b->has_error,
            "the payload has the same verdict");
    for (size_t i = 0; i < a->count; i++) {
        require(a->items[i].rule == b->items[i].rule &&
                    strcmp(a->items[i].path, b->items[i].path) == 0 &&
                    strcmp(a->items[i].message, b->items[i].message) == 0,
                "the payload has the same findings");
    }
}

static void require_places_are_in_the_text(const struct parley_findings *findings, size_t length) {
    for (size_t i = 0; i < findings->count; i++) {
        const struct parley_position at = findings->items[i].at;
        require(at.line >= 1 && at.column >= 1 && at.line + at.column <= length + 2,
                "a finding has a place in the text");
    }
}

static void look(const struct parley_schema *schema, struct parley_bytes text) {
    /* Options by the size, so that an input is the body and nothing else. */
    struct parley_options options = {.stamp = (text.length & 2) != 0,
                                     .now = CASES_NOW,
                                     .now_seconds = CASES_NOW_SECONDS,
                                     .fresh_id = CASES_ID};
    struct fuzz_json fuzz;
    start(&fuzz, schema);
    set_option(&options, fuzz.first.protocol, "strict", (text.length & 1) != 0 ? "true" : "false");
    require(readers_agree(&fuzz.readers, text, &options), fuzz.readers.difference);
    check(&fuzz.first, text, &options);
    require_places_are_in_the_text(&fuzz.first.findings, text.length);
    demand_verdict_is_json(&fuzz);
    if (fuzz.first.is_decoded) {
        const struct parley_protocol *protocol = fuzz.first.protocol;
        require(protocol->encode(&fuzz.first, &fuzz.payload) == PARLEY_OK, "it can be encoded");
        const struct parley_bytes payload = parley_buffer_bytes(&fuzz.payload);
        require(memchr(payload.data, '\n', payload.length) == NULL, "the payload is one line");
        options.stamp = false;
        check(&fuzz.second, payload, &options);
        require(fuzz.second.is_decoded, "the payload can be decoded");
        require_same_findings(&fuzz.first.findings, &fuzz.second.findings);
        require(protocol->encode(&fuzz.second, &fuzz.again) == PARLEY_OK, "so can its payload");
        require(parley_bytes_equal(payload, parley_buffer_bytes(&fuzz.again)),
                "encoding is a fixed point");
    }
    finish(&fuzz);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    for (size_t i = 0; i < PROTOCOLS; i++) {
        look(schema_of(i), (struct parley_bytes){(const char *)data, size});
    }
    return 0;
}
