/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the artifact of a thread. Whatever its messages say: what is folded is written as valid
 * JSON, the compiled body keeps all rules, and agrees with the fold when it is folded itself.
 *
 *   messages with the byte 0x1E between them, each `C` (COMPILED) or another byte (DELTA), and its
 *   body */

#include "fuzz.h"

#include <string.h>

#include <parley/artifact.h>
#include <parley/message.h>

#include "brenner/artifact.h"

enum { SEPARATOR = 0x1E, BYTES_MAX = 1 << 20 };

static struct parley_schema *schema; /* made once: that takes longer than most inputs */
static struct parley_message message;

/* Returns: whether it is valid. */
static bool check(bool is_compiled, struct parley_bytes body, struct parley_buffer *text) {
    const struct parley_options options = {.message_bytes_max = 4 * BYTES_MAX};
    parley_buffer_clear(text);
    parley_buffer_format(text, "{\"subject\":\"%s: x\",\"from\":\"A\",\"body_md\":",
                         is_compiled ? "COMPILED" : "DELTA[a]");
    parley_buffer_json(text, body);
    parley_buffer_char(text, '}');
    parley_message_reset(&message);
    require(parley_message_check(&message, parley_buffer_bytes(text), &parley_codec_json, &options,
                                 (struct parley_position){1, 1}) == PARLEY_OK,
            "there is a verdict");
    return parley_message_is_valid(&message);
}

static enum parley_status fold_all(struct parley_artifact *artifact, struct parley_bytes input,
                                   struct parley_buffer *text, uint64_t *out_sequence) {
    enum parley_status status = PARLEY_OK;
    while (input.length > 0 && status == PARLEY_OK) {
        const char *end = memchr(input.data, SEPARATOR, input.length);
        const size_t length = end != NULL ? (size_t)(end - input.data) : input.length;
        const struct parley_bytes body = {input.data + 1, length > 0 ? length - 1 : 0};
        const struct parley_artifact_place place = {.sequence = ++*out_sequence, .seconds = 1e9};
        if (length > 0 && check(input.data[0] == 'C', body, text)) {
            status = brenner_artifact.fold(artifact, &message, &place);
        }
        const size_t cut = length + (end != NULL);
        input = (struct parley_bytes){input.data + cut, input.length - cut};
    }
    require(status == PARLEY_OK || status == PARLEY_E_LIMIT, "the messages are folded");
    return status;
}

static void write_form(const struct parley_artifact *artifact, uint64_t sequence,
                       enum parley_artifact_form form, struct parley_buffer *out) {
    const struct parley_artifact_extent extent = {.at = sequence, .read_count = sequence};
    parley_buffer_clear(out);
    require(brenner_artifact.write(artifact, &extent, form, out) == PARLEY_OK, "it is written");
}

static void require_json(struct parley_bytes text) {
    struct parley_arena arena;
    struct key_set keys;
    struct json_fault fault = {.message = ""};
    parley_arena_init(&arena, 0);
    key_set_init(&keys, text);
    const enum json_reader_result result = json_reader_read(text, NULL, &arena, &keys, &fault);
    require(result == JSON_READER_READ || strstr(fault.message, "deep") != NULL,
            "it is JSON, and no object has a key twice");
    key_set_finish(&keys);
    parley_arena_finish(&arena);
}

/* The compiled body is folded as the next message. */
static void require_agreement(struct parley_artifact *artifact, uint64_t sequence,
                              struct parley_buffer *body, struct parley_buffer *text) {
    const size_t differing = artifact->compiled.count + artifact->compiled.omitted_count;
    const struct parley_artifact_place place = {.sequence = sequence + 1, .seconds = 1e9};
    write_form(artifact, sequence, PARLEY_ARTIFACT_COMPILED, body);
    require(check(true, parley_buffer_bytes(body), text), "the compiled body is valid");
    require(message.findings.count == 0, "the compiled body keeps all rules");
    if (brenner_artifact.fold(artifact, &message, &place) == PARLEY_OK) {
        require(artifact->compiled.count + artifact->compiled.omitted_count == differing,
                "the compiled body agrees with the fold");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct parley_artifact *artifact = NULL;
    struct parley_buffer text, out;
    uint64_t sequence = 0;
    if (schema == NULL) {
        const struct parley_protocol *protocol = parley_protocol_find(PARLEY_BYTES("brenner"));
        require(parley_schema_create(protocol, &schema) == PARLEY_OK, "the schema is made");
        parley_message_init(&message, schema);
    }
    parley_buffer_init(&text);
    parley_buffer_init(&out);
    require(brenner_artifact.create(PARLEY_BYTES("t"), BYTES_MAX, &artifact) == PARLEY_OK,
            "an artifact is made");
    const struct parley_bytes input = {(const char *)data, size};
    const enum parley_status status = fold_all(artifact, input, &text, &sequence);
    write_form(artifact, sequence, PARLEY_ARTIFACT_JSON, &out);
    require_json(parley_buffer_bytes(&out));
    write_form(artifact, sequence, PARLEY_ARTIFACT_MARKDOWN, &out);
    if (status == PARLEY_OK) {
        require_agreement(artifact, sequence, &out, &text);
    }
    brenner_artifact.destroy(artifact);
    parley_buffer_finish(&text);
    parley_buffer_finish(&out);
    return 0;
}
