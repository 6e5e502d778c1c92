/* SPDX-License-Identifier: Apache-2.0 */

/* What bodies may hold together (attack F9). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "budget.h"

enum { KIB = 1024, MIB = 1024 * 1024 };

static void test_what_most_messages_need_is_not_counted(void **state) {
    (void)state;
    struct budget budget = {0};
    struct budget_share share = {0};
    assert_true(budget_cover(&budget, &share, 4 * KIB));
    assert_false(budget_cover(&budget, &share, 4 * KIB + 1));
    assert_false(budget_is_taken(&share));
    assert_true(budget_cover(NULL, &share, SIZE_MAX));
}

static void test_the_starts_of_bodies_are_bounded_in_sum(void **state) {
    (void)state;
    enum { BODIES = 20000 };
    static struct budget_share shares[BODIES];
    struct budget budget = {0};
    size_t count = 0;
    budget_bound(&budget, 256 * MIB);
    while (count < BODIES && budget_cover(&budget, &shares[count], 60 * KIB)) {
        count++;
    }
    assert_in_range(count, 4000, 256 * MIB / (56 * KIB) * 9 / 8);
    assert_in_range(budget_used(&budget), 0, 256 * MIB / 8 * 9);
    for (size_t i = 0; i < count; i++) {
        budget_uncover(&budget, &shares[i]);
    }
    assert_int_equal(budget_used(&budget), 0);
}

static void test_small_ones_have_room_beside_large_ones(void **state) {
    (void)state;
    struct budget budget = {0};
    struct budget_share large = {0}, more = {0}, small = {0};
    budget_bound(&budget, 16 * MIB);
    assert_true(budget_cover(&budget, &large, 16 * MIB));
    assert_false(budget_cover(&budget, &more, 1 * MIB));
    assert_true(budget_cover(&budget, &small, 64 * KIB));
    assert_false(budget_cover(&budget, &small, 100 * KIB));
    assert_in_range(budget_used(&budget), 16 * MIB, budget_limit(&budget));
    budget_uncover(&budget, &large);
    assert_true(budget_cover(&budget, &small, 100 * KIB));
    budget_uncover(&budget, &small);
    assert_int_equal(budget_used(&budget), 0);
}

static void test_one_that_grows_is_covered_step_by_step(void **state) {
    (void)state;
    struct budget budget = {0};
    struct budget_share share = {0};
    budget_bound(&budget, 1 * MIB);
    for (size_t held = 1000; held < MIB; held += 1000) {
        assert_true(budget_cover(&budget, &share, held));
        assert_true(share.bytes + share.start_bytes + BUDGET_FREE_BYTES >= held);
        assert_true(share.bytes + share.start_bytes < held + BUDGET_STEP_BYTES);
        assert_int_equal(share.bytes + share.start_bytes, budget_used(&budget));
    }
    budget_uncover(&budget, &share);
    assert_int_equal(budget_used(&budget), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_most_messages_need_is_not_counted),
        cmocka_unit_test(test_the_starts_of_bodies_are_bounded_in_sum),
        cmocka_unit_test(test_small_ones_have_room_beside_large_ones),
        cmocka_unit_test(test_one_that_grows_is_covered_step_by_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
