/* SPDX-License-Identifier: Apache-2.0 */

/* What is the same for all tools: lists and arguments. */

#include "tools.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

static_assert((int)RPC_ARGUMENTS_MAX > (int)TOOL_PARAMETERS_MAX, "one too many is seen");

const struct tool *tool_find(struct parley_bytes name) {
    for (const struct tool *const *tool = tools; *tool != NULL; tool++) {
        if (parley_bytes_equal(name, parley_bytes_of((*tool)->name))) {
            return *tool;
        }
    }
    return NULL;
}

/* ---- permissions ---- */

static bool is_for(const struct tool *tool, const struct parley_protocol *protocol) {
    return tool->is_for == NULL || tool->is_for(protocol);
}

static bool is_allowed_for(const struct tool *tool, const struct scopes *scopes,
                           const struct parley_protocol *protocol) {
    return is_for(tool, protocol) && (!tool->needs_send || scopes_may_send(scopes, protocol)) &&
           (!tool->needs_read || scopes_may_read(scopes, protocol));
}

bool tool_is_allowed(const struct tool *tool, const struct scopes *scopes) {
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        if (is_allowed_for(tool, scopes, parley_protocols[i])) {
            return true;
        }
    }
    return false;
}

/* ---- descriptions ---- */

static void write_texts(struct parley_buffer *out, const char *const *texts) {
    parley_buffer_text(out, "\"type\":\"string\",\"enum\":[");
    for (size_t i = 0; texts[i] != NULL; i++) {
        parley_buffer_text(out, i > 0 ? "," : "");
        parley_buffer_json(out, parley_bytes_of(texts[i]));
    }
    parley_buffer_char(out, ']');
}

static void write_protocols(struct parley_buffer *out, const struct tool *tool,
                            const struct scopes *scopes) {
    const char *before = "";
    parley_buffer_text(out, "\"type\":\"string\",\"enum\":[");
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        if (is_allowed_for(tool, scopes, parley_protocols[i])) {
            parley_buffer_format(out, "%s\"%s\"", before, parley_protocols[i]->name);
            before = ",";
        }
    }
    parley_buffer_char(out, ']');
}

static void write_type(struct parley_buffer *out, const struct tool *tool,
                       const struct tool_parameter *parameter, const struct scopes *scopes) {
    switch (parameter->value) {
    case TOOL_PROTOCOL:
        write_protocols(out, tool, scopes);
        break;
    case TOOL_TEXT:
    case TOOL_WORD:
        parley_buffer_text(out, "\"type\":\"string\"");
        break;
    case TOOL_CHOICE:
        write_texts(out, parameter->choices);
        break;
    case TOOL_TEXTS:
        parley_buffer_text(out, "\"type\":\"array\",\"items\":{\"type\":\"string\"}");
        break;
    case TOOL_COUNT:
        parley_buffer_format(out, "\"type\":\"integer\",\"minimum\":%u,\"maximum\":%u",
                             parameter->minimum, parameter->maximum);
        break;
    case TOOL_OBJECT:
        parley_buffer_text(out, "\"type\":\"object\"");
        break;
    case TOOL_MESSAGE:
        parley_buffer_text(out, "\"type\":[\"object\",\"string\"]");
        break;
    }
}

static void write_input_schema(struct parley_buffer *out, const struct tool *tool,
                               const struct scopes *scopes) {
    const char *before = "";
    parley_buffer_text(out, "{\"type\":\"object\",\"properties\":{");
    for (const struct tool_parameter *at = tool->parameters; at->name != NULL; at++) {
        parley_buffer_format(out, "%s\"%s\":{", before, at->name);
        write_type(out, tool, at, scopes);
        parley_buffer_text(out, ",\"description\":");
        parley_buffer_json(out, parley_bytes_of(at->description));
        parley_buffer_char(out, '}');
        before = ",";
    }
    parley_buffer_text(out, "},\"required\":[");
    before = "";
    for (const struct tool_parameter *at = tool->parameters; at->name != NULL; at++) {
        if (at->is_required) {
            parley_buffer_format(out, "%s\"%s\"", before, at->name);
            before = ",";
        }
    }
    parley_buffer_text(out, "],\"additionalProperties\":false}");
}

/* Its root admits refusals, which clients check as well. */
static void write_output_schema(struct parley_buffer *out, const struct tool *tool) {
    parley_buffer_format(out, "{\"type\":\"object\",\"properties\":{%s}}", tool->output);
}

static const char *text_of(bool is_so) {
    return is_so ? "true" : "false";
}

void tool_describe(const struct tool *tool, const struct scopes *scopes,
                   struct parley_buffer *out) {
    parley_buffer_format(out, "{\"name\":\"%s\",\"title\":\"%s\",\"description\":", tool->name,
                         tool->title);
    parley_buffer_json(out, parley_bytes_of(tool->description));
    parley_buffer_text(out, ",\"inputSchema\":");
    write_input_schema(out, tool, scopes);
    parley_buffer_text(out, ",\"outputSchema\":");
    write_output_schema(out, tool);
    parley_buffer_format(out,
                         ",\"annotations\":{\"readOnlyHint\":%s,\"destructiveHint\":false,"
                         "\"idempotentHint\":%s,\"openWorldHint\":%s}}",
                         text_of(tool->is_read_only), text_of(tool->is_idempotent),
                         text_of(!tool->is_read_only));
}

/* ---- arguments ---- */

const struct json_field *tool_argument(const struct tool_call *call, const char *name) {
    size_t i = 0;
    while (strcmp(call->tool->parameters[i].name, name) != 0) {
        i++;
    }
    static const struct json_field not_given = {.kind = PARLEY_ABSENT};
    return call->arguments[i] != NULL ? call->arguments[i] : &not_given;
}

static bool is_word(struct parley_bytes text) {
    bool is_visible = text.length > 0;
    for (size_t i = 0; i < text.length; i++) {
        is_visible = is_visible && text.data[i] > 0x20 && text.data[i] < 0x7F;
    }
    return is_visible;
}

static bool is_choice(const char *const *choices, struct parley_bytes text) {
    size_t i = 0;
    while (choices[i] != NULL && !parley_bytes_equal(text, parley_bytes_of(choices[i]))) {
        i++;
    }
    return choices[i] != NULL;
}

static bool is_text(void *context, const struct parley_value *value) {
    (void)context;
    return value->kind == PARLEY_STRING;
}

static bool fits(const struct tool_call *call, const struct tool_parameter *parameter,
                 const struct json_field *value) {
    const bool is_string = value->kind == PARLEY_STRING;
    switch (parameter->value) {
    case TOOL_PROTOCOL:
        return is_string && call->protocol != NULL && is_for(call->tool, call->protocol);
    case TOOL_TEXT:
        return is_string;
    case TOOL_WORD:
        return is_string && is_word(value->text);
    case TOOL_CHOICE:
        return is_string && is_choice(parameter->choices, value->text);
    case TOOL_TEXTS:
        return json_fields_each_item(value->raw, call->arena, is_text, NULL);
    case TOOL_COUNT:
        return value->kind == PARLEY_NUMBER && value->number == floor(value->number) &&
               value->number >= parameter->minimum && value->number <= parameter->maximum;
    case TOOL_OBJECT:
        return value->kind == PARLEY_OBJECT &&
               json_fields_check(value->raw, call->arena) == JSON_FIELDS_READ;
    case TOOL_MESSAGE: /* an object is checked by the address that takes it */
        return is_string || value->kind == PARLEY_OBJECT;
    }
    return false;
}

/* Says what is expected, by the schema that the client has. */
static void blame(const struct tool *tool, const struct tool_parameter *parameter,
                  const char *trouble, struct parley_buffer *fault) {
    parley_buffer_format(fault, "The argument `%s` of %s %s; its schema is {", parameter->name,
                         tool->name, trouble);
    write_type(fault, tool, parameter, &SCOPES_ALL);
    parley_buffer_text(fault, "}.");
}

static bool check_arguments(const struct tool_call *call, struct parley_buffer *fault) {
    const struct tool_parameter *parameters = call->tool->parameters;
    for (size_t i = 0; parameters[i].name != NULL; i++) {
        const struct json_field *value = call->arguments[i];
        if (value == NULL && parameters[i].is_required) {
            blame(call->tool, &parameters[i], "is missing", fault);
            return false;
        }
        if (value != NULL && !fits(call, &parameters[i], value)) {
            blame(call->tool, &parameters[i], "does not fit", fault);
            return false;
        }
    }
    return true;
}

/* Clients write null for what they leave out. */
static void settle_arguments(struct tool_call *call) {
    for (size_t i = 0; i < TOOL_PARAMETERS_MAX; i++) {
        const struct json_field *value = call->arguments[i];
        if (value == NULL || value->kind == PARLEY_NULL) {
            call->arguments[i] = NULL;
        } else if (value->kind == PARLEY_STRING &&
                   call->tool->parameters[i].value == TOOL_PROTOCOL) {
            call->protocol = parley_protocol_find(value->text);
        }
    }
}

/* Returns: NULL: the tool has no such parameter. */
static const struct json_field **find_argument(struct tool_call *call, struct parley_bytes name) {
    size_t i = 0;
    while (call->tool->parameters[i].name != NULL &&
           !parley_bytes_equal(name, parley_bytes_of(call->tool->parameters[i].name))) {
        i++;
    }
    assert(i < TOOL_PARAMETERS_MAX || call->tool->parameters[i].name == NULL);
    return call->tool->parameters[i].name != NULL ? &call->arguments[i] : NULL;
}

/* Puts the arguments in the order of the parameters. */
static bool sort_arguments(struct tool_call *call, const struct rpc_arguments *arguments,
                           struct parley_buffer *fault) {
    const struct json_field *unknown = NULL;
    for (size_t i = 0; i < arguments->count; i++) {
        const struct json_field *given = &arguments->items[i];
        const struct json_field **argument = find_argument(call, given->key);
        if (argument == NULL) {
            unknown = unknown == NULL ? given : unknown;
        } else if (*argument != NULL) {
            parley_buffer_format(fault, "An argument of %s is there twice.", call->tool->name);
            return false;
        } else {
            *argument = given;
        }
    }
    if (unknown != NULL) {
        const struct parley_bytes key = unknown->key;
        parley_buffer_format(fault, "%s has no argument `%.*s`.", call->tool->name,
                             (int)(key.length < 64 ? key.length : 64), key.data);
    }
    return unknown == NULL;
}

bool tool_take_arguments(const struct tool *tool, const struct rpc_arguments *arguments,
                         struct parley_arena *arena, struct tool_call *out,
                         struct parley_buffer *fault) {
    *out = (struct tool_call){.tool = tool, .arena = arena};
    parley_buffer_init(&out->gathered);
    if (!sort_arguments(out, arguments, fault)) {
        return false;
    }
    settle_arguments(out);
    return check_arguments(out, fault);
}

/* ---- requests ---- */

unsigned tool_count(const struct tool_call *call, const char *name, unsigned absent) {
    const struct json_field *field = tool_argument(call, name);
    return field->kind == PARLEY_ABSENT ? absent : (unsigned)field->number;
}

void tool_write_segment(struct parley_buffer *target, struct parley_bytes text) {
    static const char plain[] = "-._~";
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.data[i];
        const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                              (c >= 'A' && c <= 'Z') || (c != '\0' && strchr(plain, c) != NULL);
        if (is_plain) {
            parley_buffer_char(target, c);
        } else {
            parley_buffer_format(target, "%%%02X", (unsigned char)c);
        }
    }
}

static void write_option(struct parley_buffer *target, struct parley_bytes name,
                         struct parley_bytes value) {
    const bool is_first = memchr(target->data, '?', target->length) == NULL;
    parley_buffer_char(target, is_first ? '?' : '&');
    tool_write_segment(target, name);
    parley_buffer_char(target, '=');
    tool_write_segment(target, value);
}

void tool_write_option(struct parley_buffer *target, const char *name, struct parley_bytes value) {
    write_option(target, parley_bytes_of(name), value);
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

const char *tool_write_options(const struct tool_call *call, const char *name,
                               struct parley_buffer *target) {
    const struct json_field *options = tool_argument(call, name);
    const bool is_fine = options->kind == PARLEY_ABSENT ||
                         json_fields_each_member(options->raw, call->arena, take_option, target);
    return is_fine ? NULL
                   : "The values of options and filters are texts, numbers, true or false: what a "
                     "query has.";
}

void tool_call_finish(struct tool_call *call) {
    parley_buffer_finish(&call->gathered);
}

void tool_request_init(struct tool_request *request) {
    *request = (struct tool_request){0};
    parley_buffer_init(&request->target);
    parley_buffer_init(&request->body);
    parley_buffer_init(&request->answer);
}

void tool_request_finish(struct tool_request *request) {
    parley_buffer_finish(&request->target);
    parley_buffer_finish(&request->body);
    parley_buffer_finish(&request->answer);
}
