/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <sodium.h>

#include "tally.h"

enum { EXPECTED = 64, MAX = 3 };

static struct limit_secret secret;

static struct limit_key key_of(const char *name) {
    return limit_key_of(&secret, (struct parley_bytes){name, strlen(name)});
}

static void test_a_sender_has_so_many_at_once(void **state) {
    (void)state;
    struct tally *tally = NULL;
    struct tally_entry *entries[MAX];
    const struct limit_key one = key_of("one"), other = key_of("other");
    assert_int_equal(tally_create(EXPECTED, &tally), PARLEY_OK);
    for (size_t i = 0; i < MAX; i++) {
        entries[i] = tally_enter(tally, &one, MAX);
        assert_non_null(entries[i]);
    }
    assert_null(tally_enter(tally, &one, MAX));
    struct tally_entry *of_other = tally_enter(tally, &other, MAX);
    assert_non_null(of_other);
    tally_leave(entries[0]);
    entries[0] = tally_enter(tally, &one, MAX);
    assert_non_null(entries[0]);
    assert_int_equal(tally_sender_count(tally), 2);
    for (size_t i = 0; i < MAX; i++) {
        tally_leave(entries[i]);
    }
    tally_leave(of_other);
    tally_leave(NULL);
    assert_int_equal(tally_sender_count(tally), 0);
    tally_destroy(tally);
}

static void test_none_are_allowed_with_a_limit_of_0(void **state) {
    (void)state;
    struct tally *tally = NULL;
    const struct limit_key key = key_of("one");
    assert_int_equal(tally_create(EXPECTED, &tally), PARLEY_OK);
    assert_null(tally_enter(tally, &key, 0));
    assert_int_equal(tally_sender_count(tally), 0);
    tally_destroy(tally);
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 20000 };

struct thread {
    struct tally *tally;
    atomic_size_t *open;
    pthread_t id;
    bool has_exceeded;
};

static void *open_and_close(void *context) {
    struct thread *thread = context;
    const struct limit_key key = key_of("shared");
    for (size_t i = 0; i < ROUNDS; i++) {
        struct tally_entry *entry = tally_enter(thread->tally, &key, MAX);
        if (entry != NULL) {
            thread->has_exceeded = thread->has_exceeded || atomic_fetch_add(thread->open, 1) >= MAX;
            atomic_fetch_sub(thread->open, 1);
            tally_leave(entry);
        }
    }
    return NULL;
}

static void test_threads_together_have_no_more(void **state) {
    (void)state;
    struct tally *tally = NULL;
    struct thread threads[THREADS];
    atomic_size_t open = 0;
    assert_int_equal(tally_create(EXPECTED, &tally), PARLEY_OK);
    for (size_t i = 0; i < THREADS; i++) {
        threads[i] = (struct thread){.tally = tally, .open = &open};
        assert_int_equal(pthread_create(&threads[i].id, NULL, open_and_close, &threads[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i].id, NULL);
        assert_false(threads[i].has_exceeded);
    }
    assert_int_equal(tally_sender_count(tally), 0);
    tally_destroy(tally);
}

int main(void) {
    if (sodium_init() < 0) {
        return 1;
    }
    limit_secret_draw(&secret);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sender_has_so_many_at_once),
        cmocka_unit_test(test_none_are_allowed_with_a_limit_of_0),
        cmocka_unit_test(test_threads_together_have_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
