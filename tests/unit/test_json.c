/* SPDX-License-Identifier: Apache-2.0 */

/* JSON in and out: which fault is told and where, which bytes go on, and what stamp does to them.
 */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "json/json_message.h"
#include "lib/cases.h"
#include "lib/message_fixture.h"
#include "lib/mutate.h"

static void check(struct message_fixture *fixture, struct parley_bytes text, bool stamp) {
    const struct parley_options options = {.stamp = stamp, .now = CASES_NOW, .fresh_id = CASES_ID};
    assert_int_equal(parley_message_check(&fixture->message, text, &parley_codec_json, &options,
                                          (struct parley_position){1, 1}),
                     PARLEY_OK);
}

/* ---- faults ---- */

struct fault_row {
    struct parley_bytes text;
    const char *rule, *path;
    size_t line, column;
};

static void check_faults(struct message_fixture *fixture, const struct fault_row *rows,
                         size_t count) {
    for (size_t i = 0; i < count; i++) {
        check(fixture, rows[i].text, i % 2 == 0);
        assert_false(fixture->message.is_decoded);
        assert_false(parley_message_is_valid(&fixture->message));
        assert_int_equal(fixture->message.findings.count, 1);
        const struct parley_finding *got = &fixture->message.findings.items[0];
        if (strcmp(got->rule->id, rows[i].rule) != 0 || strcmp(got->path, rows[i].path) != 0 ||
            got->at.line != rows[i].line || got->at.column != rows[i].column) {
            fail_msg("%.*s: %s %s at %zu:%zu (%s)", (int)rows[i].text.length, rows[i].text.data,
                     got->rule->id, got->path, got->at.line, got->at.column, got->message);
        }
    }
}

#define FAULT(text, ...)                                                                           \
    { {(text), sizeof(text) - 1}, __VA_ARGS__ }
#define CHECK_FAULTS(state, ...)                                                                   \
    check_faults(state, (const struct fault_row[]){__VA_ARGS__},                                   \
                 sizeof((const struct fault_row[]){__VA_ARGS__}) / sizeof(struct fault_row))

static void test_what_is_no_json_is_told_where_it_begins(void **state) {
    CHECK_FAULTS(*state, FAULT("", "GW-001", "", 1, 1), FAULT(" \n ", "GW-001", "", 2, 2),
                 FAULT("{", "GW-001", "", 1, 2), FAULT("{\"a\":1,}", "GW-001", "", 1, 8),
                 FAULT("{\"a\" 1}", "GW-001", "", 1, 6), FAULT("{a:1}", "GW-001", "", 1, 2),
                 FAULT("{\"a\":01}", "GW-001", "", 1, 7), FAULT("{\"a\":+1}", "GW-001", "", 1, 6),
                 FAULT("{\"a\":tru}", "GW-001", "", 1, 9), FAULT("{} {}", "GW-001", "", 1, 4),
                 FAULT("{\"a\":[1 2]}", "GW-001", "", 1, 9), FAULT("{\"a\":1]", "GW-001", "", 1, 7),
                 FAULT("{\"a\":\"b\n\"}", "GW-001", "", 1, 8),
                 FAULT("{\"a\":\"b", "GW-001", "", 1, 8), FAULT("{'a':1}", "GW-001", "", 1, 2),
                 FAULT("{\"\xC3\xA9\":,}", "GW-001", "", 1, 6), FAULT("nul", "GW-001", "", 1, 4),
                 FAULT("\xEF\xBB\xBF{}", "GW-001", "", 1, 1));
}

static void test_escapes_and_numbers_that_mean_nothing_are_faults(void **state) {
    CHECK_FAULTS(*state, FAULT("{\"a\":\"\\x\"}", "GW-001", "", 1, 8),
                 FAULT("{\"a\":\"\\u00g0\"}", "GW-001", "", 1, 11),
                 FAULT("{\"a\":\"\\ud800\"}", "GW-001", "", 1, 7),
                 FAULT("{\"a\":\"\\ud800\\ud800\"}", "GW-001", "", 1, 7),
                 FAULT("{\"a\":\"x\\udc00\"}", "GW-001", "", 1, 8),
                 FAULT("{\"a\\u0000\":1}", "GW-001", "", 1, 4),
                 FAULT("{\"a\":1e400}", "GW-001", "", 1, 6),
                 FAULT("{\"a\":-1e999}", "GW-001", "", 1, 6));
}

static void test_a_nul_byte_is_a_fault_wherever_it_stands(void **state) {
    CHECK_FAULTS(
        *state, FAULT("\0", "GW-001", "", 1, 1), FAULT("{\"a\":1\0}", "GW-001", "", 1, 7),
        FAULT("{\"a\":1}\0", "GW-001", "", 1, 8), FAULT("{\"a\":1}\n\0", "GW-001", "", 2, 1),
        FAULT("{\"a\":[1\0,2]}", "GW-001", "", 1, 8), FAULT("{\"a\":true\0}", "GW-001", "", 1, 10),
        FAULT("{\"a\":\"\0\"}", "GW-001", "", 1, 7));
}

static void test_what_is_no_utf8_is_told_as_such(void **state) {
    CHECK_FAULTS(*state, FAULT("{\"a\":\"\xC3\"}", "GW-005", "", 1, 7),
                 FAULT("{\"\xFF\":1}", "GW-005", "", 1, 3), FAULT("\xFF\xFE{}", "GW-005", "", 1, 1),
                 FAULT("{\"a\":\"\xED\xA0\x80\"}", "GW-005", "", 1, 7),
                 FAULT("{\"a\":\"\xC0\xAF\"}", "GW-005", "", 1, 7),
                 FAULT("{\"a\":1\xC3}", "GW-005", "", 1, 7),
                 FAULT("{\"a\":\xE9}", "GW-005", "", 1, 6), FAULT("{\xE9}", "GW-005", "", 1, 2),
                 FAULT("{}\xE9", "GW-005", "", 1, 3),
                 FAULT("{\"a\":\"\xE2\x82", "GW-005", "", 1, 7));
}

static void test_a_repeated_key_is_told_at_its_second_place(void **state) {
    CHECK_FAULTS(*state, FAULT("{\"a\":1,\n\"a\":2}", "GW-003", "/a", 2, 1),
                 FAULT("{\"a\":[{},{\"b\":1,\"b\":1}]}", "GW-003", "/a/1/b", 1, 17),
                 FAULT("{\"a\":1,\"\\u0061\":2}", "GW-003", "/a", 1, 8),
                 FAULT("{\"~/\":1,\"~/\":2}", "GW-003", "/~0~1", 1, 9),
                 FAULT("{\"\":1,\"\":2}", "GW-003", "/", 1, 7),
                 FAULT("{\"\xC3\xA9\":1,\"\xC3\xA9\":2}", "GW-003", "/\xC3\xA9", 1, 8));
}

static void test_nesting_over_the_limit_is_told(void **state) {
    char text[512] = "{\"a\":";
    struct message_fixture *fixture = *state;
    for (size_t depth = 63; depth <= 64; depth++) {
        const size_t start = 5;
        memset(text + start, '[', depth);
        memset(text + start + depth, ']', depth);
        text[start + 2 * depth] = '}';
        check(fixture, (struct parley_bytes){text, start + 2 * depth + 1}, false);
        assert_int_equal(fixture->message.is_decoded, depth == 63);
    }
    const struct parley_finding *got = &fixture->message.findings.items[0];
    assert_string_equal(got->rule->id, "GW-004");
    assert_int_equal(got->at.column, 69);
    assert_int_equal(strlen(got->path), strlen("/a") + 63 * strlen("/0"));
    /* The brackets of strings are none. */
    check(fixture,
          PARLEY_BYTES("{\"a\":\"\\\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
                       "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"}"),
          false);
    assert_true(fixture->message.is_decoded);
}

static void test_any_depth_is_refused_and_none_overflows_the_stack(void **state) {
    struct message_fixture *fixture = *state;
    enum { DEPTH = 1000000 };
    char *text = malloc(DEPTH);
    memset(text, '[', DEPTH);
    check(fixture, (struct parley_bytes){text, DEPTH}, false);
    assert_string_equal(fixture->message.findings.items[0].rule->id, "GW-004");
    free(text);
}

static void test_a_top_level_that_is_no_object_is_told(void **state) {
    CHECK_FAULTS(*state, FAULT("[]", "GW-006", "", 1, 1), FAULT(" \n\t1 ", "GW-006", "", 2, 2),
                 FAULT("\"a\"", "GW-006", "", 1, 1), FAULT("null", "GW-006", "", 1, 1));
}

static void test_of_several_faults_the_first_in_the_text_is_told(void **state) {
    CHECK_FAULTS(*state, FAULT("{\"a\":1,\"a\":2,}", "GW-003", "/a", 1, 8),
                 FAULT("{\"a\":\"\xFF\",\"b\":1,\"b\":2}", "GW-005", "", 1, 7),
                 FAULT("{\"a\":1\0,\"b\":1,\"b\":2}", "GW-001", "", 1, 7),
                 FAULT("[1,", "GW-001", "", 1, 4),
                 FAULT("[{\"a\":1,\"a\":1}]", "GW-003", "/0/a", 1, 9));
}

static void test_a_message_over_the_limit_is_not_read(void **state) {
    struct message_fixture *fixture = *state;
    const struct parley_options options = {.message_bytes_max = 10};
    assert_int_equal(parley_message_check(&fixture->message, PARLEY_BYTES("{\"a\":12345"),
                                          &parley_codec_json, &options,
                                          (struct parley_position){3, 4}),
                     PARLEY_OK);
    assert_string_equal(fixture->message.findings.items[0].rule->id, "GW-001");
    assert_int_equal(parley_message_check(&fixture->message, PARLEY_BYTES("{\"a\":123456"),
                                          &parley_codec_json, &options,
                                          (struct parley_position){3, 4}),
                     PARLEY_OK);
    assert_string_equal(fixture->message.findings.items[0].rule->id, "GW-002");
    assert_int_equal(fixture->message.findings.items[0].at.line, 3);
    assert_int_equal(fixture->message.findings.items[0].at.column, 4);
    assert_false(parley_message_is_valid(&fixture->message));
}

/* ---- bytes out ---- */

static struct parley_bytes encode(struct message_fixture *fixture) {
    parley_buffer_clear(&fixture->out);
    assert_int_equal(json_encode(&fixture->message, &fixture->out), PARLEY_OK);
    return parley_buffer_bytes(&fixture->out);
}

static void assert_encodes(struct message_fixture *fixture, struct parley_bytes text,
                           struct parley_bytes wanted) {
    check(fixture, text, false);
    assert_true(fixture->message.is_decoded);
    const struct parley_bytes got = encode(fixture);
    if (!parley_bytes_equal(got, wanted)) {
        fail_msg("%.*s became %.*s", (int)text.length, text.data, (int)got.length, got.data);
    }
}

static void test_one_line_of_json_goes_on_byte_for_byte(void **state) {
    static const char *const texts[] = {
        "{}",
        "{ \"b\" : 0.85 ,\t\"a\":[ 1.0, 1e2 ,-0.0 ] }",
        "{\"a\":12345678901234567890,\"b\":1e-400,\"c\":0.10000000000000001,\"d\":1E+2}",
        "{\"a\":\"\\u00e9\\u0000\\/\\\"\xC3\xA9\\ud83d\\ude00\"}",
        " \t{\"b\":1,\"a\":2} \t",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_encodes(*state, parley_bytes_of(texts[i]), parley_bytes_of(texts[i]));
    }
}

static void test_line_ends_behind_one_line_of_json_go(void **state) {
    assert_encodes(*state, PARLEY_BYTES("{ \"a\": 1 }\n"), PARLEY_BYTES("{ \"a\": 1 }"));
    assert_encodes(*state, PARLEY_BYTES("{ \"a\": 1 } \r\n\r\n"), PARLEY_BYTES("{ \"a\": 1 } "));
}

static void test_of_json_over_several_lines_only_blanks_between_tokens_go(void **state) {
    assert_encodes(*state,
                   PARLEY_BYTES("\n{\r\n\t\"a b\" : \"c  \\\" d\\\\\" ,\n \"n\": [ 0.850 ] }\n"),
                   PARLEY_BYTES("{\"a b\":\"c  \\\" d\\\\\",\"n\":[0.850]}"));
    assert_encodes(*state, PARLEY_BYTES("{\"a\":\r1 }"), PARLEY_BYTES("{\"a\":1}"));
}

/* Another way to strip blanks: token by token, the ends of strings found from behind. */
static void strip(struct parley_bytes text, struct parley_buffer *out) {
    const char *at = text.data, *end = text.data + text.length;
    while (at < end) {
        const char *quote = memchr(at, '"', (size_t)(end - at));
        for (const char *stop = quote != NULL ? quote : end; at < stop; at++) {
            parley_buffer_append(out, (struct parley_bytes){at, strchr(" \t\r\n", *at) == NULL});
        }
        for (const char *close = quote; close != NULL && at == quote;) {
            size_t backslashes = 0;
            close = memchr(close + 1, '"', (size_t)(end - close - 1));
            while (close[-1 - (ptrdiff_t)backslashes] == '\\') {
                backslashes++;
            }
            if (backslashes % 2 == 0) {
                parley_buffer_append(out, (struct parley_bytes){at, (size_t)(close + 1 - at)});
                at = close + 1;
            }
        }
    }
}

static void assert_same_json(struct parley_bytes a, struct parley_bytes b) {
    const size_t flags = JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL;
    json_t *one = json_loadb(a.data, a.length, flags, NULL);
    json_t *other = json_loadb(b.data, b.length, flags, NULL);
    assert_non_null(one);
    assert_true(json_equal(one, other));
    json_decref(one);
    json_decref(other);
}

/* Other than by what follows it. */
static bool spans_lines(struct parley_bytes text) {
    while (text.length > 0 && strchr("\r\n", text.data[text.length - 1]) != NULL) {
        text.length--;
    }
    return memchr(text.data, '\n', text.length) != NULL ||
           memchr(text.data, '\r', text.length) != NULL;
}

static void test_stripping_agrees_with_another_way_to_strip(void **state) {
    struct message_fixture *fixture = *state;
    struct test_cases cases;
    struct random_source source = {5};
    struct parley_buffer text, wanted;
    size_t stripped = 0;
    cases_read(&cases, PARLEY_SOURCE_DIR "/tests/conformance/vlp.ndjson");
    parley_buffer_init(&text);
    parley_buffer_init(&wanted);
    for (int i = 0; i < 15000; i++) {
        const struct test_case *test = &cases.items[random_below(&source, cases.count)];
        json_t *message = test->is_valid && test->body.length < 10000
                              ? json_loadb(test->body.data, test->body.length, JSON_ALLOW_NUL, NULL)
                              : NULL;
        parley_buffer_clear(&text);
        parley_buffer_clear(&wanted);
        if (message != NULL) {
            mutate(&source, message, &text);
            json_decref(message);
        }
        check(fixture, parley_buffer_bytes(&text), false);
        if (!fixture->message.is_decoded) {
            continue;
        }
        const struct parley_bytes got = encode(fixture);
        assert_same_json(got, parley_buffer_bytes(&text));
        assert_null(memchr(got.data, '\n', got.length));
        assert_null(memchr(got.data, '\r', got.length));
        if (!spans_lines(parley_buffer_bytes(&text))) {
            continue;
        }
        strip(parley_buffer_bytes(&text), &wanted);
        assert_true(parley_bytes_equal(got, parley_buffer_bytes(&wanted)));
        stripped++;
    }
    assert_in_range(stripped, 1000, 15000);
    parley_buffer_finish(&text);
    parley_buffer_finish(&wanted);
    cases_finish(&cases);
}

static void test_what_is_encoded_is_appended(void **state) {
    struct message_fixture *fixture = *state;
    check(fixture, PARLEY_BYTES("{\n}"), false);
    encode(fixture);
    assert_int_equal(json_encode(&fixture->message, &fixture->out), PARLEY_OK);
    assert_true(parley_bytes_equal(parley_buffer_bytes(&fixture->out), PARLEY_BYTES("{}{}")));
}

/* ---- stamp ---- */

#define ID "\"id\":\"" CASES_ID "\""
#define PROTOCOL "\"protocol\":\"VLP/1.1\""
#define TIMESTAMP "\"timestamp\":\"" CASES_NOW "\""

static void assert_stamps(struct message_fixture *fixture, const char *text, const char *wanted) {
    check(fixture, parley_bytes_of(text), true);
    const struct parley_bytes got = fixture->message.text;
    if (!parley_bytes_equal(got, parley_bytes_of(wanted))) {
        fail_msg("%s became %.*s", text, (int)got.length, got.data);
    }
    assert_true(fixture->message.is_decoded);
}

static void test_stamp_fills_what_is_absent_behind_the_brace_in_order(void **state) {
    assert_stamps(*state, "{\"type\":\"claim\"}",
                  "{" ID "," PROTOCOL "," TIMESTAMP ",\"type\":\"claim\"}");
    assert_stamps(*state, "{\"protocol\":\"x\",\"a\":1}",
                  "{" ID "," TIMESTAMP ",\"protocol\":\"x\",\"a\":1}");
    assert_stamps(*state, "{\"id\":\"i\",\"protocol\":\"x\"}",
                  "{" TIMESTAMP ",\"id\":\"i\",\"protocol\":\"x\"}");
    assert_stamps(*state, "{}", "{" ID "," PROTOCOL "," TIMESTAMP "}");
    assert_stamps(*state, " \n{\n }\n", " \n{" ID "," PROTOCOL "," TIMESTAMP "\n }\n");
    assert_stamps(*state, "{\"a\":{\"id\":1}}",
                  "{" ID "," PROTOCOL "," TIMESTAMP ",\"a\":{\"id\":1}}");
}

static void test_stamp_never_changes_what_is_there(void **state) {
    assert_stamps(*state, "{\"\\u0069d\":null,\"protocol\":1,\"timestamp\":\"\"}",
                  "{\"\\u0069d\":null,\"protocol\":1,\"timestamp\":\"\"}");
}

static void test_stamp_copies_nothing_when_nothing_is_absent(void **state) {
    struct message_fixture *fixture = *state;
    const struct parley_bytes text = PARLEY_BYTES("{\"id\":1,\"protocol\":1,\"timestamp\":1}");
    check(fixture, text, true);
    assert_ptr_equal(fixture->message.text.data, text.data);
}

static void test_places_in_a_stamped_message_are_those_of_what_was_sent(void **state) {
    struct message_fixture *fixture = *state;
    static const char *const texts[] = {"{ \"type\" :\"claim\",\n \"seq\":-1, \"safety\":{}}",
                                        "\n  {\"seq\":-1}",
                                        "{\"type\":7,\"\xC3\xA9\":1,\"seq\":\"\"}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct parley_position plain[32];
        const struct parley_rule *rules[32];
        size_t count = 0;
        check(fixture, parley_bytes_of(texts[i]), false);
        for (size_t k = 0; k < fixture->message.findings.count; k++) {
            const struct parley_finding *finding = &fixture->message.findings.items[k];
            if (strcmp(finding->path, "/id") != 0 && strcmp(finding->path, "/protocol") != 0 &&
                strcmp(finding->path, "/timestamp") != 0) {
                rules[count] = finding->rule;
                plain[count++] = finding->at;
            }
        }
        check(fixture, parley_bytes_of(texts[i]), true);
        assert_true(count > 1);
        assert_int_equal(fixture->message.findings.count, count);
        for (size_t k = 0; k < count; k++) {
            const struct parley_finding *finding = &fixture->message.findings.items[k];
            assert_ptr_equal(finding->rule, rules[k]);
            assert_int_equal(finding->at.line, plain[k].line);
            assert_int_equal(finding->at.column, plain[k].column);
        }
    }
}

static void test_a_finding_about_a_stamped_member_is_told_behind_the_brace(void **state) {
    struct message_fixture *fixture = *state;
    const struct parley_options options = {.stamp = true, .now = "yesterday", .fresh_id = "ok1"};
    assert_int_equal(
        parley_message_check(&fixture->message, PARLEY_BYTES("\n {\"type\":\"notice\"}"),
                             &parley_codec_json, &options, (struct parley_position){1, 1}),
        PARLEY_OK);
    const struct parley_finding *finding = &fixture->message.findings.items[0];
    assert_string_equal(finding->path, "/timestamp");
    assert_int_equal(finding->at.line, 2);
    assert_int_equal(finding->at.column, 3);
}

static void test_a_message_object_is_used_again_without_a_trace(void **state) {
    struct message_fixture *fixture = *state;
    check(fixture, PARLEY_BYTES("{\"type\":\"claim\",\"seq\":-1}"), true);
    check(fixture, PARLEY_BYTES("{"), false);
    assert_false(fixture->message.is_decoded);
    assert_int_equal(fixture->message.type, PARLEY_TYPE_OTHER);
    check(fixture, PARLEY_BYTES("{}"), false);
    assert_int_equal(fixture->message.stamp_length, 0);
    parley_message_reset(&fixture->message);
    assert_int_equal(fixture->message.findings.count, 0);
    assert_false(fixture->message.is_decoded);
    assert_true(parley_message_is_valid(&fixture->message));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_no_json_is_told_where_it_begins),
        cmocka_unit_test(test_escapes_and_numbers_that_mean_nothing_are_faults),
        cmocka_unit_test(test_a_nul_byte_is_a_fault_wherever_it_stands),
        cmocka_unit_test(test_what_is_no_utf8_is_told_as_such),
        cmocka_unit_test(test_a_repeated_key_is_told_at_its_second_place),
        cmocka_unit_test(test_nesting_over_the_limit_is_told),
        cmocka_unit_test(test_any_depth_is_refused_and_none_overflows_the_stack),
        cmocka_unit_test(test_a_top_level_that_is_no_object_is_told),
        cmocka_unit_test(test_of_several_faults_the_first_in_the_text_is_told),
        cmocka_unit_test(test_a_message_over_the_limit_is_not_read),
        cmocka_unit_test(test_one_line_of_json_goes_on_byte_for_byte),
        cmocka_unit_test(test_line_ends_behind_one_line_of_json_go),
        cmocka_unit_test(test_of_json_over_several_lines_only_blanks_between_tokens_go),
        cmocka_unit_test(test_stripping_agrees_with_another_way_to_strip),
        cmocka_unit_test(test_what_is_encoded_is_appended),
        cmocka_unit_test(test_stamp_fills_what_is_absent_behind_the_brace_in_order),
        cmocka_unit_test(test_stamp_never_changes_what_is_there),
        cmocka_unit_test(test_stamp_copies_nothing_when_nothing_is_absent),
        cmocka_unit_test(test_places_in_a_stamped_message_are_those_of_what_was_sent),
        cmocka_unit_test(test_a_finding_about_a_stamped_member_is_told_behind_the_brace),
        cmocka_unit_test(test_a_message_object_is_used_again_without_a_trace),
    };
    return cmocka_run_group_tests(tests, message_set_up_vlp, message_tear_down);
}
