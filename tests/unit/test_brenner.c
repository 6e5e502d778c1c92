/* SPDX-License-Identifier: Apache-2.0 */

/* Where Brenner messages go, and what they are in another encoding. The rules have their
 * conformance cases. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include <parley/message.h>

#include "lib/cases.h"
#include "lib/fault_heap.h"
#include "lib/message_fixture.h"

static const struct parley_codec *codec_of(const struct message_fixture *fixture,
                                           const char *media_type) {
    return parley_codec_find(fixture->message.protocol, parley_bytes_of(media_type));
}

static void check_as(struct parley_message *message, struct parley_bytes text,
                     const struct parley_codec *codec) {
    /* More than the default: what is converted may be longer than what was sent. */
    const struct parley_options options = {.message_bytes_max = 4 << 20};
    assert_int_equal(
        parley_message_check(message, text, codec, &options, (struct parley_position){1, 1}),
        PARLEY_OK);
}

static void check(struct message_fixture *fixture, const char *text) {
    check_as(&fixture->message, parley_bytes_of(text), &parley_codec_json);
}

static void assert_is(struct parley_bytes got, const char *wanted) {
    if (!parley_bytes_equal(got, parley_bytes_of(wanted)) ||
        (got.data == NULL) != (wanted == NULL)) {
        fail_msg("%.*s, not %s", (int)got.length, got.data != NULL ? got.data : "", wanted);
    }
}

/* ---- routes ---- */

static void check_route(struct message_fixture *fixture, const char *text) {
    check(fixture, text);
    assert_int_equal(fixture->message.protocol->route(&fixture->message, &fixture->route),
                     PARLEY_OK);
}

#define INFO "{\"subject\":\"INFO: x\",\"body_md\":\"b\""

static void test_a_message_goes_to_its_type_and_thread(void **state) {
    struct message_fixture *fixture = *state;
    check_route(fixture, INFO ",\"id\":\"m-1\",\"from\":\"Green Dog\",\"to\":[\"A\",\"B\"],"
                              "\"thread_id\":\"bead-1.2.3\"}");
    assert_is(fixture->route.subject, "brenner.info.bead-1.2.3");
    assert_is(fixture->route.type, "brenner.info");
    assert_is(fixture->route.source, "/brenner/Green%20Dog");
    assert_is(fixture->route.id, "m-1");
    assert_is(fixture->route.sender, "Green Dog");
    assert_is(fixture->route.thread, "bead-1.2.3");
    assert_is(fixture->route.time, NULL);
    assert_is(fixture->route.lane, NULL);
    assert_int_equal(fixture->route.receiver_count, 2);
    assert_is(fixture->route.receivers[0], "A");
    assert_is(fixture->route.receivers[1], "B");
    assert_int_equal(fixture->route.dedupe, PARLEY_DEDUPE_PAYLOAD);
}

static void test_without_envelope_there_is_only_the_type(void **state) {
    struct message_fixture *fixture = *state;
    check_route(fixture, INFO ",\"id\":null,\"from\":null,\"to\":null,\"thread_id\":null}");
    assert_is(fixture->route.subject, "brenner.info");
    assert_is(fixture->route.source, "/brenner");
    assert_is(fixture->route.id, NULL);
    assert_is(fixture->route.sender, NULL);
    assert_is(fixture->route.thread, NULL);
    assert_int_equal(fixture->route.receiver_count, 0);
    assert_int_equal(fixture->route.dedupe, PARLEY_DEDUPE_NONE);
    check_route(fixture, INFO ",\"from\":\"\",\"to\":[],\"id\":\"\"}");
    assert_is(fixture->route.source, "/brenner");
    assert_is(fixture->route.id, NULL);
    assert_int_equal(fixture->route.receiver_count, 0);
    assert_int_equal(fixture->route.dedupe, PARLEY_DEDUPE_NONE);
}

static void test_the_sender_may_go_by_its_alias_and_one_receiver_by_its_name(void **state) {
    struct message_fixture *fixture = *state;
    check_route(fixture, INFO ",\"sender_name\":\"S\",\"to\":\"R\"}");
    assert_is(fixture->route.sender, "S");
    assert_is(fixture->route.source, "/brenner/S");
    assert_int_equal(fixture->route.receiver_count, 1);
    assert_is(fixture->route.receivers[0], "R");
    check_route(fixture, INFO ",\"sender_name\":\"S\",\"from\":\"F\"}");
    assert_is(fixture->route.sender, "F");
}

static void test_an_id_may_be_an_integer_of_any_spelling(void **state) {
    struct message_fixture *fixture = *state;
    static const struct {
        const char *spelling, *id;
    } ids[] = {{"1043", "1043"},   {"-7", "-7"},        {"9007199254740993", "9007199254740993"},
               {"1043.0", "1043"}, {"1.043e3", "1043"}, {"1043E0", "1043"},
               {"1e300", "1e300"}, {"\"1043\"", "1043"}};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, INFO ", \"x\": {\"id\": 1}, \"i\\u0064\" : %s }",
                 ids[i].spelling);
        check_route(fixture, text);
        assert_is(fixture->route.id, ids[i].id);
        assert_int_equal(fixture->route.dedupe, PARLEY_DEDUPE_PAYLOAD);
    }
}

static void test_an_invalid_message_has_no_subject_but_what_can_be_read(void **state) {
    struct message_fixture *fixture = *state;
    check_route(fixture, "{\"subject\":\"CLAIM: x\",\"id\":1,\"from\":\"F\",\"to\":[\"A\",5]}");
    assert_is(fixture->route.subject, NULL);
    assert_is(fixture->route.type, NULL);
    assert_is(fixture->route.id, "1");
    assert_is(fixture->route.sender, "F");
    assert_int_equal(fixture->route.receiver_count, 1);
    assert_is(parley_message_type(&fixture->message), "claim");
    check_route(fixture, "{\"id\":1.5,\"from\":1,\"to\":{\"a\":1}}");
    assert_is(fixture->route.id, NULL);
    assert_is(fixture->route.sender, NULL);
    assert_int_equal(fixture->route.receiver_count, 0);
    assert_is(parley_message_type(&fixture->message), NULL);
}

/* ---- types ---- */

static void test_a_type_is_told_by_what_its_subject_begins_with(void **state) {
    struct message_fixture *fixture = *state;
    static const struct {
        const char *subject, *type;
    } types[] = {{"KICKOFF: x", "kickoff"},
                 {"KICKOFF:", "kickoff"},
                 {"DELTA[a]: x", "delta"},
                 {"DELTA[opus]:x", "delta"},
                 {"COMPILED: x", "compiled"},
                 {"CRITIQUE: x", "critique"},
                 {"ACK: x", "ack"},
                 {"CLAIM: x", "claim"},
                 {"HANDOFF: x", "handoff"},
                 {"BLOCKED: x", "blocked"},
                 {"QUESTION: x", "question"},
                 {"INFO: x: y", "info"},
                 {"", NULL},
                 {"INFO", NULL},
                 {"INFO : x", NULL},
                 {"INFOS: x", NULL},
                 {"DELTA", NULL},
                 {"DELTA[", NULL},
                 {"DELTA[a", NULL},
                 {"DELTA[a]", NULL},
                 {"DELTA[a]x:", NULL},
                 {"DELTA[]: x", NULL},
                 {"DELTA[a b]: x", NULL},
                 {"DELTA: x", NULL},
                 {"delta[a]: x", NULL}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "{\"subject\":\"%s\"}", types[i].subject);
        check(fixture, text);
        assert_is(parley_message_type(&fixture->message), types[i].type);
        /* The rule and the type agree on what a prefix is. */
        const bool is_refused = strcmp(fixture->message.findings.items[0].rule->id, "MB-001") == 0;
        assert_int_equal(is_refused, types[i].type == NULL);
    }
}

/* ---- many findings ---- */

static void test_findings_beyond_the_limit_are_counted(void **state) {
    struct message_fixture *fixture = *state;
    enum { BLOCKS = 1500 };
    struct parley_buffer *text = &fixture->out;
    parley_buffer_clear(text);
    parley_buffer_text(text, "{\"subject\":\"DELTA[a]: x\",\"ack_required\":5,\"body_md\":\"");
    for (size_t i = 0; i < BLOCKS; i++) {
        parley_buffer_text(text, "```delta\\n7\\n```\\n");
    }
    parley_buffer_text(text, "\"}");
    check_as(&fixture->message, parley_buffer_bytes(text), &parley_codec_json);
    assert_false(parley_message_is_valid(&fixture->message));
    assert_int_equal(fixture->message.findings.count, PARLEY_FINDINGS_MAX);
    assert_int_equal(fixture->message.findings.omitted_count, BLOCKS + 1 - PARLEY_FINDINGS_MAX);
}

/* Receivers are the strings of the list itself, whether the message is right or not. */
static void test_receivers_are_the_strings_of_their_list_alone(void **state) {
    struct message_fixture *fixture = *state;
    static const char *const messages[] = {
        "{\"subject\":\"INFO: x\",\"to\":[\"a\\n\",\"b\"],\"from\":\"c\",\"body_md\":\"d\"}",
        ("{\"subject\":\"INFO: x\",\"to\":[ 1 , \"a\\n\" , [\"x\"], {\"y\":\"]\"} ,\"b\" ],"
         "\"thread_id\":[\"e\"],\"from\":\"c\",\"body_md\":\"d\"}"),
        "{\"subject\":\"\",\"to\":[{\"b\":\"a\"},\"a\\n\",\"b\"],\"from\":[\"c\"]}",
    };
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
        struct parley_route route;
        check(fixture, messages[i]);
        assert_int_equal(parley_message_route(&fixture->message, &route), PARLEY_OK);
        assert_int_equal(route.receiver_count, 2);
        assert_true(parley_bytes_equal(route.receivers[0], PARLEY_BYTES("a\n")));
        assert_true(parley_bytes_equal(route.receivers[1], PARLEY_BYTES("b")));
    }
}

/* ---- converting ---- */

static void convert(struct message_fixture *fixture, struct parley_message *message,
                    const char *media_type, struct parley_buffer *out) {
    parley_buffer_clear(out);
    assert_true(parley_message_is_valid(message));
    assert_int_equal(message->protocol->convert(message, codec_of(fixture, media_type), out),
                     PARLEY_OK);
}

static void assert_json(struct parley_bytes got, const char *wanted) {
    json_t *a = json_loadb(got.data, got.length, JSON_REJECT_DUPLICATES, NULL);
    json_t *b = json_loads(wanted, 0, NULL);
    assert_non_null(b);
    if (a == NULL || !json_equal(a, b)) {
        fail_msg("%.*s\nnot\n%s", (int)got.length, got.data, wanted);
    }
    json_decref(a);
    json_decref(b);
}

static void test_json_says_what_stands_in_the_body(void **state) {
    struct message_fixture *fixture = *state;
    static const struct {
        const char *message, *converted;
    } conversions[] = {
        {INFO "}", INFO ",\"sections\":[],\"deltas\":[]}"},
        {"{\"subject\":\"INFO: x\",\"body\":\"# T\\n\\na\\n\\n## *S*\\n- b\\n- c\\n\"}",
         "{\"subject\":\"INFO: x\",\"body\":\"# T\\n\\na\\n\\n## *S*\\n- b\\n- "
         "c\\n\",\"sections\":["
         "{\"level\":1,\"title\":\"T\",\"line\":1,\"text\":\"a\\nS\\nb\\nc\"},"
         "{\"level\":2,\"title\":\"S\",\"line\":5,\"text\":\"b\\nc\"}],\"deltas\":[]}"},
        {"{\"subject\":\"INFO: x\",\"body_md\":\"\\n```delta\\n{\\\"a\\\":\\n1.50}\\n```\\n"
         "```delta\\n{\\n```\\n\"}",
         "{\"subject\":\"INFO: x\",\"body_md\":\"\\n```delta\\n{\\\"a\\\":\\n1.50}\\n```\\n"
         "```delta\\n{\\n```\\n\",\"sections\":[],\"deltas\":[{\"line\":2,\"delta\":{\"a\":1.50}},"
         "{\"line\":6,\"delta\":null,\"error\":\"the text ends inside an object\"}]}"},
        /* of keys that stand twice the last one stays */
        {"{\"subject\":\"INFO: x\",\"body_md\":\"```delta\\n{\\\"a\\\":1,\\\"a\\\":2}\\n```\"}",
         "{\"subject\":\"INFO: x\",\"body_md\":\"```delta\\n{\\\"a\\\":1,\\\"a\\\":2}\\n```\","
         "\"sections\":[],\"deltas\":[{\"line\":1,\"delta\":{\"a\":2}}]}"},
        /* … in the place of the first, however they are written and nested */
        {"{\"subject\":\"INFO: x\",\"body_md\":\"```delta\\n{\\\"a\\\":1,\\\"b\\\":[{\\\"c\\\":1,"
         "\\\"c\\\":[2,{\\\"d\\\":0,\\\"d\\\":3}]},[]],\\n\\\"\\\\u0061\\\":{\\\"x\\\":1,"
         "\\\"y\\\":\\\"\\\",\\\"x\\\":2.50}}\\n```\"}",
         "{\"subject\":\"INFO: x\",\"body_md\":\"```delta\\n{\\\"a\\\":1,\\\"b\\\":[{\\\"c\\\":1,"
         "\\\"c\\\":[2,{\\\"d\\\":0,\\\"d\\\":3}]},[]],\\n\\\"\\\\u0061\\\":{\\\"x\\\":1,"
         "\\\"y\\\":\\\"\\\",\\\"x\\\":2.50}}\\n```\",\"sections\":[],\"deltas\":[{\"line\":1,"
         "\"delta\":{\"a\":{\"x\":2.50,\"y\":\"\"},\"b\":[{\"c\":[2,{\"d\":3}]},[]]}}]}"},
        /* what is brought along is made anew */
        {"{\"sections\":7,\"subject\":\"INFO: x\",\"d\\u0065ltas\":{},\"body_md\":\"## A\"}",
         "{\"subject\":\"INFO: x\",\"body_md\":\"## A\",\"sections\":[{\"level\":2,\"title\":\"A\","
         "\"line\":1,\"text\":\"\"}],\"deltas\":[]}"},
    };
    for (size_t i = 0; i < sizeof conversions / sizeof conversions[0]; i++) {
        check(fixture, conversions[i].message);
        convert(fixture, &fixture->message, "application/json", &fixture->out);
        assert_json(parley_buffer_bytes(&fixture->out), conversions[i].converted);
        assert_null(memchr(fixture->out.data, '\n', fixture->out.length));
    }
}

static void test_of_repeated_keys_the_last_is_written_as_it_was(void **state) {
    struct message_fixture *fixture = *state;
    check(fixture,
          "{\"subject\":\"INFO: x\",\"body_md\":\"```delta\\n{ \\\"a\\\": 1, \\\"b\\\": 0.10,"
          " \\\"a\\\" : [ 12345678901234567890 , 1E2 ] ,\\n\\\"b\\\":{}, \\\"c\\\":1}\\n```\"}");
    convert(fixture, &fixture->message, "application/json", &fixture->out);
    parley_buffer_char(&fixture->out, '\0');
    assert_non_null(
        strstr(fixture->out.data, "\"delta\":{\"a\":[12345678901234567890,1E2],\"b\":{},\"c\":1}"));
}

static void test_numbers_and_other_members_stay_as_they_were_written(void **state) {
    struct message_fixture *fixture = *state;
    check(fixture, "{\n\"subject\": \"INFO: x\", \"x\": [0.10, 1E2 ],\n\"body_md\":"
                   "\"```delta\\n{\\t\\\"a\\\": 0.10,\\n \\\"b\\\": \\\"c  d\\\"}\\n```\"}\n");
    convert(fixture, &fixture->message, "application/x-ndjson", &fixture->out);
    parley_buffer_char(&fixture->out, '\0');
    assert_non_null(strstr(fixture->out.data, "\"x\":[0.10,1E2]"));
    assert_non_null(strstr(fixture->out.data, "\"delta\":{\"a\":0.10,\"b\":\"c  d\"}"));
}

/* A message may be 64 levels deep, and a delta stands three below its top. */
static void test_a_delta_that_is_too_deep_is_left_out(void **state) {
    struct message_fixture *fixture = *state;
    for (int depth = 61; depth <= 62; depth++) {
        char text[512], brackets[80];
        memset(brackets, '[', sizeof brackets);
        const int length = snprintf(text, sizeof text, INFO "%s", "") - (int)strlen("b\"");
        int end = length + snprintf(text + length, sizeof text - (size_t)length, "```delta\\n%.*s",
                                    depth, brackets);
        memset(brackets, ']', sizeof brackets);
        end += snprintf(text + end, sizeof text - (size_t)end, "%.*s\\n```\"}", depth, brackets);
        check_as(&fixture->message, (struct parley_bytes){text, (size_t)end}, &parley_codec_json);
        convert(fixture, &fixture->message, "application/json", &fixture->out);
        check_as(&fixture->other, parley_buffer_bytes(&fixture->out), &parley_codec_json);
        assert_true(fixture->other.is_decoded);
        parley_buffer_char(&fixture->out, '\0');
        assert_int_equal(strstr(fixture->out.data, "nested too deep") != NULL, depth == 62);
    }
}

/* There and back again, of every valid case; a body in Markdown has no alias any more. */
static void test_converting_twice_gives_the_same_message(void **state) {
    struct message_fixture *fixture = *state;
    static const char *const media_types[] = {"application/json", "text/markdown"};
    struct test_cases cases;
    cases_read(&cases, PARLEY_SOURCE_DIR "/tests/conformance/brenner.ndjson");
    for (size_t i = 0; i < cases.count; i++) {
        const struct test_case *test = &cases.items[i];
        if (!test->is_valid) {
            continue;
        }
        for (size_t j = 0; j < 2; j++) {
            check_as(&fixture->message, test->body, test->codec);
            convert(fixture, &fixture->message, media_types[j], &fixture->out);
            check_as(&fixture->other, parley_buffer_bytes(&fixture->out),
                     codec_of(fixture, media_types[j]));
            if (!parley_message_is_valid(&fixture->other)) {
                fail_msg("%s is not valid as %s", test->name, media_types[j]);
            }
            assert_int_equal(fixture->other.findings.count, fixture->message.findings.count);
            convert(fixture, &fixture->message, media_types[j], &fixture->out);
            convert(fixture, &fixture->other, media_types[j], &fixture->second);
            parley_buffer_char(&fixture->out, '\0');
            parley_buffer_char(&fixture->second, '\0');
            assert_string_equal(fixture->second.data, fixture->out.data);
        }
    }
    cases_finish(&cases);
}

static void test_converting_survives_every_allocation_that_fails(void **state) {
    struct message_fixture *fixture = *state;
    const struct parley_protocol *protocol = fixture->message.protocol;
    check(fixture, "{\"subject\":\"INFO: \\u0041\",\"sections\":[],\"b\\u0061\":1,\"body_md\":"
                   "\"# A\\u0000\\n\\n## B\\nc\\n```delta\\n{\\\"\\\\u0041\\\":1}\\n```\\n"
                   "```delta\\n{\\\"a\\\":1,\\\"a\\\":2}\\n```\\n![x]\"}");
    for (size_t i = 0; i < 2; i++) {
        const struct parley_codec *to = protocol->codecs[i == 0 ? 0 : 2];
        convert(fixture, &fixture->message, to->media_types[0], &fixture->second);
        size_t first = 0;
        for (bool is_failing = true; is_failing; first++) {
            parley_buffer_finish(&fixture->out);
            parley_buffer_init(&fixture->out);
            fault_heap_arm(first, 1);
            const enum parley_status status =
                protocol->convert(&fixture->message, to, &fixture->out);
            fault_heap_disarm();
            is_failing = fault_heap_has_failed();
            if (status == PARLEY_OK) {
                assert_true(parley_bytes_equal(parley_buffer_bytes(&fixture->out),
                                               parley_buffer_bytes(&fixture->second)));
            } else {
                assert_int_equal(status, PARLEY_E_MEMORY);
                assert_true(is_failing);
            }
        }
        assert_true(first > 1);
    }
}

/* ---- who speaks ---- */

static const struct parley_position claim_start = {1, 1};

/* A claim by BlueLake, whose body says that it is by `agents` ("A\n\n## Agent\nB"). */
static const char *claim_by(struct message_fixture *fixture, bool is_markdown, const char *agents) {
    parley_buffer_clear(&fixture->out);
    parley_buffer_format(&fixture->out,
                         is_markdown
                             ? "---\nsubject: \"CLAIM: x\"\nfrom: BlueLake\n---\n## "
                               "Item\nbd-1\n\n## Agent\n%s\n"
                             : "{\"subject\":\"CLAIM: x\",\"from\":\"BlueLake\",\"body_md\":"
                               "\"## Item\\nbd-1\\n\\n## Agent\\n%s\"}",
                         agents);
    parley_buffer_char(&fixture->out, '\0');
    return fixture->out.data;
}

static enum parley_status check_bound(struct message_fixture *fixture, bool is_markdown,
                                      const char *text) {
    const struct parley_options options = {.only_sender = "BlueLake"};
    return parley_message_check(
        &fixture->message, parley_bytes_of(text),
        codec_of(fixture, is_markdown ? "text/markdown" : "application/json"), &options,
        claim_start);
}

static void test_a_bound_sender_claims_for_itself_alone(void **state) {
    struct message_fixture *fixture = *state;
    static const struct {
        const char *agents;
        bool is_own;
    } rows[] = {
        {"BlueLake", true},
        {"RedForest", false},
        {"BlueLakes", false},
        {"bluelake", false},
    };
    for (size_t i = 0; i < 2 * (sizeof rows / sizeof rows[0]); i++) {
        const bool is_markdown = i % 2 == 1;
        const char *text = claim_by(fixture, is_markdown, rows[i / 2].agents);
        assert_int_equal(check_bound(fixture, is_markdown, text), PARLEY_OK);
        assert_int_equal(parley_message_is_valid(&fixture->message), rows[i / 2].is_own);
        if (!rows[i / 2].is_own) {
            const struct parley_finding *finding = &fixture->message.findings.items[0];
            assert_string_equal(finding->rule->id, "GW-102");
            assert_string_equal(finding->path, "/body_md");
            assert_int_equal(is_markdown ? finding->at.line : finding->body_at.line,
                             is_markdown ? 8 : 4);
        }
    }
}

static void test_without_memory_no_claim_for_another_is_valid(void **state) {
    struct message_fixture *fixture = *state;
    for (size_t i = 0; i < 2; i++) {
        const char *text = claim_by(fixture, i == 1, "RedForest");
        size_t first = 0;
        for (bool is_failing = true; is_failing; first++) {
            fault_heap_arm(first, 1);
            const enum parley_status status = check_bound(fixture, i == 1, text);
            fault_heap_disarm();
            is_failing = fault_heap_has_failed();
            assert_true(status == PARLEY_E_MEMORY ? is_failing
                                                  : !parley_message_is_valid(&fixture->message));
        }
        assert_true(first > 1);
    }
}

/* ---- examples ---- */

static void test_there_is_an_example_of_each_type_without_findings(void **state) {
    struct message_fixture *fixture = *state;
    const struct parley_protocol *protocol = fixture->message.protocol;
    for (size_t i = 0; protocol->types[i] != NULL; i++) {
        assert_string_equal(protocol->examples[i].name, protocol->types[i]);
        check(fixture, protocol->examples[i].text);
        assert_is(parley_message_type(&fixture->message), protocol->types[i]);
        assert_int_equal(fixture->message.findings.count, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_message_goes_to_its_type_and_thread),
        cmocka_unit_test(test_without_envelope_there_is_only_the_type),
        cmocka_unit_test(test_the_sender_may_go_by_its_alias_and_one_receiver_by_its_name),
        cmocka_unit_test(test_an_id_may_be_an_integer_of_any_spelling),
        cmocka_unit_test(test_an_invalid_message_has_no_subject_but_what_can_be_read),
        cmocka_unit_test(test_a_type_is_told_by_what_its_subject_begins_with),
        cmocka_unit_test(test_findings_beyond_the_limit_are_counted),
        cmocka_unit_test(test_a_bound_sender_claims_for_itself_alone),
        cmocka_unit_test(test_without_memory_no_claim_for_another_is_valid),
        cmocka_unit_test(test_json_says_what_stands_in_the_body),
        cmocka_unit_test(test_receivers_are_the_strings_of_their_list_alone),
        cmocka_unit_test(test_of_repeated_keys_the_last_is_written_as_it_was),
        cmocka_unit_test(test_numbers_and_other_members_stay_as_they_were_written),
        cmocka_unit_test(test_a_delta_that_is_too_deep_is_left_out),
        cmocka_unit_test(test_converting_twice_gives_the_same_message),
        cmocka_unit_test(test_converting_survives_every_allocation_that_fails),
        cmocka_unit_test(test_there_is_an_example_of_each_type_without_findings),
    };
    return cmocka_run_group_tests(tests, message_set_up_brenner, message_tear_down);
}
