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

static bool take_arguments(const struct tool *tool, const char *text, struct parley_arena *arena,
                           struct tool_call *out, struct parley_buffer *fault) {
    struct rpc_arguments *arguments = parley_arena_allocate(arena, sizeof *arguments);
    assert_non_null(arguments);
    struct json_object object = {
        .fields = arguments->items, .count = RPC_ARGUMENTS_MAX, .is_list = true};
    assert_int_equal(json_object_read(parley_bytes_of(text), &object, arena), JSON_FIELDS_READ);
    arguments->count = object.item_count;
    return tool_take_arguments(tool, arguments, arena, out, fault);
}

/* "METHOD TARGET\nCONTENT-TYPE\nWAIT KEY\nBODY" of a request; a fault as it is. */
static void ask(const char *name, const char *arguments, struct parley_buffer *out) {
    struct parley_arena arena;
    struct tool_call call;
    struct tool_request request;
    const struct tool *tool = tool_find(parley_bytes_of(name));
    assert_non_null(tool);
    parley_arena_init(&arena, 0);
    tool_request_init(&request);
    if (take_arguments(tool, arguments, &arena, &call, out)) {
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
            parley_buffer_append(out, request.message);
            parley_buffer_append(out, parley_buffer_bytes(&request.body));
        }
    }
    parley_buffer_char(out, '\0');
    assert_false(out->has_failed);
    tool_request_finish(&request);
    tool_call_finish(&call);
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
    {"read", "{\"protocol\":\"vlp\"}", "GET /v1/vlp/stream?follow=false&limit=20&since=1h\n\n0 \n"},
    {"read", "{\"protocol\":\"vlp\",\"wait\":5}",
     "GET /v1/vlp/stream?follow=true&limit=1&since=now\n\n0 \n"},
    {"read",
     "{\"protocol\":\"vlp\",\"since\":\"VLP:a:1\",\"limit\":100,\"wait\":5,\"filters\":{\"type\":"
     "\"claim,notice\",\"for\":\"me\"}}",
     "GET "
     "/v1/vlp/stream?follow=false&limit=100&since=VLP%3Aa%3A1&type=claim%2Cnotice&for=me\n\n0 \n"},
    {"report", "{\"agent\":\"g\",\"task\":\"a/b\",\"kind\":\"result\",\"payload\":{}}",
     "GET /v1/roundtable/tasks/a%2Fb\n\n0 \n"},
    {"report", "{\"agent\":\"g\",\"task\":\"a/b\",\"kind\":\"extend\"}",
     "POST /v1/roundtable/tasks/a%2Fb/extend\napplication/json\n0 \n{\"agent\":\"g\"}"},
    {"report", "{\"agent\":\"g\",\"task\":\"a\",\"kind\":\"extend\",\"payload\":{ }}",
     "POST /v1/roundtable/tasks/a/extend\napplication/json\n0 \n{\"agent\":\"g\"}"},
    {"report",
     "{\"agent\":\"g\",\"task\":\"a\",\"kind\":\"release\",\"payload\":{\"why\":\"w\",\"after\":60}"
     "}",
     "POST /v1/roundtable/tasks/a/release\napplication/json\n0 "
     "\n{\"agent\":\"g\",\"why\":\"w\",\"after\":60}"},
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
     "The values of options and filters are texts, numbers, true or false: what a query has."},
    {"report", "{\"agent\":\"g\",\"task\":\"a\",\"kind\":\"done\",\"payload\":{}}",
     "The argument `kind` of report does not fit; its schema is {\"type\":\"string\",\"enum\":["
     "\"progress\",\"result\",\"failed\",\"extend\",\"release\"]}."},
    {"report", "{\"agent\":\"g\",\"task\":\"a\",\"kind\":\"result\"}",
     "The argument `payload` of report is missing: progress, result and failed have one."},
    {"read", "{\"protocol\":\"vlp\",\"limit\":0}",
     "The argument `limit` of read does not fit; its schema is {\"type\":\"integer\",\"minimum\":1,"
     "\"maximum\":100}."},
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

/* The answers to the requests of one call, one after the other. */
static void test_an_inbox_has_what_is_for_the_agent_and_names_what_it_may_not_read(void **state) {
    (void)state;
    static const struct {
        unsigned statuses[4];
        const char *bodies[4], *made; /* NULL: the last answer is the result */
    } inboxes[] = {
        {{200, 200, 200, 200},
         {"{\"items\":[{\"id\":1,\"to\":\"g\",\"holder\":null},{\"id\":2,\"to\":null,\"holder\":"
          "\"g\"},"
          "{\"id\":3,\"to\":\"g\",\"holder\":\"h\"},{\"id\":4,\"to\":null,\"holder\":null},"
          "{\"id\":5,\"to\":\"g\",\"holder\":null}]}",
          "{\"items\":[{\"id\":\"m\",\"answered\":null},{\"id\":\"n\"}],\"next\":null}",
          "{\"items\":[{\"by\":\"g\",\"session\":\"s\"}]}",
          "{\"items\":[{\"by\":\"g\",\"session\":\"s\"},{\"by\":\"x\",\"session\":\"s\"}]}"},
         "{\"tasks\":[{\"id\":1,\"to\":\"g\",\"holder\":null},{\"id\":2,\"to\":null,\"holder\":"
         "\"g\"}],"
         "\"messages\":[{\"id\":\"m\",\"answered\":null},{\"id\":\"n\"}],"
         "\"halts\":[{\"by\":\"g\",\"session\":\"s\"},{\"by\":\"x\",\"session\":\"s\"}],"
         "\"more\":true,\"left_out\":[]}"},
        {{200, 200, 200, 200},
         {"{\"items\":[]}", "{\"items\":[{\"id\":\"m\"}],\"next\":\"n\"}", "{\"items\":[]}",
          "{\"items\":[]}"},
         "{\"tasks\":[],\"messages\":[{\"id\":\"m\"}],\"halts\":[],\"more\":true,\"left_out\":[]}"},
        {{200, 200, 200, 200}, /* the list of tasks has left out some */
         {"{\"items\":[{\"id\":1,\"to\":\"x\",\"holder\":null}],\"more\":true}",
          "{\"items\":[],\"next\":null}", "{\"items\":[]}", "{\"items\":[]}"},
         "{\"tasks\":[],\"messages\":[],\"halts\":[],\"more\":true,\"left_out\":[]}"},
        {{403, 404, 200, 200}, /* no index */
         {"{}", "{}", "{\"items\":[]}", "{\"items\":[]}"},
         "{\"tasks\":[],\"messages\":null,\"halts\":[],\"more\":false,"
         "\"left_out\":[\"roundtable\"]}"},
        {{200, 503, 200, 200}, /* it is being made */
         {"{\"items\":[]}", "{}", "{\"items\":[]}", "{\"items\":[]}"},
         "{\"tasks\":[],\"messages\":null,\"halts\":[],\"more\":false,\"left_out\":[]}"},
        {{403, 403, 200, 200},
         {"{}", "{}", "{\"items\":[]}", "{\"items\":[]}"},
         "{\"tasks\":[],\"messages\":[],\"halts\":[],\"more\":false,"
         "\"left_out\":[\"roundtable\",\"brenner\"]}"},
        {{200, 403, 403, 0},
         {"{\"items\":[]}", "{}", "{}", NULL},
         "{\"tasks\":[],\"messages\":[],\"halts\":[],\"more\":false,"
         "\"left_out\":[\"brenner\",\"vlp\"]}"},
        {{403, 403, 403, 0}, {"{}", "{}", "{}", NULL}, NULL},
    };
    for (size_t i = 0; i < sizeof inboxes / sizeof inboxes[0]; i++) {
        struct parley_arena arena;
        struct tool_call call;
        struct tool_request next;
        struct parley_buffer fault;
        enum tool_step step = TOOL_ASKS;
        parley_arena_init(&arena, 0);
        parley_buffer_init(&fault);
        assert_true(take_arguments(&tool_inbox,
                                   "{\"agent\":\"g\",\"sessions\":[\"s\"],\"limit\":2}", &arena,
                                   &call, &fault));
        for (size_t k = 0; step == TOOL_ASKS; k++) {
            const struct tool_answer answer = {inboxes[i].statuses[k],
                                               parley_bytes_of(inboxes[i].bodies[k])};
            tool_request_init(&next);
            call.answered_count++;
            step = tool_inbox.then(&call, &answer, &next);
            if (step == TOOL_ASKS) {
                tool_request_finish(&next);
            }
        }
        assert_int_equal(step, inboxes[i].made != NULL ? TOOL_MADE : TOOL_ANSWERED);
        parley_buffer_char(&next.answer, '\0');
        assert_string_equal(next.answer.data, inboxes[i].made != NULL ? inboxes[i].made : "");
        tool_request_finish(&next);
        tool_call_finish(&call);
        parley_buffer_finish(&fault);
        parley_arena_finish(&arena);
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

/* What a tool makes of an answer: "STEP METHOD TARGET\nBODY", or "STEP ANSWER". */
static const struct {
    const char *tool, *arguments;
    unsigned answered_count, status;
    const char *body, *becomes;
} steps[] = {
    {"read", "{\"protocol\":\"vlp\"}", 1, 200, "", "made {\"items\":[],\"resume\":null}"},
    {"read", "{\"protocol\":\"vlp\",\"since\":\"a\"}", 1, 200, "",
     "made {\"items\":[],\"resume\":\"a\"}"},
    {"read", "{\"protocol\":\"vlp\",\"since\":\"a\",\"wait\":9}", 1, 200, "",
     "asks GET /v1/vlp/stream?follow=true&limit=1&since=a\n"},
    {"read", "{\"protocol\":\"vlp\",\"since\":\"a\",\"wait\":9}", 2, 200,
     "{\"type\":\"parley.open\",\"resume\":\"b\"}\n{\"type\":\"parley.keepalive\",\"resume\":\"c\"}"
     "\n",
     "made {\"items\":[],\"resume\":\"c\"}"},
    {"read", "{\"protocol\":\"vlp\",\"since\":\"a\",\"wait\":9}", 1, 200,
     "{\"type\":\"vlp.claim\",\"resume\":\"b\",\"data\":{}}\n{\"type\":\"parley.gap\",\"resume\":"
     "\"c\"}"
     "\n{\"type\":\"cut",
     "made "
     "{\"items\":[{\"type\":\"vlp.claim\",\"resume\":\"b\",\"data\":{}},{\"type\":\"parley.gap\","
     "\"resume\":\"c\"}],\"resume\":\"c\"}"},
    {"read", "{\"protocol\":\"vlp\"}", 1, 400, "{}", "answered "},
    {"report", "{\"agent\":\"g\",\"task\":\"T\",\"kind\":\"result\",\"payload\":{\"a\":1.0}}", 1,
     200, "{\"holder\":\"g\",\"claimed_at\":\"now\"}",
     "asks POST /v1/roundtable/messages?stamp=true\n{\"type\":\"task.result\",\"from\":\"g\","
     "\"correlationId\":\"T\",\"payload\":{\"a\":1.0}}"},
    {"report", "{\"agent\":\"g\",\"task\":\"T\",\"kind\":\"failed\",\"payload\":{}}", 1, 404, "{}",
     "asks POST /v1/roundtable/messages?stamp=true\n{\"type\":\"task.failed\",\"from\":\"g\","
     "\"correlationId\":\"T\",\"payload\":{}}"},
    {"report", "{\"agent\":\"g\",\"task\":\"T\",\"kind\":\"progress\",\"payload\":{}}", 1, 200,
     "{\"holder\":\"h\",\"claimed_at\":\"then\"}",
     "refused {\"type\":\"/problems/not-holder\",\"title\":\"Another agent holds this task\","
     "\"status\":409,\"detail\":\"Another agent holds this task. Nothing was sent.\","
     "\"holder\":\"h\",\"claimed_at\":\"then\"}"},
    {"report", "{\"agent\":\"g\",\"task\":\"T\",\"kind\":\"progress\",\"payload\":{}}", 2, 422,
     "{}", "answered "},
};

static void take(size_t row, struct parley_buffer *out) {
    static const char *const names[] = {[TOOL_ANSWERED] = "answered",
                                        [TOOL_MADE] = "made",
                                        [TOOL_REFUSED] = "refused",
                                        [TOOL_ASKS] = "asks"};
    const struct tool *tool = tool_find(parley_bytes_of(steps[row].tool));
    struct parley_arena arena;
    struct tool_call call;
    struct tool_request next;
    parley_arena_init(&arena, 0);
    tool_request_init(&next);
    assert_true(take_arguments(tool, steps[row].arguments, &arena, &call, out));
    call.answered_count = steps[row].answered_count;
    const struct tool_answer answer = {steps[row].status, parley_bytes_of(steps[row].body)};
    const enum tool_step step = tool->then(&call, &answer, &next);
    parley_buffer_format(out, "%s ", names[step]);
    if (step == TOOL_ASKS) {
        parley_buffer_format(out, "%s ", next.method);
        parley_buffer_append(out, parley_buffer_bytes(&next.target));
        parley_buffer_char(out, '\n');
        parley_buffer_append(out, parley_buffer_bytes(&next.body));
    } else {
        parley_buffer_append(out, parley_buffer_bytes(&next.answer));
    }
    parley_buffer_char(out, '\0');
    tool_request_finish(&next);
    tool_call_finish(&call);
    parley_arena_finish(&arena);
}

static void test_an_answer_is_the_result_or_leads_to_another_request(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct parley_buffer out;
        parley_buffer_init(&out);
        take(i, &out);
        if (strcmp(out.data, steps[i].becomes) != 0) {
            fail_msg("%s %s:\n%s\ninstead of\n%s", steps[i].tool, steps[i].arguments, out.data,
                     steps[i].becomes);
        }
        parley_buffer_finish(&out);
    }
}

static const struct {
    const char *scopes;
    const char *tools; /* that are listed */
} permissions[] = {
    {"", "explain"},
    {"metrics", "explain"},
    {"send:vlp", "send check explain"},
    {"read:roundtable", "read inbox explain"},
    {"send:roundtable", "send check explain"},
    {"send:roundtable read:vlp", "send check read inbox explain"},
    {"send:roundtable read:roundtable", "send check read next_task report inbox explain"},
    {"send:* read:*", "send check read next_task report inbox explain"},
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
        cmocka_unit_test(test_an_answer_is_the_result_or_leads_to_another_request),
        cmocka_unit_test(test_an_inbox_has_what_is_for_the_agent_and_names_what_it_may_not_read),
        cmocka_unit_test(test_every_type_of_every_protocol_is_explained_with_an_example),
        cmocka_unit_test(test_what_a_model_reads_of_the_tools_is_short),
        cmocka_unit_test(test_tools_are_listed_for_who_may_call_them),
        cmocka_unit_test(test_a_tool_names_the_protocols_that_the_token_may_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
