/* SPDX-License-Identifier: Apache-2.0 */

/* The streams that must exist, on a real JetStream: found, created, or said to be unusable. */

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "../lib/jetstream_world.h"

#define NS_A_S INT64_C(1000000000)

static void test_a_missing_stream_is_created_as_promised(void **state) {
    struct js_world *world = *state;
    world->options.dedupe_window_ms = 0;
    world->options.is_probing = true;
    js_world_start(world);
    js_world_look(world);
    jsStreamInfo *info = NULL;
    assert_int_equal(js_GetStreamInfo(&info, world->context, "VLP", NULL, NULL), NATS_OK);
    assert_int_equal(info->Config->SubjectsLen, 1);
    assert_string_equal(info->Config->Subjects[0], "vlp.>");
    assert_int_equal(info->Config->Storage, js_FileStorage);
    assert_int_equal(info->Config->Retention, js_LimitsPolicy);
    assert_int_equal(info->Config->MaxAge, 7 * 24 * 3600 * NS_A_S);
    assert_int_equal(info->Config->Duplicates, NS_A_S / 10);
    assert_int_equal(info->Config->Replicas, 1);
    jsStreamInfo_Destroy(info);
    assert_int_equal(js_GetStreamInfo(&info, world->context, "PARLEY_PROBE", NULL, NULL), NATS_OK);
    assert_int_equal(info->Config->Storage, js_FileStorage);
    assert_int_equal(info->Config->MaxMsgs, 1);
    jsStreamInfo_Destroy(info);
}

struct window {
    struct js_world *world;
    int64_t ms;
};

static void look_at_window(void *context) {
    struct window *window = context;
    window->ms = jetstream_dedupe_window_ms(window->world->jetstream, "VLP");
}

static int64_t window_of_vlp(struct js_world *world) {
    struct window window = {.world = world};
    loop_do(&world->loop, look_at_window, &window);
    return window.ms;
}

/* (contract 2) What is promised of retries must be what the stream keeps. */
static void test_the_dedupe_window_is_the_streams_own(void **state) {
    struct js_world *world = *state;
    world->options.dedupe_window_ms = 0;
    js_world_start(world);
    assert_int_equal(window_of_vlp(world), 100); /* the least that a server takes */
    js_world_look(world);
    js_world_close(world); /* which would make it again itself */
    assert_int_equal(js_DeleteStream(world->context, "VLP", NULL, NULL), NATS_OK);
    js_world_add_stream(world, "VLP", "vlp.>"); /* with the server's default */
    js_world_open(world);
    assert_true(loop_wait(&world->loop, js_world_is_ready, world, LOOP_PATIENCE_MS));
    assert_int_equal(window_of_vlp(world), 120000);
}

static void test_a_window_that_is_not_known_yet_is_the_options(void **state) {
    struct js_world *world = *state;
    world->options.dedupe_window_ms = 5000;
    js_world_open(world); /* there is no server */
    assert_int_equal(window_of_vlp(world), 5000);
    js_world_close(world);
}

static const struct jetstream_stream BUCKET = {
    .name = "KV_things", .subjects = "$KV.things.>", .bucket_days = 3};

static void test_a_missing_bucket_is_one_that_every_client_can_use(void **state) {
    struct js_world *world = *state;
    world->options.streams = &BUCKET;
    js_world_start(world);
    js_world_look(world);
    kvStore *bucket = NULL;
    kvEntry *entry = NULL;
    assert_int_equal(js_KeyValue(&bucket, world->context, "things"), NATS_OK);
    assert_int_equal(kvStore_PutString(NULL, bucket, "a", "1"), NATS_OK);
    assert_int_equal(kvStore_PutString(NULL, bucket, "a", "2"), NATS_OK);
    assert_int_equal(kvStore_Get(&entry, bucket, "a"), NATS_OK);
    assert_string_equal(kvEntry_ValueString(entry), "2");
    kvEntry_Destroy(entry);
    assert_int_equal(kvStore_Purge(bucket, "a", NULL), NATS_OK);
    assert_int_equal(kvStore_Get(&entry, bucket, "a"), NATS_NOT_FOUND);
    kvStatus *status = NULL;
    assert_int_equal(kvStore_Status(&status, bucket), NATS_OK);
    assert_int_equal(kvStatus_TTL(status), 3 * 24 * 3600 * NS_A_S);
    assert_int_equal(kvStatus_History(status), 1);
    kvStatus_Destroy(status);
    kvStore_Destroy(bucket);
    jsStreamInfo *info = NULL;
    assert_int_equal(js_GetStreamInfo(&info, world->context, "KV_things", NULL, NULL), NATS_OK);
    assert_int_equal(info->Config->Storage, js_FileStorage);
    assert_int_equal(info->Config->Discard, js_DiscardNew);
    assert_true(info->Config->AllowRollup);
    assert_true(info->Config->DenyDelete);
    jsStreamInfo_Destroy(info);
}

static int64_t age_of_things_s(struct js_world *world) {
    jsStreamInfo *info = NULL;
    assert_int_equal(js_GetStreamInfo(&info, world->context, "KV_things", NULL, NULL), NATS_OK);
    const int64_t age_s = info->Config->MaxAge / NS_A_S;
    jsStreamInfo_Destroy(info);
    return age_s;
}

static void add_aged_stream(struct js_world *world, const char *name, const char *subjects,
                            int64_t age_s) {
    jsStreamConfig config;
    jsStreamConfig_Init(&config);
    config.Name = name;
    config.Subjects = &subjects;
    config.SubjectsLen = 1;
    config.MaxAge = age_s * NS_A_S;
    assert_int_equal(js_AddStream(NULL, world->context, &config, NULL, NULL), NATS_OK);
}

static void test_a_bucket_outlives_the_streams_of_its_messages(void **state) {
    struct js_world *world = *state;
    enum { DAY_S = 24 * 3600 };
    static const char *const families[] = {"vlp.safe.>", "vlp.review.>", "vlp.block.>", NULL};
    static const struct jetstream_stream streams[] = {
        {.name = "KV_things", .subjects = "$KV.things.>", .bucket_days = 90, .outlives = "VLP"},
        {.name = "VLP", .subjects = "vlp.>", .families = families}};
    static const struct {
        int64_t one_s, other_s; /* streams of an operator; -1: there is none; 0: for ever */
        int64_t wanted_s;
    } rows[] = {
        {-1, -1, 8 * DAY_S},          {3600, -1, 8 * DAY_S}, {30 * DAY_S, 40 * DAY_S, 41 * DAY_S},
        {90 * DAY_S, -1, 90 * DAY_S}, {0, 3600, 90 * DAY_S},
    };
    world->options.streams = streams;
    world->options.stream_count = 2;
    nats_server_start(&world->server);
    js_world_look(world);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].one_s >= 0) {
            add_aged_stream(world, "one", families[0], rows[i].one_s);
        }
        if (rows[i].other_s >= 0) {
            add_aged_stream(world, "other", families[1], rows[i].other_s);
        }
        js_world_open(world);
        assert_true(loop_wait(&world->loop, js_world_is_ready, world, LOOP_PATIENCE_MS));
        assert_int_equal(age_of_things_s(world), rows[i].wanted_s);
        js_world_close(world);
        static const char *const names[] = {"one", "other", "VLP", "KV_things"};
        for (size_t j = 0; j < sizeof names / sizeof names[0]; j++) {
            js_DeleteStream(world->context, names[j], NULL, NULL);
        }
    }
}

static void test_a_bucket_that_a_client_made_is_used_as_it_is(void **state) {
    struct js_world *world = *state;
    world->options.streams = &BUCKET;
    nats_server_start(&world->server);
    js_world_look(world);
    kvStore *bucket = NULL;
    kvConfig config;
    kvConfig_Init(&config);
    config.Bucket = "things";
    config.History = 5;
    assert_int_equal(js_CreateKeyValue(&bucket, world->context, &config), NATS_OK);
    js_world_open(world);
    assert_true(loop_wait(&world->loop, js_world_is_ready, world, LOOP_PATIENCE_MS));
    kvStatus *status = NULL;
    assert_int_equal(kvStore_Status(&status, bucket), NATS_OK);
    assert_int_equal(kvStatus_History(status), 5);
    assert_int_equal(kvStatus_TTL(status), 0);
    kvStatus_Destroy(status);
    kvStore_Destroy(bucket);
}

static void test_a_stream_that_exists_is_used_as_it_is(void **state) {
    struct js_world *world = *state;
    const struct jetstream_stream narrow = {.name = "VLP", .subjects = "vlp.safe.claim.>"};
    const char *covering[] = {"vlp.safe.claim.>", "vlp.safe.>", "vlp.>", "vlp.*.claim.>",
                              "vlp.*.>"};
    world->options.streams = &narrow;
    nats_server_start(&world->server);
    js_world_look(world);
    for (size_t i = 0; i < sizeof covering / sizeof covering[0]; i++) {
        js_world_add_stream(world, "VLP", covering[i]);
        js_world_open(world);
        assert_true(loop_wait(&world->loop, js_world_is_ready, world, LOOP_PATIENCE_MS));
        assert_int_equal(js_world_fire(world, "vlp.safe.claim.x", NULL).ack.outcome,
                         JETSTREAM_STORED);
        jsStreamInfo *info = NULL;
        assert_int_equal(js_GetStreamInfo(&info, world->context, "VLP", NULL, NULL), NATS_OK);
        assert_string_equal(info->Config->Subjects[0], covering[i]);
        assert_int_equal(info->Config->MaxAge, 0);
        jsStreamInfo_Destroy(info);
        js_world_close(world);
        assert_int_equal(js_DeleteStream(world->context, "VLP", NULL, NULL), NATS_OK);
    }
}

/* What is unusable is told again in each round, on the loop's thread: so it is read there. */
struct saying {
    const struct js_world *world;
    const char *words;
};

static bool is_said(void *context) {
    const struct saying *saying = context;
    return saying->world->unusable > 0 && strstr(saying->world->error, saying->words) != NULL;
}

static bool is_told(struct js_world *world, const char *words) {
    struct saying saying = {.world = world, .words = words};
    return loop_wait(&world->loop, is_said, &saying, LOOP_PATIENCE_MS);
}

static void forget_what_was_told(void *context) {
    struct js_world *world = context;
    world->ready = world->unusable = 0;
}

static void test_a_stream_with_wrong_subjects_is_unusable(void **state) {
    struct js_world *world = *state;
    const char *wrong[] = {"other.>", "vlp.*", "vlp.safe.>", "vlp.*.*", "vlpx.>", "vlp.*.>"};
    nats_server_start(&world->server);
    js_world_look(world);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        js_world_add_stream(world, "VLP", wrong[i]);
        world->unusable = 0;
        js_world_open(world);
        assert_true(is_told(world, "VLP"));
        assert_true(is_told(world, "vlp.>"));
        js_world_close(world);
        assert_int_equal(world->ready, 0);
        js_DeleteStream(world->context, "VLP", NULL, NULL);
    }
}

static void test_subjects_that_another_stream_has_are_unusable(void **state) {
    struct js_world *world = *state;
    nats_server_start(&world->server);
    js_world_look(world);
    js_world_add_stream(world, "OTHER", "vlp.safe.>");
    js_world_open(world);
    assert_true(is_told(world, "VLP"));
}

static void test_replicas_without_a_cluster_are_unusable(void **state) {
    struct js_world *world = *state;
    world->options.replicas = 3;
    nats_server_start(&world->server);
    js_world_open(world);
    assert_true(is_told(world, "--replicas"));
}

/* Whether the stream stores what another client sends: nats-server describes a new stream a moment
 * before it subscribes to its subjects. */
static bool stores_again(void *context) {
    struct js_world *world = context;
    return js_Publish(NULL, world->context, "vlp.safe.claim", "text", 4, NULL, NULL) == NATS_OK;
}

/* (attack F8) */
static void test_a_deleted_stream_is_made_anew_before_a_sender_comes(void **state) {
    struct js_world *world = *state;
    js_world_start(world);
    js_world_look(world);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(js_DeleteStream(world->context, "VLP", NULL, NULL), NATS_OK);
        assert_true(loop_wait(&world->loop, stores_again, world, LOOP_PATIENCE_MS));
        assert_int_equal(js_world_fire(world, "vlp.safe.claim", NULL).ack.outcome,
                         JETSTREAM_STORED);
    }
    assert_int_equal(world->away, 0);
}

static int64_t wall_clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * NS_A_S + now.tv_nsec;
}

/* nats-server announces a deletion before it removes the files: then they may be those of the new
 * stream already, whose messages are lost. Here the server's own time of creation is compared, so
 * that no delay of the test matters. */
static void test_a_deleted_stream_is_made_anew_only_when_its_files_are_gone(void **state) {
    struct js_world *world = *state;
    js_world_start(world);
    js_world_look(world);
    const int64_t deleted_ns = wall_clock_ns();
    assert_int_equal(js_DeleteStream(world->context, "VLP", NULL, NULL), NATS_OK);
    assert_true(loop_wait(&world->loop, stores_again, world, LOOP_PATIENCE_MS));
    jsStreamInfo *info = NULL;
    assert_int_equal(js_GetStreamInfo(&info, world->context, "VLP", NULL, NULL), NATS_OK);
    assert_true(info->Created - deleted_ns >= NS_A_S / 3);
    jsStreamInfo_Destroy(info);
}

static void test_a_message_that_finds_no_stream_is_refused(void **state) {
    struct js_world *world = *state;
    js_world_start(world);
    struct js_shot shot = js_world_fire(world, "nobody.listens", NULL);
    assert_int_equal(shot.ack.outcome, JETSTREAM_REFUSED);
    assert_int_equal(shot.ack.error_code, 503);
}

struct change {
    jsRetentionPolicy retention;
    bool is_sealed;
    const char *says;
};

static bool try_changed_stream(struct js_world *world, const struct change *change) {
    jsStreamConfig config;
    jsStreamConfig_Init(&config);
    const char *subject = "vlp.>";
    config.Name = "VLP";
    config.Subjects = &subject;
    config.SubjectsLen = 1;
    config.Retention = change->retention;
    if (js_AddStream(NULL, world->context, &config, NULL, NULL) != NATS_OK) {
        return false;
    }
    config.Sealed = change->is_sealed;
    config.DenyDelete = config.DenyPurge = change->is_sealed;
    config.Discard = change->is_sealed ? js_DiscardNew : js_DiscardOld;
    if (change->is_sealed) {
        assert_int_equal(js_UpdateStream(NULL, world->context, &config, NULL, NULL), NATS_OK);
    }
    return true;
}

static const struct change CHANGES[] = {
    {.retention = js_WorkQueuePolicy, .says = "retention workqueue"},
    {.retention = js_InterestPolicy, .says = "retention interest"},
    {.retention = js_LimitsPolicy, .is_sealed = true, .says = "sealed"},
};

/* (attack F4) */
static void test_a_stream_that_keeps_messages_otherwise_is_unusable(void **state) {
    struct js_world *world = *state;
    nats_server_start(&world->server);
    js_world_look(world);
    for (size_t i = 0; i < sizeof CHANGES / sizeof CHANGES[0]; i++) {
        assert_true(try_changed_stream(world, &CHANGES[i]));
        world->unusable = 0;
        js_world_open(world);
        assert_true(is_told(world, "stream VLP"));
        assert_true(is_told(world, CHANGES[i].says));
        js_world_close(world);
        assert_int_equal(world->ready, 0);
        js_DeleteStream(world->context, "VLP", NULL, NULL);
    }
}

/* (attack F4) */
static void test_a_stream_that_is_sealed_later_is_told(void **state) {
    struct js_world *world = *state;
    js_world_start(world);
    js_world_look(world);
    jsStreamInfo *info = NULL;
    assert_int_equal(js_GetStreamInfo(&info, world->context, "VLP", NULL, NULL), NATS_OK);
    info->Config->Sealed = info->Config->DenyDelete = info->Config->DenyPurge = true;
    info->Config->Discard = js_DiscardNew;
    info->Config->MaxAge = 0;
    assert_int_equal(js_UpdateStream(NULL, world->context, info->Config, NULL, NULL), NATS_OK);
    jsStreamInfo_Destroy(info);
    assert_true(is_told(world, "sealed"));
    assert_int_equal(js_DeleteStream(world->context, "VLP", NULL, NULL), NATS_OK);
    assert_true(loop_wait(&world->loop, stores_again, world, LOOP_PATIENCE_MS));
}

static const struct jetstream_stream TWO[] = {
    {.name = "VLP", .subjects = "vlp.>"},
    {.name = "OTHER", .subjects = "other.>"},
};

static void start_with_two(struct js_world *world) {
    world->options.streams = TWO;
    world->options.stream_count = 2;
    js_world_start(world);
    js_world_look(world);
}

static bool is_all_well(void *context) {
    return jetstream_remark(((struct js_world *)context)->jetstream, 0) == NULL;
}

static void test_a_stream_that_becomes_unusable_stops_only_itself(void **state) {
    struct js_world *world = *state;
    start_with_two(world);
    for (size_t i = 0; i < sizeof CHANGES / sizeof CHANGES[0]; i++) {
        js_world_close(world);
        world->unusable = 0;
        js_world_open(world);
        assert_true(loop_wait(&world->loop, js_world_is_ready, world, LOOP_PATIENCE_MS));
        do { /* it is made again meanwhile, perhaps */
            js_DeleteStream(world->context, "VLP", NULL, NULL);
        } while (!try_changed_stream(world, &CHANGES[i]));
        assert_true(loop_wait(&world->loop, js_world_is_unusable, world, LOOP_PATIENCE_MS));
        nats_server_end(&world->server, SIGKILL);
        assert_true(loop_wait(&world->loop, js_world_is_away, world, LOOP_PATIENCE_MS));
        loop_do(&world->loop, forget_what_was_told, world);
        nats_server_start(&world->server);
        assert_true(loop_wait(&world->loop, js_world_is_ready, world, LOOP_PATIENCE_MS));
        assert_true(loop_wait(&world->loop, js_world_is_unusable, world, LOOP_PATIENCE_MS));
        assert_int_equal(js_world_fire(world, "other.x", NULL).ack.outcome, JETSTREAM_STORED);
        struct js_shot shot = {.world = world, .subject = "vlp.safe.claim"};
        loop_do(&world->loop, js_shot_go, &shot);
        assert_int_equal(shot.result, JETSTREAM_BARRED);
        js_world_look(world);
        assert_int_equal(js_DeleteStream(world->context, "VLP", NULL, NULL), NATS_OK);
        assert_true(loop_wait(&world->loop, is_all_well, world, LOOP_PATIENCE_MS));
        assert_true(loop_wait(&world->loop, stores_again, world, LOOP_PATIENCE_MS));
        assert_int_equal(js_world_fire(world, "vlp.safe.claim", NULL).ack.outcome,
                         JETSTREAM_STORED);
    }
}

/* A server never has the room for the second one. */
static const struct jetstream_stream NEEDED_AND_WANTED[] = {{.name = "VLP", .subjects = "vlp.>"},
                                                            {.name = "WANTED",
                                                             .subjects = "wanted.>",
                                                             .bytes_max = INT64_C(1) << 60,
                                                             .without = "nobody misses it"}};

struct remark {
    struct js_world *world;
    char text[512]; /* "": there is none */
};

static bool sees_remark(void *context) {
    struct remark *remark = context;
    const char *text = jetstream_remark(remark->world->jetstream, 0);
    snprintf(remark->text, sizeof remark->text, "%s", text != NULL ? text : "");
    return text != NULL && jetstream_trouble(remark->world->jetstream) == NULL;
}

static void open_needed_and_wanted(struct js_world *world, struct remark *remark) {
    *remark = (struct remark){.world = world};
    world->options.streams = NEEDED_AND_WANTED;
    world->options.stream_count = 2;
    world->options.watch_ms = 50;
    js_world_open(world);
    assert_true(loop_wait(&world->loop, js_world_is_ready, world, LOOP_PATIENCE_MS));
    assert_true(loop_wait(&world->loop, sees_remark, remark, LOOP_PATIENCE_MS));
    assert_non_null(strstr(remark->text, "stream WANTED "));
    assert_non_null(strstr(remark->text, "; nobody misses it"));
}

static void test_a_wanted_stream_for_which_there_is_no_room_keeps_nothing_back(void **state) {
    struct js_world *world = *state;
    struct remark remark;
    nats_server_start(&world->server);
    open_needed_and_wanted(world, &remark);
    assert_non_null(strstr(remark.text, "cannot be created"));
    assert_int_equal(js_world_fire(world, "vlp.safe.claim", NULL).ack.outcome, JETSTREAM_STORED);
    js_world_look(world);
    js_world_add_stream(world, "WANTED", "wanted.>"); /* without a limit */
    assert_true(loop_wait(&world->loop, is_all_well, world, LOOP_PATIENCE_MS));
    assert_int_equal(js_world_fire(world, "wanted.x", NULL).ack.outcome, JETSTREAM_STORED);
}

static void test_a_wanted_stream_that_is_unusable_stops_no_start(void **state) {
    struct js_world *world = *state;
    struct remark remark;
    nats_server_start(&world->server);
    js_world_look(world);
    js_world_add_stream(world, "WANTED", "other.>");
    open_needed_and_wanted(world, &remark);
    assert_non_null(strstr(remark.text, "without the subjects wanted.>"));
    assert_int_equal(world->unusable, 0);
}

static void test_what_the_stream_refuses_is_refused_with_its_code(void **state) {
    struct js_world *world = *state;
    nats_server_start(&world->server);
    js_world_look(world);
    jsStreamConfig config;
    jsStreamConfig_Init(&config);
    const char *subject = "vlp.>";
    config.Name = "VLP";
    config.Subjects = &subject;
    config.SubjectsLen = 1;
    config.MaxMsgSize = 1;
    assert_int_equal(js_AddStream(NULL, world->context, &config, NULL, NULL), NATS_OK);
    js_world_open(world);
    assert_true(loop_wait(&world->loop, js_world_is_ready, world, LOOP_PATIENCE_MS));
    struct js_shot shot = js_world_fire(world, "vlp.safe.claim", NULL);
    assert_int_equal(shot.ack.outcome, JETSTREAM_REFUSED);
    assert_int_equal(shot.ack.error_code, 10054);
    assert_true(strlen(shot.error) > 0);
}

static void test_a_server_away_at_the_start_is_used_when_it_comes(void **state) {
    struct js_world *world = *state;
    js_world_open(world);
    struct js_shot shot = {.world = world, .subject = "vlp.safe.claim"};
    loop_do(&world->loop, js_shot_go, &shot);
    assert_int_equal(shot.result, JETSTREAM_AWAY);
    nats_server_start(&world->server);
    assert_true(loop_wait(&world->loop, js_world_is_ready, world, LOOP_PATIENCE_MS));
    assert_int_equal(js_world_fire(world, "vlp.safe.claim", NULL).ack.outcome, JETSTREAM_STORED);
}

static bool is_connected(void *context) {
    return jetstream_is_connected(((struct js_world *)context)->jetstream);
}

static void test_a_server_without_jetstream_is_asked_until_it_has_it(void **state) {
    struct js_world *world = *state;
    world->server.has_jetstream = false;
    nats_server_start(&world->server);
    js_world_open(world);
    assert_true(loop_wait(&world->loop, is_connected, world, LOOP_PATIENCE_MS));
    assert_false(loop_wait(&world->loop, js_world_is_ready, world, 700));
    nats_server_end(&world->server, SIGKILL);
    world->server.has_jetstream = true;
    nats_server_start(&world->server);
    assert_true(loop_wait(&world->loop, js_world_is_ready, world, LOOP_PATIENCE_MS));
    assert_int_equal(world->unusable, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, js_world_set_up, js_world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_missing_stream_is_created_as_promised),
        TEST(test_the_dedupe_window_is_the_streams_own),
        TEST(test_a_window_that_is_not_known_yet_is_the_options),
        TEST(test_a_missing_bucket_is_one_that_every_client_can_use),
        TEST(test_a_bucket_outlives_the_streams_of_its_messages),
        TEST(test_a_bucket_that_a_client_made_is_used_as_it_is),
        TEST(test_a_stream_that_exists_is_used_as_it_is),
        TEST(test_a_stream_with_wrong_subjects_is_unusable),
        TEST(test_subjects_that_another_stream_has_are_unusable),
        TEST(test_replicas_without_a_cluster_are_unusable),
        TEST(test_a_deleted_stream_is_made_anew_before_a_sender_comes),
        TEST(test_a_deleted_stream_is_made_anew_only_when_its_files_are_gone),
        TEST(test_a_message_that_finds_no_stream_is_refused),
        TEST(test_a_stream_that_keeps_messages_otherwise_is_unusable),
        TEST(test_a_stream_that_is_sealed_later_is_told),
        TEST(test_a_stream_that_becomes_unusable_stops_only_itself),
        TEST(test_a_wanted_stream_for_which_there_is_no_room_keeps_nothing_back),
        TEST(test_a_wanted_stream_that_is_unusable_stops_no_start),
        TEST(test_what_the_stream_refuses_is_refused_with_its_code),
        TEST(test_a_server_away_at_the_start_is_used_when_it_comes),
        TEST(test_a_server_without_jetstream_is_asked_until_it_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
