/* SPDX-License-Identifier: Apache-2.0 */

/* Where VLP messages go, and the verdict on them. The rules have their conformance cases. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include <parley/message.h>

#include "lib/protocol_options.h"
#include "lib/cases.h"
#include "lib/message_fixture.h"

static void check(struct message_fixture *fixture, const char *text) {
    const struct parley_options options = {0};
    assert_int_equal(parley_message_check(&fixture->message, parley_bytes_of(text),
                                          &parley_codec_json, &options,
                                          (struct parley_position){1, 1}),
                     PARLEY_OK);
}

/* A claim without its closing brace, of a given type. */
#define MESSAGE(type)                                                                              \
    "{\"id\":\"MSG001\",\"protocol\":\"VLP/1.1\",\"timestamp\":\"2025-12-14T10:30:00Z\","          \
    "\"sender\":\"The Observer\",\"content\":\"c\",\"confidence\":0.5,\"type\":\"" type "\""

static void check_route(struct message_fixture *fixture, const char *text) {
    check(fixture, text);
    assert_int_equal(fixture->message.protocol->route(&fixture->message, &fixture->route),
                     PARLEY_OK);
}

static void assert_is(struct parley_bytes got, const char *wanted) {
    if (!parley_bytes_equal(got, parley_bytes_of(wanted)) ||
        (got.data == NULL) != (wanted == NULL)) {
        fail_msg("%.*s, not %s", (int)got.length, got.data != NULL ? got.data : "", wanted);
    }
}

static void test_a_claim_goes_to_its_lane_and_type(void **state) {
    struct message_fixture *fixture = *state;
    check_route(fixture, MESSAGE("claim") ",\"receiver\":\"R\",\"session_id\":\"S\"}");
    assert_is(fixture->route.subject, "vlp.safe.claim");
    assert_is(fixture->route.type, "vlp.claim");
    assert_is(fixture->route.lane, "safe");
    assert_is(fixture->route.id, "MSG001");
    assert_is(fixture->route.source, "/vlp/The%20Observer");
    assert_is(fixture->route.time, "2025-12-14T10:30:00Z");
    assert_is(fixture->route.sender, "The Observer");
    assert_is(fixture->route.thread, "S");
    assert_int_equal(fixture->route.receiver_count, 1);
    assert_is(fixture->route.receivers[0], "R");
    assert_int_equal(fixture->route.dedupe, PARLEY_DEDUPE_PAYLOAD);
}

static void test_every_type_in_every_lane_has_a_subject_of_its_own(void **state) {
    struct message_fixture *fixture = *state;
    const struct parley_protocol *protocol = fixture->message.protocol;
    for (size_t i = 0; protocol->types[i] != NULL; i++) {
        for (size_t j = 0; protocol->lanes[j] != NULL; j++) {
            char text[512], subject[64];
            snprintf(text, sizeof text,
                     MESSAGE("%s") ",\"safety\":{\"level\":\"%s\"},\"provenance\":[\"p\"],"
                                   "\"refers_to\":\"r\"}",
                     protocol->types[i], protocol->lanes[j]);
            snprintf(subject, sizeof subject, "vlp.%s.%s", protocol->lanes[j], protocol->types[i]);
            check_route(fixture, text);
            assert_is(fixture->route.subject, subject);
            assert_is(fixture->route.lane, protocol->lanes[j]);
        }
    }
}

static void test_null_or_absent_members_are_told_as_absent(void **state) {
    struct message_fixture *fixture = *state;
    check_route(fixture, MESSAGE("notice") ",\"receiver\":null,\"session_id\":null}");
    assert_is(fixture->route.thread, NULL);
    assert_int_equal(fixture->route.receiver_count, 0);
    check_route(fixture, MESSAGE("notice") "}");
    assert_is(fixture->route.thread, NULL);
    assert_int_equal(fixture->route.receiver_count, 0);
}

static void test_an_invalid_message_has_no_subject_but_what_can_be_read(void **state) {
    struct message_fixture *fixture = *state;
    check_route(fixture, MESSAGE("claim") ",\"seq\":-1,\"safety\":{\"level\":\"block\"}}");
    assert_is(fixture->route.subject, NULL);
    assert_is(fixture->route.type, NULL);
    assert_is(fixture->route.lane, "block");
    assert_is(fixture->route.id, "MSG001");
    check_route(fixture, "{\"id\":1,\"safety\":{\"level\":\"unknown\"}}");
    assert_is(fixture->route.lane, NULL);
    assert_is(fixture->route.id, NULL);
    check_route(fixture, "{\"safety\":null}");
    assert_is(fixture->route.lane, NULL);
}

static void test_what_a_sender_is_called_cannot_break_the_source(void **state) {
    struct message_fixture *fixture = *state;
    check_route(fixture, "{\"id\":\"MSG001\",\"protocol\":\"VLP/1.1\",\"type\":\"notice\","
                         "\"timestamp\":\"2025-12-14T10:30:00Z\",\"content\":{},\"confidence\":0,"
                         "\"sender\":\"\\u0000\\r\\n../ > * \\u00e9%\"}");
    assert_is(fixture->route.source, "/vlp/%00%0D%0A..%2F%20%3E%20%2A%20%C3%A9%25");
    assert_is(fixture->route.subject, "vlp.safe.notice");
}

/* ---- the verdict ---- */

static json_t *verdict(struct message_fixture *fixture) {
    struct parley_buffer out;
    parley_buffer_init(&out);
    parley_buffer_char(&out, '{');
    assert_int_equal(parley_message_write_verdict(&fixture->message, &out), PARLEY_OK);
    parley_buffer_char(&out, '}');
    json_t *json = json_loadb(out.data, out.length, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    parley_buffer_finish(&out);
    return json;
}

static void assert_verdict(struct message_fixture *fixture, const char *wanted) {
    json_t *got = verdict(fixture);
    json_object_del(got, "violations");
    char *text = json_dumps(got, JSON_COMPACT);
    assert_string_equal(text, wanted);
    free(text);
    json_decref(got);
}

static void test_the_verdict_on_a_valid_message_says_where_it_goes(void **state) {
    check(*state, MESSAGE("claim") "}");
    assert_verdict(*state,
                   "{\"valid\":true,\"protocol\":\"vlp\",\"type\":\"claim\",\"id\":\"MSG001\","
                   "\"lane\":\"safe\",\"subject\":\"vlp.safe.claim\"}");
}

static void test_the_verdict_on_an_invalid_message_says_what_can_be_read(void **state) {
    check(*state, "{\"id\":\"a\\u0000\\n\",\"type\":\"unheard of\",\"safety\":[]}");
    assert_verdict(*state, "{\"valid\":false,\"protocol\":\"vlp\",\"type\":\"unheard of\","
                           "\"id\":\"a\\u0000\\n\",\"lane\":null,\"subject\":null}");
}

static void test_the_verdict_on_what_cannot_be_read_is_null_all_over(void **state) {
    static const char wanted[] = "{\"valid\":false,\"protocol\":\"vlp\",\"type\":null,\"id\":null,"
                                 "\"lane\":null,\"subject\":null}";
    struct message_fixture *fixture = *state;
    check(fixture, "{\"id\":\"MSG001\",");
    assert_verdict(fixture, wanted);
    check(fixture, "[{\"id\":\"MSG001\"}]");
    assert_verdict(fixture, wanted);
    assert_int_equal(
        parley_message_refuse_size(&fixture->message, 5, (struct parley_position){2, 3}),
        PARLEY_OK);
    assert_verdict(fixture, wanted);
    assert_int_equal(parley_message_refuse_fault(&fixture->message, "no array", NULL,
                                                 (struct parley_position){2, 3}),
                     PARLEY_OK);
    assert_verdict(fixture, wanted);
}

static void test_a_violation_has_all_its_members(void **state) {
    check(*state, MESSAGE("claim") ",\n\"seq\":-1}");
    json_t *json = verdict(*state);
    char *text = json_dumps(json_object_get(json, "violations"), JSON_COMPACT);
    assert_string_equal(text, "[{\"rule\":\"VLP-014\",\"severity\":\"error\",\"path\":\"/"
                              "seq\",\"at\":{\"line\":2,\"column\":7},\"message\":\"`seq` is -1; "
                              "expected an integer of 0 or more or null\",\"hint\":\"Give this "
                              "optional member a value of the right type, or leave it out.\","
                              "\"expected\":{\"type\":[\"integer\",\"null\"],\"minimum\":0},"
                              "\"fix\":{\"safe\":false,\"patch\":[{\"op\":\"replace\","
                              "\"path\":\"/seq\",\"value\":0}]}}]");
    free(text);
    json_decref(json);
}

static void test_its_examples_show_every_type_without_a_warning(void **state) {
    struct message_fixture *fixture = *state;
    const struct parley_example *example = fixture->message.protocol->examples;
    uint32_t shown = 0;
    for (; example->name != NULL; example++) {
        check(fixture, example->text);
        if (fixture->message.findings.count > 0) {
            fail_msg("%s: %s", example->name, fixture->message.findings.items[0].message);
        }
        shown |= PARLEY_TYPE_BIT(fixture->message.type);
    }
    assert_int_equal(shown, PARLEY_TYPE_BIT(7) - 1);
}

/* ---- escalation ---- */

static enum parley_status check_with(struct message_fixture *fixture, struct parley_bytes text,
                                     const struct test_case *test, bool escalate) {
    struct parley_options options = test->options;
    set_option(&options, fixture->protocol, "escalate", escalate ? "true" : "false");
    return parley_message_check(&fixture->message, text, &parley_codec_json, &options,
                                (struct parley_position){1, 1});
}

/* Returns: whether it was; then it is right in itself, with the warnings that it had, and nothing
 * but `safety` has changed. */
static bool is_escalated_well(struct message_fixture *fixture, const struct test_case *test) {
    struct parley_message *message = &fixture->message;
    assert_int_equal(check_with(fixture, test->body, test, true), PARLEY_OK);
    if (!message->is_escalated) {
        return false;
    }
    parley_buffer_clear(&fixture->out);
    assert_int_equal(message->protocol->encode(message, &fixture->out), PARLEY_OK);
    const size_t warning_count = message->findings.warning_count;
    const struct parley_bytes payload = parley_buffer_bytes(&fixture->out);
    struct parley_route route, again;
    assert_int_equal(parley_message_route(message, &route), PARLEY_OK);
    assert_is(route.subject, "vlp.review.claim");
    assert_int_equal(check_with(fixture, payload, test, false), PARLEY_OK);
    assert_true(parley_message_is_valid(message));
    assert_int_equal(message->findings.count, warning_count);
    assert_int_equal(parley_message_route(message, &again), PARLEY_OK);
    assert_is(again.subject, "vlp.review.claim");
    json_t *before = json_loadb(test->body.data, test->body.length, JSON_ALLOW_NUL, NULL);
    json_t *after = json_loadb(payload.data, payload.length, JSON_ALLOW_NUL, NULL);
    json_object_del(before, "safety");
    json_object_del(after, "safety");
    assert_true(test->options.stamp || json_equal(before, after));
    json_decref(before);
    json_decref(after);
    return true;
}

static void test_an_escalated_message_is_right_in_itself(void **state) {
    struct test_cases cases;
    struct parley_schema *schema = cases_read_of(&cases, "vlp");
    size_t count = 0;
    for (size_t i = 0; i < cases.count; i++) {
        count +=
            cases.items[i].body.length < (1 << 20) && is_escalated_well(*state, &cases.items[i]);
    }
    assert_in_range(count, 10, cases.count / 2);
    parley_schema_destroy(schema);
    cases_finish(&cases);
}

static void test_a_message_of_somebody_else_is_not_escalated(void **state) {
    struct message_fixture *fixture = *state;
    struct parley_options options = {.only_sender = "me"};
    set_option(&options, fixture->protocol, "escalate", "true");
    assert_int_equal(
        parley_message_check(&fixture->message,
                             parley_bytes_of("{\"id\":\"MSG001\",\"protocol\":\"VLP/1.1\","
                                             "\"timestamp\":\"2025-12-14T10:30:00Z\",\"sender\":"
                                             "\"you\",\"content\":\"c\",\"confidence\":1,"
                                             "\"type\":\"claim\"}"),
                             &parley_codec_json, &options, (struct parley_position){1, 1}),
        PARLEY_OK);
    assert_false(fixture->message.is_escalated);
    assert_false(parley_message_is_valid(&fixture->message));
    assert_int_equal(fixture->message.findings.count, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_claim_goes_to_its_lane_and_type),
        cmocka_unit_test(test_every_type_in_every_lane_has_a_subject_of_its_own),
        cmocka_unit_test(test_null_or_absent_members_are_told_as_absent),
        cmocka_unit_test(test_an_invalid_message_has_no_subject_but_what_can_be_read),
        cmocka_unit_test(test_what_a_sender_is_called_cannot_break_the_source),
        cmocka_unit_test(test_the_verdict_on_a_valid_message_says_where_it_goes),
        cmocka_unit_test(test_the_verdict_on_an_invalid_message_says_what_can_be_read),
        cmocka_unit_test(test_the_verdict_on_what_cannot_be_read_is_null_all_over),
        cmocka_unit_test(test_a_violation_has_all_its_members),
        cmocka_unit_test(test_an_escalated_message_is_right_in_itself),
        cmocka_unit_test(test_a_message_of_somebody_else_is_not_escalated),
        cmocka_unit_test(test_its_examples_show_every_type_without_a_warning),
    };
    return cmocka_run_group_tests(tests, message_set_up_vlp, message_tear_down);
}
