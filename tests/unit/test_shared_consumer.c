/* SPDX-License-Identifier: Apache-2.0 */

/* A durable consumer that several take from, on a real JetStream: each message is somebody's until
 * it is acknowledged, whatever happens to the consumer and the server. */

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/jetstream_world.h"

enum {
    SEEN_MAX = 512,
    PATIENCE_MS = LOOP_PATIENCE_MS,
    BATCH = 16,
    KEPT_MAX = 32,
    RECEIPT_MAX = 128
};

/* One who takes. */
struct taker {
    struct js_world world;
    struct shared_consumer *share;
    unsigned counts[SEEN_MAX]; /* how often each sequence came */
    unsigned total;
    char kept[KEPT_MAX][RECEIPT_MAX]; /* what acknowledges those that are kept */
    size_t kept_count;
    enum { ACKNOWLEDGES, RETURNS_FIRST, KEEPS_FIRST } manner;
    int64_t ack_wait_ms;
};

static void on_taken(void *context, struct shared_consumer *from,
                     const struct jetstream_stored *stored, const char *receipt) {
    struct taker *taker = context;
    struct jetstream *jetstream = taker->world.jetstream;
    assert_true(stored->sequence < SEEN_MAX);
    const bool is_first = taker->counts[stored->sequence]++ == 0;
    taker->total++;
    if (taker->manner == RETURNS_FIRST && is_first) {
        shared_consumer_return(jetstream, from, receipt, 100);
    } else if (taker->manner == ACKNOWLEDGES || !is_first) {
        shared_consumer_ack(jetstream, from, receipt);
    } else {
        snprintf(taker->kept[taker->kept_count++ % KEPT_MAX], RECEIPT_MAX, "%s", receipt);
    }
}

static void acknowledge_kept(void *context) {
    struct taker *taker = context;
    for (size_t i = 0; i < taker->kept_count; i++) {
        shared_consumer_ack(taker->world.jetstream, taker->share, taker->kept[i]);
    }
    taker->kept_count = 0;
}

static void open_share(void *context) {
    struct taker *taker = context;
    const struct shared_consumer_options options = {
        .stream = "VLP",
        .durable = "tasks",
        .filter = "vlp.tasks.>",
        .batch = BATCH,
        .ack_wait_ms = taker->ack_wait_ms > 0 ? taker->ack_wait_ms : 30000};
    assert_int_equal(
        shared_consumer_open(taker->world.jetstream, &options, on_taken, taker, &taker->share),
        PARLEY_OK);
}

static void close_share(void *context) {
    struct taker *taker = context;
    shared_consumer_close(taker->share);
    taker->share = NULL;
}

/* The first starts the server, and the second uses it. */
struct takers {
    struct taker one, two;
};

static int set_up(void **state) {
    struct takers *takers = calloc(1, sizeof *takers);
    assert_non_null(takers);
    js_world_init(&takers->one.world);
    js_world_init(&takers->two.world);
    *state = takers;
    return 0;
}

static void finish(struct taker *taker) {
    if (taker->share != NULL) {
        loop_do(&taker->world.loop, close_share, taker);
    }
    js_world_finish(&taker->world);
}

static int tear_down(void **state) {
    struct takers *takers = *state;
    finish(&takers->two);
    finish(&takers->one);
    free(takers);
    return 0;
}

static struct taker *start(struct takers *takers) {
    js_world_start(&takers->one.world);
    js_world_look(&takers->one.world);
    loop_do(&takers->one.world.loop, open_share, &takers->one);
    return &takers->one;
}

static struct taker *start_second(struct takers *takers) {
    struct taker *two = &takers->two;
    memcpy(two->world.server.url, takers->one.world.server.url, sizeof two->world.server.url);
    js_world_open(&two->world);
    assert_true(loop_wait(&two->world.loop, js_world_is_ready, &two->world, PATIENCE_MS));
    loop_do(&two->world.loop, open_share, two);
    return two;
}

static void store(struct taker *taker, const char *subject, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        js_world_store(&taker->world, subject, "{}");
    }
}

struct wanted {
    struct taker *taker;
    unsigned total;
};

static bool has_taken(void *context) {
    const struct wanted *wanted = context;
    return wanted->taker->total >= wanted->total;
}

static void wait_for(struct taker *taker, unsigned total) {
    struct wanted wanted = {taker, total};
    if (!loop_wait(&taker->world.loop, has_taken, &wanted, PATIENCE_MS)) {
        fail_msg("%u of %u messages came", taker->total, total);
    }
}

static jsConsumerInfo *consumer_info(struct taker *taker) {
    jsConsumerInfo *info = NULL;
    assert_int_equal(js_GetConsumerInfo(&info, taker->world.context, "VLP", "tasks", NULL, NULL),
                     NATS_OK);
    return info;
}

/* Acknowledgements take a moment.  `pending`: of those that were not delivered; -1: any number. */
static void wait_until(struct taker *taker, int64_t unacknowledged, int pending) {
    for (int tries = 0; tries < PATIENCE_MS / 2; tries++) {
        jsConsumerInfo *info = consumer_info(taker);
        const bool is_so = info->NumAckPending == unacknowledged &&
                           (pending < 0 || info->NumPending == (uint64_t)pending);
        jsConsumerInfo_Destroy(info);
        if (is_so) {
            return;
        }
        loop_pause();
    }
    fail_msg("not %d are unacknowledged", (int)unacknowledged);
}

/* That everything is acknowledged, sooner or later. */
static void wait_for_acks(struct taker *taker) {
    wait_until(taker, 0, 0);
}

static void test_what_was_there_and_what_comes_is_taken_by_subject(void **state) {
    struct takers *takers = *state;
    js_world_start(&takers->one.world);
    js_world_look(&takers->one.world);
    store(&takers->one, "vlp.tasks.a", 3);
    store(&takers->one, "vlp.other", 1);
    loop_do(&takers->one.world.loop, open_share, &takers->one);
    wait_for(&takers->one, 3);
    store(&takers->one, "vlp.other", 1);
    store(&takers->one, "vlp.tasks.b.c", 40);
    wait_for(&takers->one, 43);
    wait_for_acks(&takers->one);
    assert_int_equal(takers->one.total, 43);
    assert_int_equal(takers->one.counts[4], 0);
    assert_int_equal(takers->one.counts[5], 0);
    jsConsumerInfo *info = consumer_info(&takers->one);
    assert_string_equal(info->Config->FilterSubject, "vlp.tasks.>");
    assert_int_equal(info->Config->AckPolicy, js_AckExplicit);
    jsConsumerInfo_Destroy(info);
}

static void test_each_message_is_taken_by_one_of_several(void **state) {
    struct takers *takers = *state;
    struct taker *one = start(takers), *two = start_second(takers);
    store(one, "vlp.tasks.a", 1); /* both stand, or will find the rest */
    wait_for_acks(one);
    store(one, "vlp.tasks.a", 199);
    wait_for_acks(one);
    for (unsigned sequence = 1; sequence <= 200; sequence++) {
        assert_int_equal(one->counts[sequence] + two->counts[sequence], 1);
    }
}

static void test_what_is_not_acknowledged_comes_again(void **state) {
    struct takers *takers = *state;
    takers->one.manner = KEEPS_FIRST;
    takers->one.ack_wait_ms = 300;
    struct taker *one = start(takers);
    store(one, "vlp.tasks.a", 5);
    wait_for(one, 10);
    wait_for_acks(one);
}

/* Others, on the same connection and in the same process, would wait for all of them. */
static void test_no_more_than_a_batch_is_open_at_a_time(void **state) {
    struct takers *takers = *state;
    takers->one.manner = KEEPS_FIRST;
    struct taker *one = start(takers);
    store(one, "vlp.tasks.a", 3 * BATCH);
    for (unsigned round = 1; round <= 3; round++) {
        wait_for(one, round * BATCH);
        wait_until(one, BATCH, (int)((3 - round) * BATCH));
        jsConsumerInfo *info = consumer_info(one);
        assert_int_equal(info->NumWaiting, 0);
        jsConsumerInfo_Destroy(info);
        loop_do(&one->world.loop, acknowledge_kept, one);
    }
    wait_for_acks(one);
    assert_int_equal(one->total, 3 * BATCH);
}

static void test_what_is_returned_comes_again(void **state) {
    struct takers *takers = *state;
    takers->one.manner = RETURNS_FIRST;
    struct taker *one = start(takers);
    store(one, "vlp.tasks.a", 5);
    wait_for(one, 10);
    wait_for_acks(one);
}

static void add_consumer(struct taker *taker, int64_t unacknowledged_max) {
    jsConsumerConfig config;
    jsConsumerConfig_Init(&config);
    config.Durable = "tasks";
    config.FilterSubject = "vlp.tasks.>";
    config.AckPolicy = js_AckExplicit;
    config.MaxAckPending = unacknowledged_max;
    assert_int_equal(js_AddConsumer(NULL, taker->world.context, "VLP", &config, NULL, NULL),
                     NATS_OK);
}

static bool has_pending(void *context) {
    const struct wanted *wanted = context;
    uint64_t pending;
    return wanted->taker->share != NULL &&
           shared_consumer_pending(wanted->taker->share, &pending) && pending == wanted->total;
}

static void wait_for_pending(struct taker *taker, unsigned count) {
    struct wanted wanted = {taker, count};
    assert_true(loop_wait(&taker->world.loop, has_pending, &wanted, PATIENCE_MS));
}

static void test_it_knows_how_many_nobody_was_given(void **state) {
    struct takers *takers = *state;
    struct taker *one = &takers->one;
    js_world_start(&one->world);
    js_world_look(&one->world);
    store(one, "vlp.other", 1);
    store(one, "vlp.tasks.a", 10);
    add_consumer(one, 4);
    one->manner = KEEPS_FIRST;
    loop_do(&one->world.loop, open_share, one);
    wait_for(one, 4);
    wait_for_pending(one, 6);
    struct taker *two = start_second(takers); /* which is given none of them */
    wait_for_pending(two, 6);
    loop_do(&one->world.loop, close_share, one);
    assert_int_equal(js_DeleteConsumer(one->world.context, "VLP", "tasks", NULL, NULL), NATS_OK);
    wait_for(two, 10); /* of one that it made itself */
    wait_for_pending(two, 0);
}

static void test_what_a_dead_one_had_is_taken_by_another(void **state) {
    struct takers *takers = *state;
    takers->one.manner = KEEPS_FIRST;
    takers->one.ack_wait_ms = 300;
    struct taker *one = start(takers);
    store(one, "vlp.tasks.a", 5);
    wait_for(one, 5);
    loop_do(&one->world.loop, close_share, one);
    struct taker *two = start_second(takers);
    wait_for(two, 5);
    wait_for_acks(one);
}

static void test_a_deleted_consumer_is_made_anew(void **state) {
    struct takers *takers = *state;
    struct taker *one = start(takers);
    store(one, "vlp.tasks.a", 2);
    wait_for(one, 2);
    wait_for_acks(one);
    assert_int_equal(js_DeleteConsumer(one->world.context, "VLP", "tasks", NULL, NULL), NATS_OK);
    store(one, "vlp.tasks.a", 1);
    wait_for(one, 5); /* it begins at the beginning */
    wait_for_acks(one);
}

/* A server that is killed may forget acknowledgements; then messages come again. */
static void test_it_goes_on_after_a_restart_of_the_server(void **state) {
    static const int signals[] = {SIGTERM, SIGKILL};
    struct takers *takers = *state;
    takers->one.ack_wait_ms = 300;
    struct taker *one = start(takers);
    store(one, "vlp.tasks.a", 2);
    wait_for(one, 2);
    wait_for_acks(one);
    for (unsigned i = 0; i < 2; i++) {
        nats_server_end(&one->world.server, signals[i]);
        assert_true(loop_wait(&one->world.loop, js_world_is_away, &one->world, PATIENCE_MS));
        nats_server_start(&one->world.server);
        js_world_look(&one->world);
        store(one, "vlp.tasks.a", 1);
        wait_for(one, 3 + i);
        wait_for_acks(one);
    }
    assert_true(one->counts[3] > 0 && one->counts[4] > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_what_was_there_and_what_comes_is_taken_by_subject),
        TEST(test_each_message_is_taken_by_one_of_several),
        TEST(test_what_is_not_acknowledged_comes_again),
        TEST(test_no_more_than_a_batch_is_open_at_a_time),
        TEST(test_what_is_returned_comes_again),
        TEST(test_it_knows_how_many_nobody_was_given),
        TEST(test_what_a_dead_one_had_is_taken_by_another),
        TEST(test_a_deleted_consumer_is_made_anew),
        TEST(test_it_goes_on_after_a_restart_of_the_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
