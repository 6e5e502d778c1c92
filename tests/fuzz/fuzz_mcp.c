/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes what a client of the Model Context Protocol sends: a JSON-RPC message, and the arguments
 * of a tool, until they are a request to another address. Whatever they are, the head of that
 * request has no line end of theirs, and an answer is JSON. */

#include "fuzz.h"

#include <string.h>

#include "json_reader.h"
#include "rpc.h"
#include "tools.h"

static void require_json(const struct parley_buffer *text) {
    struct parley_arena arena;
    struct json_fault fault;
    parley_arena_init(&arena, 0);
    require(json_reader_read(parley_buffer_bytes(text), NULL, &arena, NULL, &fault) !=
                JSON_READER_FAULT,
            "it is JSON");
    parley_arena_finish(&arena);
}

static void call(const struct rpc *rpc, struct parley_arena *arena) {
    const struct tool *tool = tool_find(rpc->name);
    struct tool_call arguments = {0};
    struct tool_request request;
    struct parley_buffer fault;
    parley_buffer_init(&fault);
    tool_request_init(&request);
    if (tool != NULL && tool_take_arguments(tool, &rpc->arguments, arena, &arguments, &fault) &&
        tool->ask(&arguments, &request) == NULL) {
        require(request.target.length == 0 ||
                    (memchr(request.target.data, '\n', request.target.length) == NULL &&
                     memchr(request.target.data, ' ', request.target.length) == NULL),
                "it is one word");
        require(request.key.data == NULL ||
                    memchr(request.key.data, '\n', request.key.length) == NULL,
                "it is one line");
        if (request.method == NULL) {
            require_json(&request.answer);
        }
    }
    tool_call_finish(&arguments);
    tool_request_finish(&request);
    parley_buffer_finish(&fault);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct rpc_headers headers[] = {
        {0}, {.version = "2026-07-28", .method = "tools/call", .name = "send"}};
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        struct parley_arena arena;
        struct parley_buffer out;
        struct rpc rpc = {0};
        struct rpc_error error;
        parley_arena_init(&arena, 0);
        parley_buffer_init(&out);
        if (rpc_read((struct parley_bytes){(const char *)data, size}, &headers[i], &arena, &rpc,
                     &error)) {
            call(&rpc, &arena);
            rpc_begin_result(&out, &rpc, "0");
            rpc_end_result(&out);
        } else {
            rpc_write_error(&out, &rpc, &error);
        }
        require_json(&out);
        parley_buffer_finish(&out);
        parley_arena_finish(&arena);
    }
    return 0;
}
