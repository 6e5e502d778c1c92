/* SPDX-License-Identifier: Apache-2.0 */

/* What is halted, by what messages and the bucket say, in whatever order they say it. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>

#include <pthread.h>

#include "halt_set.h"

#define OPEN "{\"session\":\"S\",\"by\":\"a\",\"id\":\"M\",\"at\":\"now\"}"
#define RELEASED "{\"session\":\"S\",\"by\":\"a\",\"released_at\":\"now\"}"

static char conversation[HALT_DIGEST_LENGTH + 1];
static char key[HALT_KEY_LENGTH + 1], other_key[HALT_KEY_LENGTH + 1];

static int set_up(void **state) {
    struct halt_set *set;
    halt_digest_conversation("session", PARLEY_BYTES("S"), conversation);
    halt_key(conversation, PARLEY_BYTES("one"), key);
    halt_key(conversation, PARLEY_BYTES("two"), other_key);
    const int status = halt_set_create("vlp", &set) == PARLEY_OK ? 0 : -1;
    *state = set;
    return status;
}

static int tear_down(void **state) {
    halt_set_destroy(*state);
    return 0;
}

static enum halt_answer ask(struct halt_set *set) {
    return halt_set_ask(set, conversation, NULL);
}

/* One step: what happens, and the answer after it. */
enum event {
    LATCH,
    LATCH_KNOWN,
    STORED,
    EXISTS,
    FAILED,
    READ_OPEN,
    READ_RELEASED,
    READ_GONE,
    BEGIN
};
struct step {
    enum event event;
    uint64_t sequence;
    enum halt_answer answer;
};

static void take(struct halt_set *set, const struct step *step) {
    const struct parley_bytes bytes = parley_bytes_of(key);
    switch (step->event) {
    case LATCH:
        assert_int_equal(halt_set_latch(set, key, PARLEY_BYTES(OPEN)), HALT_LATCH_WRITE);
        break;
    case LATCH_KNOWN:
        assert_int_equal(halt_set_latch(set, key, PARLEY_BYTES(OPEN)), HALT_LATCH_KNOWN);
        break;
    case STORED:
    case EXISTS:
        halt_set_latched(set, key, step->sequence);
        break;
    case FAILED:
        halt_set_unlatch(set, key);
        break;
    case READ_OPEN:
        halt_set_read(set, bytes, PARLEY_BYTES(OPEN), step->sequence, 1);
        break;
    case READ_RELEASED:
        halt_set_read(set, bytes, PARLEY_BYTES(RELEASED), step->sequence, 1);
        break;
    case READ_GONE:
        halt_set_read(set, bytes, (struct parley_bytes){0}, step->sequence, 1);
        break;
    case BEGIN:
        halt_set_begin(set);
        break;
    }
    assert_int_equal(ask(set), step->answer);
}

static void test_a_conversation_is_halted_from_its_latch_to_its_release(void **state) {
    static const struct step rows[][6] = {
        {{LATCH, 0, HALT_HALTED}, {STORED, 5, HALT_HALTED}, {READ_RELEASED, 6, HALT_CLEAR}},
        {{LATCH, 0, HALT_HALTED}, {FAILED, 0, HALT_CLEAR}},
        {{LATCH, 0, HALT_HALTED}, {FAILED, 0, HALT_CLEAR}, {READ_OPEN, 5, HALT_HALTED}},
        {{LATCH, 0, HALT_HALTED},
         {LATCH, 0, HALT_HALTED},
         {FAILED, 0, HALT_HALTED},
         {STORED, 5, HALT_HALTED}},
        {{LATCH, 0, HALT_HALTED}, {READ_OPEN, 5, HALT_HALTED}, {STORED, 5, HALT_HALTED}},
        {{LATCH, 0, HALT_HALTED}, {READ_OPEN, 5, HALT_HALTED}, {FAILED, 0, HALT_HALTED}},
        {{LATCH, 0, HALT_HALTED}, {READ_RELEASED, 6, HALT_CLEAR}, {EXISTS, 0, HALT_CLEAR}},
        {{READ_OPEN, 5, HALT_HALTED},
         {LATCH_KNOWN, 0, HALT_HALTED},
         {READ_RELEASED, 6, HALT_CLEAR}},
        {{READ_RELEASED, 6, HALT_CLEAR}, {LATCH_KNOWN, 0, HALT_CLEAR}},
        {{READ_RELEASED, 6, HALT_CLEAR}, {READ_OPEN, 5, HALT_CLEAR}},
        {{READ_RELEASED, 6, HALT_CLEAR}, {READ_OPEN, 7, HALT_HALTED}},
        {{READ_OPEN, 5, HALT_HALTED}, {READ_GONE, 6, HALT_CLEAR}},
        {{READ_OPEN, 5, HALT_HALTED}, {BEGIN, 0, HALT_CLEAR}},
        {{LATCH, 0, HALT_HALTED}, {BEGIN, 0, HALT_HALTED}, {STORED, 1, HALT_HALTED}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct halt_set *set;
        assert_int_equal(halt_set_create("vlp", &set), PARLEY_OK);
        halt_set_see(set, true);
        for (size_t j = 0; j == 0 || (j < 6 && (rows[i][j].answer != 0 || rows[i][j].event != 0));
             j++) {
            take(set, &rows[i][j]);
        }
        halt_set_destroy(set);
    }
}

/* What a reader that follows the set gets of a step: the item as it is then, or that it is gone. */
static const char *next_change(struct halt_set *set, struct change_cursor *cursor) {
    const struct change *item;
    const struct change_gone *gone;
    switch (change_cursor_take(halt_set_changes(set), cursor, &item, &gone)) {
    case CHANGE_ITEM:
        return halt_set_changed(item).is_open       ? "open"
               : halt_set_changed(item).is_released ? "released"
                                                    : "neither";
    case CHANGE_GONE:
        return "gone";
    case CHANGE_LOST:
        (void)change_cursor_place(halt_set_changes(set), cursor, halt_set_changes(set)->epoch, 0);
        return "again";
    case CHANGE_NONE:
        break;
    }
    return "";
}

static void test_a_reader_that_follows_gets_each_change_once(void **state) {
    static const struct {
        struct step steps[4];
        const char *changes[4];
    } rows[] = {
        {{{LATCH, 0, HALT_HALTED}, {STORED, 5, HALT_HALTED}, {READ_OPEN, 5, HALT_HALTED}},
         {"neither", "open", ""}},
        {{{LATCH, 0, HALT_HALTED}, {READ_OPEN, 5, HALT_HALTED}, {STORED, 5, HALT_HALTED}},
         {"neither", "open", ""}},
        {{{LATCH, 0, HALT_HALTED}, {FAILED, 0, HALT_CLEAR}}, {"neither", "gone"}},
        {{{READ_OPEN, 5, HALT_HALTED},
          {READ_RELEASED, 6, HALT_CLEAR},
          {READ_RELEASED, 7, HALT_CLEAR},
          {READ_OPEN, 8, HALT_HALTED}},
         {"open", "released", "", "open"}},
        {{{READ_OPEN, 5, HALT_HALTED}, {READ_GONE, 6, HALT_CLEAR}}, {"open", "gone"}},
        {{{READ_OPEN, 5, HALT_HALTED}, {BEGIN, 0, HALT_CLEAR}}, {"open", "again"}},
        {{{LATCH, 0, HALT_HALTED}, {BEGIN, 0, HALT_HALTED}, {STORED, 1, HALT_HALTED}},
         {"neither", "again", "open"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct halt_set *set;
        struct change_cursor cursor = {0};
        assert_int_equal(halt_set_create("vlp", &set), PARLEY_OK);
        halt_set_see(set, true);
        assert_true(
            change_cursor_place(halt_set_changes(set), &cursor, halt_set_changes(set)->epoch, 0));
        for (size_t j = 0; j < 4 && rows[i].changes[j] != NULL; j++) {
            take(set, &rows[i].steps[j]);
            assert_string_equal(next_change(set, &cursor), rows[i].changes[j]);
        }
        change_cursor_leave(&cursor);
        halt_set_destroy(set);
    }
}

static void test_it_is_whole_once_a_reading_is_over(void **state) {
    struct halt_set *set = *state;
    assert_false(halt_set_is_whole(set));
    halt_set_see(set, true);
    assert_true(halt_set_is_whole(set));
    halt_set_begin(set);
    assert_false(halt_set_is_whole(set));
    halt_set_see(set, false);
    halt_set_see(set, true);
    assert_true(halt_set_is_whole(set));
    halt_set_see(set, false);
    assert_false(halt_set_is_whole(set));
}

static void test_one_release_does_not_release_another_halt(void **state) {
    struct halt_set *set = *state;
    halt_set_see(set, true);
    assert_true(halt_set_is_idle(set));
    halt_set_read(set, parley_bytes_of(key), PARLEY_BYTES(OPEN), 1, 1);
    halt_set_read(set, parley_bytes_of(other_key), PARLEY_BYTES(OPEN), 2, 1);
    assert_int_equal(halt_set_open_count(set), 2);
    halt_set_read(set, parley_bytes_of(key), PARLEY_BYTES(RELEASED), 3, 1);
    assert_int_equal(ask(set), HALT_HALTED);
    halt_set_read(set, parley_bytes_of(other_key), PARLEY_BYTES(RELEASED), 4, 1);
    assert_int_equal(ask(set), HALT_CLEAR);
    assert_true(halt_set_is_idle(set));
}

static void test_what_was_not_read_is_not_known(void **state) {
    struct halt_set *set = *state;
    assert_false(halt_set_is_idle(set));
    assert_int_equal(ask(set), HALT_BLIND);
    halt_set_read(set, parley_bytes_of(key), PARLEY_BYTES(OPEN), 1, 1);
    assert_int_equal(ask(set), HALT_HALTED);
    halt_set_read(set, parley_bytes_of(key), PARLEY_BYTES(RELEASED), 2, 1);
    assert_int_equal(ask(set), HALT_BLIND);
    halt_set_see(set, true);
    halt_set_see(set, true);
    assert_int_equal(ask(set), HALT_CLEAR);
    halt_set_see(set, false);
    assert_int_equal(ask(set), HALT_BLIND);
    assert_true(halt_set_was_seen(set));
}

static void test_a_broken_value_halts_and_a_foreign_key_does_nothing(void **state) {
    static const char *const values[] = {"", "{", "[]", "null", "{\"released_at\":1}", "\xff", "x"};
    static const char *const keys[] = {
        "", "x", "a.b", "0123456789abcdef0123456789abcdef",
        "0123456789ABCDEF0123456789abcdef.0123456789abcdef0123456789abcdef"};
    struct halt_set *set = *state;
    halt_set_see(set, true);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        halt_set_read(set, parley_bytes_of(key), parley_bytes_of(values[i]), i + 1, 1);
        assert_int_equal(ask(set), HALT_HALTED);
    }
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        halt_set_read(set, parley_bytes_of(keys[i]), PARLEY_BYTES(OPEN), 99, 1);
    }
    assert_int_equal(halt_set_open_count(set), 1);
}

static void test_released_ones_expire_in_their_order(void **state) {
    struct halt_set *set = *state;
    char out[HALT_KEY_LENGTH + 1];
    halt_set_read(set, parley_bytes_of(other_key), PARLEY_BYTES(RELEASED), 1, 100);
    halt_set_read(set, parley_bytes_of(key), PARLEY_BYTES(RELEASED), 2, 200);
    assert_false(halt_set_expire(set, 100, out));
    assert_true(halt_set_expire(set, 150, out));
    assert_string_equal(out, other_key);
    assert_false(halt_set_expire(set, 150, out));
}

static void number_key(unsigned number, char out[HALT_KEY_LENGTH + 1]) {
    halt_key(conversation, (struct parley_bytes){(const char *)&number, sizeof number}, out);
}

struct list {
    size_t count;
    char first[HALT_KEY_LENGTH + 1];
};

static bool note(void *context, const char *one, struct parley_bytes value) {
    struct list *list = context;
    assert_true(parley_bytes_equal(value, PARLEY_BYTES(RELEASED)));
    if (list->count++ == 0) {
        snprintf(list->first, sizeof list->first, "%s", one);
    }
    return true;
}

static struct list list_released(struct halt_set *set, const char *of) {
    struct list list = {0};
    halt_set_each_released(set, of, note, &list);
    return list;
}

static void test_the_last_that_were_released_are_listed_the_newest_first(void **state) {
    struct halt_set *set = *state;
    char one[HALT_KEY_LENGTH + 1];
    assert_int_equal(list_released(set, NULL).count, 0);
    for (unsigned i = 0; i < 2 * HALTS_RELEASED_SHOWN; i++) {
        number_key(i, one);
        halt_set_read(set, parley_bytes_of(one), PARLEY_BYTES(RELEASED), i + 1, 1);
        const struct list list = list_released(set, conversation);
        assert_int_equal(list.count, i < HALTS_RELEASED_SHOWN ? i + 1 : HALTS_RELEASED_SHOWN);
        assert_string_equal(list.first, one);
    }
    assert_int_equal(list_released(set, "00000000000000000000000000000000").count, 0);
    for (unsigned i = 0; i < 2 * HALTS_RELEASED_SHOWN; i++) { /* those not listed go first */
        assert_true(halt_set_expire(set, 2, one));
        const size_t left = 2 * HALTS_RELEASED_SHOWN - i - 1;
        assert_int_equal(list_released(set, NULL).count,
                         left < HALTS_RELEASED_SHOWN ? left : HALTS_RELEASED_SHOWN);
    }
    halt_set_read(set, parley_bytes_of(key), PARLEY_BYTES(RELEASED), 1000, 1);
    halt_set_read(set, parley_bytes_of(key), PARLEY_BYTES(OPEN), 1001, 1);
    assert_int_equal(list_released(set, NULL).count, 0);
    halt_set_read(set, parley_bytes_of(key), PARLEY_BYTES(RELEASED), 1002, 1);
    assert_int_equal(list_released(set, NULL).count, 1);
}

static void test_no_more_than_can_be_kept_are_latched(void **state) {
    static const char *const values[] = {"{\"session\":\"S\",\"by\":\"a\"}",
                                         "{\"session\":\"S\",\"by\":\"b\"}",
                                         "{\"session\":\"S\",\"principal\":\"a\",\"by\":\"b\"}",
                                         "{\"session\":\"S\"}", "{\"session\":\"S\",\"by\":\"c\"}"};
    struct halt_set *set = *state;
    char one[HALT_KEY_LENGTH + 1];
    halt_set_see(set, true);
    for (unsigned i = 0; i <= 2 * HALTS_OPEN_MAX; i++) {
        const struct parley_bytes value = parley_bytes_of(values[i % 5]);
        number_key(i, one);
        if (i < HALTS_OPEN_MAX) {
            assert_int_equal(halt_set_latch(set, one, value), HALT_LATCH_WRITE);
        } else if (i == HALTS_OPEN_MAX) {
            assert_int_equal(halt_set_room(set), HALT_SET_IS_FULL);
            assert_int_equal(halt_set_latch(set, one, value), HALT_LATCH_FULL);
        }
        halt_set_read(set, parley_bytes_of(one), value, i + 1, 1);
    }
    assert_int_equal(halt_set_refused_count(set), 1);
    assert_int_equal(halt_set_open_count(set), 2 * HALTS_OPEN_MAX);
    assert_int_equal(halt_set_ask(set, "00000000000000000000000000000000", NULL), HALT_BLIND);
    halt_set_begin(set);
    assert_int_equal(halt_set_open_count(set), HALTS_OPEN_MAX); /* their keys are being written */
}

struct owner_row {
    const char *open;
    enum halt_latch then; /* once "a" has made as many as one may */
};

static void test_one_sender_cannot_take_the_room_of_others(void **state) {
    static const struct owner_row rows[] = {
        {"{\"session\":\"S\",\"by\":\"a\"}", HALT_LATCH_SHARE_FULL},
        {"{\"session\":\"S\",\"by\":\"b\"}", HALT_LATCH_WRITE},
        {"{\"session\":\"S\",\"by\":\"b\",\"principal\":\"a\"}", HALT_LATCH_WRITE},
        {"{\"session\":\"S\",\"by\":\"a\",\"principal\":\"b\"}", HALT_LATCH_WRITE},
        {"{\"session\":\"S\"}", HALT_LATCH_WRITE},
    };
    const struct parley_bytes mine = parley_bytes_of(rows[0].open);
    struct halt_set *set = *state;
    char one[HALT_KEY_LENGTH + 1];
    halt_set_see(set, true);
    for (unsigned i = 0; i < HALTS_SHARE_MAX; i++) { /* half of them as after a restart */
        assert_int_equal(halt_set_room(set), HALT_HAS_ROOM);
        number_key(i, one);
        if (i % 2 == 0) {
            assert_int_equal(halt_set_latch(set, one, mine), HALT_LATCH_WRITE);
            halt_set_latched(set, one, i + 1);
        }
        halt_set_read(set, parley_bytes_of(one), mine, i + 1, 1);
    }
    assert_int_equal(halt_set_room(set), HALT_SHARE_IS_FULL);
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        number_key(HALTS_SHARE_MAX + i, one);
        assert_int_equal(halt_set_latch(set, one, parley_bytes_of(rows[i].open)), rows[i].then);
    }
    assert_int_equal(halt_set_refused_count(set), 1);
    number_key(0, one);
    assert_int_equal(halt_set_latch(set, one, mine), HALT_LATCH_KNOWN); /* it is there already */
    halt_set_read(set, parley_bytes_of(one), PARLEY_BYTES(RELEASED), 1 << 20, 1);
    assert_int_equal(halt_set_look_up(set, one), HALT_RELEASED);
    assert_int_equal(halt_set_room(set), HALT_HAS_ROOM);
    assert_int_equal(halt_set_latch(set, key, mine), HALT_LATCH_WRITE);
    assert_int_equal(halt_set_look_up(set, key), HALT_UNKNOWN);
    halt_set_unlatch(set, key);
    assert_int_equal(halt_set_latch(set, other_key, mine), HALT_LATCH_WRITE);
    halt_set_latched(set, other_key, 1 << 21);
    assert_int_equal(halt_set_look_up(set, other_key), HALT_OPEN);
    halt_set_begin(set);
    assert_int_equal(halt_set_room(set), HALT_HAS_ROOM);
}

/* ---- threads ---- */

static void *latch_and_ask(void *context) {
    struct halt_set *set = context;
    for (uint64_t i = 0; i < 2000; i++) {
        if (halt_set_latch(set, key, PARLEY_BYTES(OPEN)) == HALT_LATCH_WRITE) {
            halt_set_latched(set, key, 2 * i + 1);
        }
        (void)ask(set);
        halt_set_read(set, parley_bytes_of(key), PARLEY_BYTES(RELEASED), 2 * i + 2, 1);
        halt_set_read(set, parley_bytes_of(key), (struct parley_bytes){0}, 2 * i + 3, 1);
    }
    return NULL;
}

static void test_several_threads_may_use_it(void **state) {
    struct halt_set *set = *state;
    pthread_t threads[4];
    halt_set_see(set, true);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, latch_and_ask, set), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    halt_set_read(set, parley_bytes_of(key), PARLEY_BYTES(RELEASED), UINT64_MAX, 1);
    assert_true(halt_set_is_idle(set));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_conversation_is_halted_from_its_latch_to_its_release),
        cmocka_unit_test(test_a_reader_that_follows_gets_each_change_once),
        cmocka_unit_test_setup_teardown(test_it_is_whole_once_a_reading_is_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_release_does_not_release_another_halt, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_what_was_not_read_is_not_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_broken_value_halts_and_a_foreign_key_does_nothing,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_released_ones_expire_in_their_order, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            test_the_last_that_were_released_are_listed_the_newest_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_more_than_can_be_kept_are_latched, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_one_sender_cannot_take_the_room_of_others, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_several_threads_may_use_it, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
