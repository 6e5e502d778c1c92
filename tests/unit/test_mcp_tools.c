/* SPDX-License-Identifier: Apache-2.0 */

/* The table of tools: which request a call becomes, which arguments are refused and how, and that
 * what a model has to read of the tools stays short. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>

#include "tools.h"

/* "METHOD TARGET\nCONTENT-TYPE\nWAIT KEY\nBODY" of a request; a fault as it is. */
static void ask(const char *name, const char *arguments, struct parley_buffer *out) {
    struct parley_arena arena;
    struct tool_call call;
    struct tool_request request;
    const struct tool *tool = tool_find(parley_bytes_of(name));
    assert_non_null(tool);
    parley_arena_init(&arena, 0);
    tool_request_init(&request);
    if (tool_read_arguments(tool, parley_bytes_of(arguments), &arena, &call, out)) {
        const char *fault = tool->ask(&call, &request);
        if (fault != NULL) {
            parley_buffer_text(out, fault);
        } else if (request.method == NULL) {
            parley_buffer_append(out, parley_buffer_bytes(&request.answer));
        } else {
            parley_buffer_format(out, "%s ", request.method);
            parley_buffer_append(out, parley_buffer_bytes(&request.target));
            parley_buffer_format(out, "\n%s\n%u %.*s\n",
                                 request.content_type != NULL ? request.content_type : "",
                                 request.wait_s, (int)request.key.length,
                                 request.key.data != NULL ? request.key.data : "");
            parley_buffer_append(out, parley_buffer_bytes(&request.body));
        }
    }
    parley_buffer_char(out, '\0');
    assert_false(out->has_failed);
    tool_request_finish(&request);
    parley_arena_finish(&arena);
}

static const struct {
    const char *tool, *arguments, *becomes;
} rows[] = {
    {"send", "{\"protocol\":\"vlp\",\"message\":{\"a\": 1.0}}",
     "POST /v1/vlp/messages?stamp=true\napplication/json\n0 \n{\"a\": 1.0}"},
    {"send", "{\"protocol\":\"roundtable\",\"message\":{},\"wait\":60,\"key\":\"k-1\"}",
     "POST /v1/roundtable/messages?stamp=true\napplication/json\n60 k-1\n{}"},
    {"send", "{\"protocol\":\"brenner\",\"message\":\"---\\nto: x\\n---\\n\"}",
     "POST /v1/brenner/messages?stamp=true\ntext/markdown\n0 \n---\nto: x\n---\n"},
    {"send", "{\"protocol\":\"vlp\",\"message\":\" {\\\"a\\\":1}\"}",
     "POST /v1/vlp/messages?stamp=true\napplication/json\n0 \n {\"a\":1}"},
    {"send",
     "{\"protocol\":\"supervisor\",\"message\":{},\"options\":{\"agent\":\"a b&c\",\"ack\":true}}",
     "POST /v1/supervisor/messages?stamp=true&agent=a%20b%26c&ack=true\napplication/json\n0 \n{}"},
    {"send", "{\"protocol\":\"vlp\",\"message\":{},\"wait\":null}",
     "POST /v1/vlp/messages?stamp=true\napplication/json\n0 \n{}"},
    {"check", "{\"protocol\":\"vlp\",\"message\":{},\"options\":{\"strict\":true}}",
     "POST /v1/vlp/validate?stamp=true&strict=true\napplication/json\n0 \n{}"},
    {"next_task", "{\"agent\":\"g\"}",
     "POST /v1/roundtable/tasks/next\napplication/json\n0 \n{\"agent\":\"g\"}"},
    {"next_task", "{\"tasks\":[\"a.b\"],\"wait\":30,\"domains\":[\"c\",\"d\"],\"agent\":\"g\"}",
     "POST /v1/roundtable/tasks/next\napplication/json\n30 "
     "\n{\"agent\":\"g\",\"domains\":[\"c\",\"d\"],\"tasks\":[\"a.b\"]}"},
    {"explain", "{\"protocol\":\"vlp\",\"rule\":\"VLP-012\"}", "GET /rules/VLP-012\n\n0 \n"},
    {"explain", "{\"protocol\":\"vlp\",\"rule\":\"../x\"}", "GET /rules/..%2Fx\n\n0 \n"},
    /* what does not fit */
    {"send", "{\"message\":{}}",
     "The argument `protocol` of send is missing; its schema is {\"type\":\"string\",\"enum\":["
     "\"vlp\",\"roundtable\",\"supervisor\",\"brenner\"]}."},
    {"send", "{\"protocol\":\"vlb\",\"message\":{}}",
     "The argument `protocol` of send does not fit; its schema is {\"type\":\"string\",\"enum\":["
     "\"vlp\",\"roundtable\",\"supervisor\",\"brenner\"]}."},
    {"send", "{\"protocol\":\"vlp\",\"message\":[]}",
     "The argument `message` of send does not fit; its schema is {\"type\":[\"object\","
     "\"string\"]}."},
    {"send", "{\"protocol\":\"vlp\",\"message\":\"hello\"}",
     "The argument `message` is an object in this protocol."},
    {"send", "{\"protocol\":\"vlp\",\"message\":{},\"mesage\":{}}",
     "send has no argument `mesage`."},
    {"send", "{\"protocol\":\"vlp\",\"message\":{},\"protocol\":\"vlp\"}",
     "An argument of send is there twice."},
    {"send", "{\"protocol\":\"vlp\",\"message\":{},\"wait\":301}",
     "The argument `wait` of send does not fit; its schema is {\"type\":\"integer\",\"minimum\":0,"
     "\"maximum\":300}."},
    {"send", "{\"protocol\":\"vlp\",\"message\":{},\"wait\":1.5}",
     "The argument `wait` of send does not fit; its schema is {\"type\":\"integer\",\"minimum\":0,"
     "\"maximum\":300}."},
    {"send", "{\"protocol\":\"vlp\",\"message\":{},\"key\":\"a\\r\\nX: y\"}",
     "The argument `key` of send does not fit; its schema is {\"type\":\"string\"}."},
    {"send", "{\"protocol\":\"vlp\",\"message\":{},\"options\":{\"strict\":[]}}",
     "The values in `options` are texts, numbers, true or false: what a query has."},
    {"next_task", "{\"agent\":\"g\",\"domains\":[1]}",
     "The argument `domains` of next_task does not fit; its schema is {\"type\":\"array\","
     "\"items\":{\"type\":\"string\"}}."},
    {"explain", "{\"protocol\":\"vlp\",\"type\":\"x\"}",
     "The protocol has no such type: call explain without `type` for their list."},
};

static void test_a_call_becomes_a_request_or_says_what_does_not_fit(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct parley_buffer out;
        parley_buffer_init(&out);
        ask(rows[i].tool, rows[i].arguments, &out);
        if (strcmp(out.data, rows[i].becomes) != 0) {
            fail_msg("%s %s:\n%s\ninstead of\n%s", rows[i].tool, rows[i].arguments, out.data,
                     rows[i].becomes);
        }
        parley_buffer_finish(&out);
    }
}

static void test_every_type_of_every_protocol_is_explained_with_an_example(void **state) {
    (void)state;
    for (size_t p = 0; parley_protocols[p] != NULL; p++) {
        for (size_t t = 0; parley_protocols[p]->types[t] != NULL; t++) {
            struct parley_buffer arguments, out;
            parley_buffer_init(&arguments);
            parley_buffer_init(&out);
            parley_buffer_format(&arguments, "{\"protocol\":\"%s\",\"type\":\"%s\"}%c",
                                 parley_protocols[p]->name, parley_protocols[p]->types[t], 0);
            ask("explain", arguments.data, &out);
            json_t *answer = json_loads(out.data, 0, NULL);
            if (!json_is_object(json_object_get(answer, "schema")) ||
                !json_is_object(json_object_get(answer, "example"))) {
                fail_msg("%s: %.300s", arguments.data, out.data);
            }
            json_decref(answer);
            parley_buffer_finish(&arguments);
            parley_buffer_finish(&out);
        }
    }
}

/* A token is about four bytes of English, and fewer of JSON: bytes / 3 is more than it has. */
static void test_what_a_model_reads_of_the_tools_is_short(void **state) {
    (void)state;
    enum { TOKENS_MAX = 2500, BYTES_A_TOKEN = 3 };
    size_t bytes = 0;
    for (const struct tool *const *tool = tools; *tool != NULL; tool++) {
        struct parley_buffer out;
        parley_buffer_init(&out);
        tool_describe(*tool, &SCOPES_ALL, &out);
        parley_buffer_char(&out, '\0');
        json_error_t error;
        json_t *entry = json_loads(out.data, JSON_REJECT_DUPLICATES, &error);
        if (entry == NULL) {
            fail_msg("%s: %s", (*tool)->name, error.text);
        }
        assert_true(json_is_object(json_object_get(entry, "outputSchema")));
        json_object_del(entry, "outputSchema"); /* is for programs */
        char *text = json_dumps(entry, JSON_COMPACT);
        bytes += strlen(text);
        free(text);
        json_decref(entry);
        parley_buffer_finish(&out);
    }
    print_message("%zu bytes\n", bytes);
    assert_true(bytes / BYTES_A_TOKEN <= TOKENS_MAX);
}

static const struct {
    const char *scopes;
    const char *tools; /* that are listed */
} permissions[] = {
    {"", "explain"},
    {"metrics", "explain"},
    {"send:vlp", "send check explain"},
    {"read:roundtable", "explain"},
    {"send:roundtable", "send check explain"},
    {"send:roundtable read:vlp", "send check explain"},
    {"send:roundtable read:roundtable", "send check next_task explain"},
    {"send:* read:*", "send check next_task explain"},
};

static void test_tools_are_listed_for_who_may_call_them(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof permissions / sizeof permissions[0]; i++) {
        struct scopes scopes = {0};
        char words[128], listed[128] = "";
        snprintf(words, sizeof words, "%s", permissions[i].scopes);
        for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
            assert_true(scopes_add(&scopes, parley_bytes_of(word), NULL));
        }
        for (const struct tool *const *tool = tools; *tool != NULL; tool++) {
            if (tool_is_allowed(*tool, &scopes)) {
                strcat(strcat(listed, listed[0] != '\0' ? " " : ""), (*tool)->name);
            }
        }
        assert_string_equal(listed, permissions[i].tools);
    }
}

static void test_a_tool_names_the_protocols_that_the_token_may_use(void **state) {
    (void)state;
    struct scopes scopes = {0};
    struct parley_buffer out;
    assert_true(scopes_add(&scopes, PARLEY_BYTES("send:brenner"), NULL));
    parley_buffer_init(&out);
    tool_describe(tool_find(PARLEY_BYTES("send")), &scopes, &out);
    parley_buffer_char(&out, '\0');
    assert_non_null(strstr(out.data, "\"enum\":[\"brenner\"]"));
    parley_buffer_finish(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_call_becomes_a_request_or_says_what_does_not_fit),
        cmocka_unit_test(test_every_type_of_every_protocol_is_explained_with_an_example),
        cmocka_unit_test(test_what_a_model_reads_of_the_tools_is_short),
        cmocka_unit_test(test_tools_are_listed_for_who_may_call_them),
        cmocka_unit_test(test_a_tool_names_the_protocols_that_the_token_may_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
