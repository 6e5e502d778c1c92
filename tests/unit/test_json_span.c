/* SPDX-License-Identifier: Apache-2.0 */

/* What may stand in the place of a state: one object or string, however its bytes come. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "json_span.h"

static const char *const WITHIN[] = {
    "{}",
    "\"\"",
    "\"KLUv\"",
    "{\"a\":[{},[]],\"b\":{\"c\":\"}]\\\"}\"}}",
    "{\"a\":\"\\\\\"}",
    "\"\\\\\\\"\"",
};

static const char *const OUTSIDE[] = {
    "",     " ",         "{",       "}",          "[]",       "1",         "null", "\"a",
    "{}{}", "{} ",       "{},1",    "{\"a\":[}",  "{\"a\":]", "{\"a\":1]", "{]",   "\"a\"b",
    "{\"a", "{\"a\\\"}", "\"a\\\"", "{},\"x\":1", "x{}",      "{}\n",
};

/* In pieces of `size`. */
static bool is_within(const char *text, size_t size) {
    struct json_span fence = {0};
    bool is_right = true;
    for (size_t length = strlen(text), at = 0; is_right && at < length; at += size) {
        const size_t rest = length - at;
        is_right =
            json_span_take(&fence, (struct parley_bytes){text + at, rest < size ? rest : size});
    }
    return is_right && fence.position == JSON_SPAN_AFTER;
}

static void test_one_value_stays_within(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof WITHIN / sizeof WITHIN[0]; i++) {
        for (size_t size = 1; size < 5; size++) {
            if (!is_within(WITHIN[i], size)) {
                fail_msg("%s in pieces of %zu", WITHIN[i], size);
            }
        }
    }
}

static void test_what_is_more_or_less_does_not(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof OUTSIDE / sizeof OUTSIDE[0]; i++) {
        for (size_t size = 1; size < 5; size++) {
            if (is_within(OUTSIDE[i], size)) {
                fail_msg("%s in pieces of %zu", OUTSIDE[i], size);
            }
        }
    }
}

static bool is_nest_within(unsigned depth) {
    char text[256] = "{\"a\":";
    size_t length = strlen(text);
    memset(text + length, '[', depth - 1);
    length += depth - 1;
    memset(text + length, ']', depth - 1);
    text[length + depth - 1] = '}';
    return is_within(text, 7);
}

static void test_it_nests_as_deep_as_a_message(void **state) {
    (void)state;
    assert_true(is_nest_within(64));
    assert_false(is_nest_within(65));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_value_stays_within),
        cmocka_unit_test(test_what_is_more_or_less_does_not),
        cmocka_unit_test(test_it_nests_as_deep_as_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
