/* SPDX-License-Identifier: Apache-2.0 */

/* The tools, and the request that each becomes. What a model reads of them counts in every context
 * that has this server: few words. */

#include <math.h>
#include <stdio.h>

#include <parley/describe.h>
#include <parley/tasks.h>

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

/* ---- parts of requests ---- */

static void write_escaped(struct parley_buffer *out, struct parley_bytes text) {
    static const char plain[] = "-._~";
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.data[i];
        const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                              (c >= 'A' && c <= 'Z') || (c != '\0' && strchr(plain, c) != NULL);
        if (is_plain) {
            parley_buffer_char(out, c);
        } else {
            parley_buffer_format(out, "%%%02X", (unsigned char)c);
        }
    }
}

/* One more option of the query. */
static void write_option(struct parley_buffer *target, struct parley_bytes name,
                         struct parley_bytes value) {
    const bool is_first = memchr(target->data, '?', target->length) == NULL;
    parley_buffer_char(target, is_first ? '?' : '&');
    write_escaped(target, name);
    parley_buffer_char(target, '=');
    write_escaped(target, value);
}

static bool take_option(void *context, struct parley_bytes name, const struct parley_value *value) {
    char number[32];
    struct parley_bytes text = value->text;
    if (value->kind == PARLEY_BOOLEAN) {
        text = value->number != 0 ? PARLEY_BYTES("true") : PARLEY_BYTES("false");
    } else if (value->kind == PARLEY_NUMBER) {
        snprintf(number, sizeof number, "%.17g", value->number);
        text = parley_bytes_of(number);
    } else if (value->kind != PARLEY_STRING) {
        return false;
    }
    write_option(context, name, text);
    return true;
}

static const char *write_options(const struct tool_call *call, struct tool_request *out) {
    const struct json_field *options = tool_argument(call, "options");
    const bool is_fine =
        options->kind == PARLEY_ABSENT ||
        json_fields_each_member(options->raw, call->arena, take_option, &out->target);
    return is_fine ? NULL
                   : "The values in `options` are texts, numbers, true or false: what a query has.";
}

static unsigned count_of(const struct tool_call *call, const char *name) {
    return (unsigned)tool_argument(call, name)->number;
}

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
    parley_buffer_append(&out->body, message->kind == PARLEY_OBJECT ? message->raw : message->text);
    return write_options(call, out);
}

/* ---- send and check ---- */

static const char *ask_send(const struct tool_call *call, struct tool_request *out) {
    out->method = "POST";
    parley_buffer_format(&out->target, "/v1/%s/messages?stamp=true", call->protocol->name);
    out->wait_s = count_of(call, "wait");
    out->key = tool_argument(call, "key")->text;
    return write_message(call, out);
}

static const struct tool tool_send = {
    .name = "send",
    .title = "Send a message",
    .description =
        "Checks a message by every rule of its protocol and stores it. Missing ids and times are "
        "filled in. The result is its receipt; with `wait`, for a task request, receipt and reply. "
        "A refusal lists each violation with a hint that says what to change: repair and send "
        "again.",
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
    parley_buffer_format(&out->target, "/v1/%s/validate?stamp=true", call->protocol->name);
    return write_message(call, out);
}

static const struct tool tool_check = {
    .name = "check",
    .title = "Check a message",
    .description = "Says whether a message keeps every rule of its protocol, and sends nothing. "
                   "Each violation has its place and a hint that says what to change.",
    .parameters = (const struct tool_parameter[]){PROTOCOL, MESSAGE, OPTIONS, {0}},
    .output = "\"valid\":{\"type\":\"boolean\"},\"type\":{\"type\":[\"string\",\"null\"]},"
              "\"violations\":{\"type\":\"array\"},\"detail\":{\"type\":\"string\"}",
    .needs_send = true,
    .is_read_only = true,
    .is_idempotent = true,
    .ask = ask_check};

/* ---- tasks ---- */

static bool has_tasks(const struct parley_protocol *protocol) {
    return protocol->tasks != NULL;
}

/* The protocol that has them. */
static const struct parley_protocol *protocol_of_tasks(void) {
    size_t i = 0;
    while (parley_protocols[i] != NULL && !has_tasks(parley_protocols[i])) {
        i++;
    }
    return parley_protocols[i];
}

static void write_member(const struct tool_call *call, const char *name, const char *before,
                         struct parley_buffer *out) {
    const struct json_field *field = tool_argument(call, name);
    if (field->kind != PARLEY_ABSENT) {
        parley_buffer_format(out, "%s\"%s\":", before, name);
        parley_buffer_append(out, field->raw);
    }
}

static const char *ask_next_task(const struct tool_call *call, struct tool_request *out) {
    out->method = "POST";
    out->content_type = "application/json";
    out->wait_s = count_of(call, "wait");
    parley_buffer_format(&out->target, "/v1/%s/tasks/next", protocol_of_tasks()->name);
    write_member(call, "agent", "{", &out->body);
    write_member(call, "domains", ",", &out->body);
    write_member(call, "tasks", ",", &out->body);
    parley_buffer_char(&out->body, '}');
    return NULL;
}

static const struct tool tool_next_task = {
    .name = "next_task",
    .title = "Take a task",
    .description = "Claims the best open task for an agent: {\"task\",\"claim\",\"deadline\"}, or "
                   "{\"task\":null} if there is none. Do the work and report it.",
    .parameters =
        (const struct tool_parameter[]){
            {.name = "agent",
             .description = "Who takes the task",
             .value = TOOL_TEXT,
             .is_required = true},
            {.name = "domains",
             .description = "Take tasks of these domains (the part of a name before its first dot)",
             .value = TOOL_TEXTS},
            {.name = "tasks", .description = "Take tasks of these names", .value = TOOL_TEXTS},
            {.name = "wait",
             .description = "Seconds to wait for a task",
             .value = TOOL_COUNT,
             .maximum = WAIT_MAX_S},
            {0}},
    .output = "\"task\":{\"type\":[\"object\",\"null\"]},\"claim\":{\"type\":\"object\"},"
              "\"deadline\":{\"type\":[\"string\",\"null\"]},\"detail\":{\"type\":\"string\"}",
    .needs_send = true,
    .needs_read = true,
    .is_for = has_tasks,
    .ask = ask_next_task,
    .nothing = "{\"task\":null}"};

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
static const char *example_of(const struct tool_call *call, int type) {
    const struct parley_protocol *protocol = call->protocol;
    for (const struct parley_example *at = protocol->examples; at->name != NULL; at++) {
        struct json_field field = {.name = protocol->fields[protocol->type_field] + 1};
        (void)json_fields_read(parley_bytes_of(at->text), &field, 1, call->arena, NULL);
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

static const char *explain_type(const struct tool_call *call, struct parley_bytes name,
                                struct parley_buffer *out) {
    const struct parley_protocol *protocol = call->protocol;
    const int type = type_number(protocol, name);
    const char *example = type >= 0 ? example_of(call, type) : NULL;
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
        write_escaped(&out->target, rule->text);
        return NULL;
    }
    if (type->kind != PARLEY_ABSENT) {
        return explain_type(call, type->text, &out->answer);
    }
    explain_protocol(call->protocol, &out->answer);
    return NULL;
}

static const struct tool tool_explain = {
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

const struct tool *const tools[] = {&tool_send, &tool_check, &tool_next_task, &tool_explain, NULL};
