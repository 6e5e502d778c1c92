/* SPDX-License-Identifier: Apache-2.0 */

/* What is noted of work: which note counts, and what readers are shown of it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "board_fixture.h"

enum { STEPS_MAX = 4 };

/* A note: that this process has of a message ("own"), or that the watch delivers ("read"). */
static const struct note_case {
    const char *what;
    struct {
        const char *from;
        unsigned sequence; /* of the message; 0: the key was deleted */
        const char *members;
    } steps[STEPS_MAX];
    const char *shown;
} cases[] = {
    {"none", {{NULL, 0, NULL}}, ""},
    {"its own is shown before it is written",
     {{"own", 7, ",\"percent\":40,\"message\":\"half\",\"at\":\"2026-01-01T00:00:00Z\""}},
     "{\"percent\":40,\"message\":\"half\",\"at\":\"2026-01-01T00:00:00Z\"}"},
    {"the bucket's is shown",
     {{"read", 7, ",\"percent\":0.5,\"at\":\"2026-01-01T00:00:00Z\""}},
     "{\"percent\":0.5,\"message\":null,\"at\":\"2026-01-01T00:00:00Z\"}"},
    {"a later one of another gateway counts",
     {{"own", 7, ",\"percent\":1,\"at\":\"2026-01-01T00:00:00Z\""},
      {"read", 8, ",\"percent\":2,\"at\":\"2026-01-01T00:00:00Z\""}},
     "{\"percent\":2,\"message\":null,\"at\":\"2026-01-01T00:00:00Z\"}"},
    {"an earlier one of another gateway does not, while its own is to be written",
     {{"own", 7, ",\"percent\":1,\"at\":\"2026-01-01T00:00:00Z\""},
      {"read", 6, ",\"percent\":2,\"at\":\"2026-01-01T00:00:00Z\""}},
     "{\"percent\":1,\"message\":null,\"at\":\"2026-01-01T00:00:00Z\"}"},
    {"its own that is late does not count",
     {{"read", 8, ",\"percent\":2,\"at\":\"2026-01-01T00:00:00Z\""},
      {"own", 7, ",\"percent\":1,\"at\":\"2026-01-01T00:00:00Z\""}},
     "{\"percent\":2,\"message\":null,\"at\":\"2026-01-01T00:00:00Z\"}"},
    {"one that is deleted is forgotten",
     {{"own", 7, ",\"percent\":1,\"at\":\"2026-01-01T00:00:00Z\""}, {"read", 0, NULL}},
     ""},
    {"one that cannot be read changes nothing",
     {{"own", 7, ",\"percent\":1,\"at\":\"2026-01-01T00:00:00Z\""},
      {"read", 8, ",\"percent\":2,\"at\":\"soon\""}},
     "{\"percent\":1,\"message\":null,\"at\":\"2026-01-01T00:00:00Z\"}"},
    {"members of other kinds are null",
     {{"read", 7, ",\"percent\":101,\"message\":[1],\"at\":\"2026-01-01T00:00:00Z\""}},
     "{\"percent\":null,\"message\":null,\"at\":\"2026-01-01T00:00:00Z\"}"},
};

static void take_step(struct world *world, const char *from, unsigned sequence,
                      const char *members) {
    char value[300], key[80];
    snprintf(value, sizeof value, "{\"stream\":\"ROUNDTABLE\",\"seq\":%u%s}", sequence,
             members != NULL ? members : "");
    if (strcmp(from, "read") == 0) {
        world_write_bytes(world, 1, ".progress", parley_bytes_of(members != NULL ? value : NULL));
        return;
    }
    world_write_id(1, key);
    strcat(key, ".progress");
    const struct bucket_entry entry = {
        .key = parley_bytes_of(key), .value = parley_bytes_of(value), .sequence = sequence};
    board_on_noted(world->board, &entry);
}

static void test_the_note_of_the_latest_message_is_shown(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct note_case *row = &cases[i];
        struct parley_buffer shown;
        struct world world;
        char id[40];
        world_open(&world, 0);
        board_on_current(world.board);
        world_request(&world, 1, "a.x normal");
        for (size_t j = 0; j < STEPS_MAX && row->steps[j].from != NULL; j++) {
            take_step(&world, row->steps[j].from, row->steps[j].sequence, row->steps[j].members);
        }
        world_write_id(1, id);
        parley_buffer_init(&shown);
        board_progress(world.board, parley_bytes_of(id), &shown);
        if (!parley_bytes_equal(parley_buffer_bytes(&shown), parley_bytes_of(row->shown))) {
            fail_msg("%s: %.*s", row->what, (int)shown.length, shown.data);
        }
        parley_buffer_finish(&shown);
        board_destroy(world.board);
    }
}

static void test_a_note_of_unknown_work_is_not_kept(void **state) {
    struct world *world = *state;
    take_step(world, "own", 7, ",\"percent\":1,\"at\":\"2026-01-01T00:00:00Z\"");
    take_step(world, "read", 7, ",\"percent\":1,\"at\":\"2026-01-01T00:00:00Z\"");
    assert_int_equal(board_counts(world->board).works, 0);
}

static void test_a_note_does_not_open_work(void **state) {
    struct world *world = *state;
    world_request(world, 1, "a.x normal");
    assert_int_equal(world_take(world, "galahad"), 1);
    take_step(world, "read", 7, ",\"percent\":1,\"at\":\"2026-01-01T00:00:00Z\"");
    assert_int_equal(world_take(world, "galahad"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_note_of_the_latest_message_is_shown),
        cmocka_unit_test_setup_teardown(test_a_note_of_unknown_work_is_not_kept, world_set_up,
                                        world_tear_down),
        cmocka_unit_test_setup_teardown(test_a_note_does_not_open_work, world_set_up,
                                        world_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
