/* SPDX-License-Identifier: Apache-2.0 */

/* The table of shares: for each protocol and priority. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "window_share.h"

static const char *const two[] = {"later", "now", NULL};
static const char *const six[] = {"a", "b", "c", "d", "e", "f", NULL};
static const struct parley_protocol of_two = {.priorities = two}, of_six = {.priorities = six},
                                    of_none = {.priorities = NULL};

static void test_the_more_urgent_a_message_the_larger_its_share(void **state) {
    (void)state;
    const struct parley_protocol *roundtable = parley_protocol_find(PARLEY_BYTES("roundtable"));
    const struct {
        const struct parley_protocol *protocol;
        const char *priority; /* NULL: it has none */
        unsigned share;
    } rows[] = {
        {roundtable, "low", 70},  {roundtable, "normal", 85},
        {roundtable, "high", 95}, {roundtable, "critical", 100},
        {roundtable, NULL, 85},   {&of_two, "later", 95},
        {&of_two, "now", 100},    {&of_six, "a", 70},
        {&of_six, "c", 70},       {&of_six, "d", 85},
        {&of_six, "f", 100},      {&of_none, NULL, 85},
        {&of_none, "now", 85},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct parley_bytes priority = {0};
        if (rows[i].priority != NULL) {
            priority = parley_bytes_of(rows[i].priority);
        }
        assert_int_equal(window_share(rows[i].protocol, priority), rows[i].share);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_more_urgent_a_message_the_larger_its_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
