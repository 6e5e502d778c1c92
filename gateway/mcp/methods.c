/* SPDX-License-Identifier: Apache-2.0 */

/* The methods as a table, and those that need no other address. */

#include "mcp_call.h"

enum { OK = 200, NOT_FOUND = 404 };

static const char instructions[] =
    "parley checks messages of AI agents by the rules of their protocol, stores the valid ones in "
    "NATS, and hands out tasks. Begin with explain for the types of a protocol, check a message, "
    "send it. A refusal names each violation with a hint, often with a fix: apply it, send again.";

/* ---- about the server ---- */

static void write_capabilities(struct parley_buffer *out) {
    parley_buffer_text(
        out, ",\"capabilities\":{\"tools\":{},\"resources\":{},\"prompts\":{}},\"instructions\":");
    parley_buffer_json(out, PARLEY_BYTES(instructions));
}

static void begin(struct mcp_call *call) {
    rpc_begin_result(&call->answer, &call->rpc, call->mcp->version);
}

static void end(struct mcp_call *call) {
    rpc_end_result(&call->answer);
    mcp_respond(call, OK);
}

/* The version that is asked for, or the newest that has a handshake. */
static void initialize(struct mcp_call *call) {
    const enum rpc_revision asked = rpc_revision_find(call->rpc.version);
    const bool is_known = asked <= RPC_2025_11_25;
    begin(call);
    parley_buffer_format(&call->answer,
                         ",\"protocolVersion\":\"%s\",\"serverInfo\":{\"name\":\"parley\","
                         "\"version\":\"%s\"}",
                         rpc_revision_name(is_known ? asked : RPC_2025_11_25), call->mcp->version);
    write_capabilities(&call->answer);
    end(call);
}

static void discover(struct mcp_call *call) {
    begin(call);
    parley_buffer_text(&call->answer, ",\"supportedVersions\":[");
    for (unsigned i = RPC_REVISION_COUNT; i > 0; i--) {
        parley_buffer_format(&call->answer, "\"%s\"%s",
                             rpc_revision_name((enum rpc_revision)(i - 1)), i > 1 ? "," : "]");
    }
    write_capabilities(&call->answer);
    rpc_write_caching(&call->answer, &call->rpc, RPC_CACHED_BY_ALL);
    end(call);
}

static void ping(struct mcp_call *call) {
    rpc_write_nothing(&call->answer, &call->rpc);
    mcp_respond(call, OK);
}

/* ---- lists ---- */

static void list_prompts(struct mcp_call *call) {
    begin(call);
    parley_buffer_text(&call->answer, ",\"prompts\":[]");
    rpc_write_caching(&call->answer, &call->rpc, RPC_CACHED_BY_ALL);
    end(call);
}

static const struct principal *principal_of(const struct mcp_call *call) {
    return guard_principal(call->request);
}

static void list_tools(struct mcp_call *call) {
    const struct principal *principal = principal_of(call);
    const char *before = "";
    begin(call);
    parley_buffer_text(&call->answer, ",\"tools\":[");
    for (const struct tool *const *tool = tools; *tool != NULL; tool++) {
        if (tool_is_allowed(*tool, &principal->scopes)) {
            parley_buffer_text(&call->answer, before);
            tool_describe(*tool, &principal->scopes, &call->answer);
            before = ",";
        }
    }
    parley_buffer_char(&call->answer, ']');
    rpc_write_caching(&call->answer, &call->rpc,
                      principal != &principal_anonymous ? RPC_CACHED_BY_ONE : RPC_CACHED_BY_ALL);
    end(call);
}

/* ---- tools ---- */

static void ask(struct mcp_call *call) {
    struct tool_request *asked = &call->asked;
    const char *fault = call->tool->ask(&call->arguments, asked);
    if (fault != NULL) {
        tool_result_of_fault(call, fault);
        mcp_respond(call, OK);
    } else if (asked->method != NULL) {
        mcp_ask(call);
    } else {
        call->answer.has_failed |= asked->answer.has_failed;
        tool_result_write(call, parley_buffer_bytes(&asked->answer), false);
        mcp_respond(call, OK);
    }
}

static void call_tool(struct mcp_call *call) {
    struct parley_buffer fault;
    call->tool = tool_find(call->rpc.name);
    if (call->tool == NULL) {
        mcp_respond_error(call,
                          &(const struct rpc_error){
                              .code = RPC_INVALID_PARAMS,
                              .status = OK,
                              .message = "There is no tool of that name: tools/list names them"});
        return;
    }
    parley_buffer_init(&fault);
    if (tool_take_arguments(call->tool, &call->rpc.arguments, &call->arena, &call->arguments,
                            &fault)) {
        ask(call);
    } else {
        parley_buffer_char(&fault, '\0');
        tool_result_of_fault(call, fault.has_failed ? "Out of memory." : fault.data);
        mcp_respond(call, OK);
    }
    parley_buffer_finish(&fault);
}

/* ---- the table ---- */

enum method_era { OF_ALL, OF_LEGACY, OF_MODERN };

static const struct {
    const char *name;
    enum method_era era;
    void (*serve)(struct mcp_call *call);
} methods[] = {
    {"tools/call", OF_ALL, call_tool},
    {"tools/list", OF_ALL, list_tools},
    {"prompts/list", OF_ALL, list_prompts},
    {"server/discover", OF_MODERN, discover},
    {"initialize", OF_LEGACY, initialize},
    {"ping", OF_LEGACY, ping},
    {"resources/list", OF_ALL, resources_list},
    {"resources/read", OF_ALL, resources_read},
    {"resources/templates/list", OF_ALL, resources_list_templates},
};

void mcp_dispatch(struct mcp_call *call) {
    const bool is_modern = rpc_is_modern(&call->rpc);
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        const bool is_there =
            methods[i].era == OF_ALL || (methods[i].era == OF_MODERN) == is_modern;
        if (is_there && parley_bytes_equal(call->rpc.method, parley_bytes_of(methods[i].name))) {
            methods[i].serve(call);
            return;
        }
    }
    mcp_respond_error(call, &(const struct rpc_error){.code = RPC_METHOD_NOT_FOUND,
                                                      .status = is_modern ? NOT_FOUND : OK,
                                                      .message = "This server has no such method"});
}
