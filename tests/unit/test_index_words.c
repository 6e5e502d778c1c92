/* SPDX-License-Identifier: Apache-2.0 */

/* The words of a message, for a search: which of its texts they are, and how many are kept. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <parley/index.h>
#include <parley/message.h>

#include "checked_message.h"
#include "lib/fault_heap.h"

#define BORDER " \xEE\x80\x80 "
#define VLP_OF(content)                                                                            \
    "{\"protocol\":\"VLP/1.1\",\"id\":\"a\",\"type\":\"query\",\"sender\":\"s\",\"timestamp\":"    \
    "\"2026-01-01T00:00:00Z\",\"topic\":\"no\",\"content\":" content ",\"keywords\":[\"no\"]}"
#define RESULT_OF(result)                                                                          \
    "{\"id\":\"550e8400-e29b-41d4-a716-446655440000\",\"version\":\"1.0\",\"type\":\"task."        \
    "result\",\"from\":\"tim\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"correlationId\":"          \
    "\"550e8400-e29b-41d4-a716-446655440001\",\"payload\":{\"status\":\"completed\",\"result\":"   \
    "{" result "}}}"

static const struct {
    const char *protocol, *text, *wanted;
} rows[] = {
    {"vlp", VLP_OF("\"It is \\u0063old\""), "It is cold"},
    {"vlp", VLP_OF("{\"no\":\"one\",\"b\":[\"two\",{\"no\":\"three\",\"n\":4}],\"c\":\"\"}"),
     "one" BORDER "two" BORDER "three"},
    {"vlp", VLP_OF("{}"), ""},
    {"roundtable",
     RESULT_OF("\"format\":\"no\",\"content\":\"one\",\"metadata\":{\"content\":\"no\"}"), "one"},
    {"roundtable", RESULT_OF("\"content\":{\"content\":[\"one\"],\"b\":\"two\"},\"format\":\"no\""),
     "one" BORDER "two"},
    {"brenner", "{\"subject\":\"INFO: one\",\"body_md\":\"# two\\nthree\",\"from\":\"no\"}",
     "INFO: one" BORDER "# two\nthree"},
    {"supervisor", "{\"type\":\"heartbeat\",\"timestamp\":1}", ""},
};

enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

static void test_the_words_are_those_that_people_read(void **state) {
    (void)state;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        struct checked_message checked;
        struct parley_buffer words;
        struct parley_index_entry entry;
        checked_message_make(&checked, rows[i].protocol, rows[i].text);
        parley_buffer_init(&words);
        assert_int_equal(parley_message_index(&checked.message, &words, &entry), PARLEY_OK);
        parley_buffer_char(&words, '\0');
        assert_string_equal(words.data, rows[i].wanted);
        assert_int_equal(rows[i].wanted[0] != '\0' ? checked.message.protocol->index->has_words : 1,
                         1);
        parley_buffer_finish(&words);
        checked_message_finish(&checked);
    }
}

/* The rows of an index do not depend on whether it has words. */
static void test_the_rest_of_an_entry_is_the_same_without_words(void **state) {
    (void)state;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        struct checked_message checked;
        struct parley_buffer words;
        struct parley_index_entry with, without;
        checked_message_make(&checked, rows[i].protocol, rows[i].text);
        parley_buffer_init(&words);
        assert_int_equal(parley_message_index(&checked.message, &words, &with), PARLEY_OK);
        assert_int_equal(parley_message_index(&checked.message, NULL, &without), PARLEY_OK);
        assert_null(without.words);
        assert_int_equal(with.reference_count, without.reference_count);
        assert_int_equal(with.has_more, without.has_more);
        assert_int_equal(with.members_length, without.members_length);
        assert_memory_equal(with.members, without.members, with.members_length);
        parley_buffer_finish(&words);
        checked_message_finish(&checked);
    }
}

static void test_words_are_cut_between_characters(void **state) {
    (void)state;
    struct parley_index_entry entry = {.has_more = false};
    struct parley_buffer words, text;
    parley_buffer_init(&words);
    parley_buffer_init(&text);
    for (size_t i = 0; i < PARLEY_INDEX_WORDS_BYTES_MAX; i++) {
        parley_buffer_text(&text, "\xC3\xA9");
    }
    entry.words = &words;
    parley_index_add_words(&entry, PARLEY_BYTES("x"));
    parley_index_add_words(&entry, parley_buffer_bytes(&text));
    assert_in_range(words.length, PARLEY_INDEX_WORDS_BYTES_MAX - 1, PARLEY_INDEX_WORDS_BYTES_MAX);
    assert_int_equal((unsigned char)words.data[words.length - 1], 0xA9);
    const size_t length = words.length;
    for (size_t i = 0; i < 100; i++) {
        parley_index_add_words(&entry, parley_buffer_bytes(&text));
    }
    assert_true(words.length <= PARLEY_INDEX_WORDS_BYTES_MAX && words.length >= length);
    parley_buffer_finish(&words);
    parley_buffer_finish(&text);
}

static void test_memory_may_run_out_at_any_place(void **state) {
    (void)state;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        enum parley_status status = PARLEY_E_MEMORY;
        for (size_t first = 0; status != PARLEY_OK; first++) {
            struct checked_message checked;
            struct parley_buffer words;
            struct parley_index_entry entry;
            checked_message_make(&checked, rows[i].protocol, rows[i].text);
            parley_buffer_init(&words);
            fault_heap_arm(first, SIZE_MAX);
            status = parley_message_index(&checked.message, &words, &entry);
            fault_heap_disarm();
            assert_true(status == PARLEY_OK || status == PARLEY_E_MEMORY);
            parley_buffer_finish(&words);
            checked_message_finish(&checked);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_words_are_those_that_people_read),
        cmocka_unit_test(test_the_rest_of_an_entry_is_the_same_without_words),
        cmocka_unit_test(test_words_are_cut_between_characters),
        cmocka_unit_test(test_memory_may_run_out_at_any_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
