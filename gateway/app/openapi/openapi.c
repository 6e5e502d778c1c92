/* SPDX-License-Identifier: Apache-2.0 */

/* An address with {protocol} is written once for each protocol, since options, media types and
 * schemas differ. For bodies sent line by line, the schema is that of one line. */

#include "openapi.h"

#include <assert.h>
#include <stdio.h>

#include <parley/agents.h>

#include "agent_options.h"
#include "contract_files.h"
#include "encodings.h"
#include "openapi_answers.h"
#include "artifact_options.h"
#include "checkpoint_options.h"
#include "follow.h"
#include "index_view.h"
#include "review_options.h"
#include "task_options.h"
#include "request_options.h"
#include "schemas.h"
#include "stream_query.h"

enum { PATH_MAX_BYTES = 128, EXAMPLE_NAME_MAX = 64 };

static const char description[] =
    "A gateway for AI agents that speak message protocols: it checks each message against every "
    "rule of its protocol, says what is wrong and how to fix it, stores valid messages in NATS "
    "JetStream, and streams them to readers.\n\n"
    "HEAD works wherever GET does; OPTIONS returns the methods; another method is 405 with "
    "`Allow`. Every refusal is a problem document (RFC 9457). Bodies may be compressed with gzip "
    "or zstd, and so are answers to clients that accept it. For application/x-ndjson and its other "
    "names the schema is that of one line.\n\n"
    "A server without tokens asks for none; /llms.txt says how to begin.";

/* ---- parameters ---- */

static void write_parameter_ref(struct json_writer *json, const char *name) {
    json_ref(json, NULL, "#/components/parameters/", name, "");
}

static void write_encoding_names(struct json_writer *json, const struct parley_protocol *protocol) {
    json_write_true(json, "required");
    json_open(json, "schema", '{');
    json_open(json, "enum", '[');
    for (const struct parley_codec *const *codec = protocol->codecs; *codec != NULL; codec++) {
        json_text(json, NULL, (*codec)->name);
    }
    json_close(json, ']');
    json_close(json, '}');
}

static void write_any_option(struct json_writer *json, const struct parley_option_help *help,
                             const struct parley_protocol *protocol, bool is_required) {
    json_open(json, NULL, '{');
    json_text(json, "name", help->name);
    json_text(json, "in", "query");
    if (is_required) {
        json_write_true(json, "required");
    }
    json_text(json, "description", help->does);
    if (help->schema == NULL) {
        write_encoding_names(json, protocol);
    } else {
        json_raw(json, "schema", parley_bytes_of(help->schema));
    }
    if (help->schema != NULL && strstr(help->schema, "\"array\"") != NULL) {
        json_text(json, "style", "form");
        json_raw(json, "explode", PARLEY_BYTES("false"));
    }
    json_close(json, '}');
}

static void write_option(struct json_writer *json, const struct parley_option_help *help,
                         const struct parley_protocol *protocol) {
    write_any_option(json, help, protocol, false);
}

static void write_view_options(struct json_writer *json, const struct index_view *view,
                               const struct parley_protocol *protocol) {
    for (const struct parley_option_help *option = view->options; option->name != NULL; option++) {
        /* A token that is bound to an agent asks for that one. */
        const bool is_required = view->required != NULL && view->required[1] == NULL &&
                                 !view->is_of_agent && strcmp(view->required[0], option->name) == 0;
        write_any_option(json, option, protocol, is_required);
    }
}

/* `options`: ends with one without a name. */
static void write_options(struct json_writer *json, const struct parley_option_help *options,
                          const struct parley_protocol *protocol) {
    for (; options->name != NULL; options++) {
        write_option(json, options, protocol);
    }
}

static bool concerns(const struct parley_protocol *protocol, enum ingest_task task,
                     const char *name) {
    if (parley_option_help(protocol, name) == NULL) { /* the gateway's own */
        return strcmp(name, "ack") == 0    ? request_may_be_acknowledged(protocol)
               : strcmp(name, "emit") == 0 ? task == INGEST_VALIDATE
                                           : true;
    }
    bool is_own = strcmp(name, "fix") == 0 || strcmp(name, "violations") == 0 ||
                  (strcmp(name, "stamp") == 0 && protocol->stamps != NULL);
    const struct parley_option *at;
    for (size_t i = 0; (at = parley_option_at(protocol, i)) != NULL; i++) {
        is_own = is_own || strcmp(at->help.name, name) == 0;
    }
    return is_own;
}

static void write_send_options(struct json_writer *json, enum operation_kind kind,
                               const struct parley_protocol *protocol) {
    const enum ingest_task task = kind == OPERATION_CONVERT    ? INGEST_CONVERT
                                  : kind == OPERATION_VALIDATE ? INGEST_VALIDATE
                                                               : INGEST_FORWARD;
    const char *names[REQUEST_NAMES_MAX];
    request_options_names(task, names);
    for (const char *const *name = names; *name != NULL; name++) {
        if (concerns(protocol, task, *name)) {
            write_option(json, request_options_help(protocol, *name), protocol);
        }
    }
    write_parameter_ref(json, "Content-Encoding");
    if (kind == OPERATION_SEND) {
        write_parameter_ref(json, "Idempotency-Key");
        write_parameter_ref(json, "traceparent");
        if (openapi_has_replies(protocol)) {
            write_parameter_ref(json, "Prefer");
        }
    }
}

/* Refused messages cannot be filtered. */
static void write_read_options(struct json_writer *json, enum operation_kind kind,
                               const struct parley_protocol *protocol) {
    for (const char *const *name = stream_query_names; *name != NULL; name++) {
        const bool is_taken = kind == OPERATION_READ_REJECTED
                                  ? stream_query_concerns_refused(*name)
                                  : stream_query_concerns(*name, protocol);
        if (is_taken) {
            write_option(json, stream_query_help(*name), protocol);
        }
    }
    write_parameter_ref(json, "Last-Event-ID");
}

static void write_agent_options(struct json_writer *json, const struct parley_protocol *protocol) {
    assert(protocol != NULL && protocol->agents != NULL); /* write_paths leaves the others out */
    const struct parley_agents *agents = protocol->agents;
    write_options(json, agent_query_options, protocol);
    if (agents->option != NULL) {
        const struct parley_option_help own = {.name = agents->option,
                                               .does = agents->option_does,
                                               .wants = agents->option_wants,
                                               .schema = "{\"type\":\"string\",\"minLength\":1}"};
        write_option(json, &own, protocol);
    }
}

/* A list takes one of the first at most, a release exactly one. */
static void write_halt_options(struct json_writer *json, enum operation_kind kind,
                               const struct parley_protocol *protocol) {
    assert(protocol != NULL && protocol->halts != NULL); /* write_paths leaves others out */
    static const char text[] = "{\"type\":\"string\",\"minLength\":1}";
    for (const char *const *name = protocol->halts->kinds; *name != NULL; name++) {
        write_option(json,
                     &(struct parley_option_help){
                         .name = *name, .does = "The conversation.", .schema = text},
                     protocol);
    }
    write_option(json,
                 &(struct parley_option_help){
                     .name = "by",
                     .does = "Whose halts: the name of the token, or of the sender that the "
                             "message names.",
                     .schema = text},
                 protocol);
    if (kind == OPERATION_RELEASE) {
        write_option(json,
                     &(struct parley_option_help){
                         .name = "all", .does = "All halts.", .schema = "{\"const\":\"true\"}"},
                     protocol);
        write_option(json,
                     &(struct parley_option_help){
                         .name = "reason", .does = "Why, for people.", .schema = text},
                     protocol);
        write_option(json,
                     &(struct parley_option_help){
                         .name = "released_by",
                         .does = "The name of the person who releases (that of the token).",
                         .schema = "{\"type\":\"string\",\"minLength\":1}"},
                     protocol);
    } else {
        write_option(json,
                     &(struct parley_option_help){.name = "released",
                                                  .does = "The last that were released, instead.",
                                                  .schema = "{\"const\":\"true\"}"},
                     protocol);
        static const struct parley_option_help following[] = {FOLLOW_OPTION_HELP, {.name = NULL}};
        write_options(json, following, protocol);
    }
}

static void write_review_options(struct json_writer *json, const struct parley_protocol *protocol) {
    struct parley_option_help options[REVIEW_OPTION_COUNT + 1];
    assert(protocol != NULL && protocol->reviews != NULL); /* write_paths leaves others out */
    review_options(protocol, options);
    write_options(json, options, protocol);
}

static void write_path_part(struct json_writer *json, const char *name, const char *about,
                            const char *example) {
    if (about == NULL) {
        return;
    }
    json_open(json, NULL, '{');
    json_text(json, "name", name);
    json_text(json, "in", "path");
    json_write_true(json, "required");
    json_text(json, "description", about);
    json_raw(json, "schema", PARLEY_BYTES("{\"type\":\"string\"}"));
    json_text(json, "example", example);
    json_close(json, '}');
}

static void write_parameters(struct json_writer *json, const struct operation *operation,
                             const struct parley_protocol *protocol) {
    char place[64];
    snprintf(place, sizeof place, "%s:1", protocol != NULL ? protocol->stream : "STREAM");
    json_open(json, "parameters", '[');
    write_path_part(json, "name", operation->name_description, operation->name_example);
    write_path_part(json, "id", operation->id_description,
                    operation->kind == OPERATION_MESSAGE ? place : operation->id_example);
    switch (operation->kind) {
    case OPERATION_SEND:
    case OPERATION_VALIDATE:
    case OPERATION_CONVERT:
        write_send_options(json, operation->kind, protocol);
        break;
    case OPERATION_READ:
    case OPERATION_READ_REJECTED:
        write_read_options(json, operation->kind, protocol);
        break;
    case OPERATION_HALTS:
    case OPERATION_RELEASE:
        write_halt_options(json, operation->kind, protocol);
        break;
    case OPERATION_TASKS:
        write_options(json, task_list_options, protocol);
        break;
    case OPERATION_AGENTS:
        write_agent_options(json, protocol);
        break;
    case OPERATION_NEXT_TASK:
        write_parameter_ref(json, "Idempotency-Key");
        write_parameter_ref(json, "Prefer");
        break;
    case OPERATION_CHECKPOINTS:
        write_options(json, checkpoint_options, protocol);
        break;
    case OPERATION_RESTORE:
        write_options(json, restore_options, protocol);
        break;
    case OPERATION_ARTIFACT:
        write_options(json, artifact_options, protocol);
        break;
    case OPERATION_COMPILED:
        write_options(json, compiled_options, protocol);
        break;
    case OPERATION_VIEW:
        write_view_options(json, index_view_find(operation->view), protocol);
        break;
    case OPERATION_REVIEWS:
        write_review_options(json, protocol);
        break;
    case OPERATION_AGENT:
    case OPERATION_CHECKPOINT:
    case OPERATION_REVIEW:
    case OPERATION_MESSAGE:
    case OPERATION_TASK:
    case OPERATION_CHANGE_TASK:
    case OPERATION_PLAIN:
    case OPERATION_MCP:
        break;
    }
    if (operation->is_page || operation->has_etag) {
        write_parameter_ref(json, "If-None-Match");
    }
    json_close(json, ']');
}

/* ---- bodies ---- */

static void name_example(const struct parley_protocol *protocol,
                         const struct parley_example *example, char out[EXAMPLE_NAME_MAX]) {
    snprintf(out, EXAMPLE_NAME_MAX, "%s-%s", protocol->name, example->name);
}

static void write_example_refs(struct json_writer *json, const struct parley_protocol *protocol) {
    const struct parley_example *example = protocol->examples;
    json_open(json, "examples", '{');
    for (; example != NULL && example->name != NULL; example++) {
        char name[EXAMPLE_NAME_MAX];
        name_example(protocol, example, name);
        json_ref(json, example->name, "#/components/examples/", name, "");
    }
    json_close(json, '}');
}

/* The schema of one message (JSON), of a line, of text; of bytes there is none. That JSON can be an
 * array of messages, too, is only said in words: a client for that sends lines, and tools that are
 * made of the document take nothing but objects. */
static void write_body_schema(struct json_writer *json, const struct parley_codec *codec,
                              const struct parley_protocol *protocol) {
    char name[SCHEMA_NAME_MAX];
    schema_name(protocol, "Draft", name);
    if (codec->framing == PARLEY_FRAMING_LINES) {
        json_ref(json, "schema", "#/components/schemas/", name, "");
    } else if (codec->framing == PARLEY_FRAMING_JSON) {
        json_ref(json, "schema", "#/components/schemas/", name, "");
        write_example_refs(json, protocol);
    } else if (!codec->is_binary) {
        json_raw(json, "schema", PARLEY_BYTES("{\"type\":\"string\"}"));
    }
}

static void write_body(struct json_writer *json, const struct parley_protocol *protocol) {
    assert(protocol != NULL); /* every POST is of a protocol */
    json_open(json, "requestBody", '{');
    json_text(json, "description",
              "One message, or many as NDJSON; application/json may be an array of messages, too. "
              "The members that `stamp=true` fills in are required without it.");
    json_write_true(json, "required");
    json_open(json, "content", '{');
    for (const struct parley_codec *const *codec = protocol->codecs; *codec != NULL; codec++) {
        for (const char *const *type = (*codec)->media_types; *type != NULL; type++) {
            json_open(json, *type, '{');
            write_body_schema(json, *codec, protocol);
            json_close(json, '}');
        }
    }
    json_close(json, '}');
    json_close(json, '}');
}

static void write_own_body(struct json_writer *json, const char *schema) {
    json_open(json, "requestBody", '{');
    json_write_true(json, "required");
    json_open(json, "content", '{');
    json_open(json, "application/json", '{');
    json_ref(json, "schema", "#/components/schemas/", schema, "");
    json_close(json, '}');
    json_close(json, '}');
    json_close(json, '}');
}

/* ---- operations ---- */

static void name_scope(enum guard_need need, const struct parley_protocol *protocol, char out[64]) {
    const char *name = protocol != NULL ? protocol->name : "*";
    switch (need) {
    case GUARD_SEND:
        snprintf(out, 64, "send:%s", name);
        break;
    case GUARD_READ:
    case GUARD_READ_ANY:
        snprintf(out, 64, "read:%s", name);
        break;
    case GUARD_KNOWN:
        out[0] = '\0';
        break;
    default:
        snprintf(out, 64, "%s",
                 need == GUARD_METRICS                                ? "metrics"
                 : need == GUARD_REVIEW || need == GUARD_READ_REVIEWS ? "review"
                                                                      : "admin");
    }
}

/* The last, `{}`: a server without tokens asks for nothing. */
static void write_security(struct json_writer *json, enum guard_need need,
                           const struct parley_protocol *protocol) {
    static const char *const schemes[] = {"token", "jwt", "certificate"};
    char scope[64];
    json_open(json, "security", '[');
    for (size_t i = 0; need != GUARD_OPEN && i < sizeof schemes / sizeof schemes[0]; i++) {
        name_scope(need, protocol, scope);
        json_open(json, NULL, '{');
        json_open(json, schemes[i], '[');
        if (scope[0] != '\0') {
            json_text(json, NULL, scope);
        }
        json_close(json, ']');
        json_close(json, '}');
    }
    if (need != GUARD_OPEN) {
        json_raw(json, NULL, PARLEY_BYTES("{}"));
    }
    json_close(json, ']');
}

static void write_id(struct json_writer *json, const struct operation *operation,
                     const struct parley_protocol *protocol) {
    char name[SCHEMA_NAME_MAX], id[2 * SCHEMA_NAME_MAX];
    schema_name(protocol, "", name);
    snprintf(id, sizeof id, "%s%s", operation->id, protocol != NULL ? name : "");
    json_text(json, "operationId", id);
}

static void write_operation(struct json_writer *json, const char *method,
                            const struct operation *operation, enum guard_need need,
                            const struct parley_protocol *protocol) {
    json_open(json, method, '{');
    write_id(json, operation, protocol);
    json_open(json, "tags", '[');
    json_text(json, NULL, operation->tag);
    json_close(json, ']');
    json_text(json, "summary", operation->summary);
    if (operation->description != NULL) {
        json_text(json, "description", operation->description);
    }
    write_security(json, need, protocol);
    write_parameters(json, operation, protocol);
    if (operation->body != NULL) {
        write_own_body(json, operation->body);
    } else if (strcmp(method, "post") == 0) {
        write_body(json, protocol);
    }
    openapi_write_answers(json, operation, need, protocol);
    json_close(json, '}');
}

/* ---- addresses ---- */

static void write_path(struct json_writer *json, const struct contract_route *route,
                       const struct parley_protocol *protocol) {
    static const char variable[] = "{protocol}";
    char path[PATH_MAX_BYTES];
    const char *at = strstr(route->path, variable);
    if (at == NULL || protocol == NULL) {
        snprintf(path, sizeof path, "%s", route->path);
    } else {
        snprintf(path, sizeof path, "%.*s%s%s", (int)(at - route->path), route->path,
                 protocol->name, at + sizeof variable - 1);
    }
    json_open(json, path, '{');
    write_operation(json, route->has_post ? "post" : "get", route->operation, route->need,
                    protocol);
    if (route->get_operation != NULL) {
        write_operation(json, "get", route->get_operation, route->get_need, protocol);
    }
    if (route->remove_operation != NULL) {
        write_operation(json, "delete", route->remove_operation, GUARD_ADMIN, protocol);
    }
    json_close(json, '}');
}

/* Not all protocols have agents, checkpoints or work, halt conversations, or make all lists. */
static bool is_of(const struct contract_route *route, const struct parley_protocol *protocol) {
    switch (route->operation->kind) {
    case OPERATION_AGENTS:
    case OPERATION_AGENT:
        return protocol->agents != NULL;
    case OPERATION_CHECKPOINTS:
    case OPERATION_CHECKPOINT:
    case OPERATION_RESTORE:
        return protocol->restore != NULL;
    case OPERATION_ARTIFACT:
    case OPERATION_COMPILED:
        return protocol->artifact != NULL;
    case OPERATION_HALTS:
        return protocol->halts != NULL;
    case OPERATION_REVIEWS:
    case OPERATION_REVIEW:
        return protocol->reviews != NULL;
    case OPERATION_TASKS:
    case OPERATION_TASK:
    case OPERATION_NEXT_TASK:
    case OPERATION_CHANGE_TASK:
        return protocol->tasks != NULL;
    case OPERATION_VIEW:
        return index_view_is_of(index_view_find(route->operation->view), protocol);
    default:
        return true;
    }
}

static void write_paths(struct json_writer *json, contract_route_fn *next) {
    struct contract_route route;
    json_open(json, "paths", '{');
    for (size_t i = 0; next(i, &route); i++) {
        const bool is_of_protocols = strstr(route.path, "{protocol}") != NULL;
        for (size_t j = 0; is_of_protocols && parley_protocols[j] != NULL; j++) {
            if (is_of(&route, parley_protocols[j])) {
                write_path(json, &route, parley_protocols[j]);
            }
        }
        if (!is_of_protocols) {
            write_path(json, &route, NULL);
        }
    }
    json_close(json, '}');
}

static void write_examples(struct json_writer *json, const struct parley_protocol *protocol) {
    const struct parley_example *example = protocol->examples;
    for (; example != NULL && example->name != NULL; example++) {
        char name[EXAMPLE_NAME_MAX];
        name_example(protocol, example, name);
        json_open(json, name, '{');
        json_text(json, "summary", example->title);
        json_raw(json, "value", parley_bytes_of(example->text));
        json_close(json, '}');
    }
}

static void write_components(struct json_writer *json) {
    json_open(json, "components", '{');
    json_members(json, contract_components());
    json_open(json, "schemas", '{');
    schemas_write(json, true);
    json_close(json, '}');
    openapi_write_problems(json);
    json_open(json, "examples", '{');
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        write_examples(json, parley_protocols[i]);
    }
    json_close(json, '}');
    json_close(json, '}');
}

static void write_info(struct json_writer *json) {
    json_open(json, "info", '{');
    json_text(json, "title", "parley");
    json_text(json, "version", PARLEY_VERSION);
    json_text(json, "summary", "Messages of AI agents: checked, stored, streamed");
    json_text(json, "description", description);
    json_raw(json, "license",
             PARLEY_BYTES("{\"name\":\"Apache License 2.0\",\"identifier\":\"Apache-2.0\"}"));
    json_close(json, '}');
}

void openapi_write(struct parley_buffer *out, contract_route_fn *route) {
    struct json_writer json = {.out = out};
    json_open(&json, NULL, '{');
    json_text(&json, "openapi", "3.1.0");
    write_info(&json);
    json_raw(&json, "servers", PARLEY_BYTES("[{\"url\":\"/\"}]"));
    json_raw(&json, "tags",
             PARLEY_BYTES("[{\"name\":\"Sending\",\"description\":\"Messages that go in.\"},"
                          "{\"name\":\"Reading\",\"description\":\"Messages as events.\"},"
                          "{\"name\":\"Describing\",\"description\":\"What parley says of "
                          "itself.\"},"
                          "{\"name\":\"State\",\"description\":\"For operators.\"}]"));
    write_paths(&json, route);
    write_components(&json);
    json_close(&json, '}');
    parley_buffer_char(out, '\n');
}
