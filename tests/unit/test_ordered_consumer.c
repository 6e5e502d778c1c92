/* SPDX-License-Identifier: Apache-2.0 */

/* Reading from a real JetStream: each message once and in order, whatever happens to the server or
 * to the consumer on it. */

#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "../lib/replace_stream.h"
#include "../lib/rounds.h"
#include "ordered_consumer_fixture.h"
#include "ordered_state.h"

static void test_a_message_comes_as_it_was_stored(void **state) {
    struct js_world *world = *state;
    start(world);
    for (size_t i = 0; i < 2; i++) {
        struct reader reader = reader_of(world, MODES[i]);
        reader.start = (struct jetstream_start){.from = JETSTREAM_FROM_NEW};
        open_reader(&reader);
        assert_true(loop_wait(&world->loop, is_opened, &reader, LOOP_PATIENCE_MS));
        int64_t before = nats_NowInNanoSeconds();
        uint64_t sequence = js_world_store(world, "vlp.review.query", "{\"a\": 1}");
        assert_int_equal(reader.next_sequence, sequence);
        wait_for(&reader, sequence, LOOP_PATIENCE_MS);
        assert_string_equal(reader.subject, "vlp.review.query");
        assert_string_equal(reader.text, "{\"a\": 1}");
        assert_int_equal(reader.count, 1);
        assert_in_range(reader.last_time_ns / 1000000, before / 1000000 - 10,
                        nats_NowInNanoSeconds() / 1000000 + 10);
        close_reader(&reader);
    }
}

/* What is stored while the feed opens comes from next_sequence on, without a hole. */
static void test_a_new_feed_misses_nothing_from_where_it_says(void **state) {
    struct js_world *world = *state;
    start(world);
    for (int round = 0; round < 10; round++) {
        struct reader reader = reader_of(world, MODES[round % 2]);
        reader.start = (struct jetstream_start){.from = JETSTREAM_FROM_NEW};
        for (int i = 0; i < 20; i++) {
            assert_int_equal(js_PublishAsync(world->context, "vlp.safe.claim", "x", 1, NULL),
                             NATS_OK);
        }
        open_reader(&reader);
        store_burst(world, 300);
        assert_true(loop_wait(&world->loop, is_opened, &reader, LOOP_PATIENCE_MS));
        wait_for(&reader, js_world_store(world, "vlp.safe.claim", "x"), LOOP_PATIENCE_MS);
        assert_int_equal(reader.opened, 1);
        assert_int_equal(reader.first, reader.next_sequence);
        assert_int_equal(reader.count, reader.last - reader.first + 1);
        assert_int_equal(reader.disorders, 0);
        close_reader(&reader);
    }
}

static void test_a_feed_begins_at_a_sequence(void **state) {
    struct js_world *world = *state;
    start(world);
    store_burst(world, 1000);
    for (size_t i = 0; i < 2; i++) {
        struct reader reader = reader_of(world, MODES[i]);
        reader.start = (struct jetstream_start){.from = JETSTREAM_FROM_SEQUENCE, .sequence = 501};
        open_reader(&reader);
        wait_for(&reader, 1000, LOOP_PATIENCE_MS);
        assert_int_equal(reader.next_sequence, 501);
        assert_int_equal(reader.first, 501);
        assert_int_equal(reader.count, 500);
        assert_int_equal(reader.disorders, 0);
        close_reader(&reader);
    }
}

static void test_a_feed_begins_past_the_end(void **state) {
    struct js_world *world = *state;
    start(world);
    for (size_t i = 0; i < 2; i++) {
        store_many(world, 5);
        uint64_t last = js_world_last_sequence(world);
        struct reader reader = reader_of(world, MODES[i]);
        reader.pull_at_first = MODES[i] == ORDERED_REPLAY ? 1 : 0;
        reader.start =
            (struct jetstream_start){.from = JETSTREAM_FROM_SEQUENCE, .sequence = last + 4};
        open_reader(&reader);
        assert_true(loop_wait(&world->loop, is_opened, &reader, LOOP_PATIENCE_MS));
        store_many(world, 6);
        wait_for(&reader, last + 6, LOOP_PATIENCE_MS);
        assert_int_equal(reader.first, last + 4);
        assert_int_equal(reader.count, 3);
        close_reader(&reader);
    }
}

static void test_a_feed_begins_at_a_time(void **state) {
    struct js_world *world = *state;
    start(world);
    store_many(world, 5);
    struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    nanosleep(&pause, NULL);
    int64_t time_ns = nats_NowInNanoSeconds();
    nanosleep(&pause, NULL);
    store_many(world, 5);
    for (size_t i = 0; i < 2; i++) {
        struct reader reader = reader_of(world, MODES[i]);
        reader.start = (struct jetstream_start){.from = JETSTREAM_FROM_TIME, .time_ns = time_ns};
        open_reader(&reader);
        wait_for(&reader, 10, LOOP_PATIENCE_MS);
        assert_int_equal(reader.next_sequence, 6);
        assert_int_equal(reader.first, 6);
        assert_int_equal(reader.count, 5);
        close_reader(&reader);
    }
}

static void test_what_retention_removed_is_a_jump(void **state) {
    struct js_world *world = *state;
    start(world);
    store_many(world, 10);
    jsOptions options;
    jsOptions_Init(&options);
    options.Stream.Purge.Sequence = 6;
    assert_int_equal(js_PurgeStream(world->context, "VLP", &options, NULL), NATS_OK);
    assert_int_equal(js_DeleteMsg(world->context, "VLP", 8, NULL, NULL), NATS_OK);
    for (size_t i = 0; i < 2; i++) {
        struct reader reader = reader_of(world, MODES[i]);
        reader.start = (struct jetstream_start){.from = JETSTREAM_FROM_SEQUENCE, .sequence = 1};
        open_reader(&reader);
        wait_for(&reader, 10, LOOP_PATIENCE_MS);
        assert_int_equal(reader.first, 6);
        assert_int_equal(reader.count, 4);
        assert_int_equal(reader.disorders, 0);
        close_reader(&reader);
    }
}

static void test_a_feed_reads_on_over_restarts(void **state) {
    struct js_world *world = *state;
    start(world);
    const unsigned burst = (unsigned)test_rounds(10000);
    store_burst(world, burst);
    struct reader readers[2];
    for (size_t i = 0; i < 2; i++) {
        readers[i] = reader_of(world, MODES[i]);
        readers[i].pull_at_first = MODES[i] == ORDERED_REPLAY ? 500 : 0;
        readers[i].start = (struct jetstream_start){.from = JETSTREAM_FROM_SEQUENCE, .sequence = 1};
        open_reader(&readers[i]);
    }
    for (uint64_t life = 0; life < 3; life++) {
        wait_for(&readers[1], 100 + life * burst, LOOP_PATIENCE_MS);
        nats_server_end(&world->server, SIGKILL);
        assert_true(loop_wait(&world->loop, js_world_is_away, world, LOOP_PATIENCE_MS));
        nats_server_start(&world->server);
        js_world_look(world);
        store_burst(world, burst);
    }
    for (size_t i = 0; i < 2; i++) {
        wait_for(&readers[i], 4 * burst, LOOP_PATIENCE_MS);
        assert_int_equal(readers[i].opened, 1);
        assert_int_equal(readers[i].first, 1);
        assert_int_equal(readers[i].count, 4 * burst);
        assert_int_equal(readers[i].disorders, 0);
        close_reader(&readers[i]);
    }
}

static void delete_consumers(struct js_world *world) {
    /* nats.c 3.4 cannot list them: by the API. */
    natsMsg *answer = NULL;
    assert_int_equal(natsConnection_RequestString(&answer, world->connection,
                                                  "$JS.API.CONSUMER.NAMES.VLP", "",
                                                  LOOP_PATIENCE_MS),
                     NATS_OK);
    const char *at = strstr(natsMsg_GetData(answer), "\"consumers\":");
    assert_non_null(at);
    while ((at = strstr(at, "\"parley-")) != NULL) {
        char name[128];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at + 1, "\""), at + 1);
        assert_int_equal(js_DeleteConsumer(world->context, "VLP", name, NULL, NULL), NATS_OK);
        at++;
    }
    natsMsg_Destroy(answer);
}

static int consumer_count(struct js_world *world) {
    jsStreamInfo *info = NULL;
    assert_int_equal(js_GetStreamInfo(&info, world->context, "VLP", NULL, NULL), NATS_OK);
    int count = (int)info->State.Consumers;
    jsStreamInfo_Destroy(info);
    return count;
}

static void test_a_feed_whose_consumer_is_deleted_goes_on(void **state) {
    struct js_world *world = *state;
    start(world);
    store_many(world, 10);
    for (size_t i = 0; i < 2; i++) {
        struct reader reader = reader_of(world, MODES[i]);
        reader.start = (struct jetstream_start){.from = JETSTREAM_FROM_SEQUENCE, .sequence = 1};
        open_reader(&reader);
        wait_for(&reader, js_world_last_sequence(world), LOOP_PATIENCE_MS);
        delete_consumers(world);
        store_many(world, 10);
        uint64_t last = js_world_last_sequence(world);
        wait_for(&reader, last, LOOP_PATIENCE_MS);
        assert_int_equal(reader.count, last);
        assert_int_equal(reader.disorders, 0);
        assert_int_equal(reader.opened, 1);
        close_reader(&reader);
    }
}

static bool has_no_consumers(struct js_world *world) {
    for (int tries = 0; tries < LOOP_PATIENCE_MS / 2 && consumer_count(world) > 0; tries++) {
        loop_pause();
    }
    return consumer_count(world) == 0;
}

/* Someone else pulls one message from our consumer: nothing may be missing for that. */
static void test_a_hole_in_what_comes_is_healed(void **state) {
    struct js_world *world = *state;
    start(world);
    for (size_t i = 0; i < 2; i++) {
        store_many(world, 1);
        uint64_t before = js_world_last_sequence(world);
        struct reader reader = reader_of(world, MODES[i]);
        reader.start = (struct jetstream_start){.from = JETSTREAM_FROM_SEQUENCE, .sequence = 1};
        open_reader(&reader);
        wait_for(&reader, before, LOOP_PATIENCE_MS);
        natsMsg *answer = NULL;
        assert_int_equal(natsConnection_RequestString(&answer, world->connection,
                                                      "$JS.API.CONSUMER.NAMES.VLP", "",
                                                      LOOP_PATIENCE_MS),
                         NATS_OK);
        char name[128], subject[256];
        const char *at = strstr(natsMsg_GetData(answer), "parley-");
        assert_non_null(at);
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\""), at);
        natsMsg_Destroy(answer);
        natsSubscription *thief = NULL;
        natsMsg *stolen = NULL;
        snprintf(subject, sizeof subject, "$JS.API.CONSUMER.MSG.NEXT.VLP.%s", name);
        assert_int_equal(natsConnection_SubscribeSync(&thief, world->connection, "thief"), NATS_OK);
        assert_int_equal(
            natsConnection_PublishRequestString(world->connection, subject, "thief", "1"), NATS_OK);
        store_many(world, 5);
        assert_int_equal(natsSubscription_NextMsg(&stolen, thief, LOOP_PATIENCE_MS), NATS_OK);
        natsMsg_Destroy(stolen);
        natsSubscription_Destroy(thief);
        wait_for(&reader, before + 5, LOOP_PATIENCE_MS);
        assert_int_equal(reader.last, before + 5);
        assert_int_equal(reader.count, before + 5);
        assert_int_equal(reader.disorders, 0);
        close_reader(&reader);
    }
}

static void test_a_closed_feed_leaves_no_consumer_behind(void **state) {
    struct js_world *world = *state;
    start(world);
    for (size_t i = 0; i < 2; i++) {
        struct reader reader = reader_of(world, MODES[i]);
        reader.start = (struct jetstream_start){.from = JETSTREAM_FROM_NEW};
        open_reader(&reader);
        assert_true(loop_wait(&world->loop, is_opened, &reader, LOOP_PATIENCE_MS));
        assert_int_equal(consumer_count(world), 1); /* nor the one that settled where to begin */
        close_reader(&reader);
        assert_true(has_no_consumers(world));
    }
}

static void test_a_feed_can_be_closed_at_any_moment(void **state) {
    struct js_world *world = *state;
    start(world);
    store_burst(world, 200);
    for (size_t i = 0; i < 2; i++) {
        struct reader reader = reader_of(world, MODES[i]);
        reader.start = (struct jetstream_start){.from = JETSTREAM_FROM_SEQUENCE, .sequence = 1};
        loop_do(&world->loop, open_and_close, &reader); /* before it is open */
        assert_int_equal(reader.opened, 0);
        reader.closes_when_opened = true;
        open_reader(&reader);
        assert_true(loop_wait(&world->loop, is_closed, &reader, LOOP_PATIENCE_MS));
        assert_int_equal(reader.count, 0);
        reader.closes_when_opened = false;
        reader.opened = 0;
        reader.close_after = 50;
        open_reader(&reader);
        assert_true(loop_wait(&world->loop, is_closed, &reader, LOOP_PATIENCE_MS));
        assert_false(loop_wait(&world->loop, is_opened, &(struct reader){.world = world}, 100));
        assert_int_equal(reader.count, 50);
    }
    assert_true(has_no_consumers(world));
}

static void test_a_feed_waits_for_the_connection(void **state) {
    struct js_world *world = *state;
    js_world_open(world);
    struct reader reader = reader_of(world, ORDERED_FOLLOW);
    reader.start = (struct jetstream_start){.from = JETSTREAM_FROM_NEW};
    open_reader(&reader);
    assert_false(loop_wait(&world->loop, is_opened, &reader, 200));
    nats_server_start(&world->server);
    assert_true(loop_wait(&world->loop, is_opened, &reader, LOOP_PATIENCE_MS));
    js_world_look(world);
    store_many(world, 1);
    wait_for(&reader, 1, LOOP_PATIENCE_MS);
    close_reader(&reader);
}

/* Past what one request may carry in bytes; and a message that alone is past it. */
static void test_large_messages_come_through(void **state) {
    struct js_world *world = *state;
    char path[128];
    snprintf(path, sizeof path, "%s/conf", world->server.folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("max_payload: 8MB\n", file);
    fclose(file);
    const char *const extra[] = {"-c", path, NULL};
    world->server.extra = extra;
    start(world);
    enum { MEDIUM = 100 * 1000, LARGE = 7 * 1000 * 1000, COUNT = 120 };
    char *payload = calloc(1, LARGE);
    for (int i = 1; i <= COUNT; i++) {
        assert_int_equal(js_Publish(NULL, world->context, "vlp.safe.claim", payload,
                                    i % 50 == 0 ? LARGE : MEDIUM, NULL, NULL),
                         NATS_OK);
    }
    free(payload);
    for (size_t i = 0; i < 2; i++) {
        struct reader reader = reader_of(world, MODES[i]);
        if (MODES[i] == ORDERED_REPLAY) {
            reader.pulls_again = false;
            reader.first_bytes = reader.rest_bytes = 256 * 1024;
            reader.rest_pull = 16;
        }
        reader.start = (struct jetstream_start){.from = JETSTREAM_FROM_SEQUENCE, .sequence = 1};
        open_reader(&reader);
        wait_for(&reader, COUNT, LOOP_PATIENCE_MS);
        assert_int_equal(reader.count, COUNT);
        assert_int_equal(reader.disorders, 0);
        close_reader(&reader);
    }
    assert_int_equal(world->away, 0);
}

/* Someone else's message may look like a status of the server, but for its reply subject. */
static void test_a_message_with_a_status_header_is_a_message(void **state) {
    struct js_world *world = *state;
    start(world);
    for (size_t i = 0; i < 2; i++) {
        struct reader reader = reader_of(world, MODES[i]);
        reader.start = (struct jetstream_start){.from = JETSTREAM_FROM_NEW};
        open_reader(&reader);
        assert_true(loop_wait(&world->loop, is_opened, &reader, LOOP_PATIENCE_MS));
        natsMsg *message = NULL;
        assert_int_equal(natsMsg_Create(&message, "vlp.safe.claim", NULL, NULL, 0), NATS_OK);
        assert_int_equal(natsMsgHeader_Set(message, "Status", "409"), NATS_OK);
        assert_int_equal(natsConnection_PublishMsg(world->connection, message), NATS_OK);
        natsMsg_Destroy(message);
        wait_for(&reader, i + 1, LOOP_PATIENCE_MS);
        assert_int_equal(reader.count, 1);
        close_reader(&reader);
    }
}

static void test_a_frozen_server_interrupts_a_feed_and_no_more(void **state) {
    struct js_world *world = *state;
    start(world);
    struct reader readers[2];
    for (size_t i = 0; i < 2; i++) {
        readers[i] = reader_of(world, MODES[i]);
        readers[i].start = (struct jetstream_start){.from = JETSTREAM_FROM_SEQUENCE, .sequence = 1};
        open_reader(&readers[i]);
        assert_true(loop_wait(&world->loop, is_opened, &readers[i], LOOP_PATIENCE_MS));
    }
    nats_server_stop(&world->server);
    struct reader nothing = {.world = world};
    assert_false(loop_wait(&world->loop, is_opened, &nothing, 5500)); /* it restarts in there */
    nats_server_continue(&world->server);
    store_many(world, 10);
    for (size_t i = 0; i < 2; i++) {
        wait_for(&readers[i], 10, LOOP_PATIENCE_MS);
        assert_int_equal(readers[i].count, 10);
        assert_int_equal(readers[i].disorders, 0);
        close_reader(&readers[i]);
    }
}

static void compare(struct reader *reader, uint64_t last, int64_t now_ms) {
    ordered_consumers_compare(reader->world->jetstream, "VLP", 0, last, now_ms);
}

/* No member of a cluster is behind here: the stream is only said to hold one message more. */
static void say_that_more_is_stored(void *context) {
    struct reader *reader = context;
    const int64_t now_ms = 1000;
    compare(reader, reader->last, now_ms);
    compare(reader, reader->last, now_ms + 60000);
    compare(reader, reader->last + 1, now_ms + 60000);
    compare(reader, reader->last + 1, now_ms + 62000);
    assert_int_equal(reader->feed->phase, ORDERED_RUNNING);
    compare(reader, reader->last + 1, now_ms + 70000);
    assert_int_equal(reader->feed->phase, ORDERED_STOPPED);
}

static void test_a_consumer_that_does_not_get_what_is_stored_is_replaced(void **state) {
    struct js_world *world = *state;
    start(world);
    store_many(world, 3);
    struct reader reader = reader_of(world, ORDERED_FOLLOW);
    reader.start = (struct jetstream_start){.from = JETSTREAM_FROM_SEQUENCE, .sequence = 1};
    open_reader(&reader);
    wait_for(&reader, 3, LOOP_PATIENCE_MS);
    loop_do(&world->loop, say_that_more_is_stored, &reader);
    store_many(world, 1);
    wait_for(&reader, 4, LOOP_PATIENCE_MS);
    assert_int_equal(reader.count, 4);
    assert_int_equal(reader.disorders, 0);
    close_reader(&reader);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, js_world_set_up, js_world_tear_down)

/* attack F4: it asked again four times a second, for ever. */
static void test_a_feed_that_is_refused_for_good_says_so_once(void **state) {
    struct js_world *world = *state;
    start(world);
    const char *subjects[] = {"vlp.>"};
    jsStreamConfig config;
    jsStreamConfig_Init(&config);
    config.Name = "VLP";
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.Retention = js_WorkQueuePolicy;
    replace_stream(world->context, &config);
    for (size_t i = 0; i < 2; i++) {
        struct reader reader = reader_of(world, MODES[i]);
        reader.start = (struct jetstream_start){.from = JETSTREAM_FROM_NEW};
        open_reader(&reader);
        assert_true(loop_wait(&world->loop, is_refused, &reader, LOOP_PATIENCE_MS));
        assert_non_null(strstr(reader.text, "ack"));
        struct reader second = reader_of(world, MODES[i]);
        open_reader(&second); /* by the time it is told, the first would have been told again */
        assert_true(loop_wait(&world->loop, is_refused, &second, LOOP_PATIENCE_MS));
        assert_int_equal(reader.refusals, 1);
        assert_int_equal(reader.opened, 0);
        close_reader(&reader);
        close_reader(&second);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_message_comes_as_it_was_stored),
        TEST(test_a_new_feed_misses_nothing_from_where_it_says),
        TEST(test_a_feed_begins_at_a_sequence),
        TEST(test_a_feed_begins_past_the_end),
        TEST(test_a_feed_begins_at_a_time),
        TEST(test_what_retention_removed_is_a_jump),
        TEST(test_a_feed_reads_on_over_restarts),
        TEST(test_a_feed_whose_consumer_is_deleted_goes_on),
        TEST(test_a_feed_that_is_refused_for_good_says_so_once),
        TEST(test_a_hole_in_what_comes_is_healed),
        TEST(test_a_closed_feed_leaves_no_consumer_behind),
        TEST(test_a_feed_can_be_closed_at_any_moment),
        TEST(test_a_feed_waits_for_the_connection),
        TEST(test_large_messages_come_through),
        TEST(test_a_message_with_a_status_header_is_a_message),
        TEST(test_a_frozen_server_interrupts_a_feed_and_no_more),
        TEST(test_a_consumer_that_does_not_get_what_is_stored_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
