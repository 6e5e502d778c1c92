/* SPDX-License-Identifier: Apache-2.0 */

/* Buffers: growth, sticky failure, and JSON strings. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include <jansson.h>

#include <parley/buffer.h>

#include "lib/fault_heap.h"
#include "lib/random.h"

static void assert_holds(const struct parley_buffer *buffer, const char *text) {
    assert_int_equal(buffer->length, strlen(text));
    assert_memory_equal(buffer->data, text, buffer->length);
}

static void test_it_grows_to_hold_all_that_is_appended(void **state) {
    (void)state;
    struct parley_buffer buffer;
    parley_buffer_init(&buffer);
    for (unsigned i = 0; i < 100000; i++) {
        parley_buffer_char(&buffer, (char)(i % 251));
    }
    assert_int_equal(parley_buffer_status(&buffer), PARLEY_OK);
    assert_int_equal(buffer.length, 100000);
    for (unsigned i = 0; i < 100000; i++) {
        assert_int_equal((unsigned char)buffer.data[i], i % 251);
    }
    parley_buffer_finish(&buffer);
}

static void test_appending_nothing_to_an_empty_buffer_is_fine(void **state) {
    (void)state;
    struct parley_buffer buffer;
    parley_buffer_init(&buffer);
    parley_buffer_append(&buffer, (struct parley_bytes){NULL, 0});
    parley_buffer_text(&buffer, "");
    parley_buffer_text(&buffer, NULL);
    assert_int_equal(buffer.length, 0);
    assert_int_equal(parley_buffer_status(&buffer), PARLEY_OK);
    parley_buffer_finish(&buffer);
}

static void test_an_integer_is_written_in_all_its_digits(void **state) {
    (void)state;
    static const struct {
        uint64_t number;
        const char *text;
    } rows[] = {
        {0, "0"},
        {9, "9"},
        {10, "10"},
        {1705392000, "1705392000"},
        {UINT64_MAX / 10, "1844674407370955161"},
        {UINT64_MAX, "18446744073709551615"},
    };
    struct parley_buffer buffer;
    parley_buffer_init(&buffer);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        parley_buffer_clear(&buffer);
        parley_buffer_uint(&buffer, rows[i].number);
        assert_holds(&buffer, rows[i].text);
    }
    parley_buffer_finish(&buffer);
}

static void test_a_format_is_written_whole_however_long_it_is(void **state) {
    (void)state;
    struct parley_buffer buffer;
    parley_buffer_init(&buffer);
    parley_buffer_format(&buffer, "%s=%d;", "a", 1);
    parley_buffer_format(&buffer, "%*s", 1000, "b");
    assert_int_equal(buffer.length, 1004);
    assert_memory_equal(buffer.data, "a=1; ", 5);
    assert_int_equal(buffer.data[1003], 'b');
    parley_buffer_finish(&buffer);
}

static void test_a_failure_sticks_until_it_is_cleared(void **state) {
    (void)state;
    struct parley_buffer buffer;
    parley_buffer_init(&buffer);
    parley_buffer_text(&buffer, "kept");
    fault_heap_arm(0, 1);
    parley_buffer_format(&buffer, "%*s", 1000, "lost");
    fault_heap_disarm();
    parley_buffer_text(&buffer, "lost too");
    parley_buffer_json(&buffer, PARLEY_BYTES("lost too"));
    assert_int_equal(parley_buffer_status(&buffer), PARLEY_E_MEMORY);
    assert_false(parley_buffer_reserve(&buffer, 1));
    assert_holds(&buffer, "kept");
    parley_buffer_clear(&buffer);
    parley_buffer_text(&buffer, "again");
    assert_int_equal(parley_buffer_status(&buffer), PARLEY_OK);
    assert_holds(&buffer, "again");
    parley_buffer_finish(&buffer);
}

static void test_more_than_memory_can_hold_is_a_failure(void **state) {
    (void)state;
    struct parley_buffer buffer;
    parley_buffer_init(&buffer);
    parley_buffer_text(&buffer, "kept");
    assert_false(parley_buffer_reserve(&buffer, SIZE_MAX));
    assert_int_equal(parley_buffer_status(&buffer), PARLEY_E_MEMORY);
    parley_buffer_finish(&buffer);
}

static void test_clear_keeps_the_memory(void **state) {
    (void)state;
    struct parley_buffer buffer;
    parley_buffer_init(&buffer);
    parley_buffer_text(&buffer, "some text");
    const char *data = buffer.data;
    parley_buffer_clear(&buffer);
    parley_buffer_text(&buffer, "other");
    assert_ptr_equal(buffer.data, data);
    assert_holds(&buffer, "other");
    parley_buffer_finish(&buffer);
}

static void test_json_strings_escape_what_they_must(void **state) {
    (void)state;
    static const struct {
        struct parley_bytes text;
        const char *json;
    } rows[] = {
        {{"", 0}, "\"\""},
        {{"plain / text\x7F", 13}, "\"plain / text\x7F\""},
        {{"\"\\\n\r\t", 5}, "\"\\\"\\\\\\n\\r\\t\""},
        {{"\0\x1F\b", 3}, "\"\\u0000\\u001f\\u0008\""},
        {{"\xC3\xA9\xF0\x9F\x98\x80", 6}, "\"\xC3\xA9\xF0\x9F\x98\x80\""},
        {{"a\xC3", 2}, "\"a\xEF\xBF\xBD\""},
        {{"\xFF\xC0\xAFz", 4}, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz\""},
        {{"\xED\xA0\x80", 3}, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct parley_buffer buffer;
        parley_buffer_init(&buffer);
        parley_buffer_json(&buffer, rows[i].text);
        assert_holds(&buffer, rows[i].json);
        parley_buffer_finish(&buffer);
    }
}

static void test_json_of_any_bytes_is_read_by_jansson(void **state) {
    (void)state;
    struct random_source source = {8259};
    struct parley_buffer buffer;
    parley_buffer_init(&buffer);
    for (int i = 0; i < 20000; i++) {
        char bytes[24];
        const size_t length = random_below(&source, sizeof bytes + 1);
        for (size_t k = 0; k < length; k++) {
            bytes[k] = (char)(random_below(&source, 2) == 0 ? random_below(&source, 256)
                                                            : random_below(&source, 48));
        }
        parley_buffer_clear(&buffer);
        parley_buffer_json(&buffer, (struct parley_bytes){bytes, length});
        json_t *string =
            json_loadb(buffer.data, buffer.length, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        assert_true(json_is_string(string));
        json_t *same = json_stringn(bytes, length); /* NULL where they are no UTF-8 */
        assert_true(same == NULL || json_equal(string, same));
        json_decref(same);
        json_decref(string);
    }
    parley_buffer_finish(&buffer);
}

static void test_long_json_strings_lose_nothing(void **state) {
    (void)state;
    static const char *const parts[] = {"\x01", "\"", "\xC3\xBC", "a",
                                        "plain text of some length "};
    struct random_source source = {8259};
    struct parley_buffer text, json;
    parley_buffer_init(&text);
    parley_buffer_init(&json);
    for (int i = 0; i < 2000; i++) {
        const size_t length = random_below(&source, 1600);
        parley_buffer_clear(&text);
        parley_buffer_clear(&json);
        while (text.length < length) {
            parley_buffer_text(&text, parts[random_below(&source, sizeof parts / sizeof parts[0])]);
        }
        parley_buffer_json(&json, parley_buffer_bytes(&text));
        json_t *string = json_loadb(json.data, json.length, JSON_DECODE_ANY, NULL);
        assert_int_equal(json_string_length(string), text.length);
        assert_true(text.length == 0 ||
                    memcmp(json_string_value(string), text.data, text.length) == 0);
        json_decref(string);
    }
    parley_buffer_finish(&text);
    parley_buffer_finish(&json);
}

static void test_a_number_is_written_with_the_digits_that_it_needs(void **state) {
    (void)state;
    static const struct {
        double number;
        const char *text;
    } rows[] = {{0, "0"},
                {1, "1"},
                {-1, "-1"},
                {0.1, "0.1"},
                {120, "120"},
                {1e300, "1e300"},
                {0.5e-9, "5e-10"},
                {1.0 / 3, "0.3333333333333333"},
                {1705392000, "1705392000"},
                {9007199254740991, "9007199254740991"},
                {-1705392000.5, "-1705392000.5"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct parley_buffer buffer;
        parley_buffer_init(&buffer);
        parley_buffer_number(&buffer, rows[i].number);
        assert_holds(&buffer, rows[i].text);
        parley_buffer_finish(&buffer);
    }
}

static void test_an_append_beyond_the_limit_fails_and_says_so(void **state) {
    (void)state;
    struct parley_buffer buffer;
    parley_buffer_init(&buffer);
    buffer.limit_bytes = 4;
    parley_buffer_text(&buffer, "abcd");
    assert_holds(&buffer, "abcd");
    parley_buffer_char(&buffer, 'e');
    assert_int_equal(parley_buffer_status(&buffer), PARLEY_E_LIMIT);
    assert_int_equal(buffer.length, 4);
    parley_buffer_clear(&buffer);
    parley_buffer_text(&buffer, "abc");
    assert_holds(&buffer, "abc");
    parley_buffer_finish(&buffer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_append_beyond_the_limit_fails_and_says_so),
        cmocka_unit_test(test_it_grows_to_hold_all_that_is_appended),
        cmocka_unit_test(test_appending_nothing_to_an_empty_buffer_is_fine),
        cmocka_unit_test(test_an_integer_is_written_in_all_its_digits),
        cmocka_unit_test(test_a_format_is_written_whole_however_long_it_is),
        cmocka_unit_test(test_a_failure_sticks_until_it_is_cleared),
        cmocka_unit_test(test_more_than_memory_can_hold_is_a_failure),
        cmocka_unit_test(test_clear_keeps_the_memory),
        cmocka_unit_test(test_json_strings_escape_what_they_must),
        cmocka_unit_test(test_a_number_is_written_with_the_digits_that_it_needs),
        cmocka_unit_test(test_json_of_any_bytes_is_read_by_jansson),
        cmocka_unit_test(test_long_json_strings_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
