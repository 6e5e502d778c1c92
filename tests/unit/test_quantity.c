/* SPDX-License-Identifier: Apache-2.0 */

/* Numbers with units. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "quantity.h"

static void test_a_count_is_digits_and_nothing_else(void **state) {
    (void)state;
    uint64_t count = 7;
    assert_true(quantity_read_count("0", &count));
    assert_int_equal(count, 0);
    assert_true(quantity_read_count("18446744073709551615", &count));
    assert_true(count == UINT64_MAX);
    static const char *const wrong[] = {
        "", "-1", "+1", " 1", "1 ", "1k", "1.0", "0x1", "18446744073709551616"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        count = 7;
        assert_false(quantity_read_count(wrong[i], &count));
        assert_int_equal(count, 7);
    }
}

static void test_a_size_may_have_a_unit_in_either_case(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {{"0", 0},       {"1", 1},        {"64k", 65536},
                 {"64K", 65536}, {"2m", 2097152}, {"4g", UINT64_C(4294967296)},
                 {"0g", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t bytes = 7;
        assert_true(quantity_read_size(cases[i].text, &bytes));
        assert_true(bytes == cases[i].bytes);
    }
    static const char *const wrong[] = {"", "k", "1kb", "1 k", "1t", "17179869184g", "1.5m"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        uint64_t bytes = 7;
        assert_false(quantity_read_size(wrong[i], &bytes));
        assert_int_equal(bytes, 7);
    }
}

static void test_a_duration_needs_a_unit_unless_it_is_none(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {{"0", 0},       {"0s", 0},       {"250ms", 250},   {"90s", 90000},
                 {"2m", 120000}, {"1h", 3600000}, {"7d", 604800000}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t ms = 7;
        assert_true(quantity_read_duration(cases[i].text, &ms));
        assert_true(ms == cases[i].ms);
    }
    static const char *const wrong[] = {"",    "s",  "10",    "1w",           "1 s",
                                        "-1s", "1S", "1m30s", "213503982335d"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        int64_t ms = 7;
        assert_false(quantity_read_duration(wrong[i], &ms));
        assert_int_equal(ms, 7);
    }
}

static void check_written(void (*write)(struct parley_buffer *, uint64_t), uint64_t value,
                          const char *expected) {
    struct parley_buffer out;
    parley_buffer_init(&out);
    write(&out, value);
    parley_buffer_char(&out, '\0');
    assert_string_equal(out.data, expected);
    parley_buffer_finish(&out);
}

static void write_duration(struct parley_buffer *out, uint64_t value) {
    quantity_write_duration(out, (int64_t)value);
}

static void test_quantities_are_written_in_their_largest_whole_unit(void **state) {
    (void)state;
    check_written(quantity_write_size, 0, "0");
    check_written(quantity_write_size, 1023, "1023");
    check_written(quantity_write_size, 65536, "64k");
    check_written(quantity_write_size, UINT64_C(4294967296), "4g");
    check_written(write_duration, 0, "0");
    check_written(write_duration, 250, "250ms");
    check_written(write_duration, 90000, "90s");
    check_written(write_duration, 120000, "2m");
    check_written(write_duration, 604800000, "7d");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_count_is_digits_and_nothing_else),
        cmocka_unit_test(test_a_size_may_have_a_unit_in_either_case),
        cmocka_unit_test(test_a_duration_needs_a_unit_unless_it_is_none),
        cmocka_unit_test(test_quantities_are_written_in_their_largest_whole_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
