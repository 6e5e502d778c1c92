/* SPDX-License-Identifier: Apache-2.0 */

/* Resources: what a server says of itself and of its protocols, under addresses of their own. All
 * of it may be read by everybody. */

#include "mcp_call.h"

#define SCHEME "parley://"
#define PROTOCOL "{protocol}"

enum { OK = 200 };

/* A resource is there for each protocol if its address names one. */
static const struct resource {
    const char *uri, *path; /* path NULL: a template, which ends with the name of a type */
    const char *name, *description, *media_type;
} resources[] = {
    {SCHEME "llms.txt", "/llms.txt", "guide", "How an agent uses this server", "text/plain"},
    {SCHEME PROTOCOL "/rules", "/v1/protocols/" PROTOCOL "/rules", "rules",
     "Every rule, and how to keep it", "application/json"},
    {SCHEME PROTOCOL "/examples", "/v1/protocols/" PROTOCOL "/examples", "examples",
     "Messages to start from", "application/json"},
    {SCHEME PROTOCOL "/schema", "/v1/protocols/" PROTOCOL "/schema", "schema",
     "All rules that a JSON Schema can express", "application/schema+json"},
    {SCHEME PROTOCOL "/schema/{type}", NULL, "schema of a type",
     "The JSON Schema and an example of one type of message", "application/json"},
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
                         resource->path != NULL ? "uri" : "uriTemplate");
    fill(resource->uri, protocol, out);
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
        if ((resource->path == NULL) != are_templates) {
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
    rpc_write_caching(out, &call->rpc, false);
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
    rpc_write_caching(out, &call->rpc, false);
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

/* Whether the resource, of that protocol (NULL: of none), has this address, or begins it. */
static bool is_at(struct parley_bytes uri, const struct resource *resource,
                  const struct parley_protocol *protocol) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    fill(resource->uri, protocol, &text);
    const bool is_same = parley_bytes_equal(uri, parley_buffer_bytes(&text));
    parley_buffer_finish(&text);
    return is_same;
}

/* parley://PROTOCOL/schema/TYPE */
static bool read_type(struct mcp_call *call, const struct parley_protocol *protocol) {
    const struct parley_bytes uri = call->rpc.name;
    struct parley_buffer prefix;
    bool is_known = false;
    parley_buffer_init(&prefix);
    parley_buffer_format(&prefix, SCHEME "%s/schema/", protocol->name);
    if (!prefix.has_failed && uri.length > prefix.length &&
        memcmp(uri.data, prefix.data, prefix.length) == 0) {
        const struct parley_bytes type = {uri.data + prefix.length, uri.length - prefix.length};
        struct parley_buffer *out = &call->asked.answer;
        is_known = tool_explain_type(protocol, type, &call->arena, out) == NULL;
    }
    parley_buffer_finish(&prefix);
    return is_known;
}

static bool find(struct mcp_call *call, const struct parley_protocol *protocol) {
    for (size_t i = 0; i < RESOURCE_COUNT; i++) {
        const bool is_for_each = strstr(resources[i].uri, PROTOCOL) != NULL;
        if (resources[i].path != NULL && is_for_each == (protocol != NULL) &&
            is_at(call->rpc.name, &resources[i], protocol)) {
            call->asked.method = "GET";
            call->asked.accept = "application/json, */*;q=0.1";
            fill(resources[i].path, protocol, &call->asked.target);
            return true;
        }
    }
    return protocol != NULL && read_type(call, protocol);
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
