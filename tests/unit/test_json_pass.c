/* SPDX-License-Identifier: Apache-2.0 */

/* Stepping over values: where they end, what is left to the reader that explains faults, and that
 * nothing is passed over that another reader, jansson, refuses. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>

#include <parley/protocol.h>

#include "json_pass.h"

enum { DEPTH_MAX = 4, UNSURE = -1 };

static const struct {
    const char *text;
    int end;
} rows[] = {
    {"1", 1},
    {"-0.5e+3,", 7},
    {"\"a\" ", 3},
    {"\"\\u00e9\\\"\"]", 10},
    {"true}", 4},
    {"null", 4},
    {"{}", 2},
    {"[]", 2},
    {" [ ] ,", 4},
    {"[1 , \"]\",{\"a\" : {} }]]", 21},
    {"{\"a\":[{\"b\":[]}]}", 16},
    {"{\"a\":1,\"a\":2}", 13}, /* not looked for */
    {"[[[[1]]]]", 9},
    {"[[[[[1]]]]]", UNSURE}, /* too deep */
    {"[1]]", 3},
    /* faults */
    {"", UNSURE},
    {" ", UNSURE},
    {"[", UNSURE},
    {"[1", UNSURE},
    {"[1,", UNSURE},
    {"[1,]", UNSURE},
    {"[,1]", UNSURE},
    {"[1 2]", UNSURE},
    {"[1}", UNSURE},
    {"{\"a\":1]", UNSURE},
    {"{\"a\"}", UNSURE},
    {"{\"a\" 1}", UNSURE},
    {"{\"a\":}", UNSURE},
    {"{\"a\":1,}", UNSURE},
    {"{,\"a\":1}", UNSURE},
    {"{a:1}", UNSURE},
    {"{1:1}", UNSURE},
    {"{\"a", UNSURE},
    {"{\"a\"", UNSURE},
    {"{\"a\":", UNSURE},
    {"\"a", UNSURE},
    {"\"\t\"", UNSURE},
    {"\"\\x\"", UNSURE},
    {"\"\\ud800\"", UNSURE},
    {"\"\xff\"", UNSURE},
    {"tru", UNSURE},
    {"trve", UNSURE},
    {"01", UNSURE},
    {"-", UNSURE},
    {"1.", UNSURE},
    {"1e999", UNSURE},
    {"}", UNSURE},
    /* an escape in a key may be a NUL */
    {"{\"\\u0000\":1}", UNSURE},
    {"{\"\\u0061\":1}", UNSURE},
};

static void test_a_value_ends_where_it_ends(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *text = rows[i].text;
        const char *after = json_pass(text, text + strlen(text), DEPTH_MAX);
        const int end = after != NULL ? (int)(after - text) : UNSURE;
        if (end != rows[i].end) {
            fail_msg("%s: %d instead of %d", text, end, rows[i].end);
        }
    }
}

/* One byte of a message becomes another. */
static void assert_agree(char *text, size_t length, size_t at, char c) {
    const size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL;
    const char before = text[at];
    text[at] = c;
    if (json_pass(text, text + length, 64) == text + length) {
        json_t *json = json_loadb(text, length, flags, NULL);
        if (json == NULL) {
            fail_msg("passed over: %.*s", (int)length, text);
        }
        json_decref(json);
    }
    text[at] = before;
}

static void test_nothing_is_passed_over_that_jansson_refuses(void **state) {
    static const char others[] = "\"\\{}[]:,0-.e \x01\xc3u";
    (void)state;
    for (size_t p = 0; parley_protocols[p] != NULL; p++) {
        for (const struct parley_example *at = parley_protocols[p]->examples; at->name != NULL;
             at++) {
            const size_t length = strlen(at->text);
            char *text = parley_bytes_copy(parley_bytes_of(at->text));
            assert_non_null(text);
            assert_ptr_equal(json_pass(text, text + length, 64), text + length);
            for (size_t i = 0; i < length; i++) {
                for (size_t j = 0; j < sizeof others; j++) { /* and the NUL */
                    assert_agree(text, length, i, others[j]);
                }
            }
            free(text);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_value_ends_where_it_ends),
        cmocka_unit_test(test_nothing_is_passed_over_that_jansson_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
