/* SPDX-License-Identifier: Apache-2.0 */

/* The board of a protocol's work: who gets what, who is woken, and what is left out. */

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

/* ---- who gets what ---- */

/* Work in the order of its requests, numbered from 1, and what a wish gets, one after the other. */
static const struct match_case {
    const char *works[5];
    const char *wish;
    const char *gets;
} match_cases[] = {
    {{NULL}, "galahad", "0"},
    {{"a.x normal", "a.x normal"}, "galahad", "1 2 0"},
    {{"a.x low", "a.x normal", "a.x critical", "a.x high"}, "galahad", "3 4 2 1 0"},
    {{"a.x high", "b.x high", "a.y low"}, "galahad d:a", "1 3 0"},
    {{"a.x high", "b.x high", "a.y low"}, "galahad t:a.y", "3 0"},
    {{"a.x high", "a.x.y high"}, "galahad t:a.x", "1 0"},
    {{"ab.x high", "a.x high"}, "galahad d:a", "2 0"},
    {{"a.x high percival", "a.x low galahad", "a.x low"}, "galahad", "2 3 0"},
    {{"a.x high percival"}, "galahad d:a", "0"},
    {{"A.x high"}, "galahad d:a", "0"},
};

static void test_the_best_that_matches_is_taken_first(void **state) {
    struct world world;
    (void)state;
    for (size_t i = 0; i < sizeof match_cases / sizeof match_cases[0]; i++) {
        const struct match_case *row = &match_cases[i];
        char got[40] = "", word[12];
        world_open(&world, 0);
        board_on_current(world.board);
        for (unsigned j = 0; j < 5 && row->works[j] != NULL; j++) {
            world_request(&world, j + 1, row->works[j]);
        }
        for (unsigned taken = 1; taken != 0;) {
            taken = world_take(&world, row->wish);
            snprintf(word, sizeof word, "%s%u", got[0] != '\0' ? " " : "", taken);
            strcat(got, word);
        }
        if (strcmp(got, row->gets) != 0) {
            fail_msg("row %zu: %s, not %s", i, got, row->gets);
        }
        board_destroy(world.board);
    }
}

/* As many as a request can have, of which one is a task's. */
static void test_one_of_many_words_suffices(void **state) {
    struct world *world = *state;
    enum { WORDS = 64 };
    static char texts[2 * WORDS][20];
    struct parley_bytes domains[WORDS], tasks[WORDS];
    struct board_find find;
    for (size_t i = 0; i < WORDS; i++) {
        snprintf(texts[i], sizeof texts[i], "d%zu", i);
        snprintf(texts[WORDS + i], sizeof texts[i], "a.x%zu", i);
        domains[i] = parley_bytes_of(texts[i]);
        tasks[i] = parley_bytes_of(texts[WORDS + i]);
    }
    const struct board_wish many = {.agent = PARLEY_BYTES("galahad"),
                                    .domains = domains,
                                    .tasks = tasks,
                                    .domain_count = WORDS,
                                    .task_count = WORDS};
    for (unsigned i = 1; i <= 1000; i++) {
        char what[30];
        snprintf(what, sizeof what, "e%u.x normal", i); /* nothing that is among them */
        world_request(world, i, what);
    }
    assert_false(board_take(world->board, &many, 1, &find));
    for (unsigned i = 0; i < WORDS; i++) {
        char what[30];
        snprintf(what, sizeof what, i % 2 == 0 ? "d%u.x low" : "a.x%u low", i);
        world_request(world, 2000 + i, what);
        assert_true(board_take(world->board, &many, 1, &find));
        assert_int_equal(find_number(&find), 2000 + i);
    }
    world_request(world, 3000, "a.x normal");
    world_request(world, 3001, "d0 normal");
    world_request(world, 3002, "b.x0 normal");
    assert_true(board_take(world->board, &many, 1, &find));
    assert_int_equal(find_number(&find), 3001);
    assert_false(board_take(world->board, &many, 1, &find));
}

static void test_what_is_not_open_is_not_taken(void **state) {
    struct world *world = *state;
    world_request_until(world, 1, "a.x high", "2020-01-01T00:00:00Z"); /* late */
    world_request(world, 2, "a.x high");
    world_claim(world, 2, "percival", "c");
    world_write(world, 3, ".end", "{\"state\":\"completed\"}");
    world_request(world, 3, "a.x high");
    world_write(world, 4, "", "security");           /* of an older gateway */
    world_write(world, 5, "", "{\"task\":\"a.x\"}"); /* its message is not known */
    world_write(world, 6, "", "{\"task\":");
    world_write(world, 7, ".other", "{}");
    board_on_entry(world->board, &(struct bucket_entry){.key = PARLEY_BYTES("no-uuid"),
                                                        .value = PARLEY_BYTES("{}"),
                                                        .sequence = ++world->sequence});
    assert_int_equal(world_take(world, "galahad"), 0);
    assert_int_equal(board_counts(world->board).open, 0);
    assert_int_equal(board_counts(world->board).works, 6);
}

static void test_what_is_taken_comes_back_in_its_place(void **state) {
    struct world *world = *state;
    world_request(world, 1, "a.x normal");
    world_request(world, 2, "a.x normal");
    world_request(world, 3, "a.x normal");
    assert_int_equal(world_take(world, "galahad"), 1);
    assert_int_equal(world_take(world, "galahad"), 2);
    board_give_back(world->board, "00000000-0000-4000-8000-000000000002");
    board_give_back(world->board, "00000000-0000-4000-8000-000000000001");
    assert_int_equal(world_take(world, "galahad"), 1);
    board_lost(world->board, "00000000-0000-4000-8000-000000000001");
    board_give_back(world->board, "00000000-0000-4000-8000-000000000001"); /* too late */
    assert_int_equal(world_take(world, "galahad"), 2);
    assert_int_equal(world_take(world, "galahad"), 3);
    assert_int_equal(world_take(world, "galahad"), 0);
}

static void test_one_of_the_best_is_taken_by_chance(void **state) {
    struct world *world = *state;
    unsigned seen = 0;
    for (unsigned i = 1; i <= 6; i++) {
        world_request(world, i, "a.x normal");
    }
    for (int tries = 0; tries < 10000 && seen != 0x1E; tries++) {
        struct board_find find;
        assert_true(board_take(world->board, world_wish(world, 0, "galahad"), 4, &find));
        assert_in_range(find_number(&find), 1, 4);
        seen |= 1u << find_number(&find);
        board_give_back(world->board, find.id);
    }
    assert_int_equal(seen, 0x1E);
}

/* ---- who is woken ---- */

/* Returns: the number of the first, 0: there is none.  `out_count`: how many, which follow it. */
static unsigned take_many(struct world *world, const char *text, size_t among, size_t max,
                          size_t *out_count) {
    struct board_find finds[64];
    *out_count = board_take_many(world->board, world_wish(world, 0, text), among, finds, max);
    for (size_t i = 0; i < *out_count; i++) {
        assert_int_equal(find_number(&finds[i]), find_number(&finds[0]) + i);
        assert_false(finds[i].is_claimed);
    }
    return *out_count > 0 ? find_number(&finds[0]) : 0;
}

static void test_many_are_taken_together_the_best_first(void **state) {
    static const struct {
        const char *wish;
        size_t max, count;
        unsigned first;
    } rows[] = {{"galahad d:a", 2, 2, 1},
                {"galahad", 3, 3, 3},
                {"galahad", 64, 2, 6},
                {"galahad", 64, 0, 0}};
    struct world *world = *state;
    size_t count;
    world_request(world, 1, "a.x high");
    world_request(world, 2, "a.x high");
    for (unsigned i = 3; i <= 7; i++) {
        world_request(world, i, "b.x normal");
    }
    world_request(world, 8, "b.x critical percival");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(take_many(world, rows[i].wish, 1, rows[i].max, &count), rows[i].first);
        assert_int_equal(count, rows[i].count);
    }
}

/* Of the ten first, five: those that begin at the first to the sixth. */
static void test_after_a_loss_many_are_taken_elsewhere_by_chance(void **state) {
    struct world *world = *state;
    unsigned seen = 0;
    size_t count;
    for (unsigned i = 1; i <= 20; i++) {
        world_request(world, i, "a.x normal");
    }
    for (int round = 0; round < 1000 && seen != 0x3F; round++) {
        const unsigned first = take_many(world, "galahad", 2, 5, &count);
        assert_in_range(first, 1, 6);
        assert_int_equal(count, 5);
        seen |= 1u << (first - 1);
        for (unsigned i = first; i < first + 5; i++) {
            char id[40];
            world_write_id(i, id);
            board_give_back(world->board, id);
        }
    }
    assert_int_equal(seen, 0x3F);
}

static void test_new_work_wakes_one_who_waits_for_it(void **state) {
    struct world *world = *state;
    world_park(world, 0, "galahad d:other");
    world_park(world, 1, "percival d:a");
    world_park(world, 2, "lancelot");
    world_request(world, 1, "a.x normal");
    assert_int_equal(world->woken, 1u << 1);
    assert_int_equal(world_take_woken(world, 1), 1);
    world_request(world, 2, "a.x normal");
    assert_int_equal(world->woken, 1u << 1 | 1u << 2);
    assert_int_equal(world_take_woken(world, 2), 2);
    world_request(world, 3, "a.x normal");
    assert_int_equal(board_counts(world->board).waiting, 1);
    board_leave(world->board, &world->waiters[0]);
}

static void test_one_who_is_gone_hands_its_wake_up_on(void **state) {
    struct world *world = *state;
    world_park(world, 0, "galahad");
    world_park(world, 1, "percival d:other");
    world_park(world, 2, "lancelot");
    world_request(world, 1, "a.x normal");
    assert_int_equal(world->woken, 1u << 0);
    board_leave(world->board, &world->waiters[0]);
    assert_int_equal(world->woken, 1u << 0 | 1u << 2);
    assert_int_equal(world_take_woken(world, 2), 1);
    board_leave(world->board, &world->waiters[1]);
}

/* 0 was woken for 1 and takes 2, which is more urgent; 2 was meant for nobody who can take 1. */
static void test_one_who_takes_other_work_hands_its_wake_up_on(void **state) {
    struct world *world = *state;
    world_park(world, 0, "galahad");
    world_park(world, 1, "percival d:b");
    world_park(world, 2, "lancelot d:a");
    world_request(world, 1, "a.x normal");
    world_request(world, 2, "b.x critical");
    assert_int_equal(world->woken, 1u << 0 | 1u << 1);
    assert_int_equal(world_take_woken(world, 0), 2);
    assert_int_equal(world->woken, 1u << 0 | 1u << 1 | 1u << 2);
    assert_int_equal(world_take_woken(world, 1), 0); /* waits again */
    assert_int_equal(world_take_woken(world, 2), 1);
    board_leave(world->board, &world->waiters[1]);
}

static void test_work_that_comes_back_wakes_one(void **state) {
    struct world *world = *state;
    world_request(world, 1, "a.x normal");
    assert_int_equal(world_take(world, "percival"), 1);
    world_park(world, 0, "galahad");
    board_give_back(world->board, "00000000-0000-4000-8000-000000000001");
    assert_int_equal(world->woken, 1u << 0);
    assert_int_equal(world_take_woken(world, 0), 1);
}

static void test_nothing_is_taken_before_all_was_read(void **state) {
    struct world world;
    (void)state;
    world_open(&world, 0);
    world_request(&world, 1, "a.x normal");
    world_park(&world, 0, "galahad");
    world_park(&world, 1, "percival");
    world_claim(&world, 1, "lancelot", "c");
    world_request(&world, 2, "a.x normal");
    assert_int_equal(world.woken, 0);
    board_on_current(world.board);
    assert_int_equal(world.woken, 1u << 0 | 1u << 1);
    assert_int_equal(world_take_woken(&world, 0), 2);
    assert_int_equal(world_take_woken(&world, 1), 0);
    board_leave(world.board, &world.waiters[1]);
    board_destroy(world.board);
}

static void test_one_can_wait_until_something_was_read(void **state) {
    struct world *world = *state;
    struct board_waiter *waiter = &world->waiters[0];
    waiter->wake = world_on_wake;
    world_request(world, 1, "a.x normal");
    assert_false(board_wait_for(world->board, waiter, 1));
    assert_true(board_wait_for(world->board, waiter, 3));
    world_request(world, 2, "a.x normal");
    assert_int_equal(world->woken, 0);
    world_request(world, 3, "a.x normal");
    assert_int_equal(world->woken, 1u << 0);
    board_leave(world->board, waiter);
}

/* A member of a cluster may lag: a watch calls itself current before what is written has come. */
static void test_one_who_waits_for_what_was_not_read_waits_on(void **state) {
    struct world *world = *state;
    struct board_waiter *waiter = &world->waiters[0];
    waiter->wake = world_on_wake;
    assert_true(board_wait_for(world->board, waiter, 2));
    world_request(world, 1, "a.x normal");
    board_on_current(world->board);
    assert_int_equal(world->woken, 0);
    board_on_began(world->board);
    world->sequence = 0;
    world_request(world, 1, "a.x normal");
    board_on_current(world->board);
    assert_int_equal(world->woken, 0);
    world_request(world, 2, "a.x normal");
    assert_int_equal(world->woken, 1u << 0);
    board_leave(world->board, waiter);
    board_on_began(world->board);
    world->sequence = 0;
    assert_true(board_wait_for(world->board, waiter, 2));
    world_request(world, 1, "a.x normal");
    world_request(world, 2, "a.x normal");
    world->woken = 0;
    board_on_current(world->board);
    assert_int_equal(world->woken, 1u << 0);
    board_leave(world->board, waiter);
}

/* All that the bucket held has become too old before it was read. */
static void test_what_the_bucket_has_dropped_is_not_waited_for(void **state) {
    struct world *world = *state;
    struct board_waiter *waiter = &world->waiters[0];
    waiter->wake = world_on_wake;
    assert_true(board_wait_for(world->board, waiter, 3));
    board_on_kept_from(world->board, 3);
    assert_int_equal(world->woken, 0);
    board_on_kept_from(world->board, 4);
    assert_int_equal(world->woken, 1u << 0);
    board_leave(world->board, waiter);
    assert_false(board_wait_for(world->board, waiter, 3));
}

/* ---- the same request again ---- */

static void test_a_claim_is_found_by_its_id(void **state) {
    struct world *world = *state;
    struct board_find find;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t now_ms = (int64_t)now.tv_sec * 1000;
    world_request(world, 1, "a.x normal");
    world_claim(world, 1, "galahad", CLAIM_ID);
    world_write(world, 1, ".end", "{\"state\":\"completed\"}");
    struct board_wish own = {.agent = PARLEY_BYTES("galahad"),
                             .claim_id = PARLEY_BYTES(CLAIM_ID),
                             .claimed_since_ms = now_ms - 600000};
    assert_true(board_find_claim(world->board, &own, &find));
    assert_true(find.is_claimed);
    assert_int_equal(find_number(&find), 1);
    assert_string_equal(find.stream, "ROUNDTABLE");
    assert_int_equal(find.sequence, 1);
    assert_string_equal(find.deadline, "2099-01-01T00:00:00Z");
    own.agent = PARLEY_BYTES("percival");
    assert_false(board_find_claim(world->board, &own, &find));
    own.agent = PARLEY_BYTES("galahad");
    own.claimed_since_ms = now_ms + 600000;
    assert_false(board_find_claim(world->board, &own, &find));
    own.claimed_since_ms = now_ms - 600000;
    own.claim_id = PARLEY_BYTES("another");
    assert_false(board_find_claim(world->board, &own, &find));
}

static const struct board_wish *keyed(struct world *world, size_t slot, const char *claim_id) {
    world_wish(world, slot, "galahad");
    world->wishes[slot].claim_id = parley_bytes_of(claim_id);
    return &world->wishes[slot];
}

static void test_who_claims_by_the_same_message_takes_the_same(void **state) {
    struct world *world = *state;
    struct board_find find;
    world_request(world, 1, "a.x high");
    world_request(world, 2, "a.x normal");
    world_request(world, 3, "a.x low");
    assert_true(board_take(world->board, keyed(world, 0, CLAIM_ID), 1, &find));
    assert_int_equal(find_number(&find), 1);
    assert_true(board_take(world->board, keyed(world, 0, "another"), 1, &find));
    assert_int_equal(find_number(&find), 2);
    assert_true(board_take(world->board, keyed(world, 0, CLAIM_ID), 1, &find));
    assert_int_equal(find_number(&find), 1);
    assert_false(find.is_claimed);
    world_claim(world, 1, "galahad", CLAIM_ID);
    assert_true(board_take(world->board, keyed(world, 0, CLAIM_ID), 1, &find));
    assert_int_equal(find_number(&find), 1);
    assert_true(find.is_claimed);
    world_claim(world, 2, "galahad", "of-2"); /* not by "another" */
    assert_true(board_take(world->board, keyed(world, 0, "another"), 1, &find));
    assert_int_equal(find_number(&find), 3);
    board_lost(world->board, find.id);
    assert_false(board_take(world->board, keyed(world, 0, "another"), 1, &find));
}

static void test_a_claim_wakes_who_waits_to_make_it(void **state) {
    struct world *world = *state;
    struct board_find find;
    for (size_t i = 0; i < 3; i++) {
        world->waiters[i].wake = world_on_wake;
        world->waiters[i].wish = keyed(world, i, i < 2 ? CLAIM_ID : "another");
        assert_false(board_take_or_wait(world->board, &world->waiters[i], 1, &find));
    }
    world_claim(world, 1, "galahad", CLAIM_ID);
    assert_int_equal(world->woken, 1u << 0 | 1u << 1);
    world_request(world, 1, "a.x normal");
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(world_take_woken(world, i), 1);
    }
    board_leave(world->board, &world->waiters[2]);
    assert_int_equal(board_counts(world->board).waiting, 0);
}

/* ---- what is kept ---- */

static void test_what_is_closed_makes_room_and_then_the_least(void **state) {
    struct world world;
    (void)state;
    world_open(&world, 4);
    board_on_current(world.board);
    world_request(&world, 1, "a.x low");
    world_request(&world, 2, "a.x high");
    world_request(&world, 3, "a.x low");
    world_request(&world, 4, "a.x normal");
    world_claim(&world, 2, "percival", "c");
    world_request(&world, 5, "a.x normal"); /* 2 goes */
    world_request(&world, 6, "a.x high");   /* 3 goes: low, and younger than 1 */
    assert_int_equal(board_counts(world.board).works, 4);
    assert_int_equal(world_take(&world, "galahad"), 6);
    assert_int_equal(world_take(&world, "galahad"), 4);
    assert_int_equal(world_take(&world, "galahad"), 5);
    assert_int_equal(world_take(&world, "galahad"), 1);
    assert_int_equal(world_take(&world, "galahad"), 0);
    board_destroy(world.board);
}

static void test_what_the_bucket_has_dropped_is_dropped(void **state) {
    struct world *world = *state;
    world_request(world, 1, "a.x normal");
    world_request(world, 2, "a.x normal");
    world_claim(world, 1, "percival", "c");
    board_on_kept_from(world->board, 3);
    assert_int_equal(board_counts(world->board).works, 1); /* the claim of 1 */
    assert_int_equal(world_take(world, "galahad"), 0);
    board_on_entry(
        world->board,
        &(struct bucket_entry){.key = PARLEY_BYTES("00000000-0000-4000-8000-000000000001.claim"),
                               .sequence = ++world->sequence});
    assert_int_equal(board_counts(world->board).works, 0);
}

/* ---- what this process has written ---- */

static void list_numbers(struct world *world, char out[40]) {
    struct parley_buffer items;
    char word[12];
    bool has_more;
    parley_buffer_init(&items);
    assert_int_equal(
        board_list(world->board, &(struct board_filter){.states = 0}, 10, &items, &has_more),
        PARLEY_OK);
    parley_buffer_char(&items, '\0');
    out[0] = '\0';
    for (const char *at = items.data; (at = strstr(at, "\"id\":\"")) != NULL; at++) {
        snprintf(word, sizeof word, "%s%lu", out[0] != '\0' ? " " : "",
                 strtoul(at + 6 + 24, NULL, 10));
        strcat(out, word);
    }
    parley_buffer_finish(&items);
}

static void write_own(struct world *world, uint64_t sequence, void (*write)(struct world *world)) {
    world->sequence = sequence - 1;
    world->is_own = true;
    write(world);
    world->is_own = false;
    world->sequence = sequence - 1;
}

static void request_3(struct world *world) {
    world_request(world, 3, "a.x normal");
}

static void claim_3(struct world *world) {
    world_claim(world, 3, "galahad", CLAIM_ID);
}

static void test_what_was_written_here_is_known_before_it_is_delivered(void **state) {
    struct world *world = *state;
    struct board_waiter waiter = {.wake = world_on_wake};
    char numbers[40];
    world_request(world, 1, "a.x low");
    world_park(world, 0, "galahad d:b");
    assert_int_equal(world_take(world, "galahad"), 1);
    world_park(world, 1, "galahad");
    write_own(world, 3, request_3);
    assert_int_equal(world->woken, 1u << 1);
    assert_int_equal(world_take_woken(world, 1), 3);
    write_own(world, 4, claim_3);
    assert_int_equal(board_counts(world->board).open, 0);
    assert_true(board_wait_for(world->board, &waiter, 3)); /* of others' nothing is known */
    board_leave(world->board, &waiter);

    world->sequence = 1;
    world_request(world, 2, "a.x normal");
    request_3(world);
    assert_int_equal(board_counts(world->board).open, 1);
    claim_3(world);
    list_numbers(world, numbers);
    assert_string_equal(numbers, "3 2 1");
    assert_int_equal(world_take(world, "galahad"), 2);
    write_own(world, 4, claim_3); /* known late */
    assert_int_equal(board_counts(world->board).works, 3);
    board_leave(world->board, &world->waiters[0]);
}

static void end_3(struct world *world) {
    world_fail(world, 3, "2099-01-01T00:00:00Z");
}

static void end_turn_3(struct world *world) {
    world_write(world, 3, ".turn.2", "{\"n\":2,\"kind\":\"release\",\"holder\":\"galahad\"}");
}

/* Another gateway's consumer was faster: the bucket does not say at which place. */
static void test_what_another_gateway_has_written_first_is_known_without_its_place(void **state) {
    struct world *world = *state;
    char numbers[40];
    world_request(world, 1, "a.x low");
    write_own(world, 0, request_3);
    write_own(world, 0, claim_3);
    assert_int_equal(board_counts(world->board).open, 1);
    write_own(world, 0, end_turn_3); /* it may be another's */
    write_own(world, 0, end_3);
    assert_int_equal(board_counts(world->board).open, 1);

    world->sequence = 1;
    world_request(world, 2, "a.x normal");
    request_3(world);
    claim_3(world);
    write_own(world, 0, claim_3);
    list_numbers(world, numbers);
    assert_int_equal(strlen(numbers), strlen("3 2 1"));
    assert_int_equal(board_counts(world->board).open, 2);
    assert_int_equal(world_take(world, "galahad"), 2);
    assert_int_equal(world_take(world, "galahad"), 1);
    assert_int_equal(world_take(world, "galahad"), 0);
}

static void test_what_was_written_here_before_all_was_read_is_left_to_the_reading(void **state) {
    struct world world;
    (void)state;
    world_open(&world, 0);
    write_own(&world, 3, request_3);
    assert_int_equal(board_counts(world.board).works, 0);
    world.sequence = 0;
    world_request(&world, 1, "a.x normal");
    world.sequence = 2;
    request_3(&world);
    board_on_current(world.board);
    assert_int_equal(world_take(&world, "galahad t:a.x"), 1);
    assert_int_equal(world_take(&world, "galahad t:a.x"), 3);
    board_destroy(world.board);
}

/* Work that comes back from the middle of the list, and what is known too early. */
static void test_open_work_is_in_the_order_of_its_keys(void **state) {
    struct world *world = *state;
    write_own(world, 3, request_3);
    world->sequence = 0;
    world_request(world, 1, "a.x normal");
    world_request(world, 2, "a.x normal");
    world->sequence = 3;
    world_request(world, 4, "a.x normal");
    world_request(world, 5, "a.x normal");
    for (unsigned i = 1; i <= 5; i++) {
        assert_int_equal(world_take(world, "galahad"), i);
    }
    static const unsigned order[] = {3, 1, 5, 2, 4};
    for (size_t i = 0; i < 5; i++) {
        char id[40];
        world_write_id(order[i], id);
        board_give_back(world->board, id);
    }
    for (unsigned i = 1; i <= 5; i++) {
        assert_int_equal(world_take(world, "galahad"), i);
    }
}

/* Any writer to the bucket may have written it. */
static void test_a_value_with_a_nul_is_read_to_its_end_and_no_further(void **state) {
    struct world *world = *state;
    world_write_bytes(world, 1, "",
                      PARLEY_BYTES("{\"stream\":\"ROU\0TABLE\",\"seq\":1,\"task\":\"a.b\"}"));
    world_request(world, 2, "a.x normal");
    world_write_bytes(world, 2, ".claim", PARLEY_BYTES("\0{\"holder\":\"galahad\"}"));
    assert_int_equal(board_counts(world->board).works, 2);
    assert_int_equal(world_take(world, "galahad"), 0);
}

#define BOARD_TEST(name) cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_best_that_matches_is_taken_first),
        BOARD_TEST(test_one_of_many_words_suffices),
        BOARD_TEST(test_what_is_not_open_is_not_taken),
        BOARD_TEST(test_what_is_taken_comes_back_in_its_place),
        BOARD_TEST(test_one_of_the_best_is_taken_by_chance),
        BOARD_TEST(test_many_are_taken_together_the_best_first),
        BOARD_TEST(test_after_a_loss_many_are_taken_elsewhere_by_chance),
        BOARD_TEST(test_new_work_wakes_one_who_waits_for_it),
        BOARD_TEST(test_one_who_is_gone_hands_its_wake_up_on),
        BOARD_TEST(test_one_who_takes_other_work_hands_its_wake_up_on),
        BOARD_TEST(test_work_that_comes_back_wakes_one),
        cmocka_unit_test(test_nothing_is_taken_before_all_was_read),
        BOARD_TEST(test_one_can_wait_until_something_was_read),
        BOARD_TEST(test_one_who_waits_for_what_was_not_read_waits_on),
        BOARD_TEST(test_what_the_bucket_has_dropped_is_not_waited_for),
        BOARD_TEST(test_a_claim_is_found_by_its_id),
        BOARD_TEST(test_who_claims_by_the_same_message_takes_the_same),
        BOARD_TEST(test_a_claim_wakes_who_waits_to_make_it),
        cmocka_unit_test(test_what_is_closed_makes_room_and_then_the_least),
        BOARD_TEST(test_what_the_bucket_has_dropped_is_dropped),
        BOARD_TEST(test_what_was_written_here_is_known_before_it_is_delivered),
        BOARD_TEST(test_what_another_gateway_has_written_first_is_known_without_its_place),
        cmocka_unit_test(test_what_was_written_here_before_all_was_read_is_left_to_the_reading),
        BOARD_TEST(test_open_work_is_in_the_order_of_its_keys),
        BOARD_TEST(test_a_value_with_a_nul_is_read_to_its_end_and_no_further),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
