/* SPDX-License-Identifier: Apache-2.0 */

/* A message in another encoding. As JSON it also contains the structure of its body, for clients
 * that do not parse Markdown:
 *
 *   "sections": [{"level": 2, "title": "Context", "line": 3, "text": "…"}, …]
 *   "deltas": [{"line": 9, "delta": {…}}, {"line": 20, "delta": null, "error": "…"}, …]
 *
 * Both are generated from the body each time: members of these names in the message are left
 * out. */

#include "delta.h"
#include "last_keys.h"
#include "markdown.h"
#include "json_tokens.h"

/* How deep a delta may be nested when it is three levels deep in a message. */
enum { DELTA_DEPTH_MAX = JSON_DEPTH_MAX - 3 };

/* Appends the message on one line, without derived members and without its closing brace. */
static enum parley_status write_members(struct parley_message *message, struct parley_buffer *out) {
    struct parley_buffer line;
    parley_buffer_init(&line);
    enum parley_status status = message->protocol->encode(message, &line);
    struct json_members members = {.rest = parley_buffer_bytes(&line)};
    struct json_member member;
    parley_buffer_char(out, '{');
    const size_t start = out->length;
    while (status == PARLEY_OK && json_member_next(&members, &member)) {
        if (!markdown_is_derived(member.key)) {
            parley_buffer_text(out, out->length > start ? "," : "");
            parley_buffer_json(out, member.key);
            parley_buffer_char(out, ':');
            parley_buffer_append(out, member.value);
        }
    }
    json_members_finish(&members);
    parley_buffer_finish(&line);
    return status == PARLEY_OK && members.has_failed ? PARLEY_E_MEMORY : status;
}

static void write_sections(const struct brenner_body *body, struct parley_buffer *out) {
    parley_buffer_text(out, ",\"sections\":[");
    for (const struct brenner_section *at = body->sections; at != NULL; at = at->next) {
        parley_buffer_format(out, "%s{\"level\":%u,\"title\":", at == body->sections ? "" : ",",
                             at->level);
        parley_buffer_json(out, at->title);
        parley_buffer_format(out, ",\"line\":%zu,\"text\":", at->at.line);
        parley_buffer_json(out, at->text);
        parley_buffer_char(out, '}');
    }
    parley_buffer_char(out, ']');
}

static size_t depth_of(struct parley_bytes json) {
    struct json_token token;
    size_t depth = 0, deepest = 0;
    while (json_token_next(&json, &token)) {
        depth += token.kind == '{' || token.kind == '[';
        deepest = depth > deepest ? depth : deepest;
        depth -= token.kind == '}' || token.kind == ']';
    }
    return deepest;
}

/* Appends a delta's JSON as it was written, on one line: in JSON, line ends and tabs are white
 * space. A delta may repeat a key, but not a message: then only the last value is written. */
static enum parley_status write_json(struct parley_bytes json, struct parley_arena *arena,
                                     struct parley_buffer *out) {
    struct key_set keys;
    struct json_fault fault;
    key_set_init(&keys, json);
    const enum json_reader_result result = json_reader_read(json, NULL, arena, &keys, &fault);
    key_set_finish(&keys);
    if (result == JSON_READER_MEMORY) {
        return PARLEY_E_MEMORY;
    }
    if (result == JSON_READER_FAULT) {
        return last_keys_write(json, arena, out);
    }
    struct json_token token;
    while (json_token_next(&json, &token)) {
        parley_buffer_append(out, token.text);
    }
    return PARLEY_OK;
}

static enum parley_status write_delta(const struct brenner_block *block, struct parley_arena *arena,
                                      struct parley_buffer *out) {
    struct json_fault fault;
    const enum json_reader_result result = brenner_delta_read(block->text, arena, &fault);
    parley_buffer_format(out, "{\"line\":%zu,\"delta\":", block->at.line);
    enum parley_status status = PARLEY_OK;
    if (result == JSON_READER_MEMORY) {
        status = PARLEY_E_MEMORY;
    } else if (result == JSON_READER_READ && depth_of(block->text) <= DELTA_DEPTH_MAX) {
        status = write_json(block->text, arena, out);
    } else {
        parley_buffer_text(out, "null,\"error\":");
        parley_buffer_json(out, parley_bytes_of(result == JSON_READER_READ
                                                    ? "nested too deep to be included"
                                                    : fault.message));
    }
    parley_buffer_char(out, '}');
    return status;
}

static enum parley_status write_deltas(const struct brenner_body *body, struct parley_buffer *out) {
    enum parley_status status = PARLEY_OK;
    struct parley_arena scratch;
    parley_arena_init(&scratch, 0);
    parley_buffer_text(out, ",\"deltas\":[");
    const struct brenner_block *at = body->deltas;
    for (; at != NULL && status == PARLEY_OK; at = at->next) {
        parley_buffer_text(out, at == body->deltas ? "" : ",");
        parley_arena_reset(&scratch);
        status = write_delta(at, &scratch, out);
    }
    parley_buffer_char(out, ']');
    parley_arena_finish(&scratch);
    return status;
}

enum parley_status brenner_convert(struct parley_message *message, const struct parley_codec *to,
                                   struct parley_buffer *out) {
    struct brenner_body body;
    if (to == &brenner_codec_markdown) {
        return markdown_write(message, out);
    }
    PARLEY_TRY(write_members(message, out));
    const struct parley_value *markdown = &message->values[brenner_body_field(message)];
    enum parley_status status = brenner_body_read(&body, parley_value_text(markdown));
    if (status == PARLEY_OK) {
        write_sections(&body, out);
        status = write_deltas(&body, out);
    }
    brenner_body_finish(&body);
    parley_buffer_char(out, '}');
    return status != PARLEY_OK ? status : parley_buffer_status(out);
}
