/* SPDX-License-Identifier: Apache-2.0 */

/* Workers that do not come back to their loops are noticed. The workers are threads, and one is
 * held in its loop by work that waits; seconds are the watch's timer, which the test fires itself.
 */

#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/loop.h"
#include "stall_watch.h"

enum { WORKERS = 2 };

struct world {
    struct reactor *reactor;
    struct loop workers[WORKERS];
    bool is_held[WORKERS];
    sem_t held, let_go;
    struct stall_watch watch;
    unsigned ticks;
    unsigned stalled_count, stalled_last, stalled_at; /* the tick of the first one */
};

static void note_stalled(struct stall_watch *watch, unsigned number) {
    struct world *world = OWNER_OF(watch, struct world, watch);
    world->stalled_at = world->stalled_count++ == 0 ? world->ticks : world->stalled_at;
    world->stalled_last = number;
}

static void wait_in_loop(void *context) {
    struct world *world = context;
    sem_post(&world->held);
    sem_wait(&world->let_go);
}

/* One worker at a time. */
static void hold(struct world *world, size_t worker) {
    world->is_held[worker] = true;
    assert_int_equal(reactor_post(world->workers[worker].reactor, wait_in_loop, world), PARLEY_OK);
    sem_wait(&world->held);
}

static void do_nothing(void *context) {
    (void)context;
}

static void let_go(struct world *world, size_t worker) {
    world->is_held[worker] = false;
    sem_post(&world->let_go);
    loop_do(&world->workers[worker], do_nothing, NULL); /* it is back in its loop */
}

/* Seconds, in which each worker that is not held does what it was asked. */
static void tick(struct world *world, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        world->ticks++;
        world->watch.timer.fire(&world->watch.timer);
        for (size_t j = 0; j < WORKERS; j++) {
            if (!world->is_held[j]) {
                loop_do(&world->workers[j], do_nothing, NULL);
            }
        }
    }
}

static struct world *begin(int64_t limit_ms) {
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->watch.stalled = note_stalled;
    assert_int_equal(sem_init(&world->held, 0, 0), 0);
    assert_int_equal(sem_init(&world->let_go, 0, 0), 0);
    assert_int_equal(reactor_create(&world->reactor), PARLEY_OK);
    assert_int_equal(stall_watch_start(&world->watch, world->reactor, WORKERS, limit_ms),
                     PARLEY_OK);
    for (size_t i = 0; i < WORKERS; i++) {
        loop_create(&world->workers[i]);
        stall_watch_add(&world->watch, world->workers[i].reactor);
        loop_start(&world->workers[i]);
    }
    return world;
}

static void finish(struct world *world) {
    for (size_t i = 0; i < WORKERS; i++) {
        if (world->is_held[i]) {
            let_go(world, i);
        }
        loop_stop(&world->workers[i]);
    }
    stall_watch_stop(&world->watch);
    for (size_t i = 0; i < WORKERS; i++) {
        loop_destroy(&world->workers[i]);
    }
    reactor_destroy(world->reactor);
    sem_destroy(&world->held);
    sem_destroy(&world->let_go);
    free(world);
}

static void test_workers_that_turn_are_no_stall(void **state) {
    struct world *world = begin(2000);
    (void)state;
    tick(world, 20);
    assert_int_equal(world->stalled_count, 0);
    finish(world);
}

static void test_a_worker_that_does_not_turn_for_the_limit_is_one(void **state) {
    struct world *world = begin(2500); /* three seconds */
    (void)state;
    tick(world, 5);
    hold(world, 1);
    tick(world, 20);
    assert_int_equal(world->stalled_count, 1);
    assert_int_equal(world->stalled_last, 1);
    assert_int_equal(world->stalled_at, 5 + 1 + 3); /* asked in the sixth */
    finish(world);
}

static void test_a_worker_that_turns_again_within_the_limit_is_none(void **state) {
    struct world *world = begin(3000);
    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        hold(world, 0);
        tick(world, 3);
        let_go(world, 0);
        tick(world, 2);
    }
    assert_int_equal(world->stalled_count, 0);
    finish(world);
}

static void test_workers_that_do_not_end_in_time_are_one(void **state) {
    struct world *world = begin(3000);
    (void)state;
    hold(world, 0);
    stall_watch_drain(&world->watch, 4000);
    tick(world, 6);
    assert_int_equal(world->stalled_count, 0);
    tick(world, 1);
    assert_int_equal(world->stalled_count, 1);
    assert_true(world->stalled_last == STALL_OF_DRAIN);
    finish(world);
}

static void test_without_a_limit_nothing_is_one(void **state) {
    struct world *world = begin(0);
    (void)state;
    hold(world, 0);
    tick(world, 20);
    stall_watch_drain(&world->watch, 1000);
    tick(world, 20);
    assert_int_equal(world->stalled_count, 0);
    finish(world);
}

static void test_a_watch_that_never_began_can_be_stopped(void **state) {
    struct stall_watch watch = {0};
    (void)state;
    stall_watch_drain(&watch, 1000);
    stall_watch_stop(&watch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workers_that_turn_are_no_stall),
        cmocka_unit_test(test_a_worker_that_does_not_turn_for_the_limit_is_one),
        cmocka_unit_test(test_a_worker_that_turns_again_within_the_limit_is_none),
        cmocka_unit_test(test_workers_that_do_not_end_in_time_are_one),
        cmocka_unit_test(test_without_a_limit_nothing_is_one),
        cmocka_unit_test(test_a_watch_that_never_began_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
