/* SPDX-License-Identifier: Apache-2.0 */

/* When readers are looked at, and which of them are ended. The guard and the readers' ends are
 * played by this file. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <time.h>

#include "stream_access.h"

enum { READERS_MAX = 150, SLICE = 64 };

struct http_request {
    struct principal principal;
    const char *objection;
    size_t look_count;
};

const char *guard_objection(const struct guard *guard, struct http_request *request) {
    (void)guard;
    request->look_count++;
    return request->objection;
}

int64_t guard_expires_at(const struct http_request *request) {
    return request->principal.expires_at != 0 ? request->principal.expires_at : INT64_MAX;
}

const struct principal *guard_principal(const struct http_request *request) {
    return &request->principal;
}

struct reader {
    struct stream_access_entry entry;
    const char *end_reason; /* NULL: it goes on */
};

static void on_end(struct stream_access_entry *entry, const char *reason) {
    OWNER_OF(entry, struct reader, entry)->end_reason = reason;
}

struct world {
    struct reactor *reactor;
    struct configuration configuration;
    struct stream_access access;
    struct http_request requests[READERS_MAX];
    struct reader readers[READERS_MAX];
};

static struct world world;
static const char guard; /* only its address counts */

static int set_up(void **state) {
    (void)state;
    world = (struct world){0};
    for (size_t i = 0; i < READERS_MAX; i++) {
        world.requests[i].principal.scopes.read = 3;
        world.readers[i].entry =
            (struct stream_access_entry){.request = &world.requests[i], .reads = 1, .end = on_end};
    }
    if (reactor_create(&world.reactor) != PARLEY_OK) {
        return -1;
    }
    stream_access_init(&world.access, world.reactor, (const struct guard *)(const void *)&guard,
                       &world.configuration);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    stream_access_finish(&world.access);
    reactor_destroy(world.reactor);
    return 0;
}

static void add(size_t count) {
    for (size_t i = 0; i < count; i++) {
        stream_access_add(&world.access, &world.readers[i].entry);
    }
}

/* The timer, for what it was set. */
static void fire(void) {
    assert_true(world.access.timer.is_armed);
    reactor_timer_clear(world.reactor, &world.access.timer);
    world.access.timer.fire(&world.access.timer);
}

static int64_t due_in_ms(void) {
    assert_true(world.access.timer.is_armed);
    return world.access.timer.due_ms - reactor_now_ms(world.reactor);
}

static void assert_ended(size_t i, const char *reason) {
    assert_non_null(world.readers[i].end_reason);
    assert_string_equal(world.readers[i].end_reason, reason);
}

static void test_without_a_guard_nobody_is_looked_at(void **state) {
    (void)state;
    world.access.guard = NULL;
    world.requests[0].objection = "token-revoked";
    add(1);
    stream_access_changed(&world.access);
    assert_false(world.access.timer.is_armed);
    assert_int_equal(world.requests[0].look_count, 0);
    stream_access_remove(&world.access, &world.readers[0].entry);
}

static void test_readers_that_never_expire_need_no_timer(void **state) {
    (void)state;
    add(3);
    assert_false(world.access.timer.is_armed);
    assert_int_equal(world.requests[2].look_count, 1);
}

static void test_after_a_change_those_who_may_not_read_any_more_are_ended(void **state) {
    (void)state;
    add(4);
    world.requests[1].objection = "token-revoked";
    world.requests[2].principal.scopes.read = 2;
    world.requests[3].principal.scopes.read = 1;
    stream_access_changed(&world.access);
    fire();
    assert_null(world.readers[0].end_reason);
    assert_ended(1, "token-revoked");
    assert_ended(2, "scope-missing");
    assert_null(world.readers[3].end_reason);
    assert_false(world.access.timer.is_armed);
}

static void test_after_a_change_those_who_are_bound_to_another_agent_are_ended(void **state) {
    (void)state;
    static const struct {
        const char *before, *agent, *name;
        bool binds_names;
        uint64_t reads; /* 0: what every one of this file does */
        const char *end;
    } rows[] = {
        {NULL, NULL, "bob", false, 0, NULL},
        {"alice", "alice", "bob", true, 0, NULL},
        {"bob", NULL, "bob", true, 0, NULL},
        {NULL, "alice", "bob", false, 0, "binding-changed"},
        {NULL, NULL, "bob", true, 0, "binding-changed"},
        {"alice", "bob", "bob", false, 0, "binding-changed"},
        {"alice", NULL, "bob", false, 0, "binding-changed"},
        {NULL, "alice", "bob", false, UINT64_C(1) << 63, NULL}, /* what was refused */
    };
    enum { COUNT = sizeof rows / sizeof rows[0] };
    for (size_t i = 0; i < COUNT; i++) {
        struct principal *principal = &world.requests[i].principal;
        world.readers[i].entry.agent = rows[i].before;
        principal->agent = rows[i].before;
        principal->name = "";
        principal->scopes.admin = true;
        world.readers[i].entry.reads = rows[i].reads != 0 ? rows[i].reads : 1;
    }
    add(COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        world.requests[i].principal.agent = rows[i].agent;
        world.requests[i].principal.name = rows[i].name;
        world.configuration.bind_sender = rows[i].binds_names;
        stream_access_changed(&world.access);
        fire();
        if (rows[i].end != NULL) {
            assert_ended(i, rows[i].end);
        } else {
            assert_null(world.readers[i].end_reason);
        }
        stream_access_remove(&world.access, &world.readers[i].entry);
    }
}

static void test_many_are_looked_at_in_slices_and_each_once(void **state) {
    (void)state;
    add(READERS_MAX);
    world.requests[READERS_MAX - 1].objection = "token-revoked";
    stream_access_changed(&world.access);
    fire();
    assert_int_equal(world.requests[SLICE - 1].look_count, 2);
    assert_int_equal(world.requests[SLICE].look_count, 1);
    stream_access_remove(&world.access, &world.readers[SLICE].entry);
    fire();
    fire();
    for (size_t i = 0; i < READERS_MAX; i++) {
        assert_int_equal(world.requests[i].look_count, i == SLICE ? 1 : 2);
    }
    assert_ended(READERS_MAX - 1, "token-revoked");
    assert_false(world.access.timer.is_armed);
}

static void test_a_change_within_a_round_begins_another(void **state) {
    (void)state;
    add(SLICE + 1);
    stream_access_changed(&world.access);
    fire();
    stream_access_changed(&world.access);
    fire();
    fire();
    assert_int_equal(world.requests[0].look_count, 3);
    assert_int_equal(world.requests[SLICE].look_count, 2);
    assert_false(world.access.timer.is_armed);
}

static void test_the_timer_waits_for_the_first_to_expire(void **state) {
    (void)state;
    const int64_t now = (int64_t)time(NULL);
    world.requests[0].principal.expires_at = now + 50;
    world.requests[1].principal.expires_at = now + 20;
    world.requests[2].principal.expires_at = now + 40;
    add(3);
    assert_in_range(due_in_ms(), 1000, 20000);
    world.requests[1].objection = "token-expired";
    fire();
    assert_ended(1, "token-expired");
    assert_int_equal(world.access.expires_at, now + 40);
    assert_in_range(due_in_ms(), 1000, 40000);
}

/* Its response lasts until its client has read the end. */
static void test_one_that_was_ended_is_not_waited_for(void **state) {
    (void)state;
    world.requests[0].principal.expires_at = (int64_t)time(NULL) - 1;
    world.requests[0].objection = "token-expired";
    add(1);
    assert_ended(0, "token-expired");
    assert_false(world.access.timer.is_armed);
}

static void test_a_clock_that_is_set_forward_is_noticed_within_a_minute(void **state) {
    (void)state;
    world.requests[0].principal.expires_at = (int64_t)time(NULL) + 1000000;
    add(1);
    assert_int_equal(due_in_ms(), 60000);
}

static void test_those_that_left_are_not_looked_at(void **state) {
    (void)state;
    world.requests[0].principal.expires_at = (int64_t)time(NULL) + 10;
    add(1);
    stream_access_remove(&world.access, &world.readers[0].entry);
    fire();
    assert_int_equal(world.requests[0].look_count, 1);
    assert_false(world.access.timer.is_armed);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_without_a_guard_nobody_is_looked_at),
        TEST(test_readers_that_never_expire_need_no_timer),
        TEST(test_after_a_change_those_who_may_not_read_any_more_are_ended),
        TEST(test_after_a_change_those_who_are_bound_to_another_agent_are_ended),
        TEST(test_many_are_looked_at_in_slices_and_each_once),
        TEST(test_a_change_within_a_round_begins_another),
        TEST(test_the_timer_waits_for_the_first_to_expire),
        TEST(test_one_that_was_ended_is_not_waited_for),
        TEST(test_a_clock_that_is_set_forward_is_noticed_within_a_minute),
        TEST(test_those_that_left_are_not_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
