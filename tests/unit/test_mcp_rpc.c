/* SPDX-License-Identifier: Apache-2.0 */

/* What a JSON-RPC message to POST /mcp is taken for, by its body and the headers that repeat it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rpc.h"

#define NEW "2026-07-28"
#define META_OF(version)                                                                           \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" version                            \
    "\",\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define CALL(params)                                                                               \
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{" params "}}"
#define LIST(params)                                                                               \
    "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/list\",\"params\":{" params "}}"

static const struct {
    const char *what, *body;
    struct rpc_headers headers;
    int code; /* 0: it is read, as … */
    enum rpc_revision revision;
    const char *id, *name; /* NULL: absent */
    const char *arguments; /* each with its name before it: "a: 1, b: {}"; NULL: none */
} rows[] = {
    /* shape */
    {"no JSON", "{\"jsonrpc\":", {0}, RPC_PARSE_ERROR, 0, NULL, NULL, NULL},
    {"nothing", "", {0}, RPC_PARSE_ERROR, 0, NULL, NULL, NULL},
    {"a batch", "[" LIST("") "]", {0}, RPC_INVALID_REQUEST, 0, NULL, NULL, NULL},
    {"an empty batch", "[]", {0}, RPC_INVALID_REQUEST, 0, NULL, NULL, NULL},
    {"a text", "\"tools/list\"", {0}, RPC_INVALID_REQUEST, 0, NULL, NULL, NULL},
    {"no jsonrpc", "{\"id\":1,\"method\":\"ping\"}", {0}, RPC_INVALID_REQUEST, 0, "1", NULL, NULL},
    {"another version of JSON-RPC",
     "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
     {0},
     RPC_INVALID_REQUEST,
     0,
     "1",
     NULL,
     NULL},
    {"an id that is null",
     "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
     {0},
     RPC_INVALID_REQUEST,
     0,
     NULL,
     NULL,
     NULL},
    {"an id that is an object",
     "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
     {0},
     RPC_INVALID_REQUEST,
     0,
     NULL,
     NULL,
     NULL},
    {"two ids",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}",
     {0},
     RPC_INVALID_REQUEST,
     0,
     NULL,
     NULL,
     NULL},
    {"no method", "{\"jsonrpc\":\"2.0\",\"id\":1}", {0}, RPC_INVALID_REQUEST, 0, "1", NULL, NULL},
    {"a response",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
     {0},
     RPC_INVALID_REQUEST,
     0,
     "1",
     NULL,
     NULL},
    {"parameters in a list",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}",
     {0},
     RPC_INVALID_REQUEST,
     0,
     "1",
     NULL,
     NULL},
    {"arguments in a list",
     CALL("\"name\":\"send\",\"arguments\":[]"),
     {0},
     RPC_INVALID_PARAMS,
     0,
     "7",
     NULL,
     NULL},
    {"the name twice",
     CALL("\"name\":\"send\",\"name\":\"check\""),
     {0},
     RPC_INVALID_PARAMS,
     0,
     "7",
     NULL,
     NULL},
    /* revisions with a handshake */
    {"a request without parameters",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
     {0},
     0,
     RPC_2025_06_18,
     "1",
     NULL,
     NULL},
    {"an id keeps its form",
     "{\"jsonrpc\":\"2.0\",\"id\": 1.50 ,\"method\":\"ping\"}",
     {0},
     0,
     RPC_2025_06_18,
     "1.50",
     NULL,
     NULL},
    {"a text as id, with escapes",
     "{\"jsonrpc\":\"2.0\",\"id\":\"a\\\"}b\",\"method\":\"ping\"}",
     {0},
     0,
     RPC_2025_06_18,
     "\"a\\\"}b\"",
     NULL,
     NULL},
    {"a notification",
     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
     {0},
     0,
     RPC_2025_06_18,
     NULL,
     NULL,
     NULL},
    {"its version in the header",
     LIST(""),
     {.version = "2025-11-25"},
     0,
     RPC_2025_11_25,
     "\"a\"",
     NULL,
     NULL},
    {"a version that there is not",
     LIST(""),
     {.version = "2024-11-05"},
     RPC_UNSUPPORTED_VERSION,
     0,
     "\"a\"",
     NULL,
     NULL},
    {"initialize, whatever its header",
     "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
     "\"1999-01-01\"}}",
     {.version = "1999-01-01"},
     0,
     RPC_2025_06_18,
     "0",
     NULL,
     NULL},
    {"a call, its arguments as they were written",
     CALL("\"name\":\"send\",\"arguments\":{\"message\":{\"n\": 1.0e2,\"n\":2}}"),
     {0},
     0,
     RPC_2025_06_18,
     "7",
     "send",
     "message: {\"n\": 1.0e2,\"n\":2}"},
    {"arguments of every kind, in their order, before the name",
     CALL(
         "\"arguments\" : {\"b\\u0061\":[ {} , 1] ,\"t\":\"}\\\"\",\"n\":-1.5e1,\"\":null, \"o\":{ "
         "}} ,\"name\":\"send\""),
     {0},
     0,
     RPC_2025_06_18,
     "7",
     "send",
     "ba: [ {} , 1], t: \"}\\\"\", n: -1.5e1, : null, o: { }"},
    {"more arguments than any tool has",
     CALL("\"name\":\"x\",\"arguments\":{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,"
          "\"h\":1,\"i\":1,\"j\":1,\"k\":1,\"l\":1,\"m\":1,\"n\":1}"),
     {0},
     0,
     RPC_2025_06_18,
     "7",
     "x",
     "a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1, j: 1, k: 1, l: 1"},
    {"headers that nobody asks for",
     CALL("\"name\":\"send\""),
     {.method = "tools/list", .name = "x"},
     0,
     RPC_2025_06_18,
     "7",
     "send",
     NULL},
    /* the revision without one */
    {"a version in the header alone",
     LIST(""),
     {.version = NEW},
     RPC_INVALID_PARAMS,
     0,
     "\"a\"",
     NULL,
     NULL},
    {"a version in the body alone",
     LIST(META_OF(NEW)),
     {.method = "tools/list"},
     RPC_HEADER_MISMATCH,
     0,
     "\"a\"",
     NULL,
     NULL},
    {"two versions",
     LIST(META_OF(NEW)),
     {.version = "2025-11-25", .method = "tools/list"},
     RPC_HEADER_MISMATCH,
     0,
     "\"a\"",
     NULL,
     NULL},
    {"a version that is to come",
     LIST(META_OF("2999-01-01")),
     {.version = "2999-01-01", .method = "tools/list"},
     RPC_UNSUPPORTED_VERSION,
     0,
     "\"a\"",
     NULL,
     NULL},
    {"no capabilities",
     LIST("\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" NEW "\"}"),
     {.version = NEW, .method = "tools/list"},
     RPC_INVALID_PARAMS,
     0,
     "\"a\"",
     NULL,
     NULL},
    {"no header for the method",
     LIST(META_OF(NEW)),
     {.version = NEW},
     RPC_HEADER_MISMATCH,
     0,
     "\"a\"",
     NULL,
     NULL},
    {"another method in the header",
     LIST(META_OF(NEW)),
     {.version = NEW, .method = "Tools/List"},
     RPC_HEADER_MISMATCH,
     0,
     "\"a\"",
     NULL,
     NULL},
    {"no header for the name",
     CALL("\"name\":\"send\"," META_OF(NEW)),
     {.version = NEW, .method = "tools/call"},
     RPC_HEADER_MISMATCH,
     0,
     "7",
     NULL,
     NULL},
    {"another name in the header",
     CALL("\"name\":\"send\"," META_OF(NEW)),
     {.version = NEW, .method = "tools/call", .name = "check"},
     RPC_HEADER_MISMATCH,
     0,
     "7",
     NULL,
     NULL},
    {"the same name in base64",
     CALL("\"name\":\"send\"," META_OF(NEW)),
     {.version = NEW, .method = "tools/call", .name = "=?base64?c2VuZA==?="},
     0,
     RPC_2026_07_28,
     "7",
     "send",
     NULL},
    {"base64 that is none",
     CALL("\"name\":\"send\"," META_OF(NEW)),
     {.version = NEW, .method = "tools/call", .name = "=?base64?c2!uZA==?="},
     RPC_HEADER_MISMATCH,
     0,
     "7",
     NULL,
     NULL},
    {"the address of a resource",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"parley://"
     "llms.txt\"," META_OF(NEW) "}}",
     {.version = NEW, .method = "resources/read", .name = "parley://llms.txt"},
     0,
     RPC_2026_07_28,
     "1",
     "parley://llms.txt",
     NULL},
    {"a list",
     LIST(META_OF(NEW)),
     {.version = NEW, .method = "tools/list"},
     0,
     RPC_2026_07_28,
     "\"a\"",
     NULL,
     NULL},
    {"a notification without the other headers",
     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":{" META_OF(NEW) "}}",
     {.version = NEW},
     0,
     RPC_2026_07_28,
     NULL,
     NULL,
     NULL},
};

static bool is_text(struct parley_bytes bytes, const char *text) {
    return text == NULL ? bytes.data == NULL
                        : bytes.data != NULL && parley_bytes_equal(bytes, parley_bytes_of(text));
}

static bool are(const struct rpc_arguments *arguments, const char *text) {
    struct parley_buffer out;
    parley_buffer_init(&out);
    for (size_t i = 0; i < arguments->count; i++) {
        parley_buffer_text(&out, i > 0 ? ", " : "");
        parley_buffer_append(&out, arguments->items[i].key);
        parley_buffer_text(&out, ": ");
        parley_buffer_append(&out, arguments->items[i].raw);
    }
    const bool is_same = is_text(parley_buffer_bytes(&out), text);
    parley_buffer_finish(&out);
    return is_same;
}

static void test_a_message_is_taken_for_what_the_specification_says(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct parley_arena arena;
        struct rpc rpc = {0};
        struct rpc_error error = {0};
        parley_arena_init(&arena, 0);
        const bool is_read =
            rpc_read(parley_bytes_of(rows[i].body), &rows[i].headers, &arena, &rpc, &error);
        const bool is_as_wanted = is_read ? rows[i].code == 0 && rpc.revision == rows[i].revision &&
                                                is_text(rpc.name, rows[i].name) &&
                                                are(&rpc.arguments, rows[i].arguments)
                                          : (int)error.code == rows[i].code && error.status == 400;
        if (!is_as_wanted || !is_text(rpc.id, rows[i].id)) {
            fail_msg("%s: %d %d, %s", rows[i].what, is_read, error.code,
                     error.message != NULL ? error.message : "");
        }
        parley_arena_finish(&arena);
    }
}

#define SEND(message) CALL("\"name\":\"send\",\"arguments\":{\"message\":" message "}")

/* 0: it is read; the rest is then JSON, or not. */
static const struct {
    const char *body;
    int code;
    bool is_json;
} unread_rows[] = {
    {SEND("1"), 0, true},
    {SEND("\"{\""), 0, true},
    {SEND("{\"a\":[\"]\",\"\\\"}\"]}"), 0, true},
    {SEND("[ ]"), 0, true},
    {SEND("{\"a\":tru}"), 0, false},
    {SEND("{\"a\":[1}}"), 0, false},
    {SEND("{\"a\":1]"), 0, false},
    {SEND("{\"a\":\"\xff\"}"), 0, false},
    {SEND("{\"a\" 1}"), 0, false},
    {SEND("[,]"), 0, false},
    /* its brackets or strings have no end, or what is around it is not JSON */
    {SEND("{\"a\":[1}"), RPC_PARSE_ERROR, false},
    {SEND("{\"a\":\"}"), RPC_PARSE_ERROR, false},
    {SEND("{}}"), RPC_PARSE_ERROR, false},
    {SEND("tru"), RPC_PARSE_ERROR, false},
    {CALL("\"name\":\"send\",\"_meta\":{\"a\":[tru]}"), RPC_PARSE_ERROR, false},
    {CALL("\"name\":\"send\",\"other\":{\"a\":tru}"), RPC_PARSE_ERROR, false},
    {CALL("\"name\":\"send\",\"arguments\":[tru]"), RPC_PARSE_ERROR, false},
};

static void test_only_what_a_tool_takes_is_left_unread_and_read_at_last(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof unread_rows / sizeof unread_rows[0]; i++) {
        const struct parley_bytes body = parley_bytes_of(unread_rows[i].body);
        struct parley_arena arena;
        struct rpc rpc = {0};
        struct rpc_error error = {0};
        parley_arena_init(&arena, 0);
        const bool is_read = rpc_read(body, &(const struct rpc_headers){0}, &arena, &rpc, &error);
        if (is_read != (unread_rows[i].code == 0) || (int)error.code != unread_rows[i].code) {
            fail_msg("%s: %d %d", unread_rows[i].body, is_read, error.code);
        }
        if (is_read) {
            const bool is_json = rpc_read_rest(body, &arena, &rpc, &error);
            assert_int_equal(is_json, unread_rows[i].is_json);
            assert_int_equal(error.code, is_json ? 0 : RPC_PARSE_ERROR);
            assert_int_equal(rpc.id.data != NULL, is_json);
        }
        parley_arena_finish(&arena);
    }
}

static void test_an_error_has_the_id_that_could_be_read(void **state) {
    (void)state;
    static const struct {
        struct rpc rpc;
        struct rpc_error error;
        const char *text;
    } answers[] = {
        {{.id = {"\"a\"", 3}},
         {.code = RPC_METHOD_NOT_FOUND, .message = "no"},
         "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":-32601,\"message\":\"no\"}}"},
        {{.revision = RPC_2026_07_28},
         {.code = RPC_PARSE_ERROR, .message = "no"},
         "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"no\"}}"},
        {{.id = {"1", 1}},
         {.code = RPC_UNSUPPORTED_VERSION, .message = "no", .requested = {"x\"", 2}},
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,\"message\":\"no\",\"data\":{"
         "\"supported\":[\"2026-07-28\",\"2025-11-25\",\"2025-06-18\"],\"requested\":\"x\\\"\"}}}"},
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        struct parley_buffer out;
        parley_buffer_init(&out);
        rpc_write_error(&out, &answers[i].rpc, &answers[i].error);
        parley_buffer_char(&out, '\0');
        assert_string_equal(out.data, answers[i].text);
        parley_buffer_finish(&out);
    }
}

static void test_every_revision_is_found_by_its_name(void **state) {
    (void)state;
    for (unsigned i = 0; i < RPC_REVISION_COUNT; i++) {
        const char *name = rpc_revision_name((enum rpc_revision)i);
        assert_int_equal(rpc_revision_find(parley_bytes_of(name)), i);
    }
    assert_int_equal(rpc_revision_find(PARLEY_BYTES("2025-03-26")), RPC_REVISION_COUNT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_message_is_taken_for_what_the_specification_says),
        cmocka_unit_test(test_only_what_a_tool_takes_is_left_unread_and_read_at_last),
        cmocka_unit_test(test_an_error_has_the_id_that_could_be_read),
        cmocka_unit_test(test_every_revision_is_found_by_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
