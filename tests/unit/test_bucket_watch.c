/* SPDX-License-Identifier: Apache-2.0 */

/* A watch of a key-value bucket on a real JetStream: what it reports, in order, whatever happens to
 * the server or to the bucket. */

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
#include "../lib/replace_stream.h"
#include "bucket_watch.h"

static const struct jetstream_stream STREAMS[] = {
    {.name = "VLP", .subjects = "vlp.>"},
    {.name = "KV_tasks", .subjects = "$KV.tasks.>", .bucket_days = 7}};

enum { STORY_MAX = 4000 };

struct watcher {
    struct js_world world;
    struct bucket_watch *watch;
    char story[STORY_MAX]; /* what it was told, a word each */
    unsigned count, began, current, away;
    unsigned wanted; /* for the conditions below */
    uint64_t last_sequence, kept_from;
    bool has_disorder;
};

static void tell(struct watcher *watcher, const char *word) {
    const size_t length = strlen(watcher->story);
    snprintf(watcher->story + length, STORY_MAX - length, "%s%s", length > 0 ? " " : "", word);
}

static void on_began(void *context) {
    struct watcher *watcher = context;
    watcher->began++;
    watcher->last_sequence = 0;
    tell(watcher, "began");
}

static void on_entry(void *context, const struct bucket_entry *entry) {
    struct watcher *watcher = context;
    char word[100];
    watcher->count++;
    watcher->has_disorder |= entry->sequence <= watcher->last_sequence || entry->time_ns <= 0;
    watcher->last_sequence = entry->sequence;
    snprintf(word, sizeof word, "%.*s=%.*s", (int)entry->key.length, entry->key.data,
             entry->value.data != NULL ? (int)entry->value.length : 1,
             entry->value.data != NULL ? entry->value.data : "-");
    tell(watcher, word);
}

static void on_current(void *context) {
    struct watcher *watcher = context;
    watcher->current++;
    tell(watcher, "current");
}

static void on_away(void *context) {
    struct watcher *watcher = context;
    watcher->away++;
    tell(watcher, "away");
}

static void on_kept_from(void *context, uint64_t first_sequence) {
    ((struct watcher *)context)->kept_from = first_sequence;
}

static void open_watch(void *context) {
    struct watcher *watcher = context;
    const struct bucket_watch_events events = {.began = on_began,
                                               .entry = on_entry,
                                               .current = on_current,
                                               .away = on_away,
                                               .kept_from = on_kept_from,
                                               .context = watcher};
    assert_int_equal(bucket_watch_open(watcher->world.loop.reactor, watcher->world.jetstream,
                                       "tasks", &events, &watcher->watch),
                     PARLEY_OK);
}

static void close_watch(void *context) {
    struct watcher *watcher = context;
    bucket_watch_close(watcher->watch);
    watcher->watch = NULL;
}

static bool was_current(void *context) {
    const struct watcher *watcher = context;
    return watcher->current >= watcher->wanted && bucket_watch_is_current(watcher->watch);
}

static bool was_away(void *context) {
    const struct watcher *watcher = context;
    return watcher->away >= watcher->wanted && !bucket_watch_is_current(watcher->watch);
}

static bool has_count(void *context) {
    const struct watcher *watcher = context;
    return watcher->count >= watcher->wanted;
}

static void await(struct watcher *watcher, bool (*holds)(void *context), unsigned wanted) {
    watcher->wanted = wanted;
    if (!loop_wait(&watcher->world.loop, holds, watcher, LOOP_PATIENCE_MS)) {
        fail_msg("waited for %u, and was told: %s", wanted, watcher->story);
    }
}

static int set_up(void **state) {
    struct watcher *watcher = calloc(1, sizeof *watcher);
    assert_non_null(watcher);
    js_world_init(&watcher->world);
    watcher->world.options.streams = STREAMS;
    watcher->world.options.stream_count = 2;
    *state = watcher;
    return 0;
}

static int tear_down(void **state) {
    struct watcher *watcher = *state;
    if (watcher->watch != NULL) {
        loop_do(&watcher->world.loop, close_watch, watcher);
    }
    js_world_finish(&watcher->world);
    free(watcher);
    return 0;
}

static struct js_world *start(struct watcher *watcher) {
    js_world_start(&watcher->world);
    js_world_look(&watcher->world);
    return &watcher->world;
}

static void purge(struct js_world *world, const char *subject) {
    natsMsg *mark = NULL;
    assert_int_equal(natsMsg_Create(&mark, subject, NULL, NULL, 0), NATS_OK);
    assert_int_equal(natsMsgHeader_Set(mark, "KV-Operation", "PURGE"), NATS_OK);
    assert_int_equal(natsMsgHeader_Set(mark, "Nats-Rollup", "sub"), NATS_OK);
    assert_int_equal(js_PublishMsg(NULL, world->context, mark, NULL, NULL), NATS_OK);
    natsMsg_Destroy(mark);
}

static void test_an_empty_bucket_is_current_at_once(void **state) {
    struct watcher *watcher = *state;
    start(watcher);
    loop_do(&watcher->world.loop, open_watch, watcher);
    await(watcher, was_current, 1);
    assert_string_equal(watcher->story, "began current");
}

static void test_what_it_holds_comes_first_and_then_what_is_written(void **state) {
    struct watcher *watcher = *state;
    struct js_world *world = start(watcher);
    js_world_store(world, "$KV.tasks.a", "1");
    js_world_store(world, "$KV.tasks.b.claim", "2");
    js_world_store(world, "$KV.tasks.a", "3"); /* the bucket keeps one value a key */
    loop_do(&world->loop, open_watch, watcher);
    await(watcher, was_current, 1);
    js_world_store(world, "$KV.tasks.c", "4");
    await(watcher, has_count, 3);
    purge(world, "$KV.tasks.a");
    await(watcher, has_count, 4);
    assert_string_equal(watcher->story, "began b.claim=2 a=3 current c=4 a=-");
    assert_false(watcher->has_disorder);
}

enum { ROUNDS = 8 };

static bool has_told_each_round(void *context) {
    const struct watcher *watcher = context;
    char word[16];
    for (int i = 0; i < ROUNDS; i++) {
        snprintf(word, sizeof word, " new%d=", i);
        if (strstr(watcher->story, word) == NULL) {
            return false;
        }
    }
    return true;
}

/* nats-server 2.9 passes over what a consumer was not sent yet when another key is purged. */
static void test_what_is_written_while_another_key_is_purged_comes(void **state) {
    struct watcher *watcher = *state;
    struct js_world *world = start(watcher);
    natsMsg *mark = NULL;
    js_world_store(world, "$KV.tasks.old", "1");
    loop_do(&world->loop, open_watch, watcher);
    for (int i = 0; i < ROUNDS; i++) {
        char subject[32];
        snprintf(subject, sizeof subject, "$KV.tasks.new%d", i);
        assert_int_equal(natsMsg_Create(&mark, "$KV.tasks.old", NULL, NULL, 0), NATS_OK);
        assert_int_equal(natsMsgHeader_Set(mark, "KV-Operation", "PURGE"), NATS_OK);
        assert_int_equal(natsMsgHeader_Set(mark, "Nats-Rollup", "sub"), NATS_OK);
        await(watcher, was_current, 1);
        assert_int_equal(natsConnection_Publish(world->connection, subject, "{}", 2), NATS_OK);
        assert_int_equal(natsConnection_PublishMsg(world->connection, mark), NATS_OK);
        assert_int_equal(natsConnection_Flush(world->connection), NATS_OK);
        natsMsg_Destroy(mark);
    }
    assert_true(loop_wait(&world->loop, has_told_each_round, watcher, LOOP_PATIENCE_MS));
    assert_false(watcher->has_disorder);
}

static void test_one_that_begins_while_keys_are_purged_becomes_current(void **state) {
    enum { KEYS = 300, BEGINS = 2 };
    struct watcher *watcher = *state;
    struct js_world *world = start(watcher);
    for (unsigned begin = 0; begin < BEGINS; begin++) {
        char subject[32];
        for (int i = 0; i < KEYS; i++) {
            snprintf(subject, sizeof subject, "$KV.tasks.%u-%d", begin, i);
            assert_int_equal(js_PublishAsync(world->context, subject, "{}", 2, NULL), NATS_OK);
        }
        assert_int_equal(js_PublishAsyncComplete(world->context, NULL), NATS_OK);
        loop_do(&world->loop, open_watch, watcher);
        for (int i = 0; i < KEYS; i++) {
            snprintf(subject, sizeof subject, "$KV.tasks.%u-%d", begin, i);
            purge(world, subject);
        }
        await(watcher, was_current, begin + 1);
        loop_do(&world->loop, close_watch, watcher);
    }
}

static void test_all_of_a_large_bucket_comes_before_current(void **state) {
    struct watcher *watcher = *state;
    struct js_world *world = start(watcher);
    for (int i = 0; i < 10000; i++) {
        char subject[32];
        snprintf(subject, sizeof subject, "$KV.tasks.%d", i);
        assert_int_equal(js_PublishAsync(world->context, subject, "{}", 2, NULL), NATS_OK);
    }
    assert_int_equal(js_PublishAsyncComplete(world->context, NULL), NATS_OK);
    loop_do(&world->loop, open_watch, watcher);
    await(watcher, was_current, 1);
    assert_int_equal(watcher->count, 10000);
    assert_false(watcher->has_disorder);
}

/* What was written meanwhile comes before it is current again, and nothing comes twice. */
static void test_it_continues_after_a_restart_of_nats(void **state) {
    struct watcher *watcher = *state;
    struct js_world *world = start(watcher);
    js_world_store(world, "$KV.tasks.a", "1");
    loop_do(&world->loop, open_watch, watcher);
    await(watcher, was_current, 1);
    nats_server_end(&world->server, SIGTERM);
    await(watcher, was_away, 1);
    nats_server_start(&world->server);
    js_world_look(world);
    js_world_store(world, "$KV.tasks.b", "2");
    await(watcher, was_current, 2);
    await(watcher, has_count, 2);
    assert_int_equal(watcher->began, 1);
    assert_int_equal(watcher->count, 2);
}

static void remake(struct js_world *world) {
    jsStreamConfig config;
    const char *subject = "$KV.tasks.>";
    jsStreamConfig_Init(&config);
    config.Name = "KV_tasks";
    config.Subjects = &subject;
    config.SubjectsLen = 1;
    config.MaxMsgsPerSubject = 1;
    config.AllowRollup = true;
    replace_stream(world->context, &config);
}

/* On the loop's thread: the watch finds the new bucket with its key. */
static void remake_with_a_key(void *context) {
    struct js_world *world = context;
    remake(world);
    js_world_store(world, "$KV.tasks.new", "2");
}

/* The new one is shorter: by its sequences alone nothing of it would come. */
static void test_a_bucket_that_is_made_again_is_read_from_its_beginning(void **state) {
    struct watcher *watcher = *state;
    struct js_world *world = start(watcher);
    for (int i = 0; i < 20; i++) {
        js_world_store(world, "$KV.tasks.old", "1");
    }
    loop_do(&world->loop, open_watch, watcher);
    await(watcher, was_current, 1);
    loop_do(&world->loop, remake_with_a_key, world);
    await(watcher, was_current, 2);
    await(watcher, has_count, 2);
    assert_int_equal(watcher->began, 2);
    assert_int_equal(watcher->away, 1);
    assert_non_null(strstr(watcher->story, "began old=1 current"));
    assert_non_null(strstr(strstr(watcher->story, "away"), "began new=2 current"));
}

/* Retention and a purge of the whole stream leave no marks. */
static void test_it_says_what_the_bucket_has_dropped(void **state) {
    struct watcher *watcher = *state;
    struct js_world *world = start(watcher);
    for (int i = 0; i < 3; i++) {
        js_world_store(world, "$KV.tasks.a", "1");
    }
    assert_int_equal(js_PurgeStream(world->context, "KV_tasks", NULL, NULL), NATS_OK);
    loop_do(&world->loop, open_watch, watcher);
    await(watcher, was_current, 1);
    assert_string_equal(watcher->story, "began current");
    assert_int_equal(watcher->kept_from, 4);
}

static void test_it_waits_for_a_bucket_that_is_not_there_yet(void **state) {
    struct watcher *watcher = *state;
    watcher->world.options.stream_count = 1;
    struct js_world *world = start(watcher);
    loop_do(&world->loop, open_watch, watcher);
    remake(world);
    await(watcher, was_current, 1);
    assert_string_equal(watcher->story, "began current");
}

static void pass_turn(void *context) {
    (void)context;
}

static void test_it_can_be_closed_at_any_moment(void **state) {
    struct watcher *watcher = *state;
    struct js_world *world = start(watcher);
    js_world_store(world, "$KV.tasks.a", "1");
    for (int i = 0; i < 20; i++) {
        loop_do(&world->loop, open_watch, watcher);
        for (int turns = 0; turns < i; turns++) {
            loop_do(&world->loop, pass_turn, NULL);
        }
        loop_do(&world->loop, close_watch, watcher);
    }
}

#define WATCH_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        WATCH_TEST(test_an_empty_bucket_is_current_at_once),
        WATCH_TEST(test_what_it_holds_comes_first_and_then_what_is_written),
        WATCH_TEST(test_what_is_written_while_another_key_is_purged_comes),
        WATCH_TEST(test_one_that_begins_while_keys_are_purged_becomes_current),
        WATCH_TEST(test_all_of_a_large_bucket_comes_before_current),
        WATCH_TEST(test_it_continues_after_a_restart_of_nats),
        WATCH_TEST(test_a_bucket_that_is_made_again_is_read_from_its_beginning),
        WATCH_TEST(test_it_says_what_the_bucket_has_dropped),
        WATCH_TEST(test_it_waits_for_a_bucket_that_is_not_there_yet),
        WATCH_TEST(test_it_can_be_closed_at_any_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
