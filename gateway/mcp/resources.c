/* SPDX-License-Identifier: Apache-2.0 */

/* Resources: what a server says of itself and of its protocols, which everybody may read, and the
 * threads of messages, which the index finds for those who may read the protocol. */

#include "mcp_call.h"

#define SCHEME "parley://"
#define PROTOCOL "{protocol}"

enum { OK = 200 };

/* A resource is there for each protocol if its address names one. */
static const struct resource {
    const char *uri, *place; /* place NULL: it is no template; else what that ends with */
    const char *path; /* before that; NULL: no address has it, for it is the name of a type */
    const char *name, *description, *media_type;
    enum rpc_caching caching;
} resources[] = {
    {SCHEME "llms.txt", NULL, "/llms.txt", "guide", "How an agent uses this server", "text/plain",
     RPC_CACHED_BY_ALL},
    {SCHEME PROTOCOL "/rules", NULL, "/v1/protocols/" PROTOCOL "/rules", "rules",
     "Every rule, and how to keep it", "application/json", RPC_CACHED_BY_ALL},
    {SCHEME PROTOCOL "/examples", NULL, "/v1/protocols/" PROTOCOL "/examples", "examples",
     "Messages to start from", "application/json", RPC_CACHED_BY_ALL},
    {SCHEME PROTOCOL "/schema", NULL, "/v1/protocols/" PROTOCOL "/schema", "schema",
     "All rules that a JSON Schema can express", "application/schema+json", RPC_CACHED_BY_ALL},
    {SCHEME PROTOCOL "/schema/", "{type}", NULL, "schema of a type",
     "The JSON Schema and an example of one type of message", "application/json",
     RPC_CACHED_BY_ALL},
    {SCHEME PROTOCOL "/threads/", "{thread}", "/v1/" PROTOCOL "/messages?thread=", "thread",
     "The messages of a thread, on a server with an index", "application/json", RPC_NOT_CACHED},
};

enum { RESOURCE_COUNT = sizeof resources / sizeof resources[0] };

/* Appends `pattern` with the name of the protocol. */
static void fill(const char *pattern, const struct parley_protocol *protocol,
                 struct parley_buffer *out) {
    const char *place = strstr(pattern, PROTOCOL);
    if (place == NULL || protocol == NULL) {
        parley_buffer_text(out, pattern);
        return;
    }
    parley_buffer_append(out, (struct parley_bytes){pattern, (size_t)(place - pattern)});
    parley_buffer_text(out, protocol->name);
    parley_buffer_text(out, place + sizeof PROTOCOL - 1);
}

/* ---- lists ---- */

static void write_entry(const struct resource *resource, const struct parley_protocol *protocol,
                        struct parley_buffer *out) {
    const bool is_first = out->data[out->length - 1] == '[';
    parley_buffer_format(out, "%s{\"%s\":\"", is_first ? "" : ",",
                         resource->place == NULL ? "uri" : "uriTemplate");
    fill(resource->uri, protocol, out);
    parley_buffer_text(out, resource->place != NULL ? resource->place : "");
    parley_buffer_format(out, "\",\"name\":\"%s%s%s\",\"description\":\"%s\",\"mimeType\":\"%s\"}",
                         protocol != NULL ? protocol->name : "", protocol != NULL ? " " : "",
                         resource->name, resource->description, resource->media_type);
}

static void list(struct mcp_call *call, const char *member, bool are_templates) {
    struct parley_buffer *out = &call->answer;
    rpc_begin_result(out, &call->rpc, call->mcp->version);
    parley_buffer_format(out, ",\"%s\":[", member);
    for (size_t i = 0; i < RESOURCE_COUNT && !out->has_failed; i++) {
        const struct resource *resource = &resources[i];
        const bool is_for_each = !are_templates && strstr(resource->uri, PROTOCOL) != NULL;
        if ((resource->place != NULL) != are_templates) {
            continue;
        }
        if (!is_for_each) {
            write_entry(resource, NULL, out);
        }
        for (size_t p = 0; is_for_each && parley_protocols[p] != NULL; p++) {
            write_entry(resource, parley_protocols[p], out);
        }
    }
    parley_buffer_char(out, ']');
    rpc_write_caching(out, &call->rpc, RPC_CACHED_BY_ALL);
    rpc_end_result(out);
    mcp_respond(call, OK);
}

void resources_list(struct mcp_call *call) {
    list(call, "resources", false);
}

void resources_list_templates(struct mcp_call *call) {
    list(call, "resourceTemplates", true);
}

/* ---- one ---- */

static void refuse(struct mcp_call *call) {
    const bool is_modern = rpc_is_modern(&call->rpc);
    mcp_respond_error(
        call, &(const struct rpc_error){
                  .code = is_modern ? RPC_INVALID_PARAMS : RPC_RESOURCE_NOT_FOUND,
                  .status = OK,
                  .message = "There is no such resource: resources/list names them",
                  .requested = call->rpc.name.data != NULL ? call->rpc.name : PARLEY_BYTES("")});
}

static void respond(struct mcp_call *call, const char *media_type, struct parley_bytes text) {
    struct parley_buffer *out = &call->answer;
    rpc_begin_result(out, &call->rpc, call->mcp->version);
    parley_buffer_text(out, ",\"contents\":[{\"uri\":");
    parley_buffer_json(out, call->rpc.name);
    parley_buffer_format(out, ",\"mimeType\":\"%s\",\"text\":", media_type);
    parley_buffer_json(out, text);
    parley_buffer_text(out, "}]");
    rpc_write_caching(out, &call->rpc, call->resource->caching);
    rpc_end_result(out);
    mcp_respond(call, OK);
}

void resources_result_of_answer(struct mcp_call *call, const struct http_inner_answer *answer) {
    if (answer->status == OK && answer->is_whole) {
        respond(call, answer->content_type, answer->body);
    } else {
        refuse(call);
    }
}

/* Whether this is the address of the resource, of that protocol (NULL: of none). *rest: what a
 * template ends with. */
static bool is_at(struct parley_bytes uri, const struct resource *resource,
                  const struct parley_protocol *protocol, struct parley_bytes *rest) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    fill(resource->uri, protocol, &text);
    const size_t length = text.length;
    const bool is_begun =
        !text.has_failed && uri.length >= length && memcmp(uri.data, text.data, length) == 0;
    parley_buffer_finish(&text);
    *rest = is_begun ? (struct parley_bytes){uri.data + length, uri.length - length}
                     : (struct parley_bytes){0};
    return is_begun && (rest->length > 0) == (resource->place != NULL);
}

static bool is_hex(char c) {
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* Appends a part of an address, in which clients may have percent-encoded what they like. */
static void write_rest(struct parley_buffer *target, struct parley_bytes rest) {
    for (size_t i = 0; i < rest.length; i++) {
        const char *at = rest.data + i;
        if (rest.length - i > 2 && at[0] == '%' && is_hex(at[1]) && is_hex(at[2])) {
            parley_buffer_char(target, '%');
        } else {
            tool_write_segment(target, (struct parley_bytes){at, 1});
        }
    }
}

/* Makes it, or the request for it.  Returns: false: there is no type of that name. */
static bool ask(struct mcp_call *call, const struct parley_protocol *protocol,
                struct parley_bytes rest) {
    struct tool_request *asked = &call->asked;
    if (call->resource->path == NULL) {
        return tool_explain_type(protocol, rest, &call->arena, &asked->answer) == NULL;
    }
    asked->method = "GET";
    asked->accept = "application/json, */*;q=0.1";
    fill(call->resource->path, protocol, &asked->target);
    write_rest(&asked->target, rest);
    return true;
}

static bool find(struct mcp_call *call, const struct parley_protocol *protocol) {
    struct parley_bytes rest;
    for (size_t i = 0; i < RESOURCE_COUNT; i++) {
        const bool is_for_each = strstr(resources[i].uri, PROTOCOL) != NULL;
        if (is_for_each == (protocol != NULL) &&
            is_at(call->rpc.name, &resources[i], protocol, &rest)) {
            call->resource = &resources[i];
            return ask(call, protocol, rest);
        }
    }
    return false;
}

void resources_read(struct mcp_call *call) {
    bool is_found = find(call, NULL);
    for (size_t p = 0; !is_found && parley_protocols[p] != NULL; p++) {
        is_found = find(call, parley_protocols[p]);
    }
    if (!is_found) {
        refuse(call);
    } else if (call->asked.method != NULL) {
        mcp_ask(call);
    } else {
        call->answer.has_failed |= call->asked.answer.has_failed;
        respond(call, "application/json", parley_buffer_bytes(&call->asked.answer));
    }
}
