/* SPDX-License-Identifier: Apache-2.0 */

/* Which messages have a decision, by what the bucket of decisions holds. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>

#include "decided.h"

#define VALUE "{\"decision\":\"approve\",\"by\":\"A\",\"reason\":\"r\"}"

static void note(struct decided *decided, const char *subject, const char *payload) {
    assert_true(
        decided_note(decided, &(struct jetstream_stored){.subject = subject,
                                                         .payload = parley_bytes_of(payload)}));
}

static void test_the_keys_of_its_stream_are_decisions_in_any_order(void **state) {
    (void)state;
    static const uint64_t sequences[] = {42, 7, 1000000, 8};
    struct decided decided;
    char subject[128];
    decided_init(&decided, "parley_reviews", "VLP");
    for (size_t i = 0; i < sizeof sequences / sizeof sequences[0]; i++) {
        snprintf(subject, sizeof subject, "$KV.parley_reviews.VLP.%d", (int)sequences[i]);
        note(&decided, subject, VALUE);
    }
    decided_sort(&decided);
    for (size_t i = 0; i < sizeof sequences / sizeof sequences[0]; i++) {
        const struct review_value *value = decided_find(&decided, sequences[i]);
        assert_non_null(value);
        assert_true(parley_bytes_equal(value->by, PARLEY_BYTES("A")));
    }
    assert_null(decided_find(&decided, 9));
    decided_finish(&decided);
}

static void test_other_keys_are_passed_over(void **state) {
    (void)state;
    static const char *const subjects[] = {"$KV.parley_reviews.VLP.42.notice",
                                           "$KV.parley_reviews.VLP_A.42",
                                           "$KV.other.VLP.42",
                                           "$KV.parley_reviews.VLP.042",
                                           "$KV.parley_reviews.VLP.",
                                           "$KV.parley_reviews.VLP.x"};
    struct decided decided;
    decided_init(&decided, "parley_reviews", "VLP");
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++) {
        note(&decided, subjects[i], VALUE);
    }
    decided_sort(&decided);
    assert_int_equal(decided.count, 0);
    assert_null(decided_find(&decided, 42));
    decided_finish(&decided);
}

static void test_many_are_found_without_their_values(void **state) {
    (void)state;
    enum { COUNT = 1000 };
    struct decided decided;
    char subject[128];
    decided_init(&decided, "parley_reviews", "VLP");
    for (int i = COUNT; i > 0; i--) {
        snprintf(subject, sizeof subject, "$KV.parley_reviews.VLP.%d", 2 * i);
        note(&decided, subject, "");
    }
    decided_sort(&decided);
    for (int i = 1; i <= COUNT; i++) {
        assert_non_null(decided_find(&decided, (uint64_t)(2 * i)));
        assert_null(decided_find(&decided, (uint64_t)(2 * i + 1)));
    }
    decided_finish(&decided);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_keys_of_its_stream_are_decisions_in_any_order),
        cmocka_unit_test(test_other_keys_are_passed_over),
        cmocka_unit_test(test_many_are_found_without_their_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
