/* SPDX-License-Identifier: Apache-2.0 */

/* Senders and their leads: who is remembered, who is forgotten, and what many threads see. The
 * clock is a number. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "rate_table.h"

#define S RATE_SECOND_NS
#define START (1000 * S)

enum {
    PLACES = 1024,
    SET_PLACES = 16,
    PER_S = 500,
    BURST = 2 * PER_S,
};

static const struct rate by_messages = {{[RATE_MESSAGES] = PER_S}};
static const struct rate by_both = {{[RATE_MESSAGES] = PER_S, [RATE_BYTES] = 1000}};

static struct limit_secret secret;

static struct limit_key key_of(size_t sender) {
    char name[32];
    const int length = snprintf(name, sizeof name, "sender %zu", sender);
    return limit_key_of(&secret, (struct parley_bytes){name, (size_t)length});
}

static int set_up(void **state) {
    struct rate_table *table = NULL;
    limit_secret_draw(&secret);
    *state = NULL;
    if (rate_table_create(PLACES, &table) != PARLEY_OK) {
        return -1;
    }
    *state = table;
    return 0;
}

static int tear_down(void **state) {
    rate_table_destroy(*state);
    return 0;
}

#define table_test(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static bool take(struct rate_table *table, size_t sender, uint64_t messages, int64_t now_ns) {
    const struct limit_key key = key_of(sender);
    const struct rate_cost cost = {{messages, 0}};
    bool is_taken = false;
    rate_table_take(table, &key, &by_messages, &cost, now_ns, &is_taken);
    return is_taken;
}

static void charge(struct rate_table *table, size_t sender, uint64_t messages, int64_t now_ns) {
    const struct limit_key key = key_of(sender);
    const struct rate_cost cost = {{messages, 0}};
    rate_table_charge(table, &key, &by_messages, &cost, now_ns);
}

static uint64_t left(struct rate_table *table, size_t sender, int64_t now_ns) {
    const struct limit_key key = key_of(sender);
    return rate_left(PER_S, rate_table_look(table, &key, now_ns).ns[RATE_MESSAGES]);
}

static void test_a_burst_passes_and_then_the_rate(void **state) {
    struct rate_table *table = *state;
    size_t passed = 0;
    for (size_t i = 0; i < 2 * BURST; i++) {
        passed += take(table, 1, 1, START) ? 1 : 0;
    }
    assert_int_equal(passed, BURST);
    for (size_t ms = 0; ms < 10000; ms++) {
        passed += take(table, 1, 1, START + (int64_t)ms * S / 1000) ? 1 : 0;
    }
    assert_in_range(passed, BURST + 10 * PER_S - 1, BURST + 10 * PER_S);
}

static void test_a_sender_takes_nothing_from_another(void **state) {
    struct rate_table *table = *state;
    assert_true(take(table, 1, BURST, START));
    assert_false(take(table, 1, 1, START));
    assert_true(take(table, 2, BURST, START));
    assert_int_equal(left(table, 3, START), BURST);
}

static void test_both_units_are_taken_or_none(void **state) {
    struct rate_table *table = *state;
    const struct limit_key key = key_of(1);
    bool is_taken = true;
    struct rate_lead lead =
        rate_table_take(table, &key, &by_both, &(struct rate_cost){{1, 2000}}, START, &is_taken);
    assert_true(is_taken);
    assert_int_equal(lead.ns[RATE_BYTES], 2 * S);
    lead = rate_table_take(table, &key, &by_both, &(struct rate_cost){{1, 1}}, START, &is_taken);
    assert_false(is_taken);
    assert_int_equal(rate_left(PER_S, lead.ns[RATE_MESSAGES]), BURST - 1);
    assert_int_equal(rate_wait_for(&by_both, &lead, &(struct rate_cost){{1, 500}}), S / 2);
    assert_int_equal(rate_wait_for(&by_both, &lead, &(struct rate_cost){{1, 0}}), 0);
}

static void test_what_is_charged_is_owed(void **state) {
    struct rate_table *table = *state;
    charge(table, 1, BURST + PER_S, START);
    assert_false(take(table, 1, 1, START + S));
    assert_true(take(table, 1, 1, START + S + S / PER_S));
    assert_int_equal(left(table, 1, START + 100 * S), BURST);
}

static void test_a_unit_without_a_rate_is_never_limited(void **state) {
    struct rate_table *table = *state;
    const struct limit_key key = key_of(1);
    bool is_taken = false;
    const struct rate_lead lead = rate_table_take(
        table, &key, &by_messages, &(struct rate_cost){{1, UINT64_MAX}}, START, &is_taken);
    assert_true(is_taken);
    assert_int_equal(lead.ns[RATE_BYTES], 0);
}

/* The places are as many as at first: 100,000 addresses cost no more memory than 1,000. Those that
 * are limited stay, whatever comes from addresses that are not. */
static void test_a_hundred_thousand_addresses_push_nobody_out_who_is_limited(void **state) {
    struct rate_table *table = *state;
    enum { LIMITED = 32, OTHERS = 100000 };
    for (size_t i = 0; i < LIMITED; i++) {
        assert_true(take(table, i, BURST, START));
    }
    for (size_t i = 0; i < OTHERS; i++) {
        assert_true(take(table, LIMITED + i, 1, START));
    }
    for (size_t i = 0; i < LIMITED; i++) {
        assert_false(take(table, i, 1, START));
    }
}

/* With one set, so that all meet: the one that is furthest ahead is the last to go. */
static void test_the_one_that_is_least_ahead_is_given_up(void **state) {
    (void)state;
    struct rate_table *table = NULL;
    assert_int_equal(rate_table_create(SET_PLACES, &table), PARLEY_OK);
    for (size_t i = 0; i < SET_PLACES; i++) {
        assert_true(take(table, i, 100 + i, START));
    }
    assert_true(take(table, 100, 500, START));
    assert_int_equal(left(table, 0, START), BURST);
    for (size_t i = 1; i < SET_PLACES; i++) {
        assert_int_equal(left(table, i, START), BURST - 100 - i);
    }
    /* A newcomer takes the place of the newcomer before it. */
    assert_true(take(table, 101, 1, START));
    assert_true(take(table, 102, 1, START));
    assert_int_equal(left(table, 101, START), BURST);
    assert_int_equal(left(table, 102, START), BURST - 1);
    assert_int_equal(left(table, 100, START), BURST - 500);
    rate_table_destroy(table);
}

static void test_who_has_recovered_makes_room_first(void **state) {
    (void)state;
    struct rate_table *table = NULL;
    assert_int_equal(rate_table_create(SET_PLACES, &table), PARLEY_OK);
    assert_true(take(table, 0, BURST, START)); /* ahead until START + 2 s */
    for (size_t i = 1; i < SET_PLACES; i++) {
        assert_true(take(table, i, 10, START + 3 * S));
    }
    assert_true(take(table, 100, 1, START + 3 * S));
    for (size_t i = 1; i < SET_PLACES; i++) {
        assert_int_equal(left(table, i, START + 3 * S), BURST - 10);
    }
    rate_table_destroy(table);
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 20000 };

struct thread {
    struct rate_table *table;
    pthread_t id;
    size_t number, passed;
};

/* Half of it goes to a sender that all share. */
static void *send_much(void *context) {
    struct thread *thread = context;
    for (size_t i = 0; i < ROUNDS; i++) {
        thread->passed += take(thread->table, 0, 1, START) ? 1 : 0;
        take(thread->table, 1 + thread->number * ROUNDS + i, 1, START);
    }
    return NULL;
}

static void test_threads_together_pass_what_one_may(void **state) {
    struct thread threads[THREADS];
    size_t passed = 0;
    for (size_t i = 0; i < THREADS; i++) {
        threads[i] = (struct thread){.table = *state, .number = i};
        assert_int_equal(pthread_create(&threads[i].id, NULL, send_much, &threads[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i].id, NULL);
        passed += threads[i].passed;
    }
    assert_int_equal(passed, BURST);
}

int main(void) {
    if (sodium_init() < 0) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        table_test(test_a_burst_passes_and_then_the_rate),
        table_test(test_a_sender_takes_nothing_from_another),
        table_test(test_both_units_are_taken_or_none),
        table_test(test_what_is_charged_is_owed),
        table_test(test_a_unit_without_a_rate_is_never_limited),
        table_test(test_a_hundred_thousand_addresses_push_nobody_out_who_is_limited),
        cmocka_unit_test(test_the_one_that_is_least_ahead_is_given_up),
        cmocka_unit_test(test_who_has_recovered_makes_room_first),
        table_test(test_threads_together_pass_what_one_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
