/* SPDX-License-Identifier: Apache-2.0 */

/* Where Round Table messages go, what deciding on them asks for and what is stamped. The rules have
 * their conformance cases; what those cannot say is here: that RT-103 asks for the time given. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <time.h>

#include <parley/message.h>

#include "lib/protocol_options.h"
#include "lib/message_fixture.h"

#define ID "550E8400-e29b-41d4-a716-446655440000"
#define ID_LOWER "550e8400-e29b-41d4-a716-446655440000"
#define TASK_ID "6BA7B810-9DAD-11D1-80B4-00C04FD430C8"
#define TASK_ID_LOWER "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

#define MESSAGE(type, more)                                                                        \
    "{\"id\":\"" ID "\",\"version\":\"1.0\",\"from\":\"Sir_Galahad-1\",\"timestamp\":"             \
    "\"2026-02-08T16:00:00.5+01:00\",\"type\":\"" type "\"," more "}"
#define ANSWERING "\"correlationId\":\"" TASK_ID "\","
#define REQUEST(task, more) MESSAGE("task.request", more "\"payload\":{\"task\":\"" task "\"}")
#define RESULT MESSAGE("task.result", ANSWERING "\"payload\":{\"status\":\"failed\"}")
#define FAILED                                                                                     \
    MESSAGE("task.failed",                                                                         \
            ANSWERING "\"payload\":{\"error\":\"internal_error\",\"retryable\":false}")

static void check(struct message_fixture *fixture, const char *text) {
    assert_int_equal(parley_message_check(&fixture->message, parley_bytes_of(text),
                                          &parley_codec_json, &fixture->options,
                                          (struct parley_position){1, 1}),
                     PARLEY_OK);
}

static void check_route(struct message_fixture *fixture, const char *text) {
    check(fixture, text);
    assert_int_equal(fixture->message.protocol->route(&fixture->message, &fixture->route),
                     PARLEY_OK);
}

/* A valid message's. */
static void route(struct message_fixture *fixture, const char *text) {
    check_route(fixture, text);
    assert_true(parley_message_is_valid(&fixture->message));
}

static void assert_is(struct parley_bytes got, const char *wanted) {
    if (!parley_bytes_equal(got, parley_bytes_of(wanted)) ||
        (got.data == NULL) != (wanted == NULL)) {
        fail_msg("%.*s, not %s", (int)got.length, got.data != NULL ? got.data : "", wanted);
    }
}

/* ---- subjects ---- */

enum { REQUEST_FACT = 3 };

/* What an older gateway kept of a request. */
static const struct parley_known_facts *known_domain(const char *domain) {
    static struct parley_known_facts known;
    known.values[REQUEST_FACT] = parley_bytes_of(domain);
    return &known;
}

static void test_every_type_has_its_subject(void **state) {
    struct message_fixture *fixture = *state;
    static const struct {
        const char *text, *type, *subject;
    } rows[] = {
        {REQUEST("security.briefing", ""), "roundtable.task.request",
         "roundtable.tasks.security.briefing"},
        {MESSAGE("task.claimed", ANSWERING "\"payload\":{}"), "roundtable.task.claimed",
         "roundtable.events.task.claimed"},
        {MESSAGE("task.progress", ANSWERING "\"payload\":{}"), "roundtable.task.progress",
         "roundtable.events.task.progress"},
        {RESULT, "roundtable.task.result", "roundtable.results.unknown." TASK_ID_LOWER},
        {FAILED, "roundtable.task.failed", "roundtable.results.unknown." TASK_ID_LOWER},
        {MESSAGE("heartbeat", "\"payload\":{\"status\":\"healthy\"}"), "roundtable.heartbeat",
         "roundtable.heartbeat.Sir_Galahad-1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        route(fixture, rows[i].text);
        assert_is(fixture->route.type, rows[i].type);
        assert_is(fixture->route.subject, rows[i].subject);
        assert_is(fixture->route.source, "/roundtable/Sir_Galahad-1");
        assert_is(fixture->route.id, ID);
        assert_is(fixture->route.time, "2026-02-08T16:00:00.5+01:00");
        assert_is(fixture->route.sender, "Sir_Galahad-1");
        assert_is(fixture->route.lane, NULL);
        assert_int_equal(fixture->route.dedupe, PARLEY_DEDUPE_ID);
    }
}

static void test_an_agent_id_that_is_not_plain_is_percent_encoded_in_the_subject(void **state) {
    struct message_fixture *fixture = *state;
    route(fixture, "{\"id\":\"" ID "\",\"version\":\"1.0\",\"from\":\"tim@50%/\xC3\xA9\","
                   "\"timestamp\":\"2026-02-08T16:00:00Z\",\"type\":\"heartbeat\","
                   "\"payload\":{\"status\":\"healthy\"}}");
    assert_is(fixture->route.subject, "roundtable.heartbeat.tim%4050%25%2F%C3%A9");
    assert_is(fixture->route.source, "/roundtable/tim%4050%25%2F%C3%A9");
    assert_is(fixture->route.sender, "tim@50%/\xC3\xA9");
}

static void test_a_task_of_many_tokens_is_the_tail_of_its_subject(void **state) {
    struct message_fixture *fixture = *state;
    route(fixture, REQUEST("security.cve-analysis.cve_2026.1", ""));
    assert_is(fixture->route.subject, "roundtable.tasks.security.cve-analysis.cve_2026.1");
}

static void test_a_fleet_has_its_own_first_token(void **state) {
    struct message_fixture *fixture = *state;
    fixture->options.subject_prefix = "fleet-a";
    check(fixture, RESULT);
    assert_int_equal(parley_message_route(&fixture->message, &fixture->route), PARLEY_OK);
    assert_is(fixture->route.subject, "fleet-a.results.unknown." TASK_ID_LOWER);
    assert_is(fixture->route.type, "roundtable.task.result");
}

static void test_a_route_is_worked_out_once_until_facts_are_known(void **state) {
    struct message_fixture *fixture = *state;
    struct parley_message *message = &fixture->message;
    check(fixture, RESULT);
    assert_int_equal(parley_message_route(message, &fixture->route), PARLEY_OK);
    const struct parley_bytes first = fixture->route.subject;
    const size_t used = message->arena.used_bytes;
    assert_int_equal(parley_message_route(message, &fixture->route), PARLEY_OK);
    assert_ptr_equal(fixture->route.subject.data, first.data);
    assert_int_equal(message->arena.used_bytes, used);
    message->options.known = known_domain("security");
    assert_int_equal(parley_message_route(message, &fixture->route), PARLEY_OK);
    assert_is(fixture->route.subject, "roundtable.results.security." TASK_ID_LOWER);
    check(fixture, REQUEST("a.b", ""));
    assert_int_equal(parley_message_route(message, &fixture->route), PARLEY_OK);
    assert_is(fixture->route.subject, "roundtable.tasks.a.b");
}

/* ---- the domain of a reply ---- */

static void test_the_domain_of_a_request_is_the_first_token_of_its_task(void **state) {
    struct message_fixture *fixture = *state;
    route(fixture, REQUEST("security.cve.analysis", ""));
    assert_is(fixture->route.domain, "security");
    assert_is(fixture->route.fact_keys[REQUEST_FACT], NULL);
    set_lifecycle(&fixture->options, fixture->protocol, PARLEY_LIFECYCLE_ON);
    route(fixture, REQUEST("security.cve.analysis", ""));
    assert_is(fixture->route.fact_keys[REQUEST_FACT], ID_LOWER);
    route(fixture, REQUEST("-._", ""));
    assert_is(fixture->route.domain, "-");
}

static void test_a_result_and_a_failure_ask_for_the_domain_of_their_task(void **state) {
    struct message_fixture *fixture = *state;
    static const char *const texts[] = {RESULT, FAILED};
    for (size_t i = 0; i < 2; i++) {
        fixture->options.known = NULL;
        route(fixture, texts[i]);
        assert_is(fixture->route.fact_keys[REQUEST_FACT], TASK_ID_LOWER);
        fixture->options.known = known_domain("security");
        route(fixture, texts[i]);
        assert_is(fixture->route.subject, "roundtable.results.security." TASK_ID_LOWER);
    }
}

static void test_without_a_lifecycle_nothing_is_asked_for_any_other_message(void **state) {
    struct message_fixture *fixture = *state;
    static const char *const texts[] = {
        MESSAGE("task.claimed", ANSWERING "\"payload\":{}"),
        MESSAGE("task.progress", ANSWERING "\"payload\":{}"),
        MESSAGE("heartbeat", ANSWERING "\"payload\":{\"status\":\"healthy\"}")};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        route(fixture, texts[i]);
        assert_is(fixture->route.fact_keys[REQUEST_FACT], NULL);
    }
}

static void test_the_domain_is_that_of_the_request_else_the_option_else_unknown(void **state) {
    struct message_fixture *fixture = *state;
    static const char long_domain[] =
        "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"
        "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd";
    char too_long[sizeof long_domain + 1];
    snprintf(too_long, sizeof too_long, "%sd", long_domain);
    const struct {
        const char *recalled, *option, *domain;
    } rows[] = {
        {NULL, NULL, "unknown"},
        {NULL, "code", "code"},
        {"security", NULL, "security"},
        {"security", "code", "security"},
        {"0_-", NULL, "0_-"},
        {"Security", NULL, "Security"},
        {long_domain, NULL, long_domain},
        /* What anybody may have written into the bucket must not become part of a subject. */
        {too_long, "code", "code"},
        {"", "code", "code"},
        {"a.b", "code", "code"},
        {"*", "code", "code"},
        {">", NULL, "unknown"},
        {"a b", NULL, "unknown"},
        {"a\r\nPUB x 0", NULL, "unknown"},
        {"\xC3\xA9", NULL, "unknown"},
        {NULL, "a.>", "unknown"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char wanted[256];
        fixture->options.known = known_domain(rows[i].recalled);
        set_option(&fixture->options, fixture->protocol, "domain", rows[i].option);
        snprintf(wanted, sizeof wanted, "roundtable.results.%s." TASK_ID_LOWER, rows[i].domain);
        route(fixture, RESULT);
        assert_is(fixture->route.subject, wanted);
    }
}

static void test_the_option_changes_no_request(void **state) {
    struct message_fixture *fixture = *state;
    set_option(&fixture->options, fixture->protocol, "domain", "code");
    fixture->options.known = known_domain("other");
    route(fixture, REQUEST("security.briefing", ""));
    assert_is(fixture->route.subject, "roundtable.tasks.security.briefing");
    assert_is(fixture->route.domain, "security");
}

/* ---- other facts ---- */

static void test_the_thread_is_the_request_or_the_task_that_is_answered(void **state) {
    struct message_fixture *fixture = *state;
    route(fixture, RESULT);
    assert_is(fixture->route.thread, TASK_ID);
    route(fixture, REQUEST("a.b", ""));
    assert_is(fixture->route.thread, ID);
    route(fixture, REQUEST("a.b", ANSWERING)); /* a retry names the task that failed */
    assert_is(fixture->route.thread, ID);
}

static void test_the_receiver_is_the_one_named_if_any(void **state) {
    struct message_fixture *fixture = *state;
    route(fixture, REQUEST("a.b", "\"to\":\"tim\","));
    assert_int_equal(fixture->route.receiver_count, 1);
    assert_is(fixture->route.receivers[0], "tim");
    route(fixture, REQUEST("a.b", ""));
    assert_int_equal(fixture->route.receiver_count, 0);
}

static void test_an_invalid_message_has_no_subject_but_what_can_be_read(void **state) {
    struct message_fixture *fixture = *state;
    check_route(fixture, MESSAGE("task.result", ANSWERING "\"to\":null,\"payload\":{}"));
    assert_is(fixture->route.subject, NULL);
    assert_is(fixture->route.type, NULL);
    assert_is(fixture->route.fact_keys[REQUEST_FACT], NULL);
    assert_is(fixture->route.id, ID);
    assert_is(fixture->route.thread, TASK_ID);
    assert_is(fixture->route.sender, "Sir_Galahad-1");
    assert_int_equal(fixture->route.receiver_count, 0);
    check_route(fixture, "{\"id\":5,\"correlationId\":[],\"from\":{}}");
    assert_is(fixture->route.id, NULL);
    assert_is(fixture->route.thread, NULL);
    assert_is(fixture->route.sender, NULL);
    check_route(fixture, REQUEST("no domain", ""));
}

static void test_facts_have_a_place(void **state) {
    struct message_fixture *fixture = *state;
    const struct parley_protocol *protocol = fixture->message.protocol;
    assert_string_equal(protocol->facts->bucket, "parley_tasks");
    assert_string_equal(protocol->facts->subjects[0], "tasks.>");
}

/* ---- stamps ---- */

static void test_stamp_fills_id_version_and_timestamp_in_this_order(void **state) {
    struct message_fixture *fixture = *state;
    fixture->options = (struct parley_options){
        .stamp = true, .now = "2026-02-08T15:00:00Z", .now_seconds = 1, .fresh_id = ID_LOWER};
    check(fixture, " {\"type\":\"heartbeat\",\"from\":\"tim\",\"payload\":{\"status\":\"ok\"}}");
    assert_true(parley_message_is_valid(&fixture->message));
    assert_is(fixture->message.text,
              " {\"id\":\"" ID_LOWER "\",\"version\":\"1.0\",\"timestamp\":"
              "\"2026-02-08T15:00:00Z\",\"type\":\"heartbeat\",\"from\":\"tim\",\"payload\":"
              "{\"status\":\"ok\"}}");
}

static void test_stamp_leaves_what_is_there(void **state) {
    struct message_fixture *fixture = *state;
    fixture->options = (struct parley_options){
        .stamp = true, .now = "2026-02-08T15:00:00Z", .now_seconds = 1, .fresh_id = ID_LOWER};
    static const char text[] = MESSAGE("heartbeat", "\"payload\":{\"status\":\"ok\"}");
    check(fixture, text);
    assert_is(fixture->message.text, text);
}

/* ---- RT-103 ---- */

/* The request of REQUEST was made at 1770562800.5. */
static void assert_expired(struct message_fixture *fixture, const char *text, int64_t now,
                           bool wanted) {
    fixture->options.now_seconds = now;
    check(fixture, text);
    const struct parley_findings *findings = &fixture->message.findings;
    assert_true(parley_message_is_valid(&fixture->message));
    assert_int_equal(findings->count, wanted);
    if (wanted) {
        assert_string_equal(findings->items[0].rule->id, "RT-103");
        assert_string_equal(findings->items[0].path, "/timestamp");
    }
}

static void test_a_request_expires_when_its_ttl_is_past(void **state) {
    struct message_fixture *fixture = *state;
    static const char text[] = REQUEST("a.b", "\"ttl\":60,");
    assert_expired(fixture, text, 1770562800, false);
    assert_expired(fixture, text, 1770562860, false);
    assert_expired(fixture, text, 1770562861, true);
    assert_expired(fixture, text, 4102444800, true);
}

static void test_a_request_without_ttl_expires_after_an_hour(void **state) {
    struct message_fixture *fixture = *state;
    static const char text[] = REQUEST("a.b", "");
    assert_expired(fixture, text, 1770562800 + 3600, false);
    assert_expired(fixture, text, 1770562800 + 3601, true);
}

static void test_a_request_has_not_expired_in_the_very_second_of_its_end(void **state) {
    struct message_fixture *fixture = *state;
    static const char text[] = "{\"id\":\"" ID_LOWER "\",\"version\":\"1.0\",\"from\":\"tim\","
                               "\"timestamp\":\"2026-02-08T15:00:00Z\",\"type\":\"task.request\","
                               "\"ttl\":1,\"payload\":{\"task\":\"a.b\"}}";
    assert_expired(fixture, text, 1770562801, false);
    assert_expired(fixture, text, 1770562802, true);
}

static void test_without_a_time_no_request_has_expired(void **state) {
    struct message_fixture *fixture = *state;
    assert_expired(fixture, REQUEST("a.b", "\"ttl\":60,"), 0, false);
}

/* ---- examples ---- */

static void test_its_examples_show_every_type_and_have_not_expired(void **state) {
    struct message_fixture *fixture = *state;
    const struct parley_example *example = fixture->message.protocol->examples;
    uint32_t shown = 0;
    fixture->options.now_seconds = time(NULL);
    for (; example->name != NULL; example++) {
        check(fixture, example->text);
        if (fixture->message.findings.count > 0) {
            fail_msg("%s: %s", example->name, fixture->message.findings.items[0].message);
        }
        shown |= PARLEY_TYPE_BIT(fixture->message.type);
    }
    assert_int_equal(shown, PARLEY_TYPE_BIT(6) - 1);
}

int main(void) {
#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, message_set_up_roundtable, message_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_every_type_has_its_subject),
        TEST(test_an_agent_id_that_is_not_plain_is_percent_encoded_in_the_subject),
        TEST(test_a_task_of_many_tokens_is_the_tail_of_its_subject),
        TEST(test_a_fleet_has_its_own_first_token),
        TEST(test_a_route_is_worked_out_once_until_facts_are_known),
        TEST(test_the_domain_of_a_request_is_the_first_token_of_its_task),
        TEST(test_a_result_and_a_failure_ask_for_the_domain_of_their_task),
        TEST(test_without_a_lifecycle_nothing_is_asked_for_any_other_message),
        TEST(test_the_domain_is_that_of_the_request_else_the_option_else_unknown),
        TEST(test_the_option_changes_no_request),
        TEST(test_the_thread_is_the_request_or_the_task_that_is_answered),
        TEST(test_the_receiver_is_the_one_named_if_any),
        TEST(test_an_invalid_message_has_no_subject_but_what_can_be_read),
        TEST(test_facts_have_a_place),
        TEST(test_stamp_fills_id_version_and_timestamp_in_this_order),
        TEST(test_stamp_leaves_what_is_there),
        TEST(test_a_request_expires_when_its_ttl_is_past),
        TEST(test_a_request_without_ttl_expires_after_an_hour),
        TEST(test_a_request_has_not_expired_in_the_very_second_of_its_end),
        TEST(test_without_a_time_no_request_has_expired),
        TEST(test_its_examples_show_every_type_and_have_not_expired),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
