/* SPDX-License-Identifier: Apache-2.0 */

/* The end of a value that is left unread: it is found by quotes and brackets alone, and is the one
 * that a reader finds, wherever the value has no fault. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <parley/protocol.h>

#include "json_pass.h"
#include "json_skip.h"

enum { NONE = -1, LONGEST_STEP = 64 };

static const struct {
    const char *text;
    int end;
} rows[] = {
    {"{}", 2},
    {"[],1", 2},
    {"{\"a\":[{}]}}", 10},
    {"{\"}\":\"]\"}]", 9},
    {"[\"\\\"]\"]]", 7},
    {"[\"\\\\\"]]", 6},
    {"[\"\\\\\\\"]\"]", 9},
    {"{\"a\":\"0123456789\\\"}0123456789\"},{}", 31},
    /* faults are left to who reads it */
    {"{tru}", 5},
    {"[1}", 3},
    {"[\\\"]\"]", 6},
    {"{\"a\":[1]", NONE},
    {"[\"a", NONE},
    {"[\"a\\", NONE},
    {"[", NONE},
    {"[[[]]", NONE},
};

static void test_a_value_ends_where_its_brackets_do(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *text = rows[i].text;
        const char *after = json_skip_unread(text, text + strlen(text));
        const int end = after != NULL ? (int)(after - text) : NONE;
        if (end != rows[i].end) {
            fail_msg("%s: %d instead of %d", text, end, rows[i].end);
        }
    }
}

/* `text` begins with an object. One that is read whole ends at the same byte; nothing behind the
 * text is looked at, which AddressSanitizer sees. */
static void assert_same_end(const char *text, size_t length) {
    char *copy = malloc(length);
    assert_non_null(copy);
    memcpy(copy, text, length);
    const char *read = json_pass(text, text + length, 64);
    const char *skipped = json_skip_unread(copy, copy + length);
    if (read != NULL && (skipped == NULL || skipped - copy != read - text)) {
        fail_msg("%.*s: %d instead of %d", (int)length, text,
                 skipped != NULL ? (int)(skipped - copy) : NONE, (int)(read - text));
    }
    assert_true(skipped == NULL || (size_t)(skipped - copy) <= length);
    free(copy);
}

static void test_a_value_without_a_fault_ends_where_a_reader_says(void **state) {
    static const char others[] = "\"\\{}[]:,u";
    (void)state;
    for (size_t p = 0; parley_protocols[p] != NULL; p++) {
        for (const struct parley_example *at = parley_protocols[p]->examples; at->name != NULL;
             at++) {
            const size_t length = strlen(at->text);
            char *text = malloc(length + LONGEST_STEP);
            assert_non_null(text);
            memcpy(text, at->text, length);
            memset(text + length, '}', LONGEST_STEP);
            for (size_t more = 0; more <= LONGEST_STEP; more++) {
                assert_same_end(text, length + more);
            }
            for (size_t i = 1; i < length; i++) {
                const char before = text[i];
                for (size_t j = 0; j < sizeof others - 1; j++) {
                    text[i] = others[j];
                    assert_same_end(text, length + i % LONGEST_STEP);
                }
                text[i] = before;
            }
            free(text);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_value_ends_where_its_brackets_do),
        cmocka_unit_test(test_a_value_without_a_fault_ends_where_a_reader_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
