/* SPDX-License-Identifier: Apache-2.0 */

/* The event loop: order within a turn, timers, and work from other threads. */

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cmocka.h>

#include "reactor.h"

struct trace {
    struct reactor *reactor;
    char events[64];
    struct reactor_timer first, second;
    struct reactor_watch watch;
    struct reactor_turn turn, last_turn;
    int pipe[2];
    int turns;
};

static void note(struct trace *trace, const char *event) {
    strncat(trace->events, event, sizeof trace->events - strlen(trace->events) - 1);
}

#define TRACE_OF(pointer, member)                                                                  \
    ((struct trace *)(void *)((char *)(pointer)-offsetof(struct trace, member)))

static int setup(void **state) {
    static struct trace trace;
    memset(&trace, 0, sizeof trace);
    assert_int_equal(reactor_create(&trace.reactor), PARLEY_OK);
    assert_int_equal(pipe(trace.pipe), 0);
    *state = &trace;
    return 0;
}

static int teardown(void **state) {
    struct trace *trace = *state;
    reactor_destroy(trace->reactor);
    close(trace->pipe[0]);
    close(trace->pipe[1]);
    return 0;
}

static void fire_first(struct reactor_timer *timer) {
    note(TRACE_OF(timer, first), "1");
}

static void fire_second_and_stop(struct reactor_timer *timer) {
    note(TRACE_OF(timer, second), "2");
    reactor_stop(TRACE_OF(timer, second)->reactor);
}

static void test_timers_fire_in_the_order_of_their_deadlines(void **state) {
    struct trace *trace = *state;
    trace->first.fire = fire_first;
    trace->second.fire = fire_second_and_stop;
    reactor_timer_set(trace->reactor, &trace->second, 20);
    reactor_timer_set(trace->reactor, &trace->first, 5);
    reactor_run(trace->reactor);
    assert_string_equal(trace->events, "12");
}

enum { MANY = 300, DELAYS = 16 };

struct many {
    struct trace *trace;
    struct reactor_timer timers[MANY];
    int delays[MANY];
    size_t last; /* that fired */
    size_t count;
};

static struct many many;

static void fire_one_of_many(struct reactor_timer *timer) {
    const size_t number = (size_t)(timer - many.timers);
    if (many.count > 0) {
        assert_true(many.delays[many.last] < many.delays[number] ||
                    (many.delays[many.last] == many.delays[number] && many.last < number));
    }
    many.last = number;
    if (++many.count == MANY) {
        reactor_stop(many.trace->reactor);
    }
}

/* Those of the same time fire in the order in which they were set. */
static void test_many_timers_fire_in_their_order_however_they_are_set(void **state) {
    unsigned random = 1;
    many = (struct many){.trace = *state};
    for (size_t i = 0; i < MANY; i++) {
        random = random * 1103515245 + 12345;
        many.delays[i] = (int)(random >> 16) % DELAYS;
        many.timers[i].fire = fire_one_of_many;
        reactor_timer_set(many.trace->reactor, &many.timers[i], DELAYS - many.delays[i]);
        reactor_timer_set(many.trace->reactor, &many.timers[i], many.delays[i]);
    }
    reactor_run(many.trace->reactor);
    assert_int_equal(many.count, MANY);
}

static void test_a_cleared_timer_does_not_fire(void **state) {
    struct trace *trace = *state;
    trace->first.fire = fire_first;
    trace->second.fire = fire_second_and_stop;
    reactor_timer_set(trace->reactor, &trace->first, 1);
    reactor_timer_set(trace->reactor, &trace->second, 10);
    reactor_timer_clear(trace->reactor, &trace->first);
    reactor_run(trace->reactor);
    assert_string_equal(trace->events, "2");
}

static void clear_second(struct reactor_timer *timer) {
    struct trace *trace = TRACE_OF(timer, first);
    note(trace, "1");
    reactor_timer_clear(trace->reactor, &trace->second);
    reactor_stop(trace->reactor);
}

static void test_a_due_timer_can_clear_another_due_one(void **state) {
    struct trace *trace = *state;
    trace->first.fire = clear_second;
    trace->second.fire = fire_second_and_stop;
    reactor_timer_set(trace->reactor, &trace->first, 0);
    reactor_timer_set(trace->reactor, &trace->second, 0);
    reactor_run(trace->reactor);
    assert_string_equal(trace->events, "1");
}

static void read_and_note(struct reactor_watch *watch, uint32_t events) {
    struct trace *trace = TRACE_OF(watch, watch);
    char byte;
    assert_true(events & EPOLLIN);
    assert_int_equal(read(watch->fd, &byte, 1), 1);
    note(trace, "w");
}

static void note_turn_and_stop(struct reactor_turn *turn) {
    struct trace *trace = TRACE_OF(turn, turn);
    if (strchr(trace->events, 'w') != NULL) {
        note(trace, "t");
        reactor_stop(trace->reactor);
    }
}

static void note_last_turn(struct reactor_turn *turn) {
    struct trace *trace = TRACE_OF(turn, last_turn);
    if (strchr(trace->events, 'w') != NULL) {
        note(trace, "l");
    }
}

static void test_turns_run_after_watches_in_the_order_of_adding(void **state) {
    struct trace *trace = *state;
    trace->watch = (struct reactor_watch){.ready = read_and_note, .fd = trace->pipe[0]};
    trace->turn.run = note_turn_and_stop;
    trace->last_turn.run = note_last_turn;
    reactor_turn_add(trace->reactor, &trace->turn);
    reactor_turn_add(trace->reactor, &trace->last_turn);
    assert_int_equal(reactor_watch_add(trace->reactor, &trace->watch, EPOLLIN), PARLEY_OK);
    assert_int_equal(write(trace->pipe[1], "x", 1), 1);
    reactor_run(trace->reactor);
    assert_string_equal(trace->events, "wtl");
}

static void note_and_stop(void *context) {
    struct trace *trace = context;
    note(trace, "p");
    reactor_stop(trace->reactor);
}

static void *post_from_here(void *context) {
    struct trace *trace = context;
    assert_int_equal(reactor_post(trace->reactor, note_and_stop, trace), PARLEY_OK);
    return NULL;
}

static void test_posted_work_wakes_a_sleeping_loop(void **state) {
    struct trace *trace = *state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, post_from_here, trace), 0);
    reactor_run(trace->reactor);
    pthread_join(thread, NULL);
    assert_string_equal(trace->events, "p");
}

static int64_t no_wait(struct reactor_turn *turn) {
    (void)turn;
    return 0;
}

static void count_turn(struct reactor_turn *turn) {
    struct trace *trace = TRACE_OF(turn, turn);
    if (++trace->turns == 3) {
        reactor_stop(trace->reactor);
    }
}

static void test_a_turn_that_wants_no_sleep_gets_none(void **state) {
    struct trace *trace = *state;
    trace->turn = (struct reactor_turn){.run = count_turn, .timeout_ms = no_wait};
    reactor_turn_add(trace->reactor, &trace->turn);
    reactor_run(trace->reactor);
    assert_int_equal(trace->turns, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_timers_fire_in_the_order_of_their_deadlines, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_many_timers_fire_in_their_order_however_they_are_set,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_cleared_timer_does_not_fire, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_due_timer_can_clear_another_due_one, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_turns_run_after_watches_in_the_order_of_adding, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_posted_work_wakes_a_sleeping_loop, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_turn_that_wants_no_sleep_gets_none, setup, teardown),
    };
    return cmocka_run_group_tests_name("reactor", tests, NULL, NULL);
}
