/* SPDX-License-Identifier: Apache-2.0 */

/* A day of leases, with a clock that the test sets: another agent claims the task each minute. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "lib/message_fixture.h"
#include "lib/protocol_options.h"

#define TASK_ID "550e8400-e29b-41d4-a716-446655440000"
#define CLAIM_ID "770e8400-e29b-41d4-a716-446655440002"
#define DIGEST "0123456789abcdef0123456789abcdef"

enum {
    MINUTE = 60,
    DAY = 24 * 60 * MINUTE, /* task-max */
    LEASE = 15 * MINUTE,
    CLAIMED_AT = 1770562800, /* 2026-02-08T15:00:00Z */
    TURN = 2,                /* the places of the facts in known.values */
    REQUEST = 3,
    CLAIM = 1,
};

struct day {
    struct message_fixture *fixture;
    struct parley_known_facts known;
    struct parley_buffer turn; /* the newest */
    int turns;
    int beat_every; /* seconds; 0: the holder is silent */
};

static void set_up_day(struct day *day, struct message_fixture *fixture, int beat_every) {
    *day = (struct day){.fixture = fixture, .turns = 1, .beat_every = beat_every};
    day->known.digest = DIGEST;
    day->known.has_last = true;
    day->known.values[REQUEST] = PARLEY_BYTES(
        "{\"stream\":\"S\",\"seq\":11,\"task\":\"security.scan\",\"from\":\"arthur\",\"to\":null,"
        "\"priority\":\"normal\",\"at\":\"2026-02-08T14:59:00Z\","
        "\"deadline\":\"2026-02-12T15:00:00Z\",\"retry_of\":null,\"digest\":\"" DIGEST "\"}");
    day->known.values[CLAIM] = PARLEY_BYTES(
        "{\"stream\":\"S\",\"seq\":12,\"n\":1,\"kind\":\"claim\",\"holder\":\"lancelot\","
        "\"attempt\":1,\"until\":\"2026-02-08T15:15:00Z\",\"claim\":\"" CLAIM_ID "\","
        "\"at\":\"2026-02-08T15:00:00Z\",\"why\":null,\"request\":11}");
    parley_buffer_init(&day->turn);
}

/* What another agent's claim is answered at this time.  A key that is to be created is kept, and
 * decided with. */
static int claim_at(struct day *day, int64_t now, struct parley_decision *out) {
    struct message_fixture *fixture = day->fixture;
    char text[400];
    snprintf(
        text, sizeof text,
        "{\"id\":\"880e8400-e29b-41d4-a716-%012lld\",\"version\":\"1.0\","
        "\"type\":\"task.claimed\",\"from\":\"mordred\",\"timestamp\":\"2026-02-08T15:10:00Z\","
        "\"correlationId\":\"" TASK_ID "\",\"payload\":{}}",
        (long long)now);
    fixture->options = (struct parley_options){.now_seconds = now};
    set_lifecycle(&fixture->options, fixture->protocol, PARLEY_LIFECYCLE_ON);
    set_option(&fixture->options, fixture->protocol, "task-lease", "900000");
    set_option(&fixture->options, fixture->protocol, "task-attempts", "3");
    set_option(&fixture->options, fixture->protocol, "task-max", "86400000");
    if (day->beat_every != 0) {
        day->known.last = PARLEY_BYTES("{\"id\":\"aa0e8400-e29b-41d4-a716-446655440005\","
                                       "\"type\":\"heartbeat\",\"from\":\"lancelot\","
                                       "\"payload\":{\"status\":\"healthy\"}}");
        day->known.last_seconds = now - (now - CLAIMED_AT) % day->beat_every;
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(parley_message_check(&fixture->message, parley_bytes_of(text),
                                              &parley_codec_json, &fixture->options,
                                              (struct parley_position){1, 1}),
                         PARLEY_OK);
        assert_int_equal(parley_message_decide(&fixture->message, &day->known, out), PARLEY_OK);
        if (out->kind != PARLEY_DECISION_PREPARE) {
            break;
        }
        parley_buffer_clear(&day->turn);
        parley_decision_write_fact(out, (struct parley_bytes){0}, 0, &day->turn);
        day->known.values[TURN] = parley_buffer_bytes(&day->turn);
        day->turns++;
    }
    return (int)out->kind;
}

/* Returns: how long after its claim the task is another's; at most two days. */
static int64_t seconds_held(struct day *day, struct parley_decision *out) {
    int64_t now = CLAIMED_AT + MINUTE;
    while (claim_at(day, now, out) == PARLEY_DECISION_REFUSED && now < CLAIMED_AT + 2 * DAY) {
        now += MINUTE;
    }
    return now - CLAIMED_AT;
}

static void test_a_holder_that_only_beats_keeps_its_task_for_a_day(void **state) {
    struct parley_decision decision;
    struct day day;
    set_up_day(&day, *state, 5 * MINUTE);
    const int64_t held = seconds_held(&day, &decision);
    assert_int_equal(decision.kind, PARLEY_DECISION_PUBLISH);
    assert_in_range(held, DAY, DAY + LEASE);
    assert_in_range(day.turns, DAY / LEASE, 2 * DAY / LEASE);
    assert_non_null(strstr((const char *)decision.fact_members.data, "\"attempt\":2"));
    parley_buffer_finish(&day.turn);
}

static void test_a_holder_that_beats_too_seldom_loses_its_task(void **state) {
    struct parley_decision decision;
    struct day day;
    set_up_day(&day, *state, 40 * MINUTE);
    assert_int_equal(seconds_held(&day, &decision), LEASE);
    assert_int_equal(decision.kind, PARLEY_DECISION_PUBLISH);
    parley_buffer_finish(&day.turn);
}

static void test_a_silent_holder_loses_its_task_with_its_lease(void **state) {
    struct parley_decision decision;
    struct day day;
    set_up_day(&day, *state, 0);
    assert_int_equal(seconds_held(&day, &decision), LEASE);
    assert_int_equal(decision.kind, PARLEY_DECISION_PUBLISH);
    assert_int_equal(day.turns, 1);
    parley_buffer_finish(&day.turn);
}

int main(void) {
#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, message_set_up_roundtable, message_tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(test_a_holder_that_only_beats_keeps_its_task_for_a_day),
        TEST(test_a_holder_that_beats_too_seldom_loses_its_task),
        TEST(test_a_silent_holder_loses_its_task_with_its_lease),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
