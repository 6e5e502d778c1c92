/* SPDX-License-Identifier: Apache-2.0 */

/* Decisions on messages: where a message is, what a body says, and what a key's value says. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "review_value.h"

static struct parley_arena arena;

static int set_up(void **state) {
    (void)state;
    parley_arena_init(&arena, 0);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    parley_arena_finish(&arena);
    return 0;
}

static void test_a_place_is_a_stream_and_a_sequence_in_one_spelling(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t sequence; /* 0: it is not a place */
    } rows[] = {
        {"VLP:42", 42},
        {"VLP%3A42", 42},
        {"VLP%3a1", 1},
        {"VLP:9999999999999999999", UINT64_C(9999999999999999999)},
        {"VLP:99999999999999999999", 0},
        {"VLP:0", 0},
        {"VLP:042", 0},
        {"VLP:", 0},
        {"VLP", 0},
        {"", 0},
        {"VLP:4x", 0},
        {"VLP:-4", 0},
        {"VLP:4:2", 0},
        {"vlp:42", 0},
        {"VLP_A:42", 0},
        {":42", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct review_place place;
        char shown[REVIEW_PLACE_MAX];
        const bool is_place = review_place_read(parley_bytes_of(rows[i].text), "VLP", &place);
        assert_int_equal(is_place, rows[i].sequence != 0);
        if (is_place) {
            assert_int_equal(place.sequence, rows[i].sequence);
            review_place_write(&place, shown);
            assert_true(review_place_read(parley_bytes_of(shown), "VLP", &place));
            assert_int_equal(place.sequence, rows[i].sequence);
        }
    }
}

static void test_the_keys_of_a_place_are_its_own(void **state) {
    (void)state;
    const struct review_place place = {"VLP", 42};
    char key[REVIEW_KEY_MAX];
    review_key_write(&place, key);
    assert_string_equal(key, "VLP.42");
    review_notice_key_write(&place, key);
    assert_string_equal(key, "VLP.42.notice");
}

static void test_a_header_names_what_is_approved_or_nothing(void **state) {
    (void)state;
    static const struct {
        const char *header, *stream; /* NULL: nothing */
        uint64_t sequence;
    } rows[] = {
        {"VLP:42 approve", "VLP", 42},
        {"VLP_fleet-a:1 approve", "VLP_fleet-a", 1},
        {"VLP:42 reject", NULL, 0},
        {"VLP:42", NULL, 0},
        {"VLP:42 approve ", NULL, 0},
        {"VLP:42  approve", NULL, 0},
        {"VLP:0 approve", NULL, 0},
        {"VLP:042 approve", NULL, 0},
        {"VLP: approve", NULL, 0},
        {":42 approve", NULL, 0},
        {"*:42 approve", NULL, 0},
        {"A.B:42 approve", NULL, 0},
        {"A>:42 approve", NULL, 0},
        {"A B:42 approve", NULL, 0},
        {"VLP:42:1 approve", NULL, 0},
        {"approve", NULL, 0},
        {"", NULL, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char stream[REVIEW_PLACE_MAX];
        struct review_place place;
        const bool is_read = review_header_read(rows[i].header, stream, &place);
        if (is_read != (rows[i].stream != NULL)) {
            fail_msg("%s", rows[i].header);
        }
        if (is_read) {
            assert_string_equal(place.stream, rows[i].stream);
            assert_int_equal(place.sequence, rows[i].sequence);
        }
    }
}

static void test_a_header_with_a_name_that_is_too_long_names_nothing(void **state) {
    (void)state;
    char header[1024], stream[REVIEW_PLACE_MAX], key[REVIEW_KEY_MAX];
    static const char digits[] = "9999999999999999999";
    struct review_place place;
    for (size_t length = 1; length < 600; length++) {
        memset(header, 'x', length);
        snprintf(header + length, sizeof header - length, ":%s approve", digits);
        if (review_header_read(header, stream, &place)) {
            review_notice_key_write(&place, key);
            assert_int_equal(strlen(key), length + strlen(digits) + strlen("..notice"));
        } else {
            assert_true(length > 255); /* the longest name that NATS allows */
        }
    }
}

static void test_a_subject_is_among_those_that_begin_like_it(void **state) {
    (void)state;
    assert_true(review_is_among("vlp.review.claim", "vlp.review.>"));
    assert_false(review_is_among("vlp.safe.claim", "vlp.review.>"));
    assert_false(review_is_among("vlp.reviewed.claim", "vlp.review.>"));
}

static void test_a_body_with_another_member_or_value_has_a_fault(void **state) {
    (void)state;
    static const struct {
        const char *body, *fault; /* a part of it; NULL: none */
    } rows[] = {
        {"{\"decision\":\"approve\",\"by\":\"A\",\"reason\":\"r\"}", NULL},
        {"{\"reason\":\"\\u0072\",\"by\":\"A\",\"decision\":\"reject\"}", NULL},
        {"", "not a JSON object"},
        {"[]", "not a JSON object"},
        {"{\"decision\":\"approve\"", "not a JSON object"},
        {"{\"decision\":\"block\",\"by\":\"A\",\"reason\":\"r\"}", "`decision`"},
        {"{\"decision\":[\"approve\"],\"by\":\"A\",\"reason\":\"r\"}", "`decision`"},
        {"{\"by\":\"A\",\"reason\":\"r\"}", "`decision`"},
        {"{\"decision\":\"approve\",\"by\":\"\",\"reason\":\"r\"}", "1 to 256 bytes"},
        {"{\"decision\":\"approve\",\"by\":null,\"reason\":\"r\"}", "1 to 256 bytes"},
        {"{\"decision\":\"approve\",\"by\":\"A\"}", "1 to 4096 bytes"},
        {"{\"decision\":\"approve\",\"by\":\"A\",\"reason\":\"r\",\"lane\":{\"by\":\"B\"}}",
         "each of them once"},
        {"{\"decision\":\"approve\",\"by\":\"A\",\"by\":\"B\",\"reason\":\"r\"}",
         "each of them once"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct review_value value;
        const char *fault = review_body_read(parley_bytes_of(rows[i].body), &arena, &value);
        if (rows[i].fault == NULL) {
            assert_null(fault);
            assert_true(parley_bytes_equal(value.by, PARLEY_BYTES("A")));
            assert_true(parley_bytes_equal(value.reason, PARLEY_BYTES("r")));
        } else {
            assert_non_null(fault);
            assert_non_null(strstr(fault, rows[i].fault));
        }
    }
}

static void test_a_value_is_read_as_it_was_written(void **state) {
    (void)state;
    const struct review_value value = {.decision = parley_bytes_of(review_reject),
                                       .by = PARLEY_BYTES("A \"B\""),
                                       .reason = PARLEY_BYTES("line\nline"),
                                       .at = PARLEY_BYTES("2025-12-14T10:30:00.000Z"),
                                       .id = PARLEY_BYTES("id")};
    struct review_value read;
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_char(&text, '{');
    review_value_write(&value, &text);
    parley_buffer_char(&text, '}');
    assert_int_equal(review_value_read(parley_buffer_bytes(&text), &arena, &read), PARLEY_OK);
    assert_true(review_value_is_same(&value, &read));
    assert_true(parley_bytes_equal(value.at, read.at));
    assert_true(parley_bytes_equal(value.id, read.id));
    parley_buffer_finish(&text);
}

static void test_decisions_are_the_same_whenever_they_were_made(void **state) {
    (void)state;
    const struct review_value one = {.decision = PARLEY_BYTES("approve"),
                                     .by = PARLEY_BYTES("A"),
                                     .reason = PARLEY_BYTES("r"),
                                     .at = PARLEY_BYTES("now"),
                                     .id = PARLEY_BYTES("1")};
    struct review_value other = one;
    other.at = PARLEY_BYTES("later");
    other.id = PARLEY_BYTES("2");
    assert_true(review_value_is_same(&one, &other));
    struct parley_bytes *const parts[] = {&other.decision, &other.by, &other.reason};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const struct parley_bytes kept = *parts[i];
        *parts[i] = PARLEY_BYTES("another");
        assert_false(review_value_is_same(&one, &other));
        *parts[i] = kept;
    }
}

static void test_a_value_that_cannot_be_read_is_no_decision(void **state) {
    (void)state;
    static const char *const texts[] = {"", "x", "[]", "\"approve\"", "{\"decision\":1}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct review_value read;
        assert_int_equal(review_value_read(parley_bytes_of(texts[i]), &arena, &read), PARLEY_OK);
        assert_int_equal(read.decision.length, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_place_is_a_stream_and_a_sequence_in_one_spelling),
        cmocka_unit_test(test_the_keys_of_a_place_are_its_own),
        cmocka_unit_test(test_a_header_names_what_is_approved_or_nothing),
        cmocka_unit_test(test_a_header_with_a_name_that_is_too_long_names_nothing),
        cmocka_unit_test(test_a_subject_is_among_those_that_begin_like_it),
        cmocka_unit_test(test_a_body_with_another_member_or_value_has_a_fault),
        cmocka_unit_test(test_a_value_is_read_as_it_was_written),
        cmocka_unit_test(test_decisions_are_the_same_whenever_they_were_made),
        cmocka_unit_test(test_a_value_that_cannot_be_read_is_no_decision),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
