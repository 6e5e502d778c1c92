/* SPDX-License-Identifier: Apache-2.0 */

/* Many messages in one request: the order of results, the window, and what becomes of it all when
 * acks are lost, the client goes, the disk is full or memory runs out. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "../lib/fault_heap.h"
#include "ingest_fixture.h"

#define ONE CLAIM_OF("1") "\n"
#define TWO CLAIM_OF("2") "\n"
#define THREE CLAIM_OF("3") "\n"

static const struct request_head plain = {0};

/* ---- order ---- */

static void test_results_are_in_the_order_sent_whatever_the_order_of_acks(void **state) {
    struct world *world = *state;
    world_post(world, &plain, ONE "{}\n" TWO THREE);
    world_ack(world, 2, JETSTREAM_STORED);
    world_ack(world, 1, JETSTREAM_TIMEOUT);
    assert_int_equal(world->request.status, 0);
    world_ack(world, 0, JETSTREAM_STORED);
    assert_int_equal(world->request.status, 200);
    assert_true(world->request.is_whole);
    assert_string_equal(world_statuses(world), "accepted invalid failed accepted 4/2/0/1/1");
}

static void test_a_lost_ack_in_the_middle_fails_that_line_alone(void **state) {
    struct world *world = *state;
    world_post(world, &plain, ONE TWO THREE);
    world_ack(world, 1, JETSTREAM_LOST);
    world_ack(world, 0, JETSTREAM_STORED);
    world_ack(world, 2, JETSTREAM_STORED);
    assert_string_equal(world_statuses(world), "accepted failed accepted 3/2/0/0/1");
    assert_non_null(strstr(world_answer(world), "/problems/bus-timeout"));
}

static void test_once_the_bus_is_away_each_further_line_fails_at_once(void **state) {
    struct world *world = *state;
    world_begin(world, &plain);
    world_send(world, ONE);
    world->jetstream.is_ready = false;
    world_ack(world, 0, JETSTREAM_LOST);
    world_send(world, TWO "{}\n" THREE);
    world_end(world);
    assert_string_equal(world_statuses(world), "failed failed invalid failed 4/0/0/1/3");
    assert_non_null(strstr(world_answer(world), "/problems/bus-unavailable"));
}

static void test_a_message_that_nats_will_not_take_stops_nothing(void **state) {
    struct world *world = *state;
    world_begin(world, &plain);
    world->jetstream.says = JETSTREAM_TOO_LARGE;
    world_send(world, ONE);
    world->jetstream.says = JETSTREAM_PUBLISHED;
    world_send(world, TWO);
    world_end(world);
    world_ack_all(world);
    assert_string_equal(world_statuses(world), "failed accepted 2/1/0/0/1");
    assert_non_null(strstr(world_answer(world), "/problems/too-large"));
    assert_non_null(strstr(world_answer(world), "1048576"));
}

/* ---- the windows ---- */

static void test_a_message_without_room_is_held_in_its_place(void **state) {
    struct world *world = *state;
    world->jetstream.room = 1;
    world_post(world, &plain, ONE TWO "{}\n" THREE);
    assert_int_equal(world->jetstream.count, 1);
    assert_non_null(world->jetstream.waiter);
    world_ack(world, 0, JETSTREAM_STORED);
    assert_int_equal(world->jetstream.count, 1);
    world_make_room(world, 0); /* a false hope: it waits again */
    assert_non_null(world->jetstream.waiter);
    world_make_room(world, 9);
    assert_int_equal(world->jetstream.count, 3);
    assert_string_equal(world->jetstream.published[1].payload, CLAIM_OF("2"));
    world_ack_all(world);
    assert_string_equal(world_statuses(world), "accepted accepted invalid accepted 4/3/0/1/0");
}

/* Since a client that is gone is noticed once all that it sent was taken (http.h). */
static void test_not_all_is_taken_while_the_last_message_is_held(void **state) {
    struct world *world = *state;
    world->jetstream.room = 0;
    world_begin(world, &plain);
    world_send(world, ONE);
    assert_int_equal(world_held(world), 1);
    world_send(world, TWO); /* which may yet arrive */
    world_make_room(world, 1);
    assert_int_equal(world->jetstream.count, 1);
    assert_int_equal(world_held(world), 1);
    world_end(world);
    assert_false(world->request.is_ended);
    world_make_room(world, 1);
    assert_int_equal(world_held(world), 0);
    assert_true(world->request.is_ended);
    world_ack_all(world);
    assert_string_equal(world_statuses(world), "accepted accepted 2/2/0/0/0");
}

static void test_a_held_message_fails_when_the_bus_goes_away(void **state) {
    struct world *world = *state;
    world->jetstream.room = 0;
    world_post(world, &plain, ONE TWO);
    world->jetstream.is_ready = false;
    world_make_room(world, 0);
    assert_string_equal(world_statuses(world), "failed failed 2/0/0/0/2");
}

static void test_a_full_window_of_results_stops_reading_until_the_first_is_known(void **state) {
    enum { WINDOW = 4096 };
    struct world *world = *state;
    world_begin(world, &plain);
    for (size_t i = 0; i < WINDOW; i++) {
        world_send(world, ONE);
    }
    assert_int_equal(world_held(world), 0);
    world_send(world, TWO);
    assert_int_equal(world_held(world), strlen(TWO));
    world_ack(world, 1, JETSTREAM_STORED); /* known, but after one that is not */
    assert_int_equal(world_held(world), strlen(TWO));
    world_ack(world, 0, JETSTREAM_STORED);
    assert_int_equal(world_held(world), 0);
    assert_int_equal(world->jetstream.count, WINDOW + 1);
}

/* ---- the client goes ---- */

static void test_a_request_may_close_with_acks_to_come(void **state) {
    struct world *world = *state;
    world_begin(world, &plain);
    world_send(world, ONE TWO THREE);
    world_ack(world, 1, JETSTREAM_STORED);
    world_close(world);
    world_ack(world, 0, JETSTREAM_LOST);
    world_ack(world, 2, JETSTREAM_STORED); /* the last one frees it: the leak sanitizer watches */
}

static void test_a_message_held_is_published_though_its_request_is_closed(void **state) {
    struct world *world = *state;
    world->jetstream.room = 1;
    world_begin(world, &plain);
    world_send(world, ONE TWO);
    world_close(world);
    world_ack(world, 0, JETSTREAM_STORED);
    world_make_room(world, 1);
    assert_int_equal(world->jetstream.count, 2);
}

static void test_while_draining_a_request_may_close_with_a_message_held(void **state) {
    struct world *world = *state;
    world->jetstream.room = 1;
    world->gateway.is_draining = true;
    world_begin(world, &plain);
    world_send(world, ONE TWO);
    assert_non_null(world->jetstream.waiter);
    world_close(world);
    assert_null(world->jetstream.waiter);
    world_ack(world, 0, JETSTREAM_STORED);
    assert_int_equal(world->jetstream.count, 1);
}

/* ---- what is asked for ---- */

static void test_results_says_which_lines_come(void **state) {
    struct world *world = *state;
    static const struct {
        const char *results, *statuses;
    } rows[] = {
        {"all", "accepted invalid accepted 3/2/0/1/0"},
        {"errors", "invalid 3/2/0/1/0"},
        {"summary", "3/2/0/1/0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct request_head head = {.query = {{"results", rows[i].results}}};
        world_post(world, &head, ONE "{}\n" TWO);
        world_ack_all(world);
        assert_string_equal(world_statuses(world), rows[i].statuses);
    }
}

static void test_a_filter_gives_the_valid_messages_and_nothing_else(void **state) {
    struct world *world = *state;
    const struct request_head head = {.task = INGEST_VALIDATE, .query = {{"emit", "messages"}}};
    world_post(world, &head, ONE "{}\n{\n" TWO);
    assert_string_equal(world_answer(world), ONE TWO);
    assert_true(world->request.is_whole);
}

static void test_stamp_gives_each_line_an_id_of_its_own(void **state) {
    struct world *world = *state;
    const struct request_head head = {.query = {{"stamp", "true"}}};
    const char *line =
        "{\"type\":\"claim\",\"sender\":\"A\",\"content\":\"x\",\"confidence\":0.5}\n";
    world_begin(world, &head);
    world_send(world, line);
    world_send(world, line);
    world_end(world);
    assert_int_equal(world->jetstream.count, 2);
    assert_string_not_equal(world->jetstream.published[0].payload,
                            world->jetstream.published[1].payload);
}

static void test_an_idempotency_key_is_numbered_by_the_line(void **state) {
    struct world *world = *state;
    const struct request_head head = {.headers = {{"Idempotency-Key", "k"}}};
    world_post(world, &head, "\n" ONE "{}\n" TWO);
    assert_string_equal(world->jetstream.published[0].message_id,
                        "key:a%20%0D%0Ab%22%25%C3%A9:k:2");
    assert_string_equal(world->jetstream.published[1].message_id,
                        "key:a%20%0D%0Ab%22%25%C3%A9:k:4");
}

/* ---- frames ---- */

#define FRAME(text) "\0\0\0\x80" text
_Static_assert(sizeof CLAIM_OF("1") == 0x80 + 1, "the length in FRAME");
#define BYTES(...)                                                                                 \
    { __VA_ARGS__, sizeof(__VA_ARGS__) - 1 }

static const struct request_head framed = {.type = TOY_FRAMES};

/* A body in two pieces, the first of `cut` bytes. */
static void post_cut(struct world *world, const struct request_head *head, struct parley_bytes body,
                     size_t cut) {
    world_begin(world, head);
    world_send_bytes(world, (struct parley_bytes){body.data, cut});
    world_send_bytes(world, (struct parley_bytes){body.data + cut, body.length - cut});
    world_end(world);
    world_ack_all(world);
}

static void test_frames_are_messages_wherever_the_body_is_cut(void **state) {
    struct world *world = *state;
    static const struct {
        struct parley_bytes body;
        const char *statuses, *says;
    } rows[] = {
        {BYTES(FRAME(CLAIM_OF("1")) FRAME(CLAIM_OF("2"))), "accepted accepted 2/2/0/0/0",
         "{\"line\":2,\"status\":\"accepted\""},
        /* a frame of no bytes stops nothing */
        {BYTES(FRAME(CLAIM_OF("1")) "\0\0\0\0" FRAME(CLAIM_OF("2"))),
         "accepted invalid accepted 3/2/0/1/0", "\"at\":{\"offset\":132}"},
        /* one over the limit is passed by */
        {BYTES("\0\0\0\x81" CLAIM_OF("1") " " FRAME(CLAIM_OF("2"))), "invalid accepted 2/1/0/1/0",
         "GW-002"},
        {BYTES("\0\0\0\2{}" FRAME(CLAIM_OF("2"))), "invalid accepted 2/1/0/1/0", "VLP-001"},
        /* cut short */
        {BYTES(FRAME(CLAIM_OF("1")) "\0\0\0\5{}"), "accepted invalid 2/1/0/1/0",
         "\"at\":{\"offset\":132}"},
        {BYTES(FRAME(CLAIM_OF("1")) "\0"), "accepted invalid 2/1/0/1/0", "GW-001"},
        /* no length of a frame: nothing after it can be read */
        {BYTES("{\"id\":1}" FRAME(CLAIM_OF("1"))), "invalid 1/0/0/1/0", "GW-001"},
        {BYTES(""), "0/0/0/0/0", "\"received\":0"},
    };
    world_speak(world, toy_protocol());
    world->configuration.message_max_bytes = 0x80;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t cut = 0; cut <= rows[i].body.length; cut++) {
            post_cut(world, &framed, rows[i].body, cut);
            assert_string_equal(world_statuses(world), rows[i].statuses);
            assert_non_null(strstr(world_answer(world), rows[i].says));
        }
    }
}

static void test_frames_can_be_filtered_into_lines(void **state) {
    struct world *world = *state;
    const struct request_head head = {
        .type = TOY_FRAMES, .task = INGEST_VALIDATE, .query = {{"emit", "messages"}}};
    const struct parley_bytes body = BYTES(FRAME(CLAIM_OF("1")) "\0\0\0\2{}" FRAME(CLAIM_OF("2")));
    world_speak(world, toy_protocol());
    post_cut(world, &head, body, 0);
    assert_string_equal(world_answer(world), ONE TWO);
}

static void test_frames_wait_for_room_as_lines_do(void **state) {
    struct world *world = *state;
    const struct parley_bytes body = BYTES(FRAME(CLAIM_OF("1")) FRAME(CLAIM_OF("2")));
    world_speak(world, toy_protocol());
    world->jetstream.room = 1;
    post_cut(world, &framed, body, body.length - 1);
    assert_int_equal(world->jetstream.count, 1);
    world_make_room(world, 9);
    world_ack_all(world);
    assert_string_equal(world->jetstream.published[1].payload, CLAIM_OF("2"));
    assert_string_equal(world_statuses(world), "accepted accepted 2/2/0/0/0");
}

/* ---- the disk is full ---- */

static const struct request_head verdicts = {.task = INGEST_VALIDATE};

/* More results than wait in memory. */
static void send_many(struct world *world, const struct request_head *head) {
    world_begin(world, head);
    for (size_t i = 0; i < 1000; i++) {
        world_send(world, ONE);
    }
    world_end(world);
}

static size_t line_count(struct world *world) {
    size_t count = 0;
    for (const char *at = world_answer(world); *at != '\0'; at = strchr(at, '\n') + 1) {
        assert_non_null(strchr(at, '\n'));
        count++;
    }
    return count;
}

/* The number after `name` in the summary, 0 when it is not there. */
static size_t in_summary(struct world *world, const char *name) {
    const char *summary = strstr(world_answer(world), "{\"summary\"");
    assert_non_null(summary);
    json_t *root = json_loads(summary, 0, NULL);
    assert_non_null(root);
    const json_t *count = json_object_get(json_object_get(root, "summary"), name);
    const size_t number = (size_t)json_integer_value(count);
    json_decref(root);
    return number;
}

static void test_results_that_cannot_be_kept_are_counted(void **state) {
    struct world *world = *state;
    world->configuration.data = "/nowhere";
    send_many(world, &verdicts);
    assert_true(world->request.is_whole);
    assert_true(line_count(world) > 100); /* what waits in memory */
    assert_true(in_summary(world, "omitted") > 0);
    assert_int_equal(line_count(world) - 1 + in_summary(world, "omitted"), 1000);
    assert_int_equal(in_summary(world, "valid"), 1000);
}

static void test_a_filter_that_cannot_keep_all_is_broken_off(void **state) {
    struct world *world = *state;
    const struct request_head head = {.task = INGEST_VALIDATE, .query = {{"emit", "messages"}}};
    world->configuration.data = "/nowhere";
    send_many(world, &head);
    assert_int_equal(world->request.status, 200);
    assert_false(world->request.is_whole);
}

/* (attack F2) */
static void test_without_room_a_client_that_cannot_be_answered_yet_is_refused(void **state) {
    struct world *world = *state;
    const struct request_head filtered = {.task = INGEST_VALIDATE, .query = {{"emit", "messages"}}};
    const struct request_head *const heads[] = {&verdicts, &filtered};
    world->spools.max_bytes = 0;
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        send_many(world, heads[i]);
        assert_int_equal(world->request.status, 413);
        assert_non_null(strstr(world_answer(world), "--spool-max"));
    }
}

/* ---- live ---- */

static const struct request_head live = {.is_live = true, .content_length = -1};
static const struct request_head live_filter = {.is_live = true,
                                                .content_length = -1,
                                                .task = INGEST_VALIDATE,
                                                .query = {{"emit", "messages"}}};

static void test_each_result_leaves_as_soon_as_it_and_those_before_it_are_known(void **state) {
    struct world *world = *state;
    world_begin(world, &live);
    assert_int_equal(world->request.status, 0); /* there may be a 100 to come first */
    world_send(world, "{}\n" ONE);
    assert_int_equal(world->request.status, 200);
    assert_string_equal(world_statuses(world), "invalid");
    world_send(world, TWO);
    world_ack(world, 1, JETSTREAM_STORED);
    assert_string_equal(world_statuses(world), "invalid");
    world_ack(world, 0, JETSTREAM_STORED);
    assert_string_equal(world_statuses(world), "invalid accepted accepted");
    world_send(world, THREE);
    world_end(world);
    assert_false(world->request.is_whole);
    world_ack_all(world);
    assert_string_equal(world_statuses(world), "invalid accepted accepted accepted 4/3/0/1/0");
    assert_true(world->request.is_whole);
}

static void test_an_empty_body_is_answered_live(void **state) {
    struct world *world = *state;
    world_post(world, &live, "");
    assert_string_equal(world_statuses(world), "0/0/0/0/0");
    assert_true(world->request.is_whole);
    world_post(world, &live_filter, "");
    assert_string_equal(world_answer(world), "");
    assert_true(world->request.is_whole);
}

static void test_a_short_announced_body_keeps_its_connection(void **state) {
    struct world *world = *state;
    struct request_head head = live_filter;
    head.content_length = 1000;
    world_begin(world, &head);
    world_send(world, ONE);
    assert_int_equal(world->request.status, 0);
    world_end(world);
    assert_false(world->request.is_live);
    assert_string_equal(world_answer(world), ONE);
}

/* In pieces of one line. */
static void send_lines(struct world *world, size_t count) {
    for (size_t i = 0; i < count; i++) {
        world_send(world, ONE);
    }
}

static void test_while_the_client_does_not_read_its_body_is_not_read(void **state) {
    struct world *world = *state;
    enum { LINES = 1000 };
    world->configuration.data = "/nowhere"; /* no file is written */
    world_begin(world, &live_filter);
    send_lines(world, 1);
    world_hold_up(world, true);
    send_lines(world, LINES - 1);
    assert_true(world_held(world) > 0);
    assert_string_equal(world_answer(world), ONE);
    world_hold_up(world, false);
    assert_int_equal(world_held(world), 0);
    world_end(world);
    assert_int_equal(world->request.answer.length, LINES * strlen(ONE));
    assert_true(world->request.is_whole);
}

static void test_acks_that_come_while_the_client_does_not_read_are_reported_later(void **state) {
    struct world *world = *state;
    enum { LINES = 1000 };
    world->configuration.data = "/nowhere";
    world_begin(world, &live);
    world_hold_up(world, true);
    send_lines(world, LINES);
    world_end(world);
    world_ack_all(world);
    assert_string_equal(world_answer(world), "");
    world_hold_up(world, false);
    assert_true(world->request.is_whole);
    assert_int_equal(in_summary(world, "accepted"), LINES);
    assert_int_equal(line_count(world), LINES + 1);
}

static void test_a_body_of_announced_length_is_read_though_its_client_does_not(void **state) {
    struct world *world = *state;
    enum { LINES = 1000 };
    struct request_head head = live_filter;
    head.content_length = 2000000;
    world_begin(world, &head);
    world_hold_up(world, true);
    send_lines(world, LINES);
    assert_int_equal(world_held(world), 0);
    world_hold_up(world, false);
    assert_int_equal(world->request.answer.length, LINES * strlen(ONE));
    world_hold_up(world, true);
    send_lines(world, LINES);
    world_end(world);
    world_hold_up(world, false);
    assert_int_equal(world->request.answer.length, 2 * LINES * strlen(ONE));
    assert_true(world->request.is_whole);
}

static void stop_reactor(struct reactor_timer *timer) {
    struct world *world = OWNER_OF(timer, struct world, timer);
    reactor_stop(world->reactor);
}

static void run_for(struct world *world, int64_t ms) {
    world->timer.fire = stop_reactor;
    reactor_timer_set(world->reactor, &world->timer, ms);
    reactor_run(world->reactor);
}

/* (attack F2) */
static void test_without_room_the_body_waits_until_results_have_left(void **state) {
    struct world *world = *state;
    enum { LINES = 2000 };
    static const int64_t lengths[] = {2000000, 1000000}; /* live from the start, and when need be */
    world->spools.max_bytes = 0;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct request_head head = live_filter;
        head.content_length = lengths[i];
        world_begin(world, &head);
        world_hold_up(world, true);
        send_lines(world, LINES);
        assert_true(world_held(world) > 0);
        assert_string_equal(world_answer(world), "");
        world_hold_up(world, false);
        assert_int_equal(world_held(world), 0);
        world_end(world);
        assert_int_equal(world->request.answer.length, LINES * strlen(ONE));
        assert_true(world->request.is_whole);
    }
}

/* (attack F2) */
static void test_room_that_others_leave_is_found(void **state) {
    struct world *world = *state;
    enum { LINES = 2000 };
    struct request_head head = live_filter;
    head.content_length = 2000000;
    world->spools.max_bytes = 0;
    world_begin(world, &head);
    world_hold_up(world, true);
    send_lines(world, LINES);
    assert_true(world_held(world) > 0);
    world->spools.max_bytes = UINT64_MAX / 2;
    run_for(world, 1000);
    world_hold_up(world, true);
    assert_int_equal(world_held(world), 0);
    world_hold_up(world, false);
}

static void test_a_client_that_reads_nothing_for_long_may_send_all_first(void **state) {
    struct world *world = *state;
    enum { LINES = 1000, OVER_MS = 100 };
    world->configuration.idle_timeout_ms = OVER_MS;
    world_begin(world, &live_filter);
    world_hold_up(world, true);
    send_lines(world, LINES);
    assert_true(world_held(world) > 0);
    run_for(world, OVER_MS);
    world_hold_up(world, true);
    assert_int_equal(world_held(world), 0);
    world_end(world);
    world_hold_up(world, false);
    assert_int_equal(world->request.answer.length, LINES * strlen(ONE));
    assert_true(world->request.is_whole);
}

static void be_slow(struct world *world, enum ingest_task task, const char *says) {
    const struct request_head head = {.is_live = true, .content_length = 1000, .task = task};
    world_begin(world, &head);
    world_send(world, ONE);
    world_ack_all(world);
    run_for(world, 1000);
    assert_true(world->request.is_live);
    world_hold_up(world, false);
    assert_non_null(strstr(world_answer(world), says));
    world_send(world, ONE);
    world_end(world);
    world_ack_all(world);
    assert_int_equal(line_count(world), 3);
    assert_true(world->request.is_whole);
}

/* (contract 19) */
static void test_a_short_body_that_is_slow_gets_the_acks_that_there_are(void **state) {
    be_slow(*state, INGEST_FORWARD, "{\"line\":1,\"status\":\"accepted\"");
}

/* (contract 19) */
static void test_a_short_body_that_is_slow_gets_the_verdicts_that_there_are(void **state) {
    be_slow(*state, INGEST_VALIDATE, "{\"line\":1,\"valid\":true");
}

static void test_a_short_body_is_not_slow_when_its_acks_are(void **state) {
    struct world *world = *state;
    const struct request_head head = {.is_live = true, .content_length = 1000};
    world_begin(world, &head);
    world_send(world, ONE);
    world_ack_all(world);
    world_send(world, ONE);
    world_end(world);
    run_for(world, 1000);
    assert_int_equal(world->request.status, 0);
    world_ack_all(world);
    assert_false(world->request.is_live);
    assert_int_equal(line_count(world), 3);
}

static void test_a_live_request_may_close_at_any_time(void **state) {
    struct world *world = *state;
    for (int i = 0; i < 2; i++) {
        world_begin(world, i == 0 ? &live : &live_filter);
        world_hold_up(world, true);
        send_lines(world, 1000);
        world_close(world);
        world_ack_all(world);
    }
}

/* ---- memory runs out ---- */

static void test_a_body_that_cannot_be_cut_any_more_is_read_no_further(void **state) {
    struct world *world = *state;
    world_begin(world, &plain);
    world_send(world, ONE "{\"id\":");
    world_ack_all(world);
    char *half = calloc(1, 100001);
    assert_non_null(half);
    memset(half, 'x', 100000);
    parley_buffer_reserve(&world->request.held, 200000);
    fault_heap_arm(0, SIZE_MAX);
    world_send(world, half);
    fault_heap_disarm();
    free(half);
    assert_int_equal(world_held(world), 0);
    world_send(world, "\n" TWO);
    world_end(world);
    assert_int_equal(world->jetstream.count, 1);
    assert_int_equal(world->request.status, 200);
    assert_false(world->request.is_whole);
    assert_string_equal(world_statuses(world), "accepted"); /* and no summary */
}

/* One run with one allocation failing.  Returns: whether it was reached. */
static bool run_out(struct world *world, const struct request_head *head, size_t number) {
    static const char *const pieces[] = {ONE "{}\n{\"id", "\":\"\\u0041\"}\n" TWO, THREE};
    world_close_all(world);
    world->jetstream.room = SIZE_MAX;
    fault_heap_arm(number, 1);
    world_begin(world, head);
    for (size_t i = 0; i < 3; i++) {
        world->jetstream.room = i < 2 ? 1 : 9;
        world_send(world, pieces[i]);
        world_make_room(world, 9);
    }
    world_end(world);
    world_ack_all(world);
    const bool has_failed = fault_heap_has_failed();
    fault_heap_disarm();
    return has_failed;
}

static void fail_each_allocation(struct world *world, const struct request_head *head) {
    size_t failed_count = 0;
    for (size_t number = 0; run_out(world, head, number); number++) {
        failed_count++;
        if (world->request.status == 500) {
            continue; /* before the body */
        }
        assert_int_equal(world->request.status, 200);
        const char *said = world_statuses(world); /* each line is JSON */
        assert_int_equal(world->request.is_whole, strchr(said, '/') != NULL);
        if (world->request.is_whole) {
            assert_int_equal(in_summary(world, "received"), 5);
            assert_int_equal(line_count(world) - 1 + in_summary(world, "omitted"), 5);
        }
    }
    assert_true(failed_count > 10);
}

static void
test_whichever_allocation_fails_the_answer_is_whole_or_says_that_it_is_not(void **state) {
    fail_each_allocation(*state, &plain);
    fail_each_allocation(*state, &live);
}

static void fail_each_of_a_filter(struct world *world, const struct request_head *head) {
    const char *all = ONE TWO THREE;
    size_t failed_count = 0;
    for (size_t number = 0; run_out(world, head, number); number++) {
        failed_count++;
        if (world->request.status != 200) {
            assert_int_equal(world->request.status, 500);
            continue;
        }
        const char *answer = world_answer(world);
        if (world->request.is_whole) {
            assert_string_equal(answer, all);
        }
        for (const char *at = answer; *at != '\0'; at += strlen(ONE)) {
            assert_true(strncmp(at, ONE, strlen(ONE)) == 0 || strncmp(at, TWO, strlen(TWO)) == 0 ||
                        strncmp(at, THREE, strlen(THREE)) == 0);
        }
    }
    assert_true(failed_count > 10);
}

static void test_whichever_allocation_fails_a_filter_gives_messages_or_is_broken_off(void **state) {
    const struct request_head filter = {.task = INGEST_VALIDATE, .query = {{"emit", "messages"}}};
    fail_each_of_a_filter(*state, &filter);
    fail_each_of_a_filter(*state, &live_filter);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_results_are_in_the_order_sent_whatever_the_order_of_acks),
        TEST(test_a_lost_ack_in_the_middle_fails_that_line_alone),
        TEST(test_once_the_bus_is_away_each_further_line_fails_at_once),
        TEST(test_a_message_that_nats_will_not_take_stops_nothing),
        TEST(test_a_message_without_room_is_held_in_its_place),
        TEST(test_not_all_is_taken_while_the_last_message_is_held),
        TEST(test_a_held_message_fails_when_the_bus_goes_away),
        TEST(test_a_full_window_of_results_stops_reading_until_the_first_is_known),
        TEST(test_a_request_may_close_with_acks_to_come),
        TEST(test_a_message_held_is_published_though_its_request_is_closed),
        TEST(test_while_draining_a_request_may_close_with_a_message_held),
        TEST(test_results_says_which_lines_come),
        TEST(test_a_filter_gives_the_valid_messages_and_nothing_else),
        TEST(test_stamp_gives_each_line_an_id_of_its_own),
        TEST(test_an_idempotency_key_is_numbered_by_the_line),
        TEST(test_frames_are_messages_wherever_the_body_is_cut),
        TEST(test_frames_can_be_filtered_into_lines),
        TEST(test_frames_wait_for_room_as_lines_do),
        TEST(test_results_that_cannot_be_kept_are_counted),
        TEST(test_a_filter_that_cannot_keep_all_is_broken_off),
        TEST(test_without_room_a_client_that_cannot_be_answered_yet_is_refused),
        TEST(test_each_result_leaves_as_soon_as_it_and_those_before_it_are_known),
        TEST(test_an_empty_body_is_answered_live),
        TEST(test_a_short_announced_body_keeps_its_connection),
        TEST(test_while_the_client_does_not_read_its_body_is_not_read),
        TEST(test_acks_that_come_while_the_client_does_not_read_are_reported_later),
        TEST(test_a_body_of_announced_length_is_read_though_its_client_does_not),
        TEST(test_a_client_that_reads_nothing_for_long_may_send_all_first),
        TEST(test_without_room_the_body_waits_until_results_have_left),
        TEST(test_room_that_others_leave_is_found),
        TEST(test_a_short_body_that_is_slow_gets_the_acks_that_there_are),
        TEST(test_a_short_body_that_is_slow_gets_the_verdicts_that_there_are),
        TEST(test_a_short_body_is_not_slow_when_its_acks_are),
        TEST(test_a_live_request_may_close_at_any_time),
        TEST(test_a_body_that_cannot_be_cut_any_more_is_read_no_further),
        TEST(test_whichever_allocation_fails_the_answer_is_whole_or_says_that_it_is_not),
        TEST(test_whichever_allocation_fails_a_filter_gives_messages_or_is_broken_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
