/* SPDX-License-Identifier: Apache-2.0 */

/* The changes of a list: what a reader takes, from where it can go on, and that nothing is lost,
 * whatever moves while it is amid. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "change_log.h"

enum { ITEMS_MAX = 40 };

static struct change_log changes; /* too large for the stack */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct change items[ITEMS_MAX];
static bool is_there[ITEMS_MAX];

static int set_up(void **state) {
    (void)state;
    change_log_init(&changes, &lock);
    memset(is_there, 0, sizeof is_there);
    return 0;
}

static void add(size_t i) {
    assert_true(change_log_add(&changes, &items[i]));
    is_there[i] = true;
}

static void take_out(size_t i) {
    char id[8];
    snprintf(id, sizeof id, "%zu", i);
    change_log_remove(&changes, &items[i], parley_bytes_of(id));
    is_there[i] = false;
}

static int tear_down(void **state) {
    (void)state;
    for (size_t i = 0; i < ITEMS_MAX; i++) {
        if (is_there[i]) {
            take_out(i);
        }
    }
    change_log_finish(&changes);
    return 0;
}

static struct change_cursor placed(uint64_t version) {
    struct change_cursor cursor = {0};
    assert_true(change_cursor_place(&changes, &cursor, changes.epoch, version));
    return cursor;
}

/* The next: "3" the item 3, "-3" that it is gone, "" nothing, "lost". */
static const char *taken(struct change_cursor *cursor) {
    static char text[32];
    const struct change *item;
    const struct change_gone *gone;
    switch (change_cursor_take(&changes, cursor, &item, &gone)) {
    case CHANGE_NONE:
        return "";
    case CHANGE_ITEM:
        snprintf(text, sizeof text, "%td", item - items);
        return text;
    case CHANGE_GONE:
        snprintf(text, sizeof text, "-%s", gone->id);
        return text;
    case CHANGE_LOST:
        return "lost";
    }
    return "?";
}

static void assert_takes(struct change_cursor *cursor, const char *wanted) {
    char all[256] = "";
    for (const char *next = taken(cursor); *next != '\0'; next = taken(cursor)) {
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", *all != '\0' ? " " : "",
                 next);
        if (strcmp(next, "lost") == 0) {
            break;
        }
    }
    assert_string_equal(all, wanted);
}

static void test_items_come_in_the_order_of_their_last_change_then_what_changes(void **state) {
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        add(i);
    }
    change_log_touch(&changes, &items[1]);
    struct change_cursor cursor = placed(0);
    assert_takes(&cursor, "0 2 3 1");
    assert_takes(&cursor, "");
    change_log_touch(&changes, &items[3]);
    take_out(0);
    add(5);
    change_log_touch(&changes, &items[3]);
    assert_takes(&cursor, "-0 5 3");
}

static void test_one_that_is_amid_misses_nothing_that_moves(void **state) {
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        add(i);
    }
    struct change_cursor cursor = placed(0);
    assert_string_equal(taken(&cursor), "0");
    change_log_touch(&changes, &items[1]); /* the next one */
    take_out(2);                           /* and the one after it */
    assert_string_equal(taken(&cursor), "3");
    change_log_touch(&changes, &items[0]);
    assert_takes(&cursor, "4 1 -2 0");
    change_cursor_leave(&cursor);
}

static void test_a_cursor_goes_on_after_a_version(void **state) {
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        add(i);
    }
    take_out(0);
    struct change_cursor cursor = placed(3);
    assert_takes(&cursor, "3 -0");
    cursor = placed(5);
    assert_takes(&cursor, "");
    assert_false(change_cursor_place(&changes, &cursor, changes.epoch, 6)); /* not of this list */
    assert_false(change_cursor_place(&changes, &cursor, changes.epoch + 1, 3));
    assert_int_equal(cursor.version, 5);
}

static void test_of_removals_so_many_are_known_and_one_behind_them_is_lost(void **state) {
    (void)state;
    add(0);
    struct change_cursor behind = placed(1), cursor = placed(1);
    for (size_t i = 0; i < CHANGES_GONE_KEPT; i++) {
        add(1);
        take_out(1);
    }
    struct change_cursor first = placed(1);
    assert_string_equal(taken(&first), "-1");
    add(1);
    take_out(1);
    assert_string_equal(taken(&behind), "lost");
    assert_false(change_cursor_place(&changes, &cursor, changes.epoch, 1));
    struct change_cursor whole = placed(0);
    assert_takes(&whole, "0");
    assert_int_equal(changes.slot_count, 2); /* they are used again */
}

static void test_a_list_that_begins_again_has_lost_every_cursor(void **state) {
    (void)state;
    add(0);
    struct change_cursor cursor = placed(0);
    assert_string_equal(taken(&cursor), "0");
    take_out(0);
    change_log_begin(&changes);
    assert_string_equal(taken(&cursor), "lost");
    add(1);
    cursor = placed(0);
    assert_takes(&cursor, "1");
}

/* Two readers, one of which takes a little at a time, against what is there. */
static void test_whatever_happens_readers_have_what_is_there(void **state) {
    (void)state;
    bool has[2][ITEMS_MAX] = {{false}};
    struct change_cursor cursors[2] = {placed(0), placed(0)};
    unsigned seed = 7;
    for (unsigned step = 0; step < 20000; step++) {
        seed = seed * 1103515245u + 12345u;
        const size_t i = (seed >> 16) % ITEMS_MAX;
        const unsigned what = (seed >> 8) % 4;
        if (!is_there[i]) {
            add(i);
        } else if (what == 0) {
            take_out(i);
        } else {
            change_log_touch(&changes, &items[i]);
        }
        const bool is_last = step % 1000 == 999;
        for (size_t reader = 0; reader < 2; reader++) {
            const char *next = "-";
            for (size_t k = 0; *next != '\0' && (reader == 0 || is_last || k < step % 3); k++) {
                next = taken(&cursors[reader]);
                if (*next != '\0') {
                    has[reader][labs(strtol(next, NULL, 10))] = *next != '-';
                }
            }
            if (is_last) {
                assert_memory_equal(has[reader], is_there, sizeof is_there);
            }
        }
    }
    change_cursor_leave(&cursors[0]);
    change_cursor_leave(&cursors[1]);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_items_come_in_the_order_of_their_last_change_then_what_changes),
        TEST(test_one_that_is_amid_misses_nothing_that_moves),
        TEST(test_a_cursor_goes_on_after_a_version),
        TEST(test_of_removals_so_many_are_known_and_one_behind_them_is_lost),
        TEST(test_a_list_that_begins_again_has_lost_every_cursor),
        TEST(test_whatever_happens_readers_have_what_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
