/* SPDX-License-Identifier: Apache-2.0 */

#include "openapi_answers.h"

#include <assert.h>
#include <stdio.h>

#include "encodings.h"
#include "openapi.h"
#include "schemas.h"

enum { STATUS_MIN = 400, STATUS_END = 600 };

static void write_media_type(struct json_writer *json, const char *media_type, const char *schema,
                             const struct parley_protocol *protocol);

/* ---- problems ---- */

static bool is_of_status(uint64_t problems, enum problem problem, unsigned status) {
    return (problems & PROBLEM_BIT(problem)) != 0 && problem_status(problem) == status;
}

static bool has_status(uint64_t problems, unsigned status) {
    const unsigned count = problem_count();
    for (enum problem i = 0; i < count; i++) {
        if (is_of_status(problems, i, status)) {
            return true;
        }
    }
    return false;
}

/* The forms of a problem. */
enum problem_form {
    FORM_PROBLEM, /* application/problem+json */
    FORM_REFUSED, /* and a protocol's own form of the refusal, too */
    FORM_ENCODED, /* and an encoding of the protocol, too */
    FORM_RPC,     /* and an error of JSON-RPC, too */
};

static void name_of(unsigned status, enum problem_form form, char out[SCHEMA_NAME_MAX]) {
    static const char *const names[] = {[FORM_PROBLEM] = "Problem",
                                        [FORM_REFUSED] = "Refused",
                                        [FORM_ENCODED] = "Encoded",
                                        [FORM_RPC] = "Rpc"};
    snprintf(out, SCHEMA_NAME_MAX, "%s%u", names[form], status);
}

static void write_description(struct json_writer *json, unsigned status) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    const unsigned count = problem_count();
    for (enum problem i = 0; i < count; i++) {
        if (problem_status(i) == status) {
            const struct parley_problem *about = problem_about(i);
            parley_buffer_format(&text, "%s`%s`: %s. %s", text.length > 0 ? "\n\n" : "",
                                 about->name, about->title, about->advice);
        }
    }
    parley_buffer_char(&text, '\0');
    json_text(json, "description", text.has_failed ? "" : text.data);
    json->out->has_failed |= text.has_failed;
    parley_buffer_finish(&text);
}

static void write_header(struct json_writer *json, const char *name) {
    json_ref(json, name, "#/components/headers/", name, "");
}

static void write_problem_headers(struct json_writer *json, unsigned status) {
    json_open(json, "headers", '{');
    write_header(json, "X-Request-Id");
    if (status == 429 || status == 503) {
        write_header(json, "Retry-After");
    }
    if (status == 401 || status == 403) {
        write_header(json, "WWW-Authenticate");
    }
    if (status == 415) {
        write_header(json, "Accept-Post");
    }
    json_close(json, '}');
}

static void write_problem_schema(struct json_writer *json, unsigned status) {
    json_open(json, "schema", '{');
    json_text(json, "$ref", "#/components/schemas/Problem");
    json_open(json, "properties", '{');
    json_open(json, "type", '{');
    json_open(json, "enum", '[');
    const unsigned count = problem_count();
    for (enum problem i = 0; i < count; i++) {
        if (problem_status(i) == status) {
            char type[64];
            snprintf(type, sizeof type, "/problems/%s", problem_about(i)->name);
            json_text(json, NULL, type);
        }
    }
    json_close(json, ']');
    json_close(json, '}');
    json_open(json, "status", '{');
    json_number(json, "const", status);
    json_close(json, '}');
    json_close(json, '}');
    json_close(json, '}');
}

/* All names of an encoding; its content is bytes. */
static void write_binary(struct json_writer *json, const struct parley_codec *codec) {
    for (const char *const *type = codec->media_types; *type != NULL; type++) {
        json_raw(json, *type, PARLEY_BYTES("{}"));
    }
}

/* Taken from the first protocol that has one: the parts have one name. */
static const char *refusal_type(void) {
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        if (parley_protocols[i]->refusal_media_type != NULL) {
            return parley_protocols[i]->refusal_media_type;
        }
    }
    return NULL;
}

/* The same of the encoding of answers. */
static const struct parley_codec *answer_codec(void) {
    const struct parley_codec *codec = NULL;
    for (size_t i = 0; codec == NULL && parley_protocols[i] != NULL; i++) {
        codec = encodings_for_answers(parley_protocols[i]);
    }
    return codec;
}

static void write_problem(struct json_writer *json, unsigned status, enum problem_form form) {
    char name[SCHEMA_NAME_MAX];
    name_of(status, form, name);
    json_open(json, name, '{');
    write_description(json, status);
    write_problem_headers(json, status);
    json_open(json, "content", '{');
    json_open(json, "application/problem+json", '{');
    write_problem_schema(json, status);
    json_close(json, '}');
    if (form == FORM_REFUSED) {
        json_open(json, refusal_type(), '{');
        json_raw(json, "schema", PARLEY_BYTES("{\"type\":\"string\"}"));
        json_close(json, '}');
    }
    if (form == FORM_RPC) {
        write_media_type(json, "application/json", "JsonRpcResponse", NULL);
    }
    if (form == FORM_ENCODED) {
        write_binary(json, answer_codec());
    }
    json_close(json, '}');
    json_close(json, '}');
}

/* A message that is refused: as unreadable, too large, in another's name, or for its rules. */
static bool is_refusal(unsigned status) {
    return status == problem_status(PROBLEM_MALFORMED) ||
           status == problem_status(PROBLEM_FORBIDDEN) ||
           status == problem_status(PROBLEM_TOO_LARGE) ||
           status == problem_status(PROBLEM_INVALID_MESSAGE);
}

/* A message of JSON-RPC that is refused, or names no method. */
static bool is_of_rpc(unsigned status) {
    return status == problem_status(PROBLEM_MALFORMED) ||
           status == problem_status(PROBLEM_NOT_FOUND);
}

/* Whether an operation, which was written before, refers to it. */
static bool is_used(const struct json_writer *json, unsigned status, enum problem_form form) {
    char name[SCHEMA_NAME_MAX], end[SCHEMA_NAME_MAX + 4];
    name_of(status, form, name);
    const int length = snprintf(end, sizeof end, "/%s\"}", name);
    return json->out->length > 0 &&
           memmem(json->out->data, json->out->length, end, (size_t)length) != NULL;
}

void openapi_write_problems(struct json_writer *json) {
    json_open(json, "responses", '{');
    for (unsigned status = STATUS_MIN; status < STATUS_END; status++) {
        for (enum problem_form form = FORM_PROBLEM; form <= FORM_RPC; form++) {
            if (has_status(UINT64_MAX, status) && is_used(json, status, form)) {
                write_problem(json, status, form);
            }
        }
    }
    json_close(json, '}');
}

static void write_problem_refs(struct json_writer *json, uint64_t problems,
                               enum problem_form form) {
    for (unsigned status = STATUS_MIN; status < STATUS_END; status++) {
        if (has_status(problems, status)) {
            char key[8], name[SCHEMA_NAME_MAX];
            snprintf(key, sizeof key, "%u", status);
            const bool is_plain = (form == FORM_REFUSED && !is_refusal(status)) ||
                                  (form == FORM_RPC && !is_of_rpc(status));
            name_of(status, is_plain ? FORM_PROBLEM : form, name);
            json_ref(json, key, "#/components/responses/", name, "");
        }
    }
}

/* ---- 200 ---- */

/* `schema`, with names of the protocol's schemas where it says so. */
static void write_schema(struct json_writer *json, const char *schema,
                         const struct parley_protocol *protocol) {
    struct parley_buffer text;
    char message[SCHEMA_NAME_MAX], event[SCHEMA_NAME_MAX];
    if (schema[0] != '{') {
        json_ref(json, "schema", "#/components/schemas/", schema, "");
        return;
    }
    schema_name(protocol, "Message", message);
    schema_name(protocol, "Event", event);
    parley_buffer_init(&text);
    for (const char *at = schema; *at != '\0';) {
        const bool is_message = strncmp(at, SCHEMA_OF_MESSAGE, strlen(SCHEMA_OF_MESSAGE)) == 0;
        const bool is_event = strncmp(at, SCHEMA_OF_EVENT, strlen(SCHEMA_OF_EVENT)) == 0;
        if (is_message || is_event) {
            parley_buffer_text(&text, is_message ? message : event);
            at += strlen(is_message ? SCHEMA_OF_MESSAGE : SCHEMA_OF_EVENT);
        } else {
            parley_buffer_char(&text, *at++);
        }
    }
    json_raw(json, "schema", parley_buffer_bytes(&text));
    json->out->has_failed |= text.has_failed;
    parley_buffer_finish(&text);
}

static void write_media_type(struct json_writer *json, const char *media_type, const char *schema,
                             const struct parley_protocol *protocol) {
    json_open(json, media_type, '{');
    if (schema != NULL) {
        write_schema(json, schema, protocol);
    }
    json_close(json, '}');
}

/* NULL: bytes. */
static const char *schema_of_encoding(const struct parley_codec *codec) {
    static const char of_message[] = "{\"$ref\":\"#/components/schemas/" SCHEMA_OF_MESSAGE "\"}";
    return codec->is_binary ? NULL : codec->framing == PARLEY_FRAMING_WHOLE ? "Text" : of_message;
}

/* For one message: without lines. */
static void write_encodings_of_one(struct json_writer *json,
                                   const struct parley_protocol *protocol) {
    assert(protocol != NULL);
    for (const struct parley_codec *const *codec = protocol->codecs; *codec != NULL; codec++) {
        if ((*codec)->is_binary || (*codec)->framing == PARLEY_FRAMING_JSON) {
            write_media_type(json, (*codec)->media_types[0], schema_of_encoding(*codec), protocol);
        }
    }
}

static void write_encodings(struct json_writer *json, const struct parley_protocol *protocol) {
    assert(protocol != NULL);
    for (const struct parley_codec *const *codec = protocol->codecs; *codec != NULL; codec++) {
        write_media_type(json, (*codec)->media_types[0], schema_of_encoding(*codec), protocol);
    }
}

/* The encodings of streams besides JSON: frames, or one message. */
static void write_stream_encodings(struct json_writer *json,
                                   const struct parley_protocol *protocol) {
    const struct parley_codec *const *codec = protocol != NULL ? protocol->codecs : NULL;
    for (; codec != NULL && *codec != NULL; codec++) {
        const bool is_json =
            (*codec)->framing == PARLEY_FRAMING_JSON || (*codec)->framing == PARLEY_FRAMING_LINES;
        if (!is_json) {
            write_media_type(json, (*codec)->media_types[0], schema_of_encoding(*codec), protocol);
        }
    }
}

bool openapi_has_replies(const struct parley_protocol *protocol) {
    return protocol != NULL && protocol->facts != NULL && protocol->facts->bucket != NULL;
}

/* Whether a message may be answered by its reply. */
static bool is_answered(const struct operation *operation, const struct parley_protocol *protocol) {
    return operation->awaited != NULL && openapi_has_replies(protocol);
}

/* Whether answers in JSON, and problems, can be sent in an encoding of the protocol. */
static bool is_encoded(const struct operation *operation, const struct parley_protocol *protocol) {
    return protocol != NULL && !operation->is_page && encodings_for_answers(protocol) != NULL;
}

static void write_content(struct json_writer *json, const struct operation *operation,
                          const struct parley_protocol *protocol) {
    json_open(json, "content", '{');
    if (operation->kind == OPERATION_CONVERT) {
        write_encodings(json, protocol);
    }
    if (operation->kind == OPERATION_CHECKPOINT || operation->kind == OPERATION_RESTORE) {
        write_encodings_of_one(json, protocol);
    }
    if (operation->kind == OPERATION_READ) {
        write_stream_encodings(json, protocol);
    }
    for (const struct operation_answer *answer = operation->answers;
         answer != NULL && answer->media_type != NULL; answer++) {
        const bool may_be_reply =
            is_answered(operation, protocol) && strcmp(answer->media_type, "application/json") == 0;
        write_media_type(json, answer->media_type,
                         may_be_reply ? operation->awaited : answer->schema, protocol);
        if (is_encoded(operation, protocol) &&
            strcmp(answer->media_type, "application/json") == 0) {
            write_binary(json, encodings_for_answers(protocol));
        }
    }
    if (operation->kind == OPERATION_VALIDATE && protocol != NULL &&
        protocol->refusal_media_type != NULL) {
        write_media_type(json, protocol->refusal_media_type, "Text", protocol);
    }
    json_close(json, '}');
}

static bool is_post(const struct operation *operation) {
    return operation->kind == OPERATION_SEND || operation->kind == OPERATION_VALIDATE ||
           operation->kind == OPERATION_CONVERT;
}

static void write_ok(struct json_writer *json, const struct operation *operation,
                     const struct parley_protocol *protocol) {
    json_open(json, "200", '{');
    json_text(json, "description",
              operation->answer != NULL ? operation->answer : operation->summary);
    json_open(json, "headers", '{');
    write_header(json, "X-Request-Id");
    if (operation->is_page || operation->has_etag) {
        write_header(json, "ETag");
    }
    if (is_post(operation)) {
        write_header(json, "RateLimit");
        write_header(json, "RateLimit-Policy");
    }
    if (is_answered(operation, protocol)) {
        write_header(json, "Preference-Applied");
    }
    if ((operation->kind == OPERATION_READ || operation->kind == OPERATION_VIEW) &&
        protocol == NULL) {
        write_header(json, "Parley-Left-Out");
    }
    json_close(json, '}');
    write_content(json, operation, protocol);
    json_close(json, '}');
}

/* To a message whose reply did not come in time. */
static void write_awaited(struct json_writer *json) {
    json_open(json, "202", '{');
    json_text(json, "description",
              "The message is stored, and nothing has answered it in the time of `Prefer: wait`.");
    json_open(json, "headers", '{');
    write_header(json, "X-Request-Id");
    write_header(json, "Preference-Applied");
    write_header(json, "Location");
    json_close(json, '}');
    json_open(json, "content", '{');
    write_media_type(json, "application/json", "Awaited", NULL);
    json_close(json, '}');
    json_close(json, '}');
}

void openapi_write_answers(struct json_writer *json, const struct operation *operation,
                           enum guard_need need, const struct parley_protocol *protocol) {
    const bool has_refusals =
        is_post(operation) && protocol != NULL && protocol->refusal_media_type != NULL;
    const enum problem_form form = operation->kind == OPERATION_MCP  ? FORM_RPC
                                   : has_refusals                    ? FORM_REFUSED
                                   : is_encoded(operation, protocol) ? FORM_ENCODED
                                                                     : FORM_PROBLEM;
    json_open(json, "responses", '{');
    write_ok(json, operation, protocol);
    if (operation->may_be_empty) {
        json_raw(json, "204", PARLEY_BYTES("{\"description\":\"There is none.\"}"));
    }
    if (is_answered(operation, protocol)) {
        write_awaited(json);
    }
    if (operation->kind == OPERATION_MCP) {
        json_raw(json, "202", PARLEY_BYTES("{\"description\":\"A notification.\"}"));
    }
    if (operation->is_page || operation->has_etag) {
        json_raw(json, "304", PARLEY_BYTES("{\"description\":\"The client has it already.\"}"));
    }
    write_problem_refs(json, operation_problems(operation, need), form);
    json_close(json, '}');
}
