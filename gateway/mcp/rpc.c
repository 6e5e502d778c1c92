/* SPDX-License-Identifier: Apache-2.0 */

/* Checks in the order of the specification: JSON, its shape as a message, the version, _meta, the
 * headers that repeat the body. */

#include "rpc.h"

#include <stdio.h>

#include <sodium.h>

#include "json_fields.h"

#define META "io.modelcontextprotocol/"

enum { CACHED_FOR_MS = 300000, BAD_REQUEST = 400 };

static const char *const names[RPC_REVISION_COUNT] = {
    [RPC_2025_06_18] = "2025-06-18",
    [RPC_2025_11_25] = "2025-11-25",
    [RPC_2026_07_28] = "2026-07-28",
};

const char *rpc_revision_name(enum rpc_revision revision) {
    return names[revision];
}

enum rpc_revision rpc_revision_find(struct parley_bytes name) {
    unsigned i = 0;
    while (i < RPC_REVISION_COUNT && !parley_bytes_equal(name, parley_bytes_of(names[i]))) {
        i++;
    }
    return (enum rpc_revision)i;
}

static bool refuse(struct rpc_error *error, enum rpc_code code, const char *message) {
    *error = (struct rpc_error){.code = code, .status = BAD_REQUEST, .message = message};
    return false;
}

static bool refuse_version(struct rpc_error *error, struct parley_bytes requested) {
    refuse(error, RPC_UNSUPPORTED_VERSION, "Unsupported protocol version");
    error->requested = requested;
    return false;
}

/* ---- reading ---- */

/* The base of numbers in JSON is not asked: 1e0 is the id 1e0. */
static bool is_id(const struct json_field *field) {
    return field->kind == PARLEY_STRING || field->kind == PARLEY_NUMBER;
}

static bool is_absent_or_object(const struct json_field *field) {
    return field->kind == PARLEY_ABSENT || field->kind == PARLEY_OBJECT;
}

enum { JSONRPC, ID, METHOD, PARAMS, RESULT, ERROR, FIELDS };
enum { NAME, URI, ARGUMENTS, VERSION, META_OBJECT, PARAMS_FIELDS };
enum { META_VERSION, META_CAPABILITIES, META_TOKEN, META_TRACE, META_FIELDS };

/* All that is read of a message, in one pass. */
struct reading {
    struct json_field fields[FIELDS], of_params[PARAMS_FIELDS], of_meta[META_FIELDS];
    struct json_object message, params, meta, arguments;
};

static void prepare(struct reading *reading, struct rpc_arguments *arguments) {
    static const struct reading nothing = {
        .fields = {[JSONRPC] = {.name = "jsonrpc"},
                   [ID] = {.name = "id"},
                   [METHOD] = {.name = "method"},
                   [PARAMS] = {.name = "params"},
                   [RESULT] = {.name = "result"},
                   [ERROR] = {.name = "error"}},
        .of_params = {[NAME] = {.name = "name"},
                      [URI] = {.name = "uri"},
                      [ARGUMENTS] = {.name = "arguments"},
                      [VERSION] = {.name = "protocolVersion"},
                      [META_OBJECT] = {.name = "_meta"}},
        .of_meta = {[META_VERSION] = {.name = META "protocolVersion"},
                    [META_CAPABILITIES] = {.name = META "clientCapabilities"},
                    [META_TOKEN] = {.name = "progressToken"},
                    [META_TRACE] = {.name = "traceparent"}},
        .message.count = FIELDS,
        .params.count = PARAMS_FIELDS,
        .meta.count = META_FIELDS,
        .arguments = {.count = RPC_ARGUMENTS_MAX, .is_list = true, .is_unread = true}};
    *reading = nothing;
    reading->message.fields = reading->fields;
    reading->params.fields = reading->of_params;
    reading->meta.fields = reading->of_meta;
    reading->arguments.fields = arguments->items;
    reading->fields[PARAMS].inside = &reading->params;
    reading->of_params[META_OBJECT].inside = &reading->meta;
    reading->of_params[ARGUMENTS].inside = &reading->arguments;
}

static bool check_envelope(const struct reading *reading, struct rpc *out,
                           struct rpc_error *error) {
    const struct json_field *fields = reading->fields;
    if (reading->message.is_repeated) {
        return refuse(error, RPC_INVALID_REQUEST, "A member of the message is there twice");
    }
    if (is_id(&fields[ID])) {
        out->id = fields[ID].raw;
    } else if (fields[ID].kind != PARLEY_ABSENT) {
        return refuse(error, RPC_INVALID_REQUEST, "`id` is a string or a number");
    }
    if (!parley_bytes_equal(fields[JSONRPC].text, PARLEY_BYTES("2.0"))) {
        return refuse(error, RPC_INVALID_REQUEST, "`jsonrpc` is not \"2.0\"");
    }
    if (fields[METHOD].kind != PARLEY_STRING) {
        return refuse(error, RPC_INVALID_REQUEST,
                      fields[RESULT].kind != PARLEY_ABSENT || fields[ERROR].kind != PARLEY_ABSENT
                          ? "This server asks nothing of its clients, and takes no responses"
                          : "`method` is not a string");
    }
    if (!is_absent_or_object(&fields[PARAMS])) {
        return refuse(error, RPC_INVALID_REQUEST, "`params` is not an object");
    }
    out->method = fields[METHOD].text;
    return true;
}

static bool check_params(const struct reading *reading, struct rpc *out, struct rpc_error *error) {
    const struct json_field *fields = reading->of_params;
    if (reading->params.is_repeated) {
        return refuse(error, RPC_INVALID_PARAMS, "A member of `params` is there twice");
    }
    const bool is_read = parley_bytes_equal(out->method, PARLEY_BYTES("resources/read"));
    out->name = fields[is_read ? URI : NAME].text;
    out->version = fields[VERSION].text;
    if (!is_absent_or_object(&fields[ARGUMENTS])) {
        return refuse(error, RPC_INVALID_PARAMS, "`arguments` is not an object");
    }
    const size_t count = reading->arguments.item_count;
    out->arguments.count = count < RPC_ARGUMENTS_MAX ? count : RPC_ARGUMENTS_MAX;
    return true;
}

static bool check_meta(const struct reading *reading, struct rpc *out, struct rpc_error *error) {
    const struct json_field *fields = reading->of_meta;
    if (!is_absent_or_object(&reading->of_params[META_OBJECT]) || reading->meta.is_repeated) {
        return refuse(error, RPC_INVALID_PARAMS, "`_meta` is not an object with each member once");
    }
    out->meta_version = fields[META_VERSION].text;
    out->has_capabilities = fields[META_CAPABILITIES].kind == PARLEY_OBJECT;
    out->progress_token =
        is_id(&fields[META_TOKEN]) ? fields[META_TOKEN].raw : (struct parley_bytes){0};
    out->traceparent = fields[META_TRACE].text;
    return true;
}

/* ---- the revision, and headers that repeat the body ---- */

/* A value that is no plain text in a header is there as =?base64?…?=.  Returns: false: it is not
 * what that promises. */
static bool decode_header(const char *value, struct parley_arena *arena, struct parley_bytes *out) {
    static const char before[] = "=?base64?", after[] = "?=";
    const size_t length = strlen(value), around = sizeof before - 1 + sizeof after - 1;
    *out = (struct parley_bytes){value, length};
    if (length < around || strncmp(value, before, sizeof before - 1) != 0 ||
        strcmp(value + length - (sizeof after - 1), after) != 0) {
        return true;
    }
    unsigned char *bytes = parley_arena_allocate(arena, length);
    size_t decoded = 0;
    if (bytes == NULL ||
        sodium_base642bin(bytes, length, value + sizeof before - 1, length - around, NULL, &decoded,
                          NULL, sodium_base64_VARIANT_ORIGINAL) != 0) {
        return false;
    }
    *out = (struct parley_bytes){(const char *)bytes, decoded};
    return true;
}

bool rpc_names_something(const struct rpc *rpc) {
    return parley_bytes_equal(rpc->method, PARLEY_BYTES("tools/call")) ||
           parley_bytes_equal(rpc->method, PARLEY_BYTES("resources/read")) ||
           parley_bytes_equal(rpc->method, PARLEY_BYTES("prompts/get"));
}

static bool check_headers(const struct rpc *rpc, const struct rpc_headers *headers,
                          struct parley_arena *arena, struct rpc_error *error) {
    struct parley_bytes name;
    if (headers->method == NULL) {
        return refuse(error, RPC_HEADER_MISMATCH, "The header Mcp-Method is missing");
    }
    if (!parley_bytes_equal(rpc->method, parley_bytes_of(headers->method))) {
        return refuse(error, RPC_HEADER_MISMATCH,
                      "The header Mcp-Method is not the method of the body");
    }
    if (!rpc_names_something(rpc)) {
        return true;
    }
    if (headers->name == NULL) {
        return refuse(error, RPC_HEADER_MISMATCH, "The header Mcp-Name is missing");
    }
    if (!decode_header(headers->name, arena, &name) || !parley_bytes_equal(rpc->name, name)) {
        return refuse(error, RPC_HEADER_MISMATCH,
                      "The header Mcp-Name is not the name of the body");
    }
    return true;
}

/* Its _meta names the version: a request of the revisions without a handshake. */
static bool check_modern(struct rpc *rpc, const struct rpc_headers *headers,
                         struct parley_arena *arena, struct rpc_error *error) {
    if (headers->version == NULL) {
        return refuse(error, RPC_HEADER_MISMATCH, "The header MCP-Protocol-Version is missing");
    }
    if (!parley_bytes_equal(rpc->meta_version, parley_bytes_of(headers->version))) {
        return refuse(error, RPC_HEADER_MISMATCH,
                      "The header MCP-Protocol-Version is not the version of _meta");
    }
    rpc->revision = rpc_revision_find(rpc->meta_version);
    if (rpc->revision == RPC_REVISION_COUNT) {
        return refuse_version(error, rpc->meta_version);
    }
    if (!rpc->has_capabilities) {
        return refuse(error, RPC_INVALID_PARAMS,
                      "`" META "clientCapabilities`, an object, is missing in _meta");
    }
    return rpc->id.data == NULL || check_headers(rpc, headers, arena, error);
}

/* A client with a handshake repeats in the header which version it agreed on; one of the first
 * revisions sends none. */
static bool check_legacy(struct rpc *rpc, const struct rpc_headers *headers,
                         struct rpc_error *error) {
    rpc->revision = RPC_2025_06_18;
    if (headers->version == NULL || parley_bytes_equal(rpc->method, PARLEY_BYTES("initialize"))) {
        return true;
    }
    const struct parley_bytes version = parley_bytes_of(headers->version);
    rpc->revision = rpc_revision_find(version);
    if (rpc->revision == RPC_REVISION_COUNT) {
        return refuse_version(error, version);
    }
    if (rpc_is_modern(rpc) && rpc->id.data != NULL) {
        return refuse(error, RPC_INVALID_PARAMS,
                      "`" META "protocolVersion`, which this version of the protocol requires, is "
                      "missing in _meta");
    }
    return true;
}

/* What there is to say of how a body was read.  Returns: whether it is one object. */
static bool judge(enum json_fields_result result, struct rpc_error *error) {
    switch (result) {
    case JSON_FIELDS_NOT_JSON:
        return refuse(error, RPC_PARSE_ERROR, "The body is not JSON");
    case JSON_FIELDS_NO_OBJECT:
        return refuse(error, RPC_INVALID_REQUEST,
                      "The body is not one JSON-RPC message: send batches one by one");
    case JSON_FIELDS_MEMORY:
        return refuse(error, RPC_INTERNAL_ERROR, "Out of memory");
    case JSON_FIELDS_READ:
    case JSON_FIELDS_REPEATED: /* the objects say it */
        break;
    }
    return true;
}

bool rpc_read_body(struct parley_bytes text, struct parley_arena *arena, struct rpc *out,
                   struct rpc_error *error) {
    struct reading reading;
    out->revision = RPC_2025_06_18;
    prepare(&reading, &out->arguments);
    const enum json_fields_result result = json_object_read(text, &reading.message, arena);
    out->has_unread = reading.arguments.has_unread;
    return judge(result, error) && check_envelope(&reading, out, error) &&
           check_params(&reading, out, error) && check_meta(&reading, out, error);
}

bool rpc_read_rest(struct parley_bytes text, struct parley_arena *arena, struct rpc *rpc,
                   struct rpc_error *error) {
    const bool is_json = !rpc->has_unread || judge(json_fields_check(text, arena), error);
    rpc->has_unread = false;
    rpc->id = is_json ? rpc->id : (struct parley_bytes){0};
    return is_json;
}

bool rpc_read(struct parley_bytes text, const struct rpc_headers *headers,
              struct parley_arena *arena, struct rpc *out, struct rpc_error *error) {
    return rpc_read_body(text, arena, out, error) &&
           (out->meta_version.data != NULL ? check_modern(out, headers, arena, error)
                                           : check_legacy(out, headers, error));
}

/* ---- answers ---- */

static void write_head(struct parley_buffer *out, const struct rpc *rpc) {
    parley_buffer_text(out, "{\"jsonrpc\":\"2.0\",");
    if (rpc->id.data != NULL) {
        parley_buffer_text(out, "\"id\":");
        parley_buffer_append(out, rpc->id);
        parley_buffer_char(out, ',');
    }
}

void rpc_write_error(struct parley_buffer *out, const struct rpc *rpc,
                     const struct rpc_error *error) {
    write_head(out, rpc);
    parley_buffer_format(out, "\"error\":{\"code\":%d,\"message\":", error->code);
    parley_buffer_json(out, parley_bytes_of(error->message));
    if (error->code == RPC_UNSUPPORTED_VERSION) {
        parley_buffer_text(out, ",\"data\":{\"supported\":[");
        for (unsigned i = RPC_REVISION_COUNT; i > 0; i--) {
            parley_buffer_format(out, "\"%s\"%s", names[i - 1], i > 1 ? "," : "],\"requested\":");
        }
        parley_buffer_json(out, error->requested);
        parley_buffer_char(out, '}');
    } else if (error->requested.data != NULL) {
        parley_buffer_text(out, ",\"data\":{\"uri\":");
        parley_buffer_json(out, error->requested);
        parley_buffer_char(out, '}');
    }
    parley_buffer_text(out, "}}");
}

void rpc_begin_result(struct parley_buffer *out, const struct rpc *rpc,
                      const char *server_version) {
    write_head(out, rpc);
    parley_buffer_text(out, "\"result\":{\"_meta\":{\"" META
                            "serverInfo\":{\"name\":\"parley\",\"version\":\"");
    parley_buffer_text(out, server_version);
    parley_buffer_text(out, "\"}}");
    if (rpc_is_modern(rpc)) {
        parley_buffer_text(out, ",\"resultType\":\"complete\"");
    }
}

void rpc_end_result(struct parley_buffer *out) {
    parley_buffer_text(out, "}}");
}

void rpc_write_nothing(struct parley_buffer *out, const struct rpc *rpc) {
    write_head(out, rpc);
    parley_buffer_text(out, "\"result\":{}}");
}

void rpc_write_caching(struct parley_buffer *out, const struct rpc *rpc, enum rpc_caching caching) {
    if (rpc_is_modern(rpc)) {
        parley_buffer_format(out, ",\"ttlMs\":%d,\"cacheScope\":\"%s\"",
                             caching == RPC_NOT_CACHED ? 0 : CACHED_FOR_MS,
                             caching == RPC_CACHED_BY_ALL ? "public" : "private");
    }
}
