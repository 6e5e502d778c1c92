/* SPDX-License-Identifier: Apache-2.0 */

/* Open work whose request is gone from its stream. In these tests the numbers of work are the
 * sequences of its requests, too. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "board_fixture.h"

static void test_what_is_before_the_beginning_is_not_taken(void **state) {
    struct world *world = *state;
    for (unsigned i = 1; i <= 4; i++) {
        world_request(world, i, "a.x normal");
    }
    board_begins_at(world->board, "OTHER", 100);
    assert_int_equal(world_take(world, "galahad"), 1);
    board_begins_at(world->board, "ROUNDTABLE", 4);
    assert_int_equal(world_take(world, "galahad"), 4);
    assert_int_equal(world_take(world, "galahad"), 0);
    assert_int_equal(board_counts(world->board).open, 0);
}

/* The new one begins at 1 again. */
static void test_a_stream_that_is_made_again_has_its_work_taken(void **state) {
    struct world *world = *state;
    world_request(world, 50, "a.x normal");
    board_begins_at(world->board, "ROUNDTABLE", 100);
    world_request(world, 1, "a.x normal");
    assert_int_equal(world_take(world, "galahad"), 1);
    assert_int_equal(world_take(world, "galahad"), 0);
}

static void test_a_bucket_that_is_made_again_has_its_work_taken(void **state) {
    struct world *world = *state;
    world_request(world, 50, "a.x normal");
    board_begins_at(world->board, "ROUNDTABLE", 100);
    board_on_began(world->board);
    world->sequence = 0;
    world_request(world, 1, "a.x normal");
    board_on_current(world->board);
    assert_int_equal(world_take(world, "galahad"), 1);
}

/* Bounded work in one turn: who searches goes on in the next, and does not wait until then. */
static void test_a_search_closes_some_at_a_time(void **state) {
    enum { COUNT = 5000, TURNS_MAX = 50 };
    struct world *world = *state;
    struct board_waiter *waiter = &world->waiters[0];
    struct board_find find;
    unsigned turns = 0;
    for (unsigned i = 1; i <= COUNT; i++) {
        world_request(world, i, "a.x normal");
    }
    world_request(world, COUNT + 1, "a.x low");
    board_begins_at(world->board, "ROUNDTABLE", COUNT + 1);
    waiter->wish = world_wish(world, 0, "galahad");
    waiter->wake = world_on_wake;
    for (bool is_found = false; !is_found; turns++) {
        is_found = board_take_or_wait(world->board, waiter, 1, &find);
        assert_true(is_found || find.is_unfinished);
        assert_int_equal(board_counts(world->board).waiting, 0);
    }
    assert_int_equal(find_number(&find), COUNT + 1);
    assert_true(turns > 1 && turns < TURNS_MAX);
    assert_false(board_take(world->board, waiter->wish, 1, &find));
    assert_false(find.is_unfinished);
}

#define BOARD_TEST(name) cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        BOARD_TEST(test_what_is_before_the_beginning_is_not_taken),
        BOARD_TEST(test_a_stream_that_is_made_again_has_its_work_taken),
        BOARD_TEST(test_a_bucket_that_is_made_again_has_its_work_taken),
        BOARD_TEST(test_a_search_closes_some_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
