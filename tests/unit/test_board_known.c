/* SPDX-License-Identifier: Apache-2.0 */

/* What a board knows of the keys of its bucket, so that NATS need not be asked. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "board_fixture.h"

static enum fact_known known(struct world *world, const char *suffix, uint64_t read_to,
                             const char *value) {
    struct parley_buffer text;
    char key[80];
    world_write_id(3, key);
    strcat(key, suffix);
    parley_buffer_init(&text);
    const enum fact_known answer =
        board_known_fact(world->board, parley_bytes_of(key), read_to, &text);
    assert_true(parley_bytes_equal(parley_buffer_bytes(&text), parley_bytes_of(value)));
    parley_buffer_finish(&text);
    return answer;
}

static void test_that_a_key_is_absent_is_known_once_the_bucket_was_read_that_far(void **state) {
    struct world *world = *state;
    assert_int_equal(known(world, "", 1, ""), FACT_UNKNOWN); /* nor is its request */
    world_request(world, 3, "a.x normal");
    assert_int_equal(board_read_to(world->board), 1);
    assert_int_equal(known(world, ".claim", 0, ""), FACT_UNKNOWN);
    assert_int_equal(known(world, ".claim", 2, ""), FACT_UNKNOWN);
    assert_int_equal(known(world, ".claim", 1, ""), FACT_IS_ABSENT);
    assert_int_equal(known(world, ".end", 1, ""), FACT_IS_ABSENT);
    assert_int_equal(known(world, ".turn.2", 1, ""), FACT_UNKNOWN);
    assert_int_equal(known(world, ".other", 1, ""), FACT_UNKNOWN);
    world_write(world, 3, ".claim", "{\"holder\":\"galahad\"}");
    assert_int_equal(known(world, ".claim", 0, "{\"holder\":\"galahad\"}"), FACT_IS_THERE);
    world_write(world, 3, ".turn.2", "{\"holder\":\"galahad\"}");
    assert_int_equal(known(world, ".turn.2", 3, ""), FACT_UNKNOWN); /* it may be a later one */
    board_on_began(world->board);
    assert_int_equal(known(world, ".claim", 0, ""), FACT_UNKNOWN);
}

static void test_a_value_that_is_too_long_or_a_guess_is_not_known(void **state) {
    struct world *world = *state;
    static char value[4000];
    snprintf(value, sizeof value, "{\"holder\":\"%03000d\"}", 1);
    world_request(world, 3, "a.x normal");
    world_write(world, 3, ".end", value);
    assert_int_equal(known(world, ".end", world->sequence, ""), FACT_UNKNOWN);
    world->sequence = UINT64_MAX; /* another gateway was quicker, perhaps for another agent */
    world->is_own = true;
    world_claim(world, 3, "galahad", CLAIM_ID);
    world->is_own = false;
    assert_int_equal(known(world, ".claim", 0, ""), FACT_UNKNOWN);
    world->sequence = 2;
    world_write(world, 3, ".claim", "{\"holder\":\"percival\"}");
    assert_int_equal(known(world, ".claim", 0, "{\"holder\":\"percival\"}"), FACT_IS_THERE);
}

/* Another gateway has written it first: perhaps long ago, and the work was over and made room. */
static void test_that_a_key_is_absent_is_not_known_of_work_whose_request_is_a_guess(void **state) {
    struct world *world = *state;
    world_request(world, 4, "a.x normal");
    world->sequence = UINT64_MAX;
    world->is_own = true;
    world_request(world, 3, "a.x normal");
    world->is_own = false;
    assert_int_equal(known(world, ".claim", 1, ""), FACT_UNKNOWN);
    assert_int_equal(known(world, ".end", 1, ""), FACT_UNKNOWN);
    world->sequence = 1;
    world_request(world, 3, "a.x normal");
    assert_int_equal(known(world, ".claim", 2, ""), FACT_IS_ABSENT);
    assert_int_equal(known(world, ".retry", 2, ""), FACT_UNKNOWN);
}

/* Where something was left out, what is missing may be that. */
static void test_that_a_key_is_absent_is_not_known_of_a_board_without_room(void **state) {
    struct world world;
    (void)state;
    world_open(&world, 1);
    board_on_current(world.board);
    world_request(&world, 3, "a.x normal");
    assert_int_equal(known(&world, ".claim", 1, ""), FACT_IS_ABSENT);
    world_request(&world, 4, "a.x low");
    assert_int_equal(known(&world, ".claim", 1, ""), FACT_UNKNOWN);
    board_destroy(world.board);
}

#define BOARD_TEST(name) cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        BOARD_TEST(test_that_a_key_is_absent_is_known_once_the_bucket_was_read_that_far),
        BOARD_TEST(test_a_value_that_is_too_long_or_a_guess_is_not_known),
        BOARD_TEST(test_that_a_key_is_absent_is_not_known_of_work_whose_request_is_a_guess),
        cmocka_unit_test(test_that_a_key_is_absent_is_not_known_of_a_board_without_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
