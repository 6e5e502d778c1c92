/* SPDX-License-Identifier: Apache-2.0 */

/* Readers that end, in a stream that holds something else too, against the model of JetStream
 * (stream_model.h): they get all that was stored when they began, and then end, whatever others
 * have stored last, and however far the member of the cluster that serves them lags behind. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "stream_model.h"

enum { STORED = 21, OURS = 7 /* 1, 4, … 19 */ };

static const struct jetstream_place shared = {.stream = "VLP", .families = 1, .has_others = true};

static struct world *make_shared_world(void) {
    struct world *world = make_world(1, 100, 1);
    world->server.is_shared = true;
    stream_hub_set_place(&world->hub, &shared, UINT64_MAX);
    publish(&world->server, STORED);
    return world;
}

static struct reader *add_ending_reader(struct world *world) {
    struct reader *reader = &world->readers[0];
    stream_query_init(&reader->query);
    reader->query.since = STREAM_SINCE_ALL;
    reader->query.is_ending = true;
    open_reader(reader, &world->server, &world->hub);
    return reader;
}

/* As a reader's keepalives make it. */
static void check(struct world *world, int64_t *now_ms) {
    *now_ms += 15000;
    stream_hub_check(&world->hub, *now_ms);
    settle(world);
}

static void test_a_reader_ends_where_the_last_messages_are_of_others(void **state) {
    (void)state;
    struct world *world = make_shared_world();
    struct reader *reader = add_ending_reader(world);
    settle(world);
    assert_int_equal(reader->event_count, OURS);
    assert_true(reader->is_done);
    free_world(world);
}

static void test_a_reader_ends_where_all_is_of_others(void **state) {
    (void)state;
    struct world *world = make_shared_world();
    for (uint64_t sequence = 1; sequence <= STORED; sequence += 3) {
        remove_message(&world->server, sequence);
    }
    struct reader *reader = add_ending_reader(world);
    settle(world);
    assert_int_equal(reader->event_count, 0);
    assert_true(reader->is_done);
    free_world(world);
}

static void test_one_on_a_member_that_lags_gets_all_before_it_ends(void **state) {
    (void)state;
    struct world *world = make_shared_world();
    world->server.lag = 15;
    struct reader *reader = add_ending_reader(world);
    settle(world);
    assert_int_equal(reader->event_count, 2);
    assert_false(reader->is_done);
    world->server.lag = 4;
    settle(world);
    assert_int_equal(reader->event_count, 6);
    assert_false(reader->is_done);
    world->server.lag = 0;
    settle(world);
    assert_int_equal(reader->event_count, OURS);
    assert_true(reader->is_done);
    free_world(world);
}

/* It also ends with the first message after those: the leader has one, so that it is waited for. */
static void test_what_is_stored_meanwhile_is_not_waited_for_in_vain(void **state) {
    (void)state;
    struct world *world = make_shared_world();
    struct reader *reader = add_ending_reader(world);
    world->server.lag = 3;
    answer_ask(&world->server);
    publish(&world->server, 3);
    settle(world);
    assert_int_equal(reader->event_count, OURS);
    assert_true(reader->is_done);
    free_world(world);
}

/* The next feed may be on a member that has it. */
static void test_what_does_not_come_is_fetched_anew(void **state) {
    (void)state;
    struct world *world = make_shared_world();
    int64_t now_ms = 1000000;
    world->server.lag = 15;
    struct reader *reader = add_ending_reader(world);
    settle(world);
    assert_int_equal(world->server.feed_count, 1);
    check(world, &now_ms);
    assert_int_equal(world->server.feed_count, 1);
    check(world, &now_ms);
    assert_int_equal(world->server.feed_count, 2);
    assert_false(reader->is_done);
    world->server.lag = 0;
    settle(world);
    assert_int_equal(reader->event_count, OURS);
    assert_true(reader->is_done);
    free_world(world);
}

static void test_an_end_that_vanished_is_given_up_when_the_leader_says_so(void **state) {
    (void)state;
    struct world *world = make_shared_world();
    int64_t now_ms = 1000000;
    world->server.lag = 4;
    struct reader *reader = add_ending_reader(world);
    settle(world);
    assert_false(reader->is_done);
    remove_message(&world->server, 19);
    check(world, &now_ms);
    check(world, &now_ms);
    assert_int_equal(reader->event_count, OURS - 1);
    assert_true(reader->is_done);
    free_world(world);
}

static void test_without_an_answer_the_leader_is_asked_again(void **state) {
    (void)state;
    struct world *world = make_shared_world();
    int64_t now_ms = 1000000;
    struct reader *reader = add_ending_reader(world);
    while (world->server.rest.done == NULL) {
        if (world->server.ask_count > 0) {
            answer_ask(&world->server);
        } else if (reader->is_woken) {
            read_some(reader, SIZE_MAX);
        } else {
            serve_feed(&world->server.feeds[0]);
        }
    }
    answer_rest(&world->server, false);
    settle(world);
    assert_false(reader->is_done);
    check(world, &now_ms);
    check(world, &now_ms);
    assert_int_equal(reader->event_count, OURS);
    assert_true(reader->is_done);
    free_world(world);
}

/* Nothing comes for it any more. */
static void test_a_reader_that_goes_is_not_told(void **state) {
    (void)state;
    struct world *world = make_shared_world();
    struct reader *reader = add_ending_reader(world);
    while (world->server.rest.done == NULL) {
        if (world->server.ask_count > 0) {
            answer_ask(&world->server);
        }
        read_some(reader, SIZE_MAX);
        serve_feed(&world->server.feeds[0]);
    }
    close_reader(reader);
    assert_null(world->server.rest.done);
    free_world(world);
}

/* It waits with the events of other streams only for what there is. */
static void test_one_that_follows_knows_when_the_past_has_come(void **state) {
    (void)state;
    struct world *world = make_shared_world();
    world->server.lag = 4;
    struct reader *reader = add_reader(world, "all");
    settle(world);
    assert_int_equal(reader->event_count, 6);
    assert_true(stream_cursor_is_in_past(&reader->cursor));
    world->server.lag = 0;
    settle(world);
    assert_int_equal(reader->event_count, OURS);
    assert_false(stream_cursor_is_in_past(&reader->cursor));
    free_world(world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_reader_ends_where_the_last_messages_are_of_others),
        cmocka_unit_test(test_a_reader_ends_where_all_is_of_others),
        cmocka_unit_test(test_one_on_a_member_that_lags_gets_all_before_it_ends),
        cmocka_unit_test(test_what_is_stored_meanwhile_is_not_waited_for_in_vain),
        cmocka_unit_test(test_what_does_not_come_is_fetched_anew),
        cmocka_unit_test(test_an_end_that_vanished_is_given_up_when_the_leader_says_so),
        cmocka_unit_test(test_without_an_answer_the_leader_is_asked_again),
        cmocka_unit_test(test_a_reader_that_goes_is_not_told),
        cmocka_unit_test(test_one_that_follows_knows_when_the_past_has_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
