/* SPDX-License-Identifier: Apache-2.0 */

/* The arithmetic of a bucket, as tables. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rate.h"

#define S RATE_SECOND_NS
#define MS (S / 1000)

static void test_costs_are_rounded_up_and_bounded(void **state) {
    (void)state;
    static const struct {
        uint64_t per_s, count;
        int64_t cost_ns;
    } rows[] = {
        {1, 0, 0},
        {1, 1, S},
        {500, 1, 2 * MS},
        {500, 500, S},
        {500, 750, S + S / 2},
        {3, 1, S / 3 + 1},
        {3, 3, S},
        {RATE_PER_S_MAX, 1, 1},
        {RATE_PER_S_MAX, RATE_PER_S_MAX, S},
        {1 << 20, 100 << 20, 100 * S},
        {1, 3600, RATE_LEAD_MAX_NS},
        {1, UINT64_MAX, RATE_LEAD_MAX_NS},
        {RATE_PER_S_MAX, UINT64_MAX, RATE_LEAD_MAX_NS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(rate_cost_ns(rows[i].per_s, rows[i].count), rows[i].cost_ns);
    }
}

static void test_what_is_left_falls_with_the_lead(void **state) {
    (void)state;
    static const struct {
        uint64_t per_s;
        int64_t lead_ns;
        uint64_t left;
    } rows[] = {
        {500, 0, 1000},
        {500, 2 * MS, 999},
        {500, 1, 999},
        {500, S, 500},
        {500, 2 * S, 0},
        {500, 2 * S - 1, 0},
        {500, 100 * S, 0},
        {1, 0, 2},
        {1, 1, 1},
        {1, S, 1},
        {RATE_PER_S_MAX, 0, 2 * RATE_PER_S_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(rate_left(rows[i].per_s, rows[i].lead_ns), rows[i].left);
    }
}

static void test_a_wait_ends_when_it_fits_or_the_bucket_is_full(void **state) {
    (void)state;
    static const struct {
        uint64_t per_s;
        int64_t lead_ns;
        uint64_t count;
        int64_t wait_ns;
    } rows[] = {
        {500, 0, 1, 0},
        {500, 0, 1000, 0},
        {500, 2 * MS, 1000, 2 * MS},
        {500, 2 * S, 1, 2 * MS},
        {500, 2 * S, 0, 0},
        {500, 5 * S, 0, 3 * S},
        /* More than a burst: a full bucket does. */
        {500, 0, 5000, 0},
        {500, 1, 5000, 1},
        {500, 9 * S, UINT64_MAX, 9 * S},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(rate_wait_ns(rows[i].per_s, rows[i].lead_ns, rows[i].count),
                         rows[i].wait_ns);
    }
}

static void test_what_is_left_can_be_taken_and_one_more_cannot(void **state) {
    (void)state;
    static const uint64_t rates[] = {1, 2, 3, 7, 500, 999983, 1 << 20, RATE_PER_S_MAX};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        for (int64_t lead_ns = 0; lead_ns < RATE_BURST_NS; lead_ns += 17 * MS + 1) {
            const uint64_t left = rate_left(rates[i], lead_ns);
            assert_int_equal(rate_wait_ns(rates[i], lead_ns, left), 0);
            if (left < 2 * rates[i]) {
                assert_true(rate_wait_ns(rates[i], lead_ns, left + 1) > 0);
            }
        }
    }
}

static void test_a_lead_grows_by_costs_up_to_an_hour(void **state) {
    (void)state;
    assert_int_equal(rate_lead_after(500, 0, 1), 2 * MS);
    assert_int_equal(rate_lead_after(500, S, 500), 2 * S);
    assert_int_equal(rate_lead_after(1, S, UINT64_MAX), RATE_LEAD_MAX_NS);
    assert_int_equal(rate_lead_after(1, RATE_LEAD_MAX_NS, 1), RATE_LEAD_MAX_NS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_costs_are_rounded_up_and_bounded),
        cmocka_unit_test(test_what_is_left_falls_with_the_lead),
        cmocka_unit_test(test_a_wait_ends_when_it_fits_or_the_bucket_is_full),
        cmocka_unit_test(test_what_is_left_can_be_taken_and_one_more_cannot),
        cmocka_unit_test(test_a_lead_grows_by_costs_up_to_an_hour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
