/* SPDX-License-Identifier: Apache-2.0 */

/* Work that is not given out before a time: what tries again a task that has failed. */

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
#include "reactor.h"

#define LATER "2099-01-01T00:00:00Z"
#define BEFORE "2026-01-01T00:00:00Z"

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* As RFC 3339. */
static void write_time(int64_t at_ms, char out[40]) {
    struct tm parts;
    char seconds[24];
    const time_t at = (time_t)(at_ms / 1000);
    gmtime_r(&at, &parts);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(out, 40, "%s.%03dZ", seconds, (int)(at_ms % 1000));
}

/* Asks until there is one. */
static unsigned take_when_due(struct world *world, const char *text) {
    const struct timespec pause = {.tv_nsec = 1000000};
    unsigned number = 0;
    for (unsigned i = 0; i < 30000 && number == 0; i++) {
        number = world_take(world, text);
        nanosleep(&pause, NULL);
    }
    return number;
}

static void test_a_retry_is_taken_at_its_time(void **state) {
    static const struct retry_case {
        const char *retry_at;
        bool is_end_late; /* it comes after the retry was requested */
        const char *gets;
    } cases[] = {
        {LATER, false, "3 0"},   {LATER, true, "3 0"},     {BEFORE, false, "2 3 0"},
        {BEFORE, true, "2 3 0"}, {"soon", false, "2 3 0"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct retry_case *row = &cases[i];
        struct world world;
        char got[40] = "", word[12];
        world_open(&world, 0);
        board_on_current(world.board);
        world_request(&world, 1, "a.x normal");
        world_claim(&world, 1, "galahad", CLAIM_ID);
        if (!row->is_end_late) {
            world_fail(&world, 1, row->retry_at);
        }
        world_retry(&world, 2, 1, "a.x normal");
        world_request(&world, 3, "a.x normal");
        if (row->is_end_late) {
            world_fail(&world, 1, row->retry_at);
        }
        for (unsigned taken = 1; taken != 0;) {
            taken = world_take(&world, "galahad");
            snprintf(word, sizeof word, "%s%u", got[0] != '\0' ? " " : "", taken);
            strcat(got, word);
        }
        if (strcmp(got, row->gets) != 0) {
            fail_msg("row %zu: %s, not %s", i, got, row->gets);
        }
        board_destroy(world.board);
    }
}

static void test_a_retry_that_is_not_due_is_not_open(void **state) {
    struct world *world = *state;
    world_fail(world, 1, LATER);
    world_retry(world, 2, 1, "a.x normal");
    assert_int_equal(board_counts(world->board).open, 0);
    world_claim(world, 2, "galahad", CLAIM_ID); /* by its id */
    world_write(world, 2, ".claim", NULL);
    assert_int_equal(board_counts(world->board).open, 0);
    assert_int_equal(world_take(world, "galahad"), 0);
    world_write(world, 2, "", NULL);
    assert_int_equal(board_counts(world->board).works, 1);
}

static void test_a_retry_wakes_one_when_it_is_due(void **state) {
    struct world *world = *state;
    char at[40];
    world_park(world, 0, "galahad d:a");
    world_fail(world, 1, LATER);
    world_retry(world, 2, 1, "a.x normal");
    assert_int_equal(world->woken, 0);
    write_time(now_ms() + 100, at);
    world_fail(world, 3, at);
    world_retry(world, 4, 3, "a.x normal");
    assert_int_equal(take_when_due(world, "galahad d:a"), 4);
    assert_int_equal(world->woken, 1u << 0);
    board_leave(world->board, &world->waiters[0]);
}

static void test_a_retry_that_comes_back_before_its_time_is_put_off(void **state) {
    struct world *world = *state;
    char id[40];
    world_retry(world, 2, 1, "a.x normal");
    assert_int_equal(world_take(world, "galahad"), 2);
    world_fail(world, 1, LATER);
    world_write_id(2, id);
    board_give_back(world->board, id);
    assert_int_equal(world_take(world, "galahad"), 0);
}

/* Many, in no order, of which some are claimed meanwhile by their ids. */
static void test_no_retry_comes_before_its_time(void **state) {
    enum { COUNT = 40, STEP_MS = 10 };
    struct world *world = *state;
    const int64_t first_ms = now_ms() + 100;
    size_t taken_count = 0;
    char at[40];
    for (unsigned i = 0; i < COUNT; i++) {
        const unsigned place = i * 17 % COUNT;
        write_time(first_ms + (int64_t)place * STEP_MS, at);
        world_fail(world, 100 + place, at);
        world_retry(world, 200 + place, 100 + place, "a.x normal");
    }
    for (unsigned place = 0; place < COUNT; place += 2) {
        world_claim(world, 200 + place, "percival", CLAIM_ID);
    }
    while (taken_count < COUNT / 2) {
        const unsigned place = take_when_due(world, "galahad") - 200;
        assert_int_equal(place % 2, 1);
        assert_true(now_ms() >= first_ms + (int64_t)place * STEP_MS);
        taken_count++;
    }
    assert_int_equal(world_take(world, "galahad"), 0);
}

static void test_what_is_due_later_makes_room_for_what_is_open(void **state) {
    struct world world;
    (void)state;
    world_open(&world, 4);
    board_on_current(world.board);
    world_fail(&world, 1, LATER);
    for (unsigned i = 2; i <= 5; i++) {
        world_retry(&world, i, 1, "a.x critical");
    }
    assert_int_equal(board_counts(world.board).works, 4);
    for (unsigned i = 6; i <= 10; i++) {
        world_request(&world, i, "a.x low");
    }
    const struct board_counts counts = board_counts(world.board);
    assert_int_equal(counts.works, 4);
    assert_int_equal(counts.open, 4);
    assert_int_equal(world_take(&world, "galahad"), 6);
    board_destroy(world.board);
}

/* ---- leases ---- */

static void write_turn(struct world *world, unsigned number, const char *suffix, unsigned turn,
                       const char *kind, const char *holder, const char *time) {
    char value[400];
    const bool is_open = strcmp(kind, "release") == 0;
    snprintf(value, sizeof value,
             "{\"stream\":\"S\",\"seq\":9,\"n\":%u,\"kind\":\"%s\",\"holder\":\"%s\",\"attempt\":1,"
             "\"%s\":\"%s\",\"claim\":\"" CLAIM_ID "\",\"at\":\"" BEFORE "\"}",
             turn, kind, holder, is_open ? "not_before" : "until", time);
    world_write(world, number, suffix, value);
}

static void test_a_task_is_open_when_its_last_turn_says_so(void **state) {
    static const struct lease_case {
        const char *keys; /* in their order; L: the time is later, B: it was before */
        bool is_taken;    /* by a request of this process, whose claim then shows */
        bool is_open;
    } cases[] = {
        {"claim=L", false, false},          {"claim=B", false, true},
        {"claim=L", true, false},           {"claim=B", true, true},
        {"claim=B extend=L", false, false}, {"claim=L extend=B", false, true},
        {"claim=B extend=L", true, false},  {"claim=L extend=B", true, true},
        {"claim=L release=B", false, true}, {"claim=L release=L", false, false},
        {"claim=L release=B", true, true},  {"claim=B release=L", true, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct world world;
        char keys[64], suffix[16], *rest = NULL;
        unsigned turn = 1;
        world_open(&world, 0);
        board_on_current(world.board);
        world_request(&world, 1, "a.x normal");
        if (cases[i].is_taken) {
            assert_int_equal(world_take(&world, "galahad"), 1);
        }
        snprintf(keys, sizeof keys, "%s", cases[i].keys);
        for (char *key = strtok_r(keys, " ", &rest); key != NULL;
             key = strtok_r(NULL, " ", &rest), turn++) {
            char *time = strchr(key, '=');
            *time++ = '\0';
            snprintf(suffix, sizeof suffix, turn == 1 ? ".claim" : ".turn.%u", turn);
            write_turn(&world, 1, suffix, turn, key, "galahad", *time == 'L' ? LATER : BEFORE);
        }
        if (world_take(&world, "percival") != (cases[i].is_open ? 1 : 0)) {
            fail_msg("row %zu: %s", i, cases[i].keys);
        }
        board_destroy(world.board);
    }
}

static void test_a_task_that_lapses_wakes_one(void **state) {
    struct world *world = *state;
    char at[40];
    world_request(world, 1, "a.x normal");
    assert_int_equal(world_take(world, "galahad"), 1);
    write_time((now_ms() / 1000 + 1) * 1000, at);
    write_turn(world, 1, ".claim", 1, "claim", "galahad", at);
    world_park(world, 0, "percival d:a");
    assert_int_equal(take_when_due(world, "lancelot d:a"), 1);
    assert_int_equal(world->woken, 1u << 0);
    board_leave(world->board, &world->waiters[0]);
}

/* Stops the reactor when a request was woken. */
struct look {
    struct reactor_timer timer;
    struct reactor *reactor;
    const struct world *world;
    unsigned count;
};

static void look(struct reactor_timer *timer) {
    enum { LOOK_MS = 10, LOOKS_MAX = 3000 };
    struct look *look = OWNER_OF(timer, struct look, timer);
    if (look->world->woken != 0 || ++look->count > LOOKS_MAX) {
        reactor_stop(look->reactor);
    } else {
        reactor_timer_set(look->reactor, timer, LOOK_MS);
    }
}

/* It was not this process that has it, and no key says who: it is tried again in a moment, without
 * an entry that would wake the board. */
static void test_a_lapsed_task_that_was_lost_wakes_one_again(void **state) {
    struct world *world = *state;
    struct look looking = {.timer = {.fire = look}, .world = world};
    char id[40];
    world_request(world, 1, "a.x normal");
    write_turn(world, 1, ".claim", 1, "claim", "galahad", BEFORE);
    assert_int_equal(world_take(world, "lancelot d:a"), 1);
    world_park(world, 0, "percival d:a");
    assert_int_equal(reactor_create(&looking.reactor), PARLEY_OK);
    world->board->reactor = looking.reactor;
    world->board->watch = (void *)world; /* it is only seen to be there */
    world_write_id(1, id);
    board_lost(world->board, id);
    look(&looking.timer);
    reactor_run(looking.reactor);
    reactor_timer_clear(looking.reactor, &world->board->due_timer);
    world->board->watch = NULL;
    assert_int_equal(world->woken, 1u << 0);
    board_leave(world->board, &world->waiters[0]);
    reactor_destroy(looking.reactor);
}

static void test_the_last_turn_that_is_known_is_found(void **state) {
    static const struct {
        const char *suffix;
        uint64_t number;
        const char *value;
    } steps[] = {{"", 0, ""}, {".claim", 1, ""}, {".turn.2", 2, "two"}, {".turn.10", 10, "ten"}};
    struct world *world = *state;
    struct parley_buffer value, key;
    char id[40];
    world_write_id(1, id);
    parley_buffer_init(&key);
    parley_buffer_format(&key, "%s.turn.*", id);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        const struct parley_bytes known = parley_bytes_of(steps[i].value);
        parley_buffer_init(&value);
        world_write(world, 1, steps[i].suffix, known.length > 0 ? steps[i].value : "{}");
        assert_int_equal(board_last_turn(world->board, parley_buffer_bytes(&key), &value),
                         steps[i].number);
        assert_int_equal(value.length, known.length);
        assert_memory_equal(value.data != NULL ? value.data : "", known.data, known.length);
        parley_buffer_finish(&value);
    }
    parley_buffer_finish(&key);
}

#define BOARD_TEST(name) cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_retry_is_taken_at_its_time),
        BOARD_TEST(test_a_retry_that_is_not_due_is_not_open),
        BOARD_TEST(test_a_retry_wakes_one_when_it_is_due),
        BOARD_TEST(test_a_retry_that_comes_back_before_its_time_is_put_off),
        cmocka_unit_test(test_a_task_is_open_when_its_last_turn_says_so),
        BOARD_TEST(test_a_task_that_lapses_wakes_one),
        BOARD_TEST(test_a_lapsed_task_that_was_lost_wakes_one_again),
        BOARD_TEST(test_the_last_turn_that_is_known_is_found),
        BOARD_TEST(test_no_retry_comes_before_its_time),
        cmocka_unit_test(test_what_is_due_later_makes_room_for_what_is_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
