/* SPDX-License-Identifier: Apache-2.0 */

/* What an ordered consumer hands on of what its counterparts on the server send, one after the
 * other: nothing twice, but what is new in the place of a message that the stream has lost. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <nats/nats.h>

#include "ordered_delivery.h"
#include "reactor.h"

struct world {
    struct jetstream jetstream;
    struct ordered_consumer *consumer;
    unsigned count; /* that was handed on */
    uint64_t last;
};

static void on_stored(void *context, const struct jetstream_stored *stored) {
    struct world *world = context;
    world->count++;
    world->last = stored->sequence;
}

static void on_pull_ended(void *context) {
    (void)context;
}

static void begin(struct world *world, struct jetstream_start start, enum ordered_mode mode) {
    const size_t seen_count = mode == ORDERED_FOLLOW ? ORDERED_SEEN_COUNT : 1;
    *world = (struct world){0};
    assert_int_equal(reactor_create(&world->jetstream.reactor), PARLEY_OK);
    world->consumer = calloc(1, sizeof *world->consumer + seen_count * sizeof(struct ordered_seen));
    assert_non_null(world->consumer);
    world->consumer->jetstream = &world->jetstream;
    world->consumer->mode = mode;
    world->consumer->start = start;
    world->consumer->position = ORDERED_OPENED;
    world->consumer->next_sequence = start.sequence;
    world->consumer->seen_count = seen_count;
    world->consumer->events = (struct ordered_consumer_events){
        .stored = on_stored, .pull_ended = on_pull_ended, .context = world};
}

static void end(struct world *world) {
    free(world->consumer);
    reactor_destroy(world->jetstream.reactor);
}

/* A message that was stored at `time_s`.  Returns: as ordered_delivery_handle. */
static bool try_to_send(struct world *world, uint64_t sequence, int64_t time_s) {
    char tail[96];
    snprintf(tail, sizeof tail, ".1.%ju.%ju.%jd.0", (uintmax_t)sequence,
             (uintmax_t)world->consumer->consumer_sequence + 1, (intmax_t)time_s * 1000000000);
    const struct bus_message message = {
        .subject = "vlp.safe.claim", .reply = tail, .reply_tail = tail};
    return ordered_delivery_handle(world->consumer, &message);
}

static void send(struct world *world, uint64_t sequence, int64_t time_s) {
    assert_true(try_to_send(world, sequence, time_s));
}

static void send_many(struct world *world, uint64_t first, uint64_t last, int64_t less_s) {
    for (uint64_t sequence = first; sequence <= last; sequence++) {
        send(world, sequence, (int64_t)sequence - less_s);
    }
}

/* The counterpart on the server is replaced. */
static void replace(struct world *world) {
    world->consumer->consumer_sequence = 0;
    world->consumer->has_all = false;
}

static const struct jetstream_start FROM_1 = {.from = JETSTREAM_FROM_SEQUENCE, .sequence = 1};
static const enum ordered_mode MODES[] = {ORDERED_FOLLOW, ORDERED_REPLAY};

/* It is on a member of the cluster that was restarted, and catches up with the others: asked for
 * what is past its end, it begins at its end. */
static void test_a_member_that_catches_up_repeats_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct world world;
        begin(&world, FROM_1, MODES[i]);
        send_many(&world, 1, 1056, 0);
        replace(&world);
        send_many(&world, 300, 700, 0); /* also what is too long ago to be remembered */
        replace(&world);
        send_many(&world, 585, 1060, 0);
        assert_int_equal(world.count, 1060);
        assert_int_equal(world.last, 1060);
        end(&world);
    }
}

static void test_what_has_the_sequence_of_a_lost_message_is_new(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct world world;
        begin(&world, FROM_1, MODES[i]);
        send_many(&world, 1, 10, 0);
        replace(&world);
        send(&world, 7, 20);
        send(&world, 8, 21);
        assert_int_equal(world.count, 12);
        assert_int_equal(world.last, 8);
        replace(&world);
        send(&world, 8, 21);
        send(&world, 9, 22);
        assert_int_equal(world.count, 13);
        assert_int_equal(world.last, 9);
        end(&world);
    }
}

/* As a leader may do that was stopped for a while: what it stored last is dropped, though it is the
 * newest. */
static void test_an_older_message_in_the_place_of_another_is_new(void **state) {
    (void)state;
    struct world world;
    begin(&world, FROM_1, ORDERED_FOLLOW);
    send_many(&world, 1, 8, 0);
    send(&world, 9, 100);
    send(&world, 10, 101);
    replace(&world);
    send_many(&world, 8, 12, -1);
    assert_int_equal(world.count, 15);
    assert_int_equal(world.last, 12);
    end(&world);
}

static void test_what_comes_before_the_start_is_not_wanted(void **state) {
    (void)state;
    struct world world;
    begin(&world, (struct jetstream_start){.from = JETSTREAM_FROM_SEQUENCE, .sequence = 20},
          ORDERED_FOLLOW);
    send_many(&world, 14, 21, 0);
    assert_int_equal(world.count, 2);
    end(&world);
}

/* Which is what it promises. */
static void test_the_last_on_each_subject_come_again(void **state) {
    (void)state;
    struct world world;
    begin(&world, (struct jetstream_start){.from = JETSTREAM_FROM_LAST}, ORDERED_REPLAY);
    send_many(&world, 1, 5, 0);
    replace(&world);
    send_many(&world, 1, 5, 0);
    assert_int_equal(world.count, 10);
    end(&world);
}

/* ---- statuses ---- */

/* A status of the server about a request that lacks `left` messages.  Returns: as
 * ordered_delivery_handle. */
static bool send_status(struct world *world, const char *status, const char *left) {
    natsMsg *native = NULL;
    assert_int_equal(natsMsg_Create(&native, "_INBOX.x", NULL, "", 0), NATS_OK);
    assert_int_equal(natsMsgHeader_Set(native, "Status", status), NATS_OK);
    assert_int_equal(natsMsgHeader_Set(native, "Nats-Pending-Messages", left), NATS_OK);
    assert_int_equal(natsMsgHeader_Set(native, "Nats-Pending-Bytes", "184320"), NATS_OK);
    const struct bus_message message = {.subject = "_INBOX.x", .reply_tail = "", .native = native};
    const bool goes_on = ordered_delivery_handle(world->consumer, &message);
    natsMsg_Destroy(native);
    return goes_on;
}

/* "409 Batch Completed", which nats-server sends from 2.10 on: nothing is missing, and nothing
 * begins anew. */
static void test_a_request_whose_messages_have_all_come_ends_well(void **state) {
    (void)state;
    const struct jetstream_start starts[] = {FROM_1, {.from = JETSTREAM_FROM_LAST}};
    for (size_t i = 0; i < 4; i++) {
        struct world world;
        begin(&world, starts[i / 2], MODES[i % 2]);
        send_many(&world, 1, 5, 0);
        assert_true(send_status(&world, "409", "0"));
        assert_int_equal(world.consumer->pace, ORDERED_AHEAD);
        send(&world, 6, 6);
        assert_int_equal(world.count, 6);
        end(&world);
    }
}

/* "409 Message Size Exceeds MaxBytes": nats-server 2.9 forgets that message. */
static void test_the_last_on_each_subject_begin_anew_after_one_that_is_too_large(void **state) {
    (void)state;
    struct world world;
    begin(&world, (struct jetstream_start){.from = JETSTREAM_FROM_LAST}, ORDERED_REPLAY);
    send_many(&world, 1, 5, 0);
    assert_false(send_status(&world, "409", "251"));
    assert_int_equal(world.consumer->pace, ORDERED_LARGE);
    end(&world);
}

static const struct jetstream_start DOUBTING = {
    .from = JETSTREAM_FROM_SEQUENCE, .sequence = 1, .doubts = JETSTREAM_DOUBTS_HELD};

/* Its replica was reset, and it catches up from a later sequence on. */
static void test_a_jump_over_what_the_stream_holds_is_not_believed(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct world world;
        begin(&world, DOUBTING, MODES[i]);
        world.consumer->whole_from = 1;
        send_many(&world, 1, 9, 0);
        assert_false(try_to_send(&world, 14, 14));
        assert_int_equal(world.last, 9);
        replace(&world);
        send_many(&world, 10, 14, 0);
        assert_int_equal(world.count, 14);
        end(&world);
    }
}

static void test_a_jump_over_what_is_gone_is_handed_on(void **state) {
    (void)state;
    static const struct {
        uint64_t whole_from;
        enum jetstream_doubts doubts;
    } cases[] = {{0, JETSTREAM_DOUBTS_HELD},
                 {12, JETSTREAM_DOUBTS_HELD},
                 {1, JETSTREAM_DOUBTS_NONE},
                 {1, JETSTREAM_DOUBTS_NEW}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct world world;
        begin(&world, FROM_1, ORDERED_FOLLOW);
        world.consumer->start.doubts = cases[i].doubts;
        world.consumer->whole_from = cases[i].whole_from;
        send_many(&world, 1, 9, 0);
        send(&world, 14, 14);
        assert_int_equal(world.count, 10);
        end(&world);
    }
}

/* As soon as the stream was looked at again, or in the end. */
static void test_a_jump_that_comes_again_and_again_is_believed(void **state) {
    (void)state;
    struct world world;
    begin(&world, DOUBTING, ORDERED_FOLLOW);
    world.consumer->whole_from = 1;
    send_many(&world, 1, 9, 0);
    for (unsigned doubts = 0; doubts < ORDERED_DOUBTS_MAX; doubts++) {
        assert_false(try_to_send(&world, 14, 14));
        replace(&world);
    }
    send(&world, 14, 14);
    assert_int_equal(world.last, 14);
    assert_false(try_to_send(&world, 16, 16));
    world.consumer->whole_from = 16;
    replace(&world);
    send(&world, 16, 16);
    assert_int_equal(world.last, 16);
    end(&world);
}

/* nats-server 2.9 forgot 10, when a subject was purged. */
static void test_a_jump_over_what_is_new_is_believed_when_it_comes_again(void **state) {
    (void)state;
    struct world world;
    begin(&world, FROM_1, ORDERED_FOLLOW);
    world.consumer->start.doubts = JETSTREAM_DOUBTS_NEW;
    world.consumer->phase = ORDERED_RUNNING;
    send_many(&world, 1, 9, 0); /* nothing is pending after each */
    assert_false(try_to_send(&world, 11, 11));
    replace(&world);
    send(&world, 10, 10);
    send(&world, 11, 11);
    assert_false(try_to_send(&world, 13, 13));
    replace(&world);
    send(&world, 13, 13);
    assert_int_equal(world.count, 12);
    end(&world);
}

static int open_library(void **state) {
    (void)state;
    return nats_Open(-1) == NATS_OK ? 0 : -1;
}

static int close_library(void **state) {
    (void)state;
    nats_Close();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_member_that_catches_up_repeats_nothing),
        cmocka_unit_test(test_what_has_the_sequence_of_a_lost_message_is_new),
        cmocka_unit_test(test_an_older_message_in_the_place_of_another_is_new),
        cmocka_unit_test(test_what_comes_before_the_start_is_not_wanted),
        cmocka_unit_test(test_the_last_on_each_subject_come_again),
        cmocka_unit_test(test_a_request_whose_messages_have_all_come_ends_well),
        cmocka_unit_test(test_the_last_on_each_subject_begin_anew_after_one_that_is_too_large),
        cmocka_unit_test(test_a_jump_over_what_the_stream_holds_is_not_believed),
        cmocka_unit_test(test_a_jump_over_what_is_gone_is_handed_on),
        cmocka_unit_test(test_a_jump_that_comes_again_and_again_is_believed),
        cmocka_unit_test(test_a_jump_over_what_is_new_is_believed_when_it_comes_again),
    };
    return cmocka_run_group_tests(tests, open_library, close_library);
}
