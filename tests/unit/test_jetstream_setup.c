/* SPDX-License-Identifier: Apache-2.0 */

/* The streams that must exist, on a real JetStream: found, created, or said to be unusable. */

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/jetstream_world.h"

#define NS_A_S INT64_C(1000000000)

static int set_up(void **state) {
    struct js_world *world = malloc(sizeof *world);
    assert_non_null(world);
    js_world_init(world);
    *state = world;
    return 0;
}

static int tear_down(void **state) {
    js_world_finish(*state);
    free(*state);
    return 0;
}

static void a_missing_stream_is_created_as_promised(void **state) {
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

static const struct jetstream_stream BUCKET = {
    .name = "KV_things", .subjects = "$KV.things.>", .bucket_days = 3};

static void a_missing_bucket_is_one_that_every_client_can_use(void **state) {
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

static void a_bucket_that_a_client_made_is_used_as_it_is(void **state) {
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
    assert_true(loop_wait(&world->loop, js_world_is_ready, world, 20000));
    kvStatus *status = NULL;
    assert_int_equal(kvStore_Status(&status, bucket), NATS_OK);
    assert_int_equal(kvStatus_History(status), 5);
    assert_int_equal(kvStatus_TTL(status), 0);
    kvStatus_Destroy(status);
    kvStore_Destroy(bucket);
}

static void a_stream_that_exists_is_used_as_it_is(void **state) {
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
        assert_true(loop_wait(&world->loop, js_world_is_ready, world, 20000));
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

static void a_stream_with_wrong_subjects_is_unusable(void **state) {
    struct js_world *world = *state;
    const char *wrong[] = {"other.>", "vlp.*", "vlp.safe.>", "vlp.*.*", "vlpx.>", "vlp.*.>"};
    nats_server_start(&world->server);
    js_world_look(world);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        js_world_add_stream(world, "VLP", wrong[i]);
        world->unusable = 0;
        js_world_open(world);
        assert_true(loop_wait(&world->loop, js_world_is_unusable, world, 20000));
        assert_non_null(strstr(world->error, "VLP"));
        assert_non_null(strstr(world->error, "vlp.>"));
        js_world_close(world);
        assert_int_equal(world->ready, 0);
        js_DeleteStream(world->context, "VLP", NULL, NULL);
    }
}

static void subjects_that_another_stream_has_are_unusable(void **state) {
    struct js_world *world = *state;
    nats_server_start(&world->server);
    js_world_look(world);
    js_world_add_stream(world, "OTHER", "vlp.safe.>");
    js_world_open(world);
    assert_true(loop_wait(&world->loop, js_world_is_unusable, world, 20000));
    assert_non_null(strstr(world->error, "VLP"));
}

static void replicas_without_a_cluster_are_unusable(void **state) {
    struct js_world *world = *state;
    world->options.replicas = 3;
    nats_server_start(&world->server);
    js_world_open(world);
    assert_true(loop_wait(&world->loop, js_world_is_unusable, world, 20000));
    assert_non_null(strstr(world->error, "--replicas"));
}

static void a_deleted_stream_refuses_and_is_made_anew(void **state) {
    struct js_world *world = *state;
    js_world_start(world);
    js_world_look(world);
    assert_int_equal(js_DeleteStream(world->context, "VLP", NULL, NULL), NATS_OK);
    struct js_shot shot = js_world_fire(world, "vlp.safe.claim", NULL);
    assert_int_equal(shot.ack.outcome, JETSTREAM_REFUSED);
    assert_int_equal(shot.ack.error_code, 503);
    for (int tries = 0; shot.ack.outcome == JETSTREAM_REFUSED && tries < 500; tries++) {
        loop_pause();
        shot = js_world_fire(world, "vlp.safe.claim", NULL);
    }
    assert_int_equal(shot.ack.outcome, JETSTREAM_STORED);
    assert_int_equal(world->away, 0);
}

static void what_the_stream_refuses_is_refused_with_its_code(void **state) {
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
    assert_true(loop_wait(&world->loop, js_world_is_ready, world, 20000));
    struct js_shot shot = js_world_fire(world, "vlp.safe.claim", NULL);
    assert_int_equal(shot.ack.outcome, JETSTREAM_REFUSED);
    assert_int_equal(shot.ack.error_code, 10054);
    assert_true(strlen(shot.error) > 0);
}

static void a_server_away_at_the_start_is_used_when_it_comes(void **state) {
    struct js_world *world = *state;
    js_world_open(world);
    struct js_shot shot = {.world = world, .subject = "vlp.safe.claim"};
    loop_do(&world->loop, js_shot_go, &shot);
    assert_int_equal(shot.result, JETSTREAM_AWAY);
    nats_server_start(&world->server);
    assert_true(loop_wait(&world->loop, js_world_is_ready, world, 20000));
    assert_int_equal(js_world_fire(world, "vlp.safe.claim", NULL).ack.outcome, JETSTREAM_STORED);
}

static bool is_connected(void *context) {
    return jetstream_is_connected(((struct js_world *)context)->jetstream);
}

static void a_server_without_jetstream_is_asked_until_it_has_it(void **state) {
    struct js_world *world = *state;
    world->server.has_jetstream = false;
    nats_server_start(&world->server);
    js_world_open(world);
    assert_true(loop_wait(&world->loop, is_connected, world, 20000));
    assert_false(loop_wait(&world->loop, js_world_is_ready, world, 700));
    nats_server_end(&world->server, SIGKILL);
    world->server.has_jetstream = true;
    nats_server_start(&world->server);
    assert_true(loop_wait(&world->loop, js_world_is_ready, world, 20000));
    assert_int_equal(world->unusable, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_missing_stream_is_created_as_promised),
        TEST(a_missing_bucket_is_one_that_every_client_can_use),
        TEST(a_bucket_that_a_client_made_is_used_as_it_is),
        TEST(a_stream_that_exists_is_used_as_it_is),
        TEST(a_stream_with_wrong_subjects_is_unusable),
        TEST(subjects_that_another_stream_has_are_unusable),
        TEST(replicas_without_a_cluster_are_unusable),
        TEST(a_deleted_stream_refuses_and_is_made_anew),
        TEST(what_the_stream_refuses_is_refused_with_its_code),
        TEST(a_server_away_at_the_start_is_used_when_it_comes),
        TEST(a_server_without_jetstream_is_asked_until_it_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
