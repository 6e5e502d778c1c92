/* SPDX-License-Identifier: Apache-2.0 */

/* Moments in their ring, and what of a board becomes one. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "board_fixture.h"
#include "board_state.h"
#include "moments.h"

#define LATER "2099-01-01T00:00:00Z"

/* ---- the ring ---- */

static void add(struct moments *moments, unsigned number) {
    char data[24];
    snprintf(data, sizeof data, "{\"n\":%u}", number);
    const struct moment moment = {.protocol = parley_protocols[0],
                                  .what = "lapsed",
                                  .number = number,
                                  .thread = PARLEY_BYTES("a"),
                                  .data = parley_bytes_of(data)};
    moments_add(moments, &moment);
}

/* Returns: its number, 0: there is none. */
static unsigned take(struct moments *moments, uint64_t *position) {
    const struct moment *moment = moments_take(moments, position);
    const unsigned number = moment != NULL ? (unsigned)moment->number : 0;
    char data[24];
    snprintf(data, sizeof data, "{\"n\":%u}", number);
    assert_true(moment == NULL || parley_bytes_equal(moment->data, parley_bytes_of(data)));
    moment_unref(moment);
    return number;
}

static void test_each_position_gets_each_moment_once(void **state) {
    (void)state;
    struct moments *moments = moments_create();
    uint64_t first = moments_end(moments), second;
    assert_int_equal(take(moments, &first), 0);
    add(moments, 1);
    second = moments_end(moments);
    add(moments, 2);
    add(moments, 2);
    assert_int_equal(take(moments, &first), 1);
    assert_int_equal(take(moments, &first), 2);
    assert_int_equal(take(moments, &first), 0);
    assert_int_equal(take(moments, &second), 2);
    assert_int_equal(take(moments, &second), 0);
    moments_destroy(moments);
}

static void test_who_is_far_behind_misses_the_oldest(void **state) {
    (void)state;
    struct moments *moments = moments_create();
    uint64_t position = 0;
    for (unsigned i = 1; i <= MOMENTS_KEPT + 10; i++) {
        add(moments, i);
    }
    for (unsigned i = 11; i <= MOMENTS_KEPT + 10; i++) {
        assert_int_equal(take(moments, &position), i);
    }
    assert_int_equal(take(moments, &position), 0);
    add(moments, 1); /* it is not known any more */
    assert_int_equal(take(moments, &position), 1);
    moments_destroy(moments);
}

static void test_what_was_taken_outlives_its_place(void **state) {
    (void)state;
    struct moments *moments = moments_create();
    uint64_t position = 0;
    add(moments, 1);
    const struct moment *moment = moments_take(moments, &position);
    for (unsigned i = 2; i <= MOMENTS_KEPT + 2; i++) {
        add(moments, i);
    }
    moments_destroy(moments);
    assert_int_equal(moment->number, 1);
    moment_unref(moment);
}

static void test_there_is_no_room_for_what_would_be_missed(void **state) {
    (void)state;
    struct moments *moments = moments_create();
    struct moments_hold hold = {0};
    add(moments, 1);
    moments_hold(moments, &hold);
    for (unsigned i = 1; i <= MOMENTS_KEPT / 2; i++) {
        assert_true(moments_have_room(moments));
        add(moments, 1 + i);
    }
    assert_false(moments_have_room(moments));
    assert_int_equal(take(moments, &hold.position), 2);
    assert_true(moments_have_room(moments));
    add(moments, MOMENTS_KEPT);
    assert_false(moments_have_room(moments));
    moments_let_go(moments, &hold);
    assert_true(moments_have_room(moments));
    moments_destroy(moments);
}

/* ---- boards ---- */

static char told[200];

static void on_moment(void *context, const struct moment *moment) {
    (void)context;
    const size_t length = strlen(told);
    snprintf(told + length, sizeof told - length, "%s%s %c %ju", length > 0 ? ", " : "",
             moment->what, moment->thread.data[moment->thread.length - 1],
             (uintmax_t)moment->number);
}

static const struct board_teller teller = {.tell = on_moment, .past_ms = 10000};

static void write_time(int64_t at_ms, char out[40]) {
    struct tm parts;
    const time_t at = (time_t)(at_ms / 1000);
    gmtime_r(&at, &parts);
    strftime(out, 40, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

/* Turn 1, held until so long from now. */
static void hold(struct world *world, unsigned number, int64_t left_ms) {
    char until[40], value[400];
    write_time(board_now_ms() + left_ms, until);
    snprintf(value, sizeof value,
             "{\"stream\":\"ROUNDTABLE\",\"seq\":2,\"holder\":\"galahad\",\"claim\":\"" CLAIM_ID
             "\",\"at\":\"2026-01-01T00:00:00Z\",\"n\":1,\"kind\":\"claim\",\"attempt\":1,"
             "\"until\":\"%s\",\"why\":null,\"request\":1}",
             until);
    world_write(world, number, ".claim", value);
}

/* What is told by now. */
static const char *tell(struct world *world) {
    told[0] = '\0';
    pthread_mutex_lock(&world->board->lock);
    moments_tell(world->board);
    pthread_mutex_unlock(&world->board->lock);
    return told;
}

static int set_up(void **state) {
    static struct world world;
    world_open(&world, 0);
    board_on_moment(world.board, &teller);
    board_on_current(world.board);
    *state = &world;
    return 0;
}

static void test_a_board_tells_what_has_expired_or_lapsed(void **state) {
    struct world *world = *state;
    char soon[40];
    write_time(board_now_ms() - 3000, soon);
    world_request_until(world, 1, "a.x normal", soon);
    world_request_until(world, 2, "a.x normal", LATER);
    world_request_until(world, 3, "a.x normal", LATER);
    hold(world, 3, -3000);
    world_request_until(world, 4, "a.x normal", LATER);
    hold(world, 4, 3600000);
    world_request_until(world, 5, "a.x normal", soon);
    world_claim(world, 5, "galahad", CLAIM_ID); /* permanently */
    assert_string_equal(tell(world), "lapsed 3 1, expired 1 0");
    assert_string_equal(tell(world), "");
}

static void test_a_board_tells_nothing_of_long_ago_or_of_what_has_ended(void **state) {
    struct world *world = *state;
    char before[40], soon[40];
    write_time(board_now_ms() - 30000, before);
    write_time(board_now_ms() - 3000, soon);
    world_request_until(world, 1, "a.x normal", before);
    world_request_until(world, 2, "a.x normal", soon);
    world_fail(world, 2, LATER);
    world_request_until(world, 3, "a.x normal", soon);
    world_write(world, 3, "", NULL);
    assert_string_equal(tell(world), "");
    assert_int_equal(moments_due_ms(world->board), INT64_MAX);
}

/* Who ends it may be quicker than its board. */
static void test_a_lapse_is_told_though_the_task_ends_then(void **state) {
    struct world *world = *state;
    world_request_until(world, 1, "a.x normal", LATER);
    hold(world, 1, -3000);
    told[0] = '\0';
    world_fail(world, 1, LATER);
    assert_string_equal(told, "lapsed 1 1");
    assert_string_equal(tell(world), "");
}

#define BOARD_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_position_gets_each_moment_once),
        cmocka_unit_test(test_who_is_far_behind_misses_the_oldest),
        cmocka_unit_test(test_what_was_taken_outlives_its_place),
        cmocka_unit_test(test_there_is_no_room_for_what_would_be_missed),
        BOARD_TEST(test_a_board_tells_what_has_expired_or_lapsed),
        BOARD_TEST(test_a_board_tells_nothing_of_long_ago_or_of_what_has_ended),
        BOARD_TEST(test_a_lapse_is_told_though_the_task_ends_then),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
