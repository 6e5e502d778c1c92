/* SPDX-License-Identifier: Apache-2.0 */

/* The list of tools, and those for messages. What a model reads of them counts in every context
 * that has this server: few words. */

#include <parley/describe.h>

#include "json_canonical.h"
#include "tools.h"

enum { WAIT_MAX_S = 300 };

#define PROTOCOL                                                                                   \
    {                                                                                              \
        .name = "protocol", .description = "The protocol", .value = TOOL_PROTOCOL,                 \
        .is_required = true                                                                        \
    }
#define MESSAGE                                                                                    \
    {                                                                                              \
        .name = "message",                                                                         \
        .description = "The message, as an object; of brenner also its Markdown, as text",         \
        .value = TOOL_MESSAGE, .is_required = true                                                 \
    }
#define OPTIONS                                                                                    \
    {                                                                                              \
        .name = "options",                                                                         \
        .description = "Options of the protocol, which explain lists; supervisor: "                \
                       "{\"agent\":\"coder-1\",\"from\":\"gerbil\"}",                              \
        .value = TOOL_OBJECT                                                                       \
    }

/* ---- messages ---- */

/* The encoding in which a message of the protocol is a text; NULL: it has none. */
static const struct parley_codec *text_codec(const struct parley_protocol *protocol) {
    const struct parley_codec *const *codec = protocol->codecs;
    while (*codec != NULL && ((*codec)->framing != PARLEY_FRAMING_WHOLE || (*codec)->is_binary)) {
        codec++;
    }
    return *codec;
}

static bool begins_object(struct parley_bytes text) {
    size_t i = 0;
    while (i < text.length && strchr(" \t\r\n", text.data[i]) != NULL) {
        i++;
    }
    return i < text.length && text.data[i] == '{';
}

/* An object that is written as a text is one all the same: models do that. */
static const char *write_message(const struct tool_call *call, struct tool_request *out) {
    const struct json_field *message = tool_argument(call, "message");
    const bool is_json = message->kind == PARLEY_OBJECT || begins_object(message->text);
    const struct parley_codec *codec = is_json ? &parley_codec_json : text_codec(call->protocol);
    if (codec == NULL) {
        return "The argument `message` is an object in this protocol.";
    }
    out->content_type = codec->media_types[0];
    out->message = message->kind == PARLEY_OBJECT ? message->raw : message->text;
    return tool_write_options(call, "options", &out->target);
}

/* ---- send and check ---- */

static void write_target(const struct tool_call *call, const char *path,
                         struct parley_buffer *target) {
    parley_buffer_text(target, "/v1/");
    parley_buffer_text(target, call->protocol->name);
    parley_buffer_text(target, path);
}

static const char *ask_send(const struct tool_call *call, struct tool_request *out) {
    out->method = "POST";
    write_target(call, "/messages?stamp=true", &out->target);
    out->wait_s = tool_count(call, "wait", 0);
    out->key = tool_argument(call, "key")->text;
    return write_message(call, out);
}

const struct tool tool_send = {
    .name = "send",
    .title = "Send a message",
    .description =
        "Checks a message by every rule of its protocol and stores it. Missing ids and times are "
        "filled in. The result is its receipt; with `wait`, for a task request, receipt and reply. "
        "A refusal lists each violation with a hint, and where one is known a `fix`: a JSON Patch "
        "of the message. Repair and send again.",
    .parameters =
        (const struct tool_parameter[]){
            PROTOCOL,
            MESSAGE,
            {.name = "wait",
             .description = "Seconds to wait for the reply to a task request",
             .value = TOOL_COUNT,
             .maximum = WAIT_MAX_S},
            {.name = "key",
             .description = "Idempotency key, up to 128 characters: sent again with the same key, "
                            "the message is stored once",
             .value = TOOL_WORD},
            OPTIONS,
            {0}},
    .output = "\"id\":{\"type\":[\"string\",\"null\"]},\"type\":{\"type\":[\"string\",\"null\"]},"
              "\"stream\":{\"type\":\"string\"},\"seq\":{\"type\":\"integer\"},"
              "\"duplicate\":{\"type\":\"boolean\"},\"warnings\":{\"type\":\"array\"},"
              "\"receipt\":{\"type\":\"object\"},\"reply\":{\"type\":\"object\"},"
              "\"violations\":{\"type\":\"array\"},\"detail\":{\"type\":\"string\"}",
    .needs_send = true,
    .ask = ask_send};

static const char *ask_check(const struct tool_call *call, struct tool_request *out) {
    out->method = "POST";
    write_target(call, "/validate?stamp=true", &out->target);
    return write_message(call, out);
}

const struct tool tool_check = {
    .name = "check",
    .title = "Check a message",
    .description = "Says whether a message keeps every rule of its protocol, and sends nothing. "
                   "Each violation has its place, a hint, and where one is known a `fix`: a JSON "
                   "Patch.",
    .parameters = (const struct tool_parameter[]){PROTOCOL, MESSAGE, OPTIONS, {0}},
    .output = "\"valid\":{\"type\":\"boolean\"},\"type\":{\"type\":[\"string\",\"null\"]},"
              "\"violations\":{\"type\":\"array\"},\"detail\":{\"type\":\"string\"}",
    .needs_send = true,
    .is_read_only = true,
    .is_idempotent = true,
    .ask = ask_check};

/* ---- explain ---- */

/* The number of a type; -1: there is none of that name. */
static int type_number(const struct parley_protocol *protocol, struct parley_bytes name) {
    for (int i = 0; protocol->types[i] != NULL; i++) {
        if (parley_bytes_equal(name, parley_bytes_of(protocol->types[i]))) {
            return i;
        }
    }
    return -1;
}

/* The first example of that type; NULL if there is none. */
static const char *example_of(const struct parley_protocol *protocol, int type,
                              struct parley_arena *arena) {
    for (const struct parley_example *at = protocol->examples; at->name != NULL; at++) {
        struct json_field field = {.name = protocol->fields[protocol->type_field] + 1};
        (void)json_fields_read(parley_bytes_of(at->text), &field, 1, arena, NULL);
        const int found = protocol->type_of != NULL ? (int)protocol->type_of(field.text)
                                                    : type_number(protocol, field.text);
        if (found == type) {
            return at->text;
        }
    }
    return NULL;
}

/* What every message keeps, and what those of the type do, without indentation. */
static void write_schema(const struct parley_protocol *protocol, unsigned type,
                         struct parley_buffer *out) {
    struct parley_buffer schema;
    parley_buffer_init(&schema);
    parley_buffer_text(&schema, "{\"allOf\":[");
    enum parley_status status = parley_protocol_write_draft_schema(protocol, &schema);
    if (protocol->type_of == NULL && status == PARLEY_OK) {
        parley_buffer_char(&schema, ',');
        status = parley_protocol_write_type_schema(protocol, type, &schema);
    }
    parley_buffer_text(&schema, "]}");
    out->has_failed |= status != PARLEY_OK || schema.has_failed;
    if (!out->has_failed && parley_buffer_reserve(out, schema.length)) {
        const char *end =
            json_canonical_copy(schema.data, schema.data + schema.length, out->data + out->length);
        out->length = (size_t)(end - out->data);
    }
    parley_buffer_finish(&schema);
}

const char *tool_explain_type(const struct parley_protocol *protocol, struct parley_bytes name,
                              struct parley_arena *arena, struct parley_buffer *out) {
    const int type = type_number(protocol, name);
    const char *example = type >= 0 ? example_of(protocol, type, arena) : NULL;
    if (type < 0) {
        return "The protocol has no such type: call explain without `type` for their list.";
    }
    parley_buffer_format(out, "{\"protocol\":\"%s\",\"type\":\"%s\",\"schema\":", protocol->name,
                         protocol->types[type]);
    write_schema(protocol, (unsigned)type, out);
    parley_buffer_text(out, ",\"example\":");
    parley_buffer_text(out, example != NULL ? example : "null");
    parley_buffer_char(out, '}');
    return NULL;
}

static void explain_protocol(const struct parley_protocol *protocol, struct parley_buffer *out) {
    const struct parley_option *option;
    parley_buffer_format(out, "{\"protocol\":\"%s\",\"title\":\"%s\",\"types\":[", protocol->name,
                         protocol->title);
    for (size_t i = 0; protocol->types[i] != NULL; i++) {
        parley_buffer_format(out, "%s\"%s\"", i > 0 ? "," : "", protocol->types[i]);
    }
    parley_buffer_text(out, "],\"options\":{");
    for (size_t i = 0; (option = parley_option_at(protocol, i)) != NULL; i++) {
        parley_buffer_format(out, "%s\"%s\":", i > 0 ? "," : "", option->help.name);
        parley_buffer_json(out, parley_bytes_of(option->help.does));
    }
    parley_buffer_text(out, "}}");
}

static const char *ask_explain(const struct tool_call *call, struct tool_request *out) {
    const struct json_field *type = tool_argument(call, "type"),
                            *rule = tool_argument(call, "rule");
    if (rule->kind != PARLEY_ABSENT) {
        out->method = "GET";
        parley_buffer_text(&out->target, "/rules/");
        tool_write_segment(&out->target, rule->text);
        return NULL;
    }
    if (type->kind != PARLEY_ABSENT) {
        return tool_explain_type(call->protocol, type->text, call->arena, &out->answer);
    }
    explain_protocol(call->protocol, &out->answer);
    return NULL;
}

const struct tool tool_explain = {
    .name = "explain",
    .title = "Explain a protocol",
    .description = "Its types and options; with `type` the JSON Schema and an example of one; with "
                   "`rule` what a rule asks for.",
    .parameters =
        (const struct tool_parameter[]){
            PROTOCOL,
            {.name = "type", .description = "A type of message", .value = TOOL_TEXT},
            {.name = "rule",
             .description = "The id of a rule, from a violation: VLP-012",
             .value = TOOL_WORD},
            {0}},
    .output = "\"types\":{\"type\":\"array\"},\"options\":{\"type\":\"object\"},"
              "\"schema\":{\"type\":\"object\"},\"example\":{\"type\":[\"object\",\"null\"]},"
              "\"detail\":{\"type\":\"string\"}",
    .is_read_only = true,
    .is_idempotent = true,
    .ask = ask_explain};

const struct tool *const tools[] = {&tool_send,   &tool_check, &tool_read,    &tool_next_task,
                                    &tool_report, &tool_inbox, &tool_explain, NULL};
