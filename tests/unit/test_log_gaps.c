/* SPDX-License-Identifier: Apache-2.0 */

/* Which entries a log lacks, whatever the order in which they come. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log_gaps.h"

/* "3-4 7+": the holes; a plus where there may be more. */
static const char *said(const struct log_gaps *holes) {
    static char text[512];
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < holes->count; i++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%" PRId64 "-%" PRId64,
                                   i > 0 ? " " : "", holes->runs[i].first, holes->runs[i].last);
    }
    snprintf(text + length, sizeof text - length, "%s", holes->has_more ? "+" : "");
    return text;
}

/* Notes "5 7-9". */
static void note_all(struct log_gaps *holes, const char *runs) {
    while (*runs != '\0') {
        char *end;
        struct parley_log_run run = {.first = strtoll(runs, &end, 10)};
        run.last = *end == '-' ? strtoll(end + 1, &end, 10) : run.first;
        log_gaps_note(holes, run);
        runs = end + strspn(end, " ");
    }
}

static void test_what_lies_between_entries_is_missing(void **state) {
    (void)state;
    static const struct {
        int64_t position; /* -1: the checkpoint has none */
        const char *runs, *holes;
    } rows[] = {
        {-1, "", ""},
        {4, "", ""},
        {-1, "5", ""},
        {4, "5-9 10", ""},
        {4, "6", "5-5"},
        {4, "8 9 12", "5-7 10-11"},
        {4, "8 5", "6-7"},
        {4, "9 6", "5-5 7-8"},
        {4, "9 8", "5-7"},
        {4, "9 5-8", ""},
        {4, "9 12 6-11", "5-5"},
        {4, "9 4 5-20", ""},
        {4, "9 9 9 3", "5-8"},
        {-1, "9 5", ""},
        {-1, "5 7 1 6", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct log_gaps holes;
        const struct parley_checkpoint says = {.has_position = rows[i].position >= 0,
                                               .position = rows[i].position};
        log_gaps_init(&holes, &says);
        note_all(&holes, rows[i].runs);
        if (strcmp(said(&holes), rows[i].holes) != 0) {
            fail_msg("%zu: \"%s\", not \"%s\"", i, said(&holes), rows[i].holes);
        }
    }
}

static void test_holes_beyond_the_limit_are_said_to_be_there(void **state) {
    (void)state;
    struct log_gaps holes;
    const struct parley_checkpoint says = {.has_position = true};
    log_gaps_init(&holes, &says);
    for (int64_t i = 1; i <= PARLEY_LOG_HOLES_MAX; i++) {
        log_gaps_note(&holes, (struct parley_log_run){4 * i, 4 * i});
    }
    assert_int_equal(holes.count, PARLEY_LOG_HOLES_MAX);
    assert_false(holes.has_more);
    log_gaps_note(&holes, (struct parley_log_run){2, 2}); /* makes two of the first one */
    assert_int_equal(holes.count, PARLEY_LOG_HOLES_MAX);
    assert_true(holes.has_more);
    assert_int_equal(holes.runs[0].last, 1);
    assert_int_equal(holes.runs[1].first, 3);
    assert_int_equal(holes.runs[PARLEY_LOG_HOLES_MAX - 1].last, 4 * (PARLEY_LOG_HOLES_MAX - 1) - 1);
    log_gaps_note(&holes, (struct parley_log_run){1000, 1000});
    assert_int_equal(holes.count, PARLEY_LOG_HOLES_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_lies_between_entries_is_missing),
        cmocka_unit_test(test_holes_beyond_the_limit_are_said_to_be_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
