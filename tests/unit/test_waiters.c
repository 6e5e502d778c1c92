/* SPDX-License-Identifier: Apache-2.0 */

/* Places for requests that wait: each stay ends once, by whatever ends it first. */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/loop.h"
#include "waiters.h"

enum { PLACES = 40, LONG_MS = 600000, THREADS = 3, ROUNDS = 300, SLOT_BITS = 6 };

struct guest {
    struct world *world;
    struct waiter place;
    struct waiter_ticket ticket;
    int ends[3]; /* by enum waiter_end */
    bool comes_again;
};

struct world {
    struct loop loop;
    struct waiters *waiters;
    struct guest guests[PLACES];
    size_t over_count;
    bool was_let_in;
    int64_t wait_ms;
    struct guest *guest;       /* that something is done with */
    atomic_uint_fast64_t stay; /* that threads may wake: its number and, in the last bits, slot */
    atomic_bool is_finished;
};

/* One that is woken while it ends leaves its slot a moment later than it comes again. */
static uint64_t stay_of(struct waiter_ticket ticket) {
    return ticket.number << SLOT_BITS | ticket.slot;
}

static void on_over(struct waiter *place, enum waiter_end end) {
    struct guest *guest = OWNER_OF(place, struct guest, place);
    assert_null(place->waiters);
    guest->ends[end]++;
    guest->world->over_count++;
    if (guest->comes_again && end == WAITER_WOKEN) {
        assert_true(waiters_enter(guest->world->waiters, place, LONG_MS));
        guest->ticket = waiter_ticket(place);
        atomic_store(&guest->world->stay, stay_of(guest->ticket));
    }
}

static int set_up(void **state) {
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    loop_create(&world->loop);
    assert_int_equal(waiters_create(world->loop.reactor, PLACES - 1, &world->waiters), PARLEY_OK);
    for (size_t i = 0; i < PLACES; i++) {
        world->guests[i] = (struct guest){.world = world, .place.over = on_over};
    }
    loop_start(&world->loop);
    *state = world;
    return 0;
}

static void leave_all(void *context) {
    struct world *world = context;
    for (size_t i = 0; i < PLACES; i++) {
        waiter_leave(&world->guests[i].place);
    }
}

static int tear_down(void **state) {
    struct world *world = *state;
    loop_do(&world->loop, leave_all, world);
    loop_stop(&world->loop);
    waiters_destroy(world->waiters);
    loop_destroy(&world->loop);
    free(world);
    return 0;
}

static void do_enter(void *context) {
    struct world *world = context;
    struct guest *guest = world->guest;
    world->was_let_in = waiters_enter(world->waiters, &guest->place, world->wait_ms);
    if (world->was_let_in) {
        guest->ticket = waiter_ticket(&guest->place);
    }
}

static bool enter(struct world *world, size_t number, int64_t wait_ms) {
    world->guest = &world->guests[number];
    world->wait_ms = wait_ms;
    loop_do(&world->loop, do_enter, world);
    return world->was_let_in;
}

static void do_leave(void *context) {
    struct world *world = context;
    waiter_leave(&world->guest->place);
}

static void leave(struct world *world, size_t number) {
    world->guest = &world->guests[number];
    loop_do(&world->loop, do_leave, world);
}

static bool is_empty(void *context) {
    const struct world *world = context;
    return waiters_count(world->waiters) == 0;
}

static bool becomes_empty(struct world *world) {
    return loop_wait(&world->loop, is_empty, world, LOOP_PATIENCE_MS);
}

static void test_a_stay_ends_when_its_time_is_up(void **state) {
    struct world *world = *state;
    static const int64_t waits_ms[] = {30, 10, 20, 10, 0, LONG_MS};
    for (size_t i = 0; i < 6; i++) {
        assert_true(enter(world, i, waits_ms[i]));
    }
    leave(world, 5);
    assert_true(becomes_empty(world));
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(world->guests[i].ends[WAITER_TIME_UP], 1);
    }
    assert_int_equal(world->over_count, 5);
}

static void test_there_is_room_for_so_many(void **state) {
    struct world *world = *state;
    for (size_t i = 0; i < PLACES - 1; i++) {
        assert_true(enter(world, i, LONG_MS));
    }
    assert_false(enter(world, PLACES - 1, LONG_MS));
    leave(world, 7);
    assert_true(enter(world, PLACES - 1, LONG_MS));
    leave(world, 7); /* it has left */
    assert_int_equal(world->over_count, 0);
}

static void test_a_stay_is_woken_from_another_thread(void **state) {
    struct world *world = *state;
    for (size_t i = 0; i < 20; i++) {
        assert_true(enter(world, i, LONG_MS));
    }
    for (size_t i = 0; i < 20; i++) {
        waiter_wake(world->guests[i].ticket);
        waiter_wake(world->guests[i].ticket);
    }
    assert_true(becomes_empty(world));
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(world->guests[i].ends[WAITER_WOKEN], 1);
    }
}

static void test_a_ticket_of_a_stay_that_is_over_wakes_nobody(void **state) {
    struct world *world = *state;
    assert_true(enter(world, 0, LONG_MS));
    const struct waiter_ticket old = world->guests[0].ticket;
    leave(world, 0);
    assert_true(enter(world, 1, LONG_MS));
    waiter_wake(old);
    leave(world, 0); /* a turn has passed */
    leave(world, 0);
    assert_int_equal(world->over_count, 0);
    waiter_wake(world->guests[1].ticket);
    assert_true(becomes_empty(world));
    assert_int_equal(world->guests[1].ends[WAITER_WOKEN], 1);
}

static void do_wake_and_leave(void *context) {
    struct world *world = context;
    waiter_wake(world->guests[0].ticket);
    waiter_leave(&world->guests[0].place);
    assert_true(waiters_enter(world->waiters, &world->guests[0].place, LONG_MS));
}

static void test_who_left_is_not_woken(void **state) {
    struct world *world = *state;
    assert_true(enter(world, 0, LONG_MS));
    loop_do(&world->loop, do_wake_and_leave, world);
    leave(world, 1);
    leave(world, 1);
    assert_int_equal(world->over_count, 0);
    leave(world, 0);
}

static void do_drain(void *context) {
    struct world *world = context;
    waiters_drain(world->waiters);
}

static void test_the_drain_ends_all_and_lets_nobody_in(void **state) {
    struct world *world = *state;
    for (size_t i = 0; i < 10; i++) {
        assert_true(enter(world, i, LONG_MS));
    }
    waiter_wake(world->guests[0].ticket);
    loop_do(&world->loop, do_drain, world);
    assert_int_equal(world->over_count, 10);
    for (size_t i = 1; i < 10; i++) {
        assert_int_equal(world->guests[i].ends[WAITER_DRAINING], 1);
    }
    assert_false(enter(world, 0, LONG_MS));
}

/* ---- many wakers: each wakes each stay once, and all but one of them too late ---- */

static void *keep_waking(void *context) {
    struct world *world = context;
    uint64_t woken = 0;
    while (!atomic_load(&world->is_finished)) {
        const uint64_t stay = atomic_load(&world->stay);
        if (stay == woken) {
            sched_yield();
            continue;
        }
        woken = stay;
        waiter_wake((struct waiter_ticket){.waiters = world->waiters,
                                           .number = stay >> SLOT_BITS,
                                           .slot = stay % (1u << SLOT_BITS)});
    }
    return NULL;
}

static bool was_woken_often(void *context) {
    const struct world *world = context;
    return world->guests[0].ends[WAITER_WOKEN] >= ROUNDS;
}

static void test_no_wake_up_is_lost_whoever_wakes(void **state) {
    struct world *world = *state;
    pthread_t threads[THREADS];
    world->guests[0].comes_again = true;
    assert_true(enter(world, 0, LONG_MS));
    atomic_store(&world->stay, stay_of(world->guests[0].ticket));
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, keep_waking, world), 0);
    }
    const bool was_woken = loop_wait(&world->loop, was_woken_often, world, LOOP_PATIENCE_MS);
    atomic_store(&world->is_finished, true);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_true(was_woken);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_stay_ends_when_its_time_is_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_there_is_room_for_so_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_stay_is_woken_from_another_thread, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_ticket_of_a_stay_that_is_over_wakes_nobody, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_who_left_is_not_woken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_drain_ends_all_and_lets_nobody_in, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_no_wake_up_is_lost_whoever_wakes, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
