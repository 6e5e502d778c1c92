/* SPDX-License-Identifier: Apache-2.0 */

/* Which invalid messages are known as repeated, for how long, and how many. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>

#include <sodium.h>

#include "repeats.h"

static uint32_t note(struct repeats **repeats, const char *sender, const char *protocol,
                     const char *text, int64_t now_ms) {
    return repeats_note(repeats, parley_bytes_of(sender), parley_bytes_of(protocol),
                        parley_bytes_of(text), now_ms);
}

static void test_the_same_bytes_of_a_sender_are_counted_for_a_minute(void **state) {
    static const struct {
        const char *sender, *protocol, *text;
        int64_t now_ms;
        uint32_t tries;
    } rows[] = {
        {"scout", "vlp", "{}", 1000, 1},
        {"scout", "vlp", "{}", 1000, 2},
        {"scout", "vlp", "{}", 1000 + REPEATS_WITHIN_MS, 3},
        /* Others count for themselves: another message, sender or protocol, and the same bytes
         * split in another way. */
        {"scout", "vlp", "{ }", 1000 + REPEATS_WITHIN_MS, 1},
        {"galahad", "vlp", "{}", 1000 + REPEATS_WITHIN_MS, 1},
        {"scout", "brenner", "{}", 1000 + REPEATS_WITHIN_MS, 1},
        {"{}", "vlp", "scout", 1000 + REPEATS_WITHIN_MS, 1},
        {"", "", "", 1000 + REPEATS_WITHIN_MS, 1},
        /* The minute is since the last time. */
        {"scout", "vlp", "{}", 1000 + 2 * REPEATS_WITHIN_MS, 4},
        {"scout", "vlp", "{}", 1001 + 3 * REPEATS_WITHIN_MS, 1},
    };
    (void)state;
    struct repeats *repeats = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(
            note(&repeats, rows[i].sender, rows[i].protocol, rows[i].text, rows[i].now_ms),
            rows[i].tries);
    }
    repeats_destroy(repeats);
}

static void test_of_any_number_of_messages_the_last_ones_are_known(void **state) {
    (void)state;
    struct repeats *repeats = NULL;
    char text[16];
    for (int i = 0; i < 10 * REPEATS_MAX; i++) {
        snprintf(text, sizeof text, "{%d", i);
        assert_int_equal(note(&repeats, "scout", "vlp", text, i), 1);
        assert_int_equal(note(&repeats, "scout", "vlp", text, i), 2);
    }
    assert_int_equal(note(&repeats, "scout", "vlp", "{0", 10 * REPEATS_MAX), 1);
    repeats_destroy(repeats);
    repeats_destroy(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_bytes_of_a_sender_are_counted_for_a_minute),
        cmocka_unit_test(test_of_any_number_of_messages_the_last_ones_are_known),
    };
    return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
