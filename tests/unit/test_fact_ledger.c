/* SPDX-License-Identifier: Apache-2.0 */

/* What the process has written a moment ago: known for a while, never what was not written. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "fact_ledger.h"

enum { MANY = 20000 };

static struct parley_bytes key_of(unsigned number) {
    static char text[64];
    snprintf(text, sizeof text, "$KV.tasks.%u", number);
    return parley_bytes_of(text);
}

static int set_up(void **state) {
    *state = fact_ledger_create();
    return *state != NULL ? 0 : -1;
}

static int tear_down(void **state) {
    fact_ledger_destroy(*state);
    return 0;
}

static void test_a_key_is_known_for_a_while(void **state) {
    struct fact_ledger *ledger = *state;
    const int64_t times_ms[] = {0, 1, 249, 250, 123456789, INT64_C(65536) * 250 - 1};
    for (unsigned i = 0; i < sizeof times_ms / sizeof times_ms[0]; i++) {
        const int64_t then_ms = times_ms[i];
        assert_false(fact_ledger_knows(ledger, key_of(i), then_ms));
        fact_ledger_note(ledger, key_of(i), then_ms);
        assert_true(fact_ledger_knows(ledger, key_of(i), then_ms));
        assert_true(fact_ledger_knows(ledger, key_of(i), then_ms + FACT_LEDGER_MS));
        assert_false(fact_ledger_knows(ledger, key_of(i), then_ms + FACT_LEDGER_MS + 500));
        assert_false(fact_ledger_knows(ledger, key_of(i), then_ms + 3600000));
    }
}

static void test_it_is_known_anew_when_it_is_written_again(void **state) {
    struct fact_ledger *ledger = *state;
    fact_ledger_note(ledger, key_of(1), 1000);
    fact_ledger_note(ledger, key_of(1), 9000);
    assert_true(fact_ledger_knows(ledger, key_of(1), 9000 + FACT_LEDGER_MS));
}

static void test_of_many_most_are_known_and_no_others(void **state) {
    struct fact_ledger *ledger = *state;
    unsigned known = 0;
    for (unsigned i = 0; i < MANY; i++) {
        fact_ledger_note(ledger, key_of(i), 1000);
    }
    for (unsigned i = 0; i < MANY; i++) {
        known += fact_ledger_knows(ledger, key_of(i), 2000);
        assert_false(fact_ledger_knows(ledger, key_of(MANY + i), 2000));
    }
    assert_true(known > MANY / 2);
}

static void test_without_one_nothing_is_known(void **state) {
    (void)state;
    fact_ledger_note(NULL, key_of(1), 1000);
    assert_false(fact_ledger_knows(NULL, key_of(1), 1000));
    fact_ledger_destroy(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_key_is_known_for_a_while, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_it_is_known_anew_when_it_is_written_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_of_many_most_are_known_and_no_others, set_up,
                                        tear_down),
        cmocka_unit_test(test_without_one_nothing_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
