/* SPDX-License-Identifier: Apache-2.0 */

/* What a list of the work on a board has. */

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

enum { REQUESTED = 1, CLAIMED = 2, COMPLETED = 4, EXPIRED = 16 };
enum { LOW = 1, HIGH = 4 };

static const struct list_case {
    unsigned states, priorities;
    const char *domains, *holders, *from; /* "a b" */
    size_t limit;
    const char *numbers; /* the newest first; +: there are more */
} list_cases[] = {
    {.limit = 10, .numbers = "4 3 2 1"},
    {.limit = 4, .numbers = "4 3 2 1"},
    {.limit = 2, .numbers = "4 3 +"},
    {.holders = "percival", .limit = 1, .numbers = "3 +"},
    {.domains = "b", .limit = 1, .numbers = "2"},
    {.states = REQUESTED, .limit = 10, .numbers = "1"},
    {.states = EXPIRED, .limit = 10, .numbers = "4"},
    {.states = CLAIMED, .limit = 10, .numbers = "2"},
    {.states = COMPLETED, .limit = 10, .numbers = "3"},
    {.states = REQUESTED | EXPIRED, .limit = 10, .numbers = "4 1"},
    {.domains = "a", .limit = 10, .numbers = "3 1"},
    {.domains = "b c x", .limit = 10, .numbers = "4 2"},
    {.holders = "percival", .limit = 10, .numbers = "3 2"},
    {.holders = "x percival", .limit = 10, .numbers = "3 2"},
    {.holders = "x", .limit = 10, .numbers = ""},
    {.holders = "percival", .domains = "b", .limit = 10, .numbers = "2"},
    {.from = "tim", .limit = 10, .numbers = "4 3 2 1"},
    {.from = "x", .limit = 10, .numbers = ""},
    {.priorities = HIGH, .limit = 10, .numbers = "2"},
    {.priorities = LOW, .limit = 10, .numbers = "3"},
    {.priorities = LOW | HIGH, .limit = 10, .numbers = "3 2"},
};

/* `text`: NULL: none. */
static struct board_names names_of(const char *text, struct parley_bytes items[4]) {
    struct board_names names = {.items = items};
    while (text != NULL && *text != '\0') {
        items[names.count] = (struct parley_bytes){text, strcspn(text, " ")};
        text += items[names.count].length;
        text += *text == ' ' ? 1 : 0;
        names.count++;
    }
    return names;
}

static void test_filters_choose_what_is_listed(void **state) {
    struct world *world = *state;
    world_request(world, 1, "a.x normal");
    world_request(world, 2, "b.x high");
    world_request(world, 3, "a.y low");
    world_request_until(world, 4, "c.x normal", "2020-01-01T00:00:00Z");
    world_claim(world, 2, "percival", "c2");
    world_claim(world, 3, "percival", "c3");
    world_write(world, 3, ".end", "{\"state\":\"completed\",\"seq\":9}");
    for (size_t i = 0; i < sizeof list_cases / sizeof list_cases[0]; i++) {
        const struct list_case *row = &list_cases[i];
        struct parley_buffer out;
        char got[40] = "", word[12];
        struct parley_bytes items[3][4];
        const struct board_filter filter = {.states = row->states,
                                            .priorities = row->priorities,
                                            .domains = names_of(row->domains, items[0]),
                                            .holders = names_of(row->holders, items[1]),
                                            .from = names_of(row->from, items[2])};
        parley_buffer_init(&out);
        bool has_more;
        assert_int_equal(board_list(world->board, &filter, row->limit, &out, &has_more), PARLEY_OK);
        parley_buffer_char(&out, '\0');
        for (const char *at = out.data; (at = strstr(at, "\"id\":\"")) != NULL; at++) {
            snprintf(word, sizeof word, "%s%lu", got[0] != '\0' ? " " : "",
                     strtoul(at + 6 + 24, NULL, 10));
            strcat(got, word);
        }
        strcat(got, has_more ? " +" : "");
        if (strcmp(got, row->numbers) != 0) {
            fail_msg("row %zu: %s, not %s", i, got, row->numbers);
        }
        parley_buffer_finish(&out);
    }
}

static const struct turn_case {
    size_t attempt;
    enum board_lapse lapse;
    const char *errors;
    double before;       /* Unix time */
    const char *numbers; /* the oldest first */
} turn_cases[] = {
    {.numbers = "1 2 3 4"},
    {.attempt = 1, .numbers = "1 4"},
    {.attempt = 2, .numbers = "2"},
    {.attempt = 3, .numbers = ""},
    {.lapse = BOARD_LAPSED, .numbers = "2"},
    {.lapse = BOARD_NOT_LAPSED, .numbers = "1 3 4"},
    {.errors = "timeout", .numbers = "4"},
    {.errors = "x timeout", .numbers = "4"},
    {.errors = "x", .numbers = ""},
    {.before = 1893456000, .numbers = "3"}, /* 2030-01-01 */
    {.before = 1577836800, .numbers = ""},  /* 2020-01-01 */
};

static void write_turn_cases(struct world *world) {
    world_request(world, 1, "a.x normal");
    world_claim(world, 1, "percival", "c1");
    world_request(world, 2, "a.x normal");
    world_claim(world, 2, "percival", "c2");
    world_write(world, 2, ".turn.2",
                "{\"n\":2,\"kind\":\"claim\",\"holder\":\"kay\",\"attempt\":2,\"until\":"
                "\"2020-01-01T00:00:00Z\"}");
    world_write(world, 3, "",
                "{\"stream\":\"ROUNDTABLE\",\"seq\":3,\"task\":\"a.x\",\"from\":\"tim\",\"at\":"
                "\"2026-01-01T00:00:00Z\",\"deadline\":\"2099-01-01T00:00:00Z\"}");
    world_request(world, 4, "a.x normal");
    world_claim(world, 4, "percival", "c4");
    world_write(world, 4, ".end", "{\"state\":\"failed\",\"error\":\"timeout\",\"seq\":9}");
}

static void assert_selects(struct world *world, const struct board_filter *filter, size_t row,
                           const char *numbers) {
    char ids[4][BOARD_ID_MAX], got[40] = "";
    struct board_selection selection = {.ids = ids, .max = 4};
    assert_int_equal(board_select(world->board, filter, &selection), PARLEY_OK);
    assert_true(selection.is_over);
    assert_int_equal(selection.count, selection.matched);
    for (size_t at = 0; at < selection.count; at++) {
        const size_t length = strlen(got);
        snprintf(got + length, sizeof got - length, "%s%lu", at > 0 ? " " : "",
                 strtoul(ids[at] + 24, NULL, 10));
    }
    if (strcmp(got, numbers) != 0) {
        fail_msg("row %zu: %s, not %s", row, got, numbers);
    }
}

static void test_a_selection_has_what_its_filter_chooses(void **state) {
    struct world *world = *state;
    write_turn_cases(world);
    for (size_t i = 0; i < sizeof turn_cases / sizeof turn_cases[0]; i++) {
        const struct turn_case *row = &turn_cases[i];
        struct parley_bytes items[4];
        const struct board_filter filter = {.attempt = row->attempt,
                                            .lapse = row->lapse,
                                            .before = row->before,
                                            .errors = names_of(row->errors, items)};
        assert_selects(world, &filter, i, row->numbers);
    }
}

static void test_what_has_not_ended_by_its_deadline_is_overdue_claimed_or_not(void **state) {
    static const struct {
        double due_before; /* Unix time */
        const char *numbers;
    } rows[] = {
        {0, "1 2 3 4"},      {4102444800, "1 2 3"}, /* 2100-01-01 */
        {1893456000, "2 3"},                        /* 2030-01-01 */
        {1577836802, "2"},                          /* two seconds after that of 2 */
        {1577836790, ""},                           /* before its deadline */
    };
    struct world *world = *state;
    world_request(world, 1, "a.x normal");
    world_request_until(world, 2, "a.x normal", "2020-01-01T00:00:00Z");
    world_request_until(world, 3, "a.x normal", "2020-01-02T00:00:00Z");
    world_claim(world, 3, "percival", "c3");
    world_request_until(world, 4, "a.x normal", "2020-01-01T00:00:00Z");
    world_fail(world, 4, "2020-01-01T00:00:00Z");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct board_filter filter = {
            .is_overdue = rows[i].due_before > 0,
            .overdue_ms = (int64_t)((double)time(NULL) - rows[i].due_before) * 1000};
        assert_selects(world, &filter, i, rows[i].numbers);
    }
}

static void test_a_selection_counts_what_it_has_no_room_for_and_goes_on_where_it_was(void **state) {
    enum { WORKS = 4500, ROOM = 3 };
    struct world *world = *state;
    char ids[ROOM][BOARD_ID_MAX], oldest[40];
    struct board_selection selection = {.ids = ids, .max = ROOM};
    unsigned looks = 0;
    for (unsigned i = 1; i <= WORKS; i++) {
        world_request(world, i, "a.x normal");
    }
    for (; !selection.is_over; looks++) {
        assert_int_equal(
            board_select(world->board, &(struct board_filter){.states = 0}, &selection), PARLEY_OK);
        world_write(world, 2000, "", NULL); /* the last one that the first look has seen */
    }
    assert_int_equal(looks, 3);
    assert_int_equal(selection.count, ROOM);
    assert_int_equal(selection.matched, WORKS);
    world_write_id(1, oldest);
    assert_string_equal(ids[0], oldest);
}

static void test_an_item_has_every_member(void **state) {
    struct world *world = *state;
    struct parley_buffer out;
    parley_buffer_init(&out);
    world_request(world, 1, "a.x high galahad");
    world_claim(world, 1, "galahad", "c");
    bool has_more;
    assert_int_equal(
        board_list(world->board, &(struct board_filter){.states = 0}, 1, &out, &has_more),
        PARLEY_OK);
    parley_buffer_char(&out, '\0');
    assert_string_equal(
        out.data,
        "{\"id\":\"00000000-0000-4000-8000-000000000001\",\"task\":\"a.x\",\"domain\":\"a\","
        "\"state\":\"claimed\",\"priority\":\"high\",\"from\":\"tim\",\"to\":\"galahad\","
        "\"holder\":\"galahad\",\"requested_at\":null,\"deadline\":\"2099-01-01T00:00:00Z\","
        "\"claimed_at\":\"2026-01-01T00:00:00Z\",\"attempt\":1,\"until\":null,\"lapsed\":false,"
        "\"not_before\":null,\"progress\":null,\"ended_at\":null,\"error\":null,"
        "\"retryable\":null,\"retry_at\":null,\"contested\":null,\"retry_of\":null,\"retried_by\":"
        "null,\"seq\":{"
        "\"request\":1,"
        "\"claim\":1001,\"end\":null}}");
    parley_buffer_finish(&out);
}

#define BOARD_TEST(name) cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        BOARD_TEST(test_filters_choose_what_is_listed),
        BOARD_TEST(test_a_selection_has_what_its_filter_chooses),
        BOARD_TEST(test_what_has_not_ended_by_its_deadline_is_overdue_claimed_or_not),
        BOARD_TEST(test_a_selection_counts_what_it_has_no_room_for_and_goes_on_where_it_was),
        BOARD_TEST(test_an_item_has_every_member),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
