/* SPDX-License-Identifier: Apache-2.0 */

/* Feeds that are pulled from: what they ask a real JetStream for, and how much of it all of them
 * together have under way. */

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

#include "ordered_consumer_fixture.h"

static void test_a_pull_feed_gives_no_more_than_was_asked_for(void **state) {
    struct js_world *world = *state;
    start(world);
    store_burst(world, 100);
    struct reader reader = {.world = world,
                            .mode = ORDERED_REPLAY,
                            .pull_at_first = 7,
                            .start = {.from = JETSTREAM_FROM_SEQUENCE, .sequence = 1}};
    open_reader(&reader);
    wait_for(&reader, 7, LOOP_PATIENCE_MS);
    reader.goal = 8;
    assert_false(loop_wait(&world->loop, has_reached, &reader, 300));
    for (uint64_t goal = 8; goal <= 28; goal += 5) {
        reader.more = 5;
        loop_do(&world->loop, pull_more, &reader);
        wait_for(&reader, goal + 4, LOOP_PATIENCE_MS);
    }
    reader.goal = 33;
    assert_false(loop_wait(&world->loop, has_reached, &reader, 300));
    assert_int_equal(reader.count, 32);
    close_reader(&reader);
}

/* More requests of one message each than the server lets wait (512). */
static void test_many_small_pulls_come_through(void **state) {
    struct js_world *world = *state;
    start(world);
    struct reader reader = {.world = world,
                            .mode = ORDERED_REPLAY,
                            .start = {.from = JETSTREAM_FROM_SEQUENCE, .sequence = 1}};
    open_reader(&reader);
    assert_true(loop_wait(&world->loop, is_opened, &reader, LOOP_PATIENCE_MS));
    for (reader.more = 1; reader.more < 2000; reader.more++) {
        loop_do(&world->loop, pull_more, &reader);
    }
    loop_do(&world->loop, pull_more, &reader);
    store_burst(world, 2100);
    wait_for(&reader, 2000, LOOP_PATIENCE_MS);
    reader.goal = 2001;
    assert_false(loop_wait(&world->loop, has_reached, &reader, 200));
    assert_int_equal(reader.count, 2000);
    assert_int_equal(reader.disorders, 0);
    close_reader(&reader);
}

static void count_creation(natsConnection *connection, natsSubscription *subscription,
                           natsMsg *message, void *context) {
    (void)connection;
    (void)subscription;
    atomic_uint *creations = context;
    ++*creations;
    natsMsg_Destroy(message);
}

/* nats-server ends a request whose last message uses up its bytes to the last one without a word.
 * How long the messages are to it depends on the name of the consumer. */
static void test_a_request_that_is_used_up_to_its_last_byte_holds_nothing_up(void **state) {
    enum { NAMES = 12, EXACT = 8, MORE = 4, PAYLOAD = 500 };
    struct js_world *world = *state;
    struct reader readers[NAMES];
    start(world);
    atomic_uint creations = 0;
    natsSubscription *spy = NULL;
    assert_int_equal(natsConnection_Subscribe(&spy, world->connection,
                                              "$JS.API.CONSUMER.CREATE.VLP.>", count_creation,
                                              &creations),
                     NATS_OK);
    char text[PAYLOAD + 1];
    memset(text, 'x', PAYLOAD);
    text[PAYLOAD] = '\0';
    for (int i = 0; i < 30; i++) {
        js_world_store(world, "vlp.safe.claim", text);
    }
    const size_t shortest = PAYLOAD + strlen("vlp.safe.claim$JS.ACK.VLP.parley--1-1.1.1.1..29") +
                            strlen("ABCDEFGHIJKLMNOPQRSTUV") + strlen("1234567890123456789");
    for (size_t i = 0; i < NAMES; i++) {
        readers[i] = (struct reader){.world = world,
                                     .mode = ORDERED_REPLAY,
                                     .pull_at_first = EXACT + MORE,
                                     .first_bytes = EXACT * (shortest + i),
                                     .rest_pull = MORE,
                                     .rest_bytes = MORE * BYTES_A_PULL,
                                     .start = {.from = JETSTREAM_FROM_SEQUENCE, .sequence = 1}};
        open_reader(&readers[i]);
    }
    for (size_t i = 0; i < NAMES; i++) {
        assert_true(loop_wait(&world->loop, is_opened, &readers[i], LOOP_PATIENCE_MS));
    }
    for (int tries = 0; creations < NAMES; tries++) { /* the spy may hear of them later */
        assert_true(tries < LOOP_PATIENCE_MS / 2);
        loop_pause();
    }
    const unsigned created = creations;
    for (size_t i = 0; i < NAMES; i++) {
        wait_for(&readers[i], EXACT + MORE, LOOP_PATIENCE_MS);
    }
    assert_int_equal(creations, created); /* none was given up as silent, and begun again */
    natsSubscription_Destroy(spy);
    for (size_t i = 0; i < NAMES; i++) {
        close_reader(&readers[i]); /* more may come until then, on the loop's thread */
        assert_int_equal(readers[i].disorders, 0);
    }
}

/* ---- the bytes under way ---- */

enum { MANY = 200 };

struct crowd {
    struct js_world *world;
    struct reader readers[MANY];
    uint64_t goal;
    size_t most; /* pulled at once */
};

static void open_crowd(void *context) {
    struct crowd *crowd = context;
    for (size_t i = 0; i < MANY; i++) {
        open_now(&crowd->readers[i]);
    }
}

static void close_crowd(void *context) {
    struct crowd *crowd = context;
    for (size_t i = 0; i < MANY; i++) {
        close_now(&crowd->readers[i]);
    }
}

/* Asked after each turn of the loop. */
static bool have_all_reached(void *context) {
    struct crowd *crowd = context;
    size_t pulled = ordered_consumer_pulled_bytes(crowd->world->jetstream);
    crowd->most = pulled > crowd->most ? pulled : crowd->most;
    for (size_t i = 0; i < MANY; i++) {
        if (crowd->readers[i].last < crowd->goal) {
            return false;
        }
    }
    return true;
}

static bool have_all_opened(void *context) {
    struct crowd *crowd = context;
    for (size_t i = 0; i < MANY; i++) {
        if (crowd->readers[i].opened == 0) {
            return false;
        }
    }
    return true;
}

static bool owes_nothing(void *context) {
    return ordered_consumer_pulled_bytes(((struct js_world *)context)->jetstream) == 0;
}

static struct crowd *make_crowd(struct js_world *world, size_t bytes) {
    struct crowd *crowd = calloc(1, sizeof *crowd);
    assert_non_null(crowd);
    crowd->world = world;
    for (size_t i = 0; i < MANY; i++) {
        crowd->readers[i] = (struct reader){
            .world = world,
            .mode = ORDERED_REPLAY,
            .start = {.from = JETSTREAM_FROM_SEQUENCE, .sequence = 1},
            .pull_at_first = 64,
            .first_bytes = bytes,
            .rest_pull = 64,
            .rest_bytes = bytes,
        };
    }
    return crowd;
}

struct overheard {
    atomic_size_t asked_bytes;
    atomic_bool has_expired; /* one of the requests: what comes now is in place of it */
};

static void overhear(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                     void *context) {
    (void)connection;
    (void)subscription;
    struct overheard *overheard = context;
    const char *status = NULL, *bytes;
    if (natsMsgHeader_Get(message, "Status", &status) == NATS_OK && strcmp(status, "408") == 0) {
        overheard->has_expired = true;
    } else if (!overheard->has_expired &&
               strstr(natsMsg_GetSubject(message), ".CONSUMER.MSG.NEXT.VLP.") != NULL) {
        bytes = strstr(natsMsg_GetData(message), "\"max_bytes\":");
        overheard->asked_bytes +=
            bytes != NULL ? strtoull(bytes + strlen("\"max_bytes\":"), NULL, 10) : SIZE_MAX / 2;
    }
    natsMsg_Destroy(message);
}

/* Counted by somebody else, on the wire, while nothing comes that would make room. */
static void test_many_feeds_ask_for_a_bounded_sum_and_wait_for_the_rest(void **state) {
    struct js_world *world = *state;
    start(world);
    static struct overheard overheard;
    natsSubscription *spy = NULL;
    assert_int_equal(natsConnection_Subscribe(&spy, world->connection, ">", overhear, &overheard),
                     NATS_OK);
    assert_int_equal(natsConnection_Flush(world->connection), NATS_OK);
    struct crowd *crowd = make_crowd(world, 256 * 1024);
    loop_do(&world->loop, open_crowd, crowd);
    crowd->goal = 1;
    assert_true(loop_wait(&world->loop, have_all_opened, crowd, LOOP_PATIENCE_MS));
    while (!overheard.has_expired) {
        loop_pause();
    }
    assert_false(loop_wait(&world->loop, have_all_reached, crowd, 0));
    /* The other half is for large ones. */
    assert_in_range(overheard.asked_bytes, 1, ORDERED_PULL_BYTES_MAX / 2);
    natsSubscription_Destroy(spy);
    js_world_store(world, "vlp.safe.claim", "text");
    assert_true(loop_wait(&world->loop, have_all_reached, crowd, LOOP_PATIENCE_MS));
    assert_in_range(crowd->most, 1, ORDERED_PULL_BYTES_MAX);
    loop_do(&world->loop, close_crowd, crowd);
    assert_true(loop_wait(&world->loop, owes_nothing, world, LOOP_PATIENCE_MS));
    free(crowd);
}

struct race {
    struct reactor_turn turn;
    struct reader *live;
    struct crowd *crowd;
    struct js_shot shot;
    bool is_won; /* the live one had its message before all others had all of theirs */
};

static void watch_race(struct reactor_turn *turn) {
    struct race *race = OWNER_OF(turn, struct race, turn);
    race->is_won = race->is_won || (!have_all_reached(race->crowd) && has_reached(race->live));
}

static int64_t wait_for_ever(struct reactor_turn *turn) {
    (void)turn;
    return -1;
}

static void begin_race(void *context) {
    struct race *race = context;
    reactor_turn_add(race->live->world->loop.reactor, &race->turn);
    open_crowd(race->crowd);
    js_shot_go(&race->shot);
}

static bool is_over(void *context) {
    struct race *race = context;
    return have_all_reached(race->crowd) && has_reached(race->live);
}

/* A client that reads too slowly for the server loses its connection after 64 MB, which is what is
 * tested, or after 10 s, which a busy machine with a sanitizer can take: so no such deadline. */
static void start_without_write_deadline(struct js_world *world) {
    static char path[128];
    static const char *const extra[] = {"-c", path, NULL};
    snprintf(path, sizeof path, "%s/conf", world->server.folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("write_deadline: \"10m\"\n", file);
    fclose(file);
    world->server.extra = extra;
    start(world);
}

/* Unbounded, their sum had the server cut the connection. */
static void test_many_feeds_of_large_messages_disturb_nobody(void **state) {
    struct js_world *world = *state;
    start_without_write_deadline(world);
    enum { LARGE = 1000 * 1000, COUNT = 5 };
    char *payload = calloc(1, LARGE);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(
            js_Publish(NULL, world->context, "vlp.safe.claim", payload, LARGE, NULL, NULL),
            NATS_OK);
    }
    free(payload);
    struct reader live = reader_of(world, ORDERED_FOLLOW);
    live.start = (struct jetstream_start){.from = JETSTREAM_FROM_NEW};
    open_reader(&live);
    assert_true(loop_wait(&world->loop, is_opened, &live, LOOP_PATIENCE_MS));
    struct crowd *crowd = make_crowd(world, 256 * 1024);
    live.goal = crowd->goal = COUNT + 1;
    struct race race = {
        .turn = {.run = watch_race, .timeout_ms = wait_for_ever},
        .live = &live,
        .crowd = crowd,
        .shot = {.world = world, .subject = "vlp.safe.claim", .payload = PARLEY_BYTES("live")},
    };
    loop_do(&world->loop, begin_race, &race);
    assert_true(loop_wait(&world->loop, is_over, &race, LOOP_PATIENCE_MS));
    assert_in_range(crowd->most, 1, ORDERED_PULL_BYTES_MAX);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(crowd->readers[i].count, COUNT + 1);
        assert_int_equal(crowd->readers[i].disorders, 0);
    }
    assert_int_equal(world->away, 0);
    loop_do(&world->loop, close_crowd, crowd);
    close_reader(&live);
    assert_true(loop_wait(&world->loop, owes_nothing, world, LOOP_PATIENCE_MS));
    js_world_close(world); /* it has a turn of the race */
    assert_true(race.is_won);
    free(crowd);
}

/* What is past the bytes stays where it is, until it is pulled for. */
static void test_a_pull_feed_gives_no_more_bytes_than_were_asked_for(void **state) {
    struct js_world *world = *state;
    start(world);
    char text[2001];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < 12; i++) {
        js_world_store(world, "vlp.safe.claim", text);
    }
    struct reader reader = {.world = world,
                            .mode = ORDERED_REPLAY,
                            .pull_at_first = 12,
                            .first_bytes = 10000,
                            .start = {.from = JETSTREAM_FROM_SEQUENCE, .sequence = 1}};
    open_reader(&reader);
    wait_for(&reader, 4, LOOP_PATIENCE_MS);
    reader.goal = 5;
    assert_false(loop_wait(&world->loop, has_reached, &reader, 300));
    assert_int_equal(reader.rests, 1);
    reader.more = 12; /* thousand bytes each */
    loop_do(&world->loop, pull_more, &reader);
    wait_for(&reader, 9, LOOP_PATIENCE_MS);
    reader.goal = 10;
    assert_false(loop_wait(&world->loop, has_reached, &reader, 300));
    assert_int_equal(reader.rests, 2);
    close_reader(&reader);
    assert_true(loop_wait(&world->loop, owes_nothing, world, LOOP_PATIENCE_MS));
}

/* Its requests expire meanwhile. */
static void test_a_pull_feed_waits_for_what_is_not_stored_yet(void **state) {
    struct js_world *world = *state;
    start(world);
    char *text = calloc(1, 20001);
    memset(text, 'x', 20000);
    struct reader reader = {.world = world,
                            .mode = ORDERED_REPLAY,
                            .pull_at_first = 2,
                            .first_bytes = 256 * 1024,
                            .start = {.from = JETSTREAM_FROM_SEQUENCE, .sequence = 1}};
    open_reader(&reader);
    reader.goal = 1;
    assert_false(loop_wait(&world->loop, has_reached, &reader, 9500));
    js_world_store(world, "vlp.safe.claim", text);
    wait_for(&reader, 1, LOOP_PATIENCE_MS);
    js_world_store(world, "vlp.safe.claim", "small");
    wait_for(&reader, 2, LOOP_PATIENCE_MS);
    assert_int_equal(reader.rests, 1);
    assert_int_equal(reader.disorders, 0);
    close_reader(&reader);
    free(text);
}

/* ---- the last message on each subject ---- */

enum { LASTS = 400, LASTS_LARGE = 100 };

struct lasts {
    struct js_world *world;
    struct ordered_consumer *feed;
    unsigned count; /* of the different ones that have come */
    bool has_come[LASTS + 1];
};

static void on_last_opened(void *context, uint64_t next_sequence) {
    const struct lasts *lasts = context;
    (void)next_sequence;
    ordered_consumer_pull(lasts->feed, 256, 256 * 1024);
}

static void on_last_stored(void *context, const struct jetstream_stored *stored) {
    struct lasts *lasts = context;
    lasts->count += !lasts->has_come[stored->sequence];
    lasts->has_come[stored->sequence] = true;
}

static void on_lasts_pulled(void *context) {
    on_last_opened(context, 0);
}

static void open_lasts(void *context) {
    struct lasts *lasts = context;
    const struct jetstream_start from = {.from = JETSTREAM_FROM_LAST, .filter = "vlp.safe.*"};
    const struct ordered_consumer_events events = {.opened = on_last_opened,
                                                   .stored = on_last_stored,
                                                   .pull_ended = on_lasts_pulled,
                                                   .context = lasts};
    assert_int_equal(ordered_consumer_open(lasts->world->jetstream, "VLP", from, ORDERED_REPLAY,
                                           &events, &lasts->feed),
                     PARLEY_OK);
}

static void close_lasts(void *context) {
    ordered_consumer_close(((struct lasts *)context)->feed);
}

static bool have_all_come(void *context) {
    return ((struct lasts *)context)->count == LASTS;
}

/* More than a request's bytes hold, and some that are each larger than usual requests: a server
 * forgets those for which a request has no room. */
static void test_the_last_on_each_subject_come_however_large(void **state) {
    struct js_world *world = *state;
    start(world);
    enum { SMALL = 2000, LARGE = 700 * 1000 };
    char subject[32], *payload = calloc(1, LARGE);
    for (int i = 0; i < LASTS; i++) {
        const bool is_large = i >= LASTS_LARGE && i < LASTS_LARGE + 3;
        snprintf(subject, sizeof subject, "vlp.safe.s%d", i);
        assert_int_equal(js_Publish(NULL, world->context, subject, payload,
                                    is_large ? LARGE : SMALL, NULL, NULL),
                         NATS_OK);
    }
    free(payload);
    struct lasts lasts = {.world = world};
    loop_do(&world->loop, open_lasts, &lasts);
    if (!loop_wait(&world->loop, have_all_come, &lasts, LOOP_PATIENCE_MS)) {
        fail_msg("%u of %d came", lasts.count, LASTS);
    }
    loop_do(&world->loop, close_lasts, &lasts);
    assert_true(loop_wait(&world->loop, owes_nothing, world, LOOP_PATIENCE_MS));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, js_world_set_up, js_world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_pull_feed_gives_no_more_than_was_asked_for),
        TEST(test_many_small_pulls_come_through),
        TEST(test_a_request_that_is_used_up_to_its_last_byte_holds_nothing_up),
        TEST(test_many_feeds_ask_for_a_bounded_sum_and_wait_for_the_rest),
        TEST(test_many_feeds_of_large_messages_disturb_nobody),
        TEST(test_a_pull_feed_gives_no_more_bytes_than_were_asked_for),
        TEST(test_a_pull_feed_waits_for_what_is_not_stored_yet),
        TEST(test_the_last_on_each_subject_come_however_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
