/* SPDX-License-Identifier: Apache-2.0 */

/* Suggestions, and text for a terminal. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nearest.h"
#include "terminal.h"

static void test_a_slip_finds_the_word_that_was_meant(void **state) {
    (void)state;
    static const char *const names[] = {"listen", "data", "in-flight", "spool-max", NULL};
    assert_string_equal(nearest_word("lisen", names), "listen");
    assert_string_equal(nearest_word("listne", names), "listen");
    assert_string_equal(nearest_word("inflight", names), "in-flight");
    assert_string_equal(nearest_word("date", names), "data");
    assert_string_equal(nearest_word("LISTEN", names), "listen"); /* D11b */
    assert_string_equal(nearest_word("In-Fligth", names), "in-flight");
    assert_null(nearest_word("verbose", names));
    assert_null(nearest_word("", names));
    assert_string_equal(nearest_word_within("lisen", names, 1), "listen");
    assert_null(nearest_word_within("lise", names, 1));
    assert_null(nearest_word("a-word-that-is-longer-than-any-flag-could-be", names));
}

static void check_clean(const char *text, const char *expected) {
    struct parley_buffer out;
    parley_buffer_init(&out);
    terminal_append_clean(&out, text);
    parley_buffer_char(&out, '\0');
    assert_string_equal(out.data, expected);
    parley_buffer_finish(&out);
}

static void test_text_of_strangers_cannot_speak_to_the_terminal(void **state) {
    (void)state;
    check_clean("/a\033[31m\n\x7f", "/a\\x1b[31m\\x0a\\x7f");
    check_clean("\xC2\x9B"
                "31m",
                "\\x9b31m");
    check_clean("\xC2", "\xC2");
    check_clean("\xC2\xA0\xC3\xA9 \xE2\x80\xA6", "\xC2\xA0\xC3\xA9 \xE2\x80\xA6");
}

static void check_wrapped(const char *text, size_t indent, size_t width, const char *expected) {
    char *out = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&out, &size);
    assert_non_null(stream);
    terminal_wrap(stream, text, indent, width);
    fclose(stream);
    assert_string_equal(out, expected);
    free(out);
}

static void test_text_is_wrapped_at_blanks(void **state) {
    (void)state;
    check_wrapped("one two three", 2, 9, "one two\n  three\n");
    check_wrapped("one two three", 2, SIZE_MAX, "one two three\n");
    check_wrapped("a-very-long-word b", 2, 5, "a-very-long-word\n  b\n");
    check_wrapped("\xC3\xA9\xC3\xA9\xC3\xA9 ab", 0, 6, "\xC3\xA9\xC3\xA9\xC3\xA9 ab\n");
    check_wrapped("", 2, 9, "\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_slip_finds_the_word_that_was_meant),
        cmocka_unit_test(test_text_of_strangers_cannot_speak_to_the_terminal),
        cmocka_unit_test(test_text_is_wrapped_at_blanks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
