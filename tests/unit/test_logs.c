/* SPDX-License-Identifier: Apache-2.0 */

/* Messages that continue an agent's log, in ingest: the log is read once a request, which then
 * counts; it is read once more after a message that is not stored. The messages are the
 * supervisor's, the server is played. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "ingest_fixture.h"

static void set_wal(struct world *world, enum parley_lifecycle mode) {
    const struct parley_protocol *supervisor = parley_protocol_find(PARLEY_BYTES("supervisor"));
    world->configuration.values[0][supervisor->facts->mode - supervisor->options].number = mode;
}

static int set_up(void **state) {
    if (world_set_up(state) != 0) {
        return -1;
    }
    struct world *world = *state;
    set_wal(world, PARLEY_LIFECYCLE_ON);
    world->store.is_last = true;
    world_speak(world, parley_protocol_find(PARLEY_BYTES("supervisor")));
    world->gateway.fact_stores = world->fact_stores;
    return 0;
}

#define ENTRY(sequence)                                                                            \
    "{\"type\":\"wal_entry\",\"timestamp\":1,\"data\":{\"operation\":\"memory_add\","              \
    "\"params\":{},\"sequence\":" sequence "}}\n"
#define HEARTBEAT "{\"type\":\"heartbeat\",\"timestamp\":1}\n"

static const struct request_head many = {.query = {{"agent", "a"}}};
static const struct request_head single = {.type = "application/json", .query = {{"agent", "a"}}};

static size_t count_of(struct world *world, const char *text) {
    size_t count = 0;
    for (const char *at = world_answer(world); (at = strstr(at, text)) != NULL; at++) {
        count++;
    }
    return count;
}

static void stop_waiting(struct reactor_timer *timer) {
    reactor_stop(OWNER_OF(timer, struct world, timer)->reactor);
}

/* Once in a test: a reactor that was stopped stays so. */
static void run_turn(struct world *world) {
    world->timer.fire = stop_waiting;
    reactor_timer_set(world->reactor, &world->timer, 1);
    reactor_run(world->reactor);
}

static void test_one_message_is_published_once_its_log_was_read(void **state) {
    struct world *world = *state;
    world_post(world, &single, ENTRY("6"));
    assert_int_equal(world->store.query_count, 1);
    assert_int_equal(world->jetstream.count, 0);
    world_lookup_answers(world, 0, "4");
    world_ack_all(world);
    assert_int_equal(world->request.status, 200);
    assert_int_equal(count_of(world, "IPC-201"), 1);
}

static void test_a_body_is_read_for_once_and_counted(void **state) {
    struct world *world = *state;
    world_post(world, &many, HEARTBEAT ENTRY("5") ENTRY("6") HEARTBEAT ENTRY("8"));
    assert_int_equal(world->store.query_count, 1);
    assert_int_equal(world->jetstream.count, 1);
    world_lookup_answers(world, 0, "4");
    assert_int_equal(world->jetstream.count, 5);
    world_ack_all(world);
    assert_int_equal(world->store.query_count, 1);
    assert_int_equal(count_of(world, "IPC-201"), 1);
    assert_int_equal(count_of(world, "IPC-202"), 0);
}

static void test_other_messages_read_nothing(void **state) {
    struct world *world = *state;
    world_post(world, &many, HEARTBEAT HEARTBEAT);
    world_post(world, &(struct request_head){.query = {{"agent", "a"}}, .task = INGEST_VALIDATE},
               ENTRY("5"));
    world_post(world, &(struct request_head){0}, ENTRY("5"));
    set_wal(world, PARLEY_LIFECYCLE_OFF);
    world_post(world, &single, ENTRY("9"));
    assert_int_equal(world->store.query_count, 0);
}

static void test_a_duplicate_is_no_repeat(void **state) {
    struct world *world = *state;
    world_post(world, &many, ENTRY("3") ENTRY("4"));
    world_lookup_answers(world, 0, "4");
    world_ack_duplicate(world, 0, 17);
    world_ack(world, 1, JETSTREAM_STORED);
    assert_string_equal(world_statuses(world), "duplicate accepted 2/1/1/0/0");
    assert_int_equal(count_of(world, "IPC-202"), 1);
    assert_non_null(strstr(world_answer(world), "\"seq\":17,\"warnings\":[]"));
}

static void test_holes_are_refused_without_reading_again(void **state) {
    struct world *world = *state;
    set_wal(world, PARLEY_LIFECYCLE_STRICT);
    world_post(world, &many, ENTRY("6") ENTRY("7") ENTRY("5") ENTRY("6"));
    world_lookup_answers(world, 0, "4");
    assert_int_equal(world->jetstream.count, 2);
    world_ack_all(world);
    assert_string_equal(world_statuses(world), "failed failed accepted accepted 4/2/0/0/2");
    assert_int_equal(count_of(world, "\"expected\":5"), 2);
    assert_int_equal(world->store.query_count, 1);
}

static void test_those_in_line_for_a_log_that_cannot_be_read_fail_with_the_first(void **state) {
    struct world *world = *state;
    world_post(world, &many, ENTRY("5") ENTRY("6") HEARTBEAT);
    world_lookup_fails(world, 0, "It is away.");
    world_ack_all(world);
    assert_string_equal(world_statuses(world), "failed failed accepted 3/1/0/0/2");
    assert_int_equal(world->store.query_count, 1);
    assert_int_equal(count_of(world, "It is away."), 1);
}

/* It reads when all that it has sent has ended, so that it reads what it has stored. */
static void test_after_a_message_that_is_not_stored_the_log_is_read_again(void **state) {
    struct world *world = *state;
    world_begin(world, &many);
    world_send(world, ENTRY("5") ENTRY("6"));
    world_lookup_answers(world, 0, "4");
    world_ack(world, 0, JETSTREAM_TIMEOUT);
    world_send(world, ENTRY("7"));
    assert_int_equal(world->store.query_count, 1);
    world_ack(world, 1, JETSTREAM_STORED);
    assert_int_equal(world->store.query_count, 1);
    run_turn(world);
    assert_int_equal(world->store.query_count, 2);
    world_lookup_answers(world, 1, "6");
    assert_int_equal(world->jetstream.count, 3);
    world_ack(world, 2, JETSTREAM_STORED);
    world_end(world);
    assert_string_equal(world_statuses(world), "failed accepted accepted 3/2/0/0/1");
    assert_int_equal(count_of(world, "IPC-20"), 0);
}

static void test_a_client_may_go_while_its_log_is_read(void **state) {
    struct world *world = *state;
    world_post(world, &single, ENTRY("5"));
    world_close(world);
    world_lookup_answers(world, 0, "4");
    assert_int_equal(world->jetstream.count, 1);
    world_ack_all(world);
    world_begin(world, &many);
    world_send(world, ENTRY("6") ENTRY("7"));
    world_lookup_answers(world, 1, "5");
    world_ack(world, 1, JETSTREAM_TIMEOUT);
    world_send(world, ENTRY("8"));
    world_close(world);
    world_ack(world, 2, JETSTREAM_STORED);
    run_turn(world);
    world_lookup_fails(world, 2, "Away."); /* the leak sanitizer watches */
}

static void test_whichever_allocation_fails_the_request_is_answered(void **state) {
    struct world *world = *state;
    static const struct {
        const struct request_head *head;
        const char *body;
    } rows[] = {{&single, ENTRY("4")}, {&many, ENTRY("4") ENTRY("5") HEARTBEAT ENTRY("7")}};
    for (size_t row = 0; row < 2; row++) {
        size_t failed_count = 0;
        while (world_run_out(world, rows[row].head, rows[row].body, "4", failed_count)) {
            failed_count++;
            assert_true(world->request.status == 200 || world->request.status == 500);
        }
        assert_true(failed_count > 5);
        assert_int_equal(world->request.status, 200);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, world_tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(test_one_message_is_published_once_its_log_was_read),
        TEST(test_a_body_is_read_for_once_and_counted),
        TEST(test_other_messages_read_nothing),
        TEST(test_a_duplicate_is_no_repeat),
        TEST(test_holes_are_refused_without_reading_again),
        TEST(test_those_in_line_for_a_log_that_cannot_be_read_fail_with_the_first),
        TEST(test_after_a_message_that_is_not_stored_the_log_is_read_again),
        TEST(test_a_client_may_go_while_its_log_is_read),
        TEST(test_whichever_allocation_fails_the_request_is_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
