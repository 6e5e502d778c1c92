/* SPDX-License-Identifier: Apache-2.0 */

/* Each row of the table: its JSON, and its answer. HTTP is played by this file. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <parley/rule.h>

#include "problem.h"

struct http_request {
    unsigned status;
    char type[64], retry_after[8];
    char body[4096];
    char rules[257];
};

const char *http_request_id(const struct http_request *request) {
    (void)request;
    return "the-request";
}

void http_header(struct http_request *request, const char *name, const char *value) {
    assert_string_equal(name, "Retry-After");
    snprintf(request->retry_after, sizeof request->retry_after, "%s", value);
}

void http_request_remark(struct http_request *request, enum http_remark remark,
                         struct parley_bytes text) {
    assert_int_equal(remark, HTTP_REMARK_RULES);
    assert_in_range(text.length, 1, sizeof request->rules - 1);
    memcpy(request->rules, text.data, text.length);
    request->rules[text.length] = '\0';
}

void http_request_note(struct http_request *request, enum http_note note, unsigned char value) {
    (void)request;
    (void)note;
    (void)value;
}

void http_compress(struct http_request *request) {
    (void)request;
}

const char *http_request_query(const struct http_request *request, const char *name) {
    (void)request;
    (void)name;
    return NULL;
}

const struct http_encoding *http_request_encoding(const struct http_request *request) {
    static const struct http_encoding json = {.protocol = NULL};
    (void)request;
    return &json;
}

void http_respond(struct http_request *request, unsigned status, const char *content_type,
                  struct parley_bytes body) {
    assert_int_equal(request->status, 0);
    request->status = status;
    snprintf(request->type, sizeof request->type, "%s", content_type);
    assert_true(body.length < sizeof request->body);
    memcpy(request->body, body.data, body.length);
    request->body[body.length] = '\0';
}

static const char *text_of(const json_t *object, const char *name) {
    const char *text = json_string_value(json_object_get(object, name));
    assert_non_null(text);
    return text;
}

static void test_every_problem_is_json_as_rfc_9457_has_it(void **state) {
    (void)state;
    for (unsigned i = 0; i < problem_count(); i++) {
        struct http_request request = {0};
        problem_respond(&request, (enum problem)i, "A \"detail\"\n.");
        json_t *root = json_loads(request.body, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(root);
        assert_string_equal(request.type, "application/problem+json");
        assert_int_equal(request.status, problem_status((enum problem)i));
        assert_int_equal(json_integer_value(json_object_get(root, "status")), request.status);
        assert_true(request.status >= 400 && request.status < 600);
        assert_string_equal(text_of(root, "detail"), "A \"detail\"\n.");
        assert_string_equal(text_of(root, "instance"), "the-request");
        assert_true(strlen(text_of(root, "title")) > 0);
        assert_int_equal(strncmp(text_of(root, "type"), "/problems/", 10), 0);
        assert_null(json_object_get(root, "violations"));
        json_decref(root);
    }
}

static void test_no_name_stands_for_two_problems(void **state) {
    (void)state;
    for (unsigned i = 0; i < problem_count(); i++) {
        for (unsigned k = i + 1; k < problem_count(); k++) {
            assert_string_not_equal(problem_name((enum problem)i), problem_name((enum problem)k));
        }
    }
}

static void test_what_a_protocol_refuses_by_is_a_problem_of_its_own(void **state) {
    (void)state;
    const struct parley_protocol *protocol = parley_protocol_find(PARLEY_BYTES("roundtable"));
    for (const struct parley_problem *at = protocol->problems; at->name != NULL; at++) {
        struct http_request request = {0};
        const enum problem problem = problem_of_name(at->name);
        assert_ptr_equal(problem_about(problem), at);
        problem_respond(&request, problem, "x");
        assert_int_equal(request.status, at->status);
        assert_non_null(strstr(request.body, at->title));
    }
    assert_int_equal(problem_of_name("id-reused"), PROBLEM_ID_REUSED);
    assert_int_equal(problem_of_name("unheard-of"), PROBLEM_INTERNAL);
}

static void test_only_503_says_when_to_try_again(void **state) {
    (void)state;
    for (unsigned i = 0; i < problem_count(); i++) {
        struct http_request request = {0};
        problem_respond(&request, (enum problem)i, "x");
        assert_string_equal(request.retry_after, request.status == 503 ? "1" : "");
    }
}

static void test_findings_become_violations(void **state) {
    (void)state;
    struct parley_finding item = {.rule = &parley_gateway_rules[PARLEY_GW_PARSE],
                                  .path = "/a\"b",
                                  .message = "m",
                                  .hint = "h",
                                  .at = {2, 3}};
    const struct parley_findings findings = {.items = &item, .count = 1};
    struct http_request request = {0};
    problem_respond_findings(&request, PROBLEM_MALFORMED, "x", &findings);
    json_t *root = json_loads(request.body, 0, NULL);
    const json_t *violation = json_array_get(json_object_get(root, "violations"), 0);
    assert_string_equal(text_of(violation, "rule"), "GW-001");
    assert_string_equal(text_of(violation, "path"), "/a\"b");
    json_decref(root);
}

static void test_a_detail_that_is_too_long_or_no_utf8_is_json_all_the_same(void **state) {
    (void)state;
    char path[2001];
    memset(path, 0xC3, sizeof path - 1);
    path[sizeof path - 1] = '\0';
    struct http_request request = {0};
    problem_respond_format(&request, PROBLEM_NOT_FOUND, "There is nothing at %s.", path);
    json_t *root = json_loads(request.body, 0, NULL);
    assert_non_null(root);
    json_decref(root);
}

static void test_the_rules_that_are_broken_are_noted_once_each_and_bounded(void **state) {
    (void)state;
    struct parley_rule rules[100];
    char ids[100][8];
    struct parley_finding items[200];
    struct http_request request = {.status = 0};
    for (size_t i = 0; i < 200; i++) {
        snprintf(ids[i / 2], sizeof ids[0], "VLP-%03zu", i / 2);
        rules[i / 2] = (struct parley_rule){.id = ids[i / 2]};
        items[i] = (struct parley_finding){.rule = &rules[i / 2]};
    }
    problem_remark_rules(&request, &(struct parley_findings){.count = 0});
    assert_string_equal(request.rules, "");
    problem_remark_rules(&request, &(struct parley_findings){.items = items, .count = 5});
    assert_string_equal(request.rules, "VLP-000,VLP-001,VLP-002");
    problem_remark_rules(&request, &(struct parley_findings){.items = items, .count = 200});
    assert_int_equal(strlen(request.rules), 32 * 8 - 1);
    assert_string_equal(request.rules + 31 * 8, "VLP-031");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_problem_is_json_as_rfc_9457_has_it),
        cmocka_unit_test(test_no_name_stands_for_two_problems),
        cmocka_unit_test(test_what_a_protocol_refuses_by_is_a_problem_of_its_own),
        cmocka_unit_test(test_only_503_says_when_to_try_again),
        cmocka_unit_test(test_findings_become_violations),
        cmocka_unit_test(test_the_rules_that_are_broken_are_noted_once_each_and_bounded),
        cmocka_unit_test(test_a_detail_that_is_too_long_or_no_utf8_is_json_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
