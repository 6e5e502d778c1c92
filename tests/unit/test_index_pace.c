/* SPDX-License-Identifier: Apache-2.0 */

/* How much processor time the index takes beside a gateway that is quiet or busy. A second is
 * played in steps of a millisecond: in each the thread reads on if it may, which takes the whole
 * step, and other threads of the gateway take their part. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "index_clocks.h"
#include "index_pace.h"

static const int64_t step_ns = 1000000;

enum { STEPS = 10000, STEPS_UNMEASURED = 200 };

struct world {
    struct index_pace pace;
    struct index_pace_sample at;
};

static void begin(struct world *world, unsigned processors) {
    world->at = (struct index_pace_sample){.now = 1, .process = 2, .own = 3, .waited = 4};
    index_pace_init(&world->pace, processors, &world->at);
}

/* `used`, `waits`: by the others, and by the thread for each that it runs, in thousandths. Returns
 * the thread's part of the time, in thousandths. */
static int play(struct world *world, int steps, int used, int waits) {
    int ran = 0;
    for (int i = 0; i < steps; i++) {
        const bool runs = index_pace_allows(&world->pace, &world->at);
        const int64_t own = runs ? step_ns : 0;
        world->at.now += step_ns;
        world->at.own += own;
        world->at.waited += own / 1000 * waits;
        world->at.process += own + step_ns / 1000 * used;
        ran += runs;
    }
    return ran * 1000 / steps;
}

/* Of processors, what others use of one, waits, lag; the least and the most part, in thousandths.
 */
static const struct {
    const char *name;
    unsigned processors;
    int used, waits;
    uint64_t lag;
    int least, most;
} rows[] = {
    {"a quiet gateway leaves all", 2, 0, 0, 0, 1000, 1000},
    {"a quiet gateway leaves all, though others want the machine", 2, 0, 5000, 0, 1000, 1000},
    {"a quiet gateway leaves all of one processor", 1, 40, 0, 0, 1000, 1000},
    {"some messages leave all", 2, 100, 0, 0, 1000, 1000},
    {"more messages leave a part", 2, 300, 0, 0, 550, 650},
    {"less where others want the machine, too", 2, 100, 1000, 0, 180, 220},
    {"that leave a 32nd when there are more messages", 2, 300, 1000, 0, 28, 35},
    {"little waiting is not crowded", 2, 300, 200, 0, 550, 650},
    {"a busy gateway leaves a 32nd", 2, 550, 0, 0, 28, 35},
    {"a busy gateway on one processor leaves a 32nd", 1, 400, 0, 0, 28, 35},
    {"a large machine leaves all", 16, 4000, 0, 0, 1000, 1000},
    {"a large machine that is used leaves a 32nd", 16, 8000, 0, 0, 28, 35},
    {"half the lag that may be does not count", 2, 550, 0, INDEX_PACE_LAG_MAX / 2, 28, 35},
    {"more lag takes more", 2, 550, 0, INDEX_PACE_LAG_MAX / 4 * 3, 450, 550},
    {"the lag that may be takes all", 2, 550, 1000, INDEX_PACE_LAG_MAX, 1000, 1000},
};

static void test_the_part_follows_from_what_the_gateway_uses(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct world world;
        begin(&world, rows[i].processors);
        world.at.lag = rows[i].lag;
        play(&world, STEPS_UNMEASURED, rows[i].used, rows[i].waits);
        const int part = play(&world, STEPS, rows[i].used, rows[i].waits);
        if (part < rows[i].least || part > rows[i].most) {
            fail_msg("%s: %d thousandths", rows[i].name, part);
        }
        assert_int_equal(index_pace_is_limited(&world.pace), rows[i].most < 1000);
    }
}

static void test_what_a_quiet_time_took_is_not_owed(void **state) {
    struct world world;
    (void)state;
    begin(&world, 2);
    assert_int_equal(play(&world, STEPS, 0, 0), 1000);
    play(&world, STEPS_UNMEASURED, 550, 0);
    assert_in_range(play(&world, STEPS, 550, 0), 28, 35);
    play(&world, STEPS_UNMEASURED, 0, 0);
    assert_int_equal(play(&world, STEPS, 0, 0), 1000);
}

static void
test_after_a_silence_little_is_taken_until_it_is_known_how_busy_the_gateway_is(void **state) {
    static const struct { int used, then; } cases[] = {{0, 1000}, {550, 31}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct world world;
        begin(&world, 2);
        play(&world, STEPS, 0, 0);
        world.at.now += 10000 * step_ns;
        assert_in_range(play(&world, 90, cases[i].used, 0), 60, 110); /* 5 ms at once, and more */
        play(&world, STEPS_UNMEASURED, cases[i].used, 0);
        assert_in_range(play(&world, STEPS, cases[i].used, 0), cases[i].then - 3, cases[i].then);
    }
}

/* A large commit is one step that cannot be cut. */
static void test_what_was_taken_at_once_is_waited_for_but_not_for_long(void **state) {
    struct world world;
    int waited = 0;
    (void)state;
    begin(&world, 2);
    play(&world, STEPS, 550, 0);
    world.at.own += 5000 * step_ns;
    world.at.process += 5000 * step_ns / 100 * 155; /* the others, too, meanwhile */
    world.at.now += 5000 * step_ns;
    while (!index_pace_allows(&world.pace, &world.at)) {
        play(&world, 1, 550, 0);
        waited++;
    }
    assert_in_range(waited, 1000, 4000);
}

static void test_a_question_that_waits_ends_the_limit(void **state) {
    struct world world;
    (void)state;
    begin(&world, 2);
    play(&world, STEPS, 550, 1000);
    world.at.is_wanted = true;
    assert_int_equal(play(&world, STEPS, 550, 1000), 1000);
    world.at.is_wanted = false;
    play(&world, STEPS_UNMEASURED, 550, 1000);
    assert_in_range(play(&world, STEPS, 550, 1000), 20, 35); /* it pays some of that back */
}

static void test_rows_are_committed_soon_however_many_come(void **state) {
    static const struct {
        int used;
        bool is_current, is_wanted;
        int age_ms, commit_ms;
    } commits[] = {
        {0, false, false, 0, 1000}, {0, false, false, 400, 600},  {0, false, false, 1500, 0},
        {0, true, false, 0, 10},    {0, true, false, 995, 5},     {0, true, false, 1500, 0},
        {0, false, true, 0, 50},    {0, false, true, 60, 0},      {0, true, true, 20, 10},
        {0, true, true, 45, 5},     {550, false, false, 0, 5000}, {550, false, false, 4000, 1000},
        {550, true, false, 0, 10},  {550, false, true, 0, 50},
    };
    (void)state;
    for (size_t i = 0; i < sizeof commits / sizeof commits[0]; i++) {
        struct world world;
        begin(&world, 2);
        play(&world, STEPS_UNMEASURED, commits[i].used, 0);
        assert_int_equal(index_pace_commit_ms(&world.pace, commits[i].age_ms, commits[i].is_current,
                                              commits[i].is_wanted),
                         commits[i].commit_ms);
    }
}

static void test_the_clocks_are_of_this_thread(void **state) {
    struct index_clocks clocks;
    struct index_pace_sample before = {.lag = 7}, after = {.lag = 7};
    (void)state;
    index_clocks_open(&clocks);
    index_clocks_read(&clocks, &before);
    do {
        index_clocks_read(&clocks, &after);
    } while (after.own - before.own < 20 * step_ns);
    index_clocks_close(&clocks);
    index_clocks_close(&clocks);
    assert_true(after.now - before.now >= 20 * step_ns);
    assert_true(after.process - before.process >= 20 * step_ns);
    assert_true(after.waited >= before.waited && after.waited < after.now);
    assert_int_equal(after.lag, 7);
    assert_true(index_clocks_processors() >= 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_part_follows_from_what_the_gateway_uses),
        cmocka_unit_test(test_what_a_quiet_time_took_is_not_owed),
        cmocka_unit_test(
            test_after_a_silence_little_is_taken_until_it_is_known_how_busy_the_gateway_is),
        cmocka_unit_test(test_what_was_taken_at_once_is_waited_for_but_not_for_long),
        cmocka_unit_test(test_a_question_that_waits_ends_the_limit),
        cmocka_unit_test(test_rows_are_committed_soon_however_many_come),
        cmocka_unit_test(test_the_clocks_are_of_this_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
