/* SPDX-License-Identifier: Apache-2.0 */

/* Faults of JSON texts: the byte that each points at, the hint that it brings, and which of several
 * is reported. Every text is read twice: as it is, and behind so many blanks that it is large. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <parley/splitter.h>

#include "lib/message_fixture.h"

enum { PADDING = (64 << 10) + 1 };

/* Reads the text, behind blanks that make it large, if asked. */
static const struct parley_finding *find(struct message_fixture *fixture, struct parley_bytes text,
                                         bool is_large) {
    static char blanks[PADDING];
    const struct parley_options options = {0};
    memset(blanks, ' ', PADDING);
    parley_buffer_clear(&fixture->out);
    parley_buffer_append(&fixture->out, (struct parley_bytes){blanks, is_large ? PADDING : 0});
    parley_buffer_append(&fixture->out, text);
    const struct parley_bytes whole = {fixture->out.length > 0 ? fixture->out.data : "",
                                       fixture->out.length};
    assert_int_equal(parley_message_check(&fixture->message, whole, &parley_codec_json, &options,
                                          (struct parley_position){1, 1}),
                     PARLEY_OK);
    assert_false(fixture->message.is_decoded);
    assert_int_equal(fixture->message.findings.count, 1);
    return &fixture->message.findings.items[0];
}

/* ---- one fault ---- */

struct row {
    struct parley_bytes text;
    const char *rule;
    size_t column;
    const char *message, *hint; /* parts of them */
};

#define ROW(text, rule, column, message, hint)                                                     \
    { {(text), sizeof(text) - 1}, (rule), (column), (message), (hint) }

static void check_rows(struct message_fixture *fixture, const struct row *rows, size_t count) {
    for (size_t i = 0; i < 2 * count; i++) {
        const struct row *row = &rows[i / 2];
        const bool is_large = i % 2 == 1;
        const struct parley_finding *got = find(fixture, row->text, is_large);
        const size_t column = got->at.column - (is_large ? PADDING : 0);
        if (strcmp(got->rule->id, row->rule) != 0 || column != row->column ||
            strstr(got->message, row->message) == NULL || strstr(got->hint, row->hint) == NULL) {
            fail_msg("%.*s%s: %s at %zu: %s. %s", (int)row->text.length, row->text.data,
                     is_large ? " (large)" : "", got->rule->id, column, got->message, got->hint);
        }
    }
}

#define CHECK(state, ...)                                                                          \
    check_rows(state, (const struct row[]){__VA_ARGS__},                                           \
               sizeof((const struct row[]){__VA_ARGS__}) / sizeof(struct row))

/* (validation: 57 of 1,075 pointed at the start of the escape, key or literal) */
static void test_a_fault_inside_a_string_points_at_its_byte(void **state) {
    CHECK(*state,
          ROW("{\"a\":\"\\u12G4\"}", "GW-001", 11, "expected four hexadecimal digits",
              "as in \\u00e9"),
          ROW("{\"a\":\"\\uG000\"}", "GW-001", 9, "expected four hexadecimal digits",
              "as in \\u00e9"),
          ROW("{\"a\":\"\\u123\"}", "GW-001", 12, "expected four hexadecimal digits",
              "as in \\u00e9"),
          ROW("{\"a\":\"\\u123", "GW-001", 12, "ends inside a string", "Close the string"),
          ROW("{\"a\":\"x\\q\"}", "GW-001", 9, "unknown escape", "inside the text as \\\\"),
          ROW("{\"a\":\"x\\", "GW-001", 9, "ends inside a string", "Close the string"),
          ROW("{\"a\":\"\\\xFF\"}", "GW-005", 8, "not valid UTF-8", "Encode the whole body"),
          ROW("{\"a\":\"\\u00\xFF\"}", "GW-005", 11, "not valid UTF-8", "Encode the whole body"),
          ROW("{\"a\\u0000\":1}", "GW-001", 4, "a key cannot contain a NUL", "Remove \\u0000"),
          ROW("{\"ab\x01\":1}", "GW-001", 5, "a control character", "as \\u"),
          ROW("{\"a\":\"b\nc\"}", "GW-001", 8, "a line break", "as \\n"),
          ROW("{\"a\":\"b\tc\"}", "GW-001", 8, "a tab", "as \\t"),
          ROW("{\"a\":\"b\\ud800c\"}", "GW-001", 8, "first half of a pair", "both halves"),
          ROW("{\"a\":\"b\\ud800\\ud800\"}", "GW-001", 8, "first half of a pair", "both halves"),
          ROW("{\"a\":\"b\\udfffc\"}", "GW-001", 8, "second half of a pair", "both halves"),
          ROW("{\"a\":\"b\xC3(\"}", "GW-005", 8, "not valid UTF-8", "Encode the whole body"),
          ROW("{\"a\":\"b", "GW-001", 8, "ends inside a string", "inside the text as \\\""));
}

static void test_a_fault_inside_a_word_points_at_its_byte(void **state) {
    CHECK(
        *state, ROW("{\"a\":nul1}", "GW-001", 9, "unknown word", "double quotes"),
        ROW("{\"a\":fals}", "GW-001", 10, "unknown word", "double quotes"),
        ROW("{\"a\":tr\xFF}", "GW-005", 8, "not valid UTF-8", "Encode the whole body"),
        ROW("{\"a\":tru", "GW-001", 9, "ends inside a word", "its end is missing"),
        ROW("{\"a\":True}", "GW-001", 6, "unknown word", "lower case"),
        ROW("{\"a\":NULL}", "GW-001", 6, "unknown word", "lower case"),
        ROW("{\"a\":None}", "GW-001", 6, "unknown word", "Write null"),
        ROW("{\"a\":nil}", "GW-001", 7, "unknown word", "Write null"),
        ROW("{\"a\":undefined}", "GW-001", 6, "unknown word", "Write null"),
        ROW("{\"a\":NaN}", "GW-001", 6, "NaN and Infinity are not allowed", "finite number"),
        ROW("{\"a\":nan}", "GW-001", 7, "NaN and Infinity are not allowed", "finite number"),
        ROW("{\"a\":Infinity}", "GW-001", 6, "NaN and Infinity are not allowed", "finite number"),
        ROW("{\"a\":-Infinity}", "GW-001", 7, "NaN and Infinity are not allowed", "finite number"),
        ROW("{\"a\":yes}", "GW-001", 6, "unknown word", "double quotes"),
        ROW("{\"a\":nulls}", "GW-001", 10, "expected ',' or '}'", "a comma"));
}

static void test_each_fault_of_a_number_has_its_hint(void **state) {
    CHECK(*state, ROW("{\"a\":1e400}", "GW-001", 6, "too large for a double", "1.7e308"),
          ROW("{\"a\":-1e400}", "GW-001", 6, "too large for a double", "1.7e308"),
          ROW("{\"a\":007}", "GW-001", 7, "leading zeros", "Remove the leading zeros"),
          ROW("{\"a\":-01}", "GW-001", 8, "leading zeros", "Remove the leading zeros"),
          ROW("{\"a\":0x1F}", "GW-001", 7, "must be decimal", "decimal digits"),
          ROW("{\"a\":+1}", "GW-001", 6, "cannot begin with '+'", "Remove the plus sign"),
          ROW("{\"a\":.5}", "GW-001", 6, "cannot begin with '.'", "as in 0.5"),
          ROW("{\"a\":5.}", "GW-001", 8, "expected a digit", "both sides of the point"),
          ROW("{\"a\":1e}", "GW-001", 8, "expected a digit", "after e"),
          ROW("{\"a\":-}", "GW-001", 7, "expected a digit", "as -12"),
          ROW("{\"a\":1e+\xFF}", "GW-005", 9, "not valid UTF-8", "Encode the whole body"));
}

static void test_each_fault_between_tokens_has_its_hint(void **state) {
    CHECK(*state, ROW("{\"a\":1,}", "GW-001", 8, "expected a key after ','", "trailing commas"),
          ROW("{\"a\":[1,]}", "GW-001", 9, "expected a value after ','", "trailing commas"),
          ROW("{\"a\":[1,,2]}", "GW-001", 9, "expected a value before ','", "extra comma"),
          ROW("{\"a\":1,,\"b\":2}", "GW-001", 8, "expected a key", "extra comma"),
          ROW("{'a':1}", "GW-001", 2, "single quotes", "plain double quotes"),
          ROW("{\"a\":'b'}", "GW-001", 6, "single quotes", "plain double quotes"),
          ROW("{\xE2\x80\x9C"
              "a\xE2\x80\x9D:1}",
              "GW-001", 2, "typographic quotes", "plain double quotes"),
          ROW("{a:1}", "GW-001", 2, "expected a key in double quotes", "Put the key"),
          ROW("{1:1}", "GW-001", 2, "expected a key in double quotes", "Put the key"),
          ROW("{[]:1}", "GW-001", 2, "expected a key in double quotes", "\"key\": value"),
          ROW("{\"a\" 1}", "GW-001", 6, "expected ':'", "a colon between"),
          ROW("{\"a\"}", "GW-001", 5, "expected ':'", "a colon between"),
          ROW("{\"a\"=1}", "GW-001", 5, "expected ':'", "equals sign"),
          ROW("{\"a\":}", "GW-001", 6, "expected a value after ':'", "leave the key out"),
          ROW("{\"a\":,\"b\":1}", "GW-001", 6, "expected a value after ':'", "leave the key out"),
          ROW("{\"a\":1 \"b\":2}", "GW-001", 8, "expected ',' or '}'", "between two members"),
          ROW("{\"a\":[1 [2]]}", "GW-001", 9, "expected ',' or ']'", "between two items"),
          ROW("{\"a\":[1 2]}", "GW-001", 9, "expected ',' or ']'", "before the next item"),
          ROW("{\"a\":[\"b\":1]}", "GW-001", 10, "expected ',' or ']'", "An array has no keys"),
          ROW("{\"a\":1]", "GW-001", 7, "expected ',' or '}'", "with }, not ]"),
          ROW("{\"a\":[1}", "GW-001", 8, "expected ',' or ']'", "with ], not }"),
          ROW("{\"a\":\"b\"c\"}", "GW-001", 9, "expected ',' or '}'", "inside a string as \\\""),
          ROW("// x\n{}", "GW-001", 1, "comments are not allowed", "Remove the comment"),
          ROW("{/* x */}", "GW-001", 2, "comments are not allowed", "Remove the comment"),
          ROW("{\"a\":1 // x\n}", "GW-001", 8, "comments are not allowed", "Remove the comment"),
          ROW("{\"a\": # x\n1}", "GW-001", 7, "comments are not allowed", "Remove the comment"),
          ROW("{\0\"\0", "GW-001", 2, "a NUL byte", "UTF-16"),
          ROW("{\"a\":@}", "GW-001", 6, "expected a value", "in double quotes"));
}

static void test_each_fault_at_the_ends_of_the_text_has_its_hint(void **state) {
    CHECK(*state, ROW("", "GW-001", 1, "the text is empty", "one JSON object"),
          ROW("  ", "GW-001", 3, "the text is empty", "one JSON object"),
          ROW("\xEF\xBB\xBF{}", "GW-001", 1, "byte-order mark", "without a byte-order mark"),
          ROW("\xFF\xFE{}", "GW-005", 1, "not valid UTF-8", "Encode the whole body"),
          ROW("{", "GW-001", 2, "ends inside an object", "Close the object"),
          ROW("{\"a\"", "GW-001", 5, "ends inside an object", "Close the object"),
          ROW("{\"a\":", "GW-001", 6, "ends where a value is expected", "its end is missing"),
          ROW("{\"a\":1", "GW-001", 7, "ends inside an object", "Close the object"),
          ROW("{\"a\":[1", "GW-001", 8, "ends inside an array", "Close the array"),
          ROW("{\"a\":[1,", "GW-001", 9, "ends where a value is expected", "its end is missing"),
          ROW("{} {}", "GW-001", 4, "unexpected data after the message", "as a JSON array"),
          ROW("{},{}", "GW-001", 3, "unexpected data after the message", "as a JSON array"),
          ROW("{}}", "GW-001", 3, "unexpected data after the message", "closing bracket"),
          ROW("{} x", "GW-001", 4, "unexpected data after the message", "Remove what follows"),
          ROW("hello", "GW-001", 1, "unknown word", "double quotes"),
          ROW("[1]", "GW-006", 1, "not an object", "as one object"));
}

/* ---- several faults ---- */

static const char deep[] = "\"d\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
                           "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]";

/* A member of an object with one fault, and where that is. */
struct part {
    struct parley_bytes text;
    const char *rule;
    size_t offset;
    enum { STOPS, CONTAINED, STRUCTURAL } kind; /* what it is to an array of messages */
};

#define PART(text, rule, offset, kind)                                                             \
    { {(text), sizeof(text) - 1}, (rule), (offset), (kind) }

static const struct part parts[] = {
    PART("\"k\":1,\"k\":2", "GW-003", 6, STOPS),
    PART(deep, "GW-004", 4 + 63, STOPS),
    PART("\"u\":\"\xFF\"", "GW-005", 5, STOPS),
    PART("\"\xFFv\":1", "GW-005", 1, STOPS),
    PART("\"n\":1e400", "GW-001", 4, CONTAINED),
    PART("\"l\":\"x\\ud800\"", "GW-001", 6, CONTAINED),
    PART("\"p\\udc00\":1", "GW-001", 2, CONTAINED),
    PART("\"s\":nul1", "GW-001", 7, STRUCTURAL),
    PART("\"z\\u0000\":1", "GW-001", 2, STRUCTURAL),
    PART("\"c\":\"\x01\"", "GW-001", 5, STRUCTURAL),
    PART("\"e\":\"\\x\"", "GW-001", 6, STRUCTURAL),
    PART("\"m\":1 \"o\":2", "GW-001", 6, STRUCTURAL),
};
enum { PARTS = sizeof parts / sizeof parts[0] };

static void check_pair(struct message_fixture *fixture, const struct part *first,
                       const struct part *second, bool is_in_array, bool is_large) {
    char text[512];
    snprintf(text, sizeof text, is_in_array ? "[{%s,%s}]" : "{%s,%s}", first->text.data,
             second->text.data);
    const struct parley_finding *got = find(fixture, parley_bytes_of(text), is_large);
    const bool is_one_deeper = is_in_array && strcmp(first->rule, "GW-004") == 0;
    const size_t wanted =
        first->offset + (is_in_array ? 2 : 1) - is_one_deeper + (is_large ? PADDING : 0);
    if (strcmp(got->rule->id, first->rule) != 0 || got->offset != wanted) {
        fail_msg("%s: %s at %zu, not %s at %zu", text, got->rule->id, got->offset, first->rule,
                 wanted);
    }
    const bool is_contained = first->kind == CONTAINED && second->kind != STRUCTURAL;
    if (fixture->message.is_fault_contained != is_contained) {
        fail_msg("%s: what comes after it is %strusted", text, is_contained ? "not " : "");
    }
}

/* In either order; that the top level is not an object is said last (docs/rules.md#gw). */
static void test_of_two_faults_the_first_in_the_bytes_is_reported(void **state) {
    for (size_t i = 0; i < PARTS; i++) {
        for (size_t k = 0; k < PARTS; k++) {
            for (unsigned form = 0; form < 4 && i != k; form++) {
                check_pair(*state, &parts[i], &parts[k], form % 2 == 1, form / 2 == 1);
            }
        }
    }
}

static void test_of_two_faults_in_one_token_the_first_is_reported(void **state) {
    CHECK(*state, ROW("{\"\\u0000\\ud800\":1}", "GW-001", 3, "a key cannot contain a NUL", ""),
          ROW("{\"\\ud800\\u0000\":1}", "GW-001", 3, "first half", ""),
          ROW("{\"\\u0000\xFF\":1}", "GW-001", 3, "a key cannot contain a NUL", ""),
          ROW("{\"\xFF\\u0000\":1}", "GW-005", 3, "UTF-8", ""),
          ROW("{\"a\":\"\\ud800\xFF\"}", "GW-001", 7, "first half", ""),
          ROW("{\"a\":\"\xFF\\ud800\"}", "GW-005", 7, "UTF-8", ""),
          ROW("{\"a\":1e400 1}", "GW-001", 6, "too large", ""),
          ROW("{\"a\":1,\"a", "GW-001", 10, "ends inside a string", ""),
          ROW("{\"a\":1,\"a\"", "GW-003", 8, "duplicate key", ""));
}

/* ---- within an array ---- */

/* Appends the rule of each result, "-" where there is none. */
static void check_array(struct message_fixture *fixture, struct parley_bytes body,
                        struct parley_buffer *out) {
    const struct parley_options options = {0};
    struct parley_splitter splitter;
    struct parley_slice slice;
    parley_splitter_init(&splitter, PARLEY_FRAMING_JSON, 1 << 20);
    for (bool has_ended = false;;) {
        enum parley_split split = has_ended ? parley_splitter_end(&splitter, &slice)
                                            : parley_splitter_next(&splitter, &body, &slice);
        if (split == PARLEY_SPLIT_END) {
            break;
        }
        has_ended = has_ended || split == PARLEY_SPLIT_MORE;
        if (split == PARLEY_SPLIT_MORE) {
            continue;
        }
        assert_int_equal(parley_splitter_check(&splitter, split, &slice, &fixture->message,
                                               &parley_codec_json, &options),
                         PARLEY_OK);
        const struct parley_findings *findings = &fixture->message.findings;
        parley_buffer_format(out, "%s ", findings->count > 0 ? findings->items[0].rule->id : "-");
    }
    parley_splitter_finish(&splitter);
}

#define CLAIM                                                                                      \
    "{\"id\":\"abc\",\"protocol\":\"VLP/1.1\",\"type\":\"claim\",\"sender\":\"A\","                \
    "\"timestamp\":\"2025-12-14T10:30:00Z\",\"confidence\":0.5,\"content\":\"x\"}"

/* (docs/rules.md#gw) */
static void test_an_array_goes_on_after_what_is_wrong_with_one_message_alone(void **state) {
    static const struct {
        const char *element, *results;
    } rows[] = {
        {"{\"timestamp\":1e400}", "- GW-001 - "},
        {"{\"timestamp\":-1e400, \"a\":[1e999]}", "- GW-001 - "},
        {"1e400", "- GW-001 - "},
        {"\"\\ud800\"", "- GW-001 - "},
        {"{\"id\":\"\\ud800\"}", "- GW-001 - "},
        {"{\"\\udc00\":1}", "- GW-001 - "},
        {"{\"id\":\"\\ud800\",\"a\":1,\"a\":1}", "- GW-001 - "},
        {"{\"a\":1,\"a\":1}", "- GW-003 - "},
        {"{\"id\":nul}", "- GW-001 "},
        {"{\"a\\u0000\":1}", "- GW-001 "},
        {"{\"id\":1e400,\"a\":nul}", "- GW-001 "}, /* the rest is not JSON either */
        {"{\"id\":\"\\ud800\",}", "- GW-001 "},
        {"1e400\"", "- GW-001 "},
    };
    struct message_fixture *fixture = *state;
    struct parley_buffer body, results;
    parley_buffer_init(&body);
    parley_buffer_init(&results);
    for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
        const char *element = rows[i / 2].element;
        const int blanks = i % 2 == 0 ? 0 : PADDING; /* within the element, if it is an object */
        parley_buffer_clear(&body);
        parley_buffer_clear(&results);
        parley_buffer_format(&body, "[" CLAIM ",%c%*s%s," CLAIM "]", element[0], blanks, "",
                             element + 1);
        if (element[0] == '{' || blanks == 0) {
            check_array(fixture, parley_buffer_bytes(&body), &results);
            parley_buffer_char(&results, '\0');
            assert_string_equal(results.data, rows[i / 2].results);
        }
    }
    parley_buffer_finish(&body);
    parley_buffer_finish(&results);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_fault_inside_a_string_points_at_its_byte),
        cmocka_unit_test(test_a_fault_inside_a_word_points_at_its_byte),
        cmocka_unit_test(test_each_fault_of_a_number_has_its_hint),
        cmocka_unit_test(test_each_fault_between_tokens_has_its_hint),
        cmocka_unit_test(test_each_fault_at_the_ends_of_the_text_has_its_hint),
        cmocka_unit_test(test_of_two_faults_the_first_in_the_bytes_is_reported),
        cmocka_unit_test(test_of_two_faults_in_one_token_the_first_is_reported),
        cmocka_unit_test(test_an_array_goes_on_after_what_is_wrong_with_one_message_alone),
    };
    return cmocka_run_group_tests(tests, message_set_up_vlp, message_tear_down);
}
