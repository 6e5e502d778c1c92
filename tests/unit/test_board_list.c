/* SPDX-License-Identifier: Apache-2.0 */

/* What a list of the work on a board has. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        "\"not_before\":null,\"ended_at\":null,\"error\":null,"
        "\"retryable\":null,\"retry_at\":null,\"contested\":null,\"retry_of\":null,\"seq\":{"
        "\"request\":1,"
        "\"claim\":1001,\"end\":null}}");
    parley_buffer_finish(&out);
}

#define BOARD_TEST(name) cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        BOARD_TEST(test_filters_choose_what_is_listed),
        BOARD_TEST(test_an_item_has_every_member),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
