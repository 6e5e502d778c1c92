/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes Markdown messages, and JSON ones written as Markdown. Whatever the bytes: there is a
 * verdict with places in the text, and a refusal can be written; a message that was read becomes
 * Markdown that is read as the same message, and writing that gives the same bytes. */

#include "fuzz.h"

#include "brenner/markdown.h"
#include "lib/cases.h"
#include "lib/json_oracle.h"
#include "brenner/brenner.h"
#include "json/json_message.h"

struct fuzz_front_matter {
    struct parley_message first, second;
    struct parley_buffer written, again, refusal;
};

static void start(struct fuzz_front_matter *fuzz) {
    static struct parley_schema *schema; /* made once: that takes longer than most inputs */
    const struct parley_protocol *protocol = parley_protocol_find(PARLEY_BYTES("brenner"));
    require(schema != NULL || parley_schema_create(protocol, &schema) == PARLEY_OK,
            "the schema is made");
    parley_message_init(&fuzz->first, schema);
    parley_message_init(&fuzz->second, schema);
    parley_buffer_init(&fuzz->written);
    parley_buffer_init(&fuzz->again);
    parley_buffer_init(&fuzz->refusal);
}

static void finish(struct fuzz_front_matter *fuzz) {
    parley_message_finish(&fuzz->first);
    parley_message_finish(&fuzz->second);
    parley_buffer_finish(&fuzz->written);
    parley_buffer_finish(&fuzz->again);
    parley_buffer_finish(&fuzz->refusal);
}

static void check(struct parley_message *message, struct parley_bytes text,
                  const struct parley_codec *codec, bool stamp) {
    const struct parley_options options = {.stamp = stamp, .now = CASES_NOW, .fresh_id = CASES_ID};
    require(parley_message_check(message, text, codec, &options, (struct parley_position){1, 1}) ==
                PARLEY_OK,
            "there is a verdict");
    if (message->is_certain) { /* what was not needed for the verdict */
        require(markdown_complete(message) == PARLEY_OK &&
                    json_decode_carefully(message) == PARLEY_OK,
                "it can be completed");
    }
}

static void require_places_are_in_the_text(const struct parley_findings *findings, size_t length) {
    for (size_t i = 0; i < findings->count; i++) {
        const struct parley_position at = findings->items[i].at;
        require(at.line >= 1 && at.column >= 1 && at.line + at.column <= length + 2,
                "a finding has a place in the text");
    }
}

/* Members that writing leaves out make two messages differ. */
static bool is_whole(const struct parley_message *message) {
    json_t *tree = json_oracle_read(message->text);
    require(json_is_object(tree), "what was read is JSON");
    const bool is_whole =
        json_object_get(tree, "sections") == NULL && json_object_get(tree, "deltas") == NULL;
    json_decref(tree);
    return is_whole;
}

static void write_and_read(struct fuzz_front_matter *fuzz, bool was_markdown) {
    require(markdown_write(&fuzz->first, &fuzz->written) == PARLEY_OK, "it can be written");
    check(&fuzz->second, parley_buffer_bytes(&fuzz->written), &brenner_codec_markdown, false);
    require(fuzz->second.is_decoded, "what is written can be read");
    if (was_markdown && is_whole(&fuzz->first)) {
        require(parley_bytes_equal(fuzz->first.text, fuzz->second.text), "it is the same message");
        require(fuzz->first.findings.count == fuzz->second.findings.count, "with the same verdict");
    }
    require(markdown_write(&fuzz->second, &fuzz->again) == PARLEY_OK, "it can be written again");
    require(
        parley_bytes_equal(parley_buffer_bytes(&fuzz->written), parley_buffer_bytes(&fuzz->again)),
        "writing is a fixed point");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const struct parley_bytes text = {(const char *)data, size};
    const bool is_markdown = markdown_begins(text);
    struct fuzz_front_matter fuzz;
    start(&fuzz);
    check(&fuzz.first, text, is_markdown ? &brenner_codec_markdown : &parley_codec_json,
          (size & 1) != 0);
    require_places_are_in_the_text(&fuzz.first.findings, size);
    require(fuzz.first.is_decoded || fuzz.first.findings.count == 1, "a fault is told once");
    require(markdown_write_refusal(&fuzz.first, &fuzz.refusal) == PARLEY_OK, "it can be refused");
    if (fuzz.first.is_decoded) {
        write_and_read(&fuzz, is_markdown);
    }
    finish(&fuzz);
    return 0;
}
