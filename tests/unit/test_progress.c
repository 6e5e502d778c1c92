/* SPDX-License-Identifier: Apache-2.0 */

/* The progress line. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pty.h>
#include <unistd.h>

#include "progress.h"

static void read_terminal(int fd, char *out, size_t size) {
    const ssize_t got = read(fd, out, size - 1);
    assert_true(got > 0);
    out[got] = '\0';
}

static void test_progress_is_shown_to_the_patient_and_wiped_away(void **state) {
    (void)state;
    int watched, terminal;
    char seen[128];
    assert_int_equal(openpty(&watched, &terminal, NULL, NULL, NULL), 0);
    struct progress progress;
    progress_init(&progress, terminal, 1000);
    assert_false(progress_is_due(&progress, 2999));
    assert_true(progress_is_due(&progress, 3000));
    progress_show(&progress, 3000, "half");
    read_terminal(watched, seen, sizeof seen);
    assert_string_equal(seen, "\rhalf\033[K");
    assert_false(progress_is_due(&progress, 3100));
    assert_true(progress_is_due(&progress, 3200));
    progress_clear(&progress);
    read_terminal(watched, seen, sizeof seen);
    assert_string_equal(seen, "\r\033[K");
    close(watched);
    close(terminal);
}

static void test_progress_is_for_terminals(void **state) {
    (void)state;
    int ends[2];
    char seen;
    assert_int_equal(pipe(ends), 0);
    struct progress progress;
    progress_init(&progress, ends[1], 0);
    assert_false(progress_is_due(&progress, 1000000));
    progress_show(&progress, 1000000, "half");
    progress_clear(&progress);
    close(ends[1]);
    assert_int_equal(read(ends[0], &seen, 1), 0);
    close(ends[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_progress_is_shown_to_the_patient_and_wiped_away),
        cmocka_unit_test(test_progress_is_for_terminals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
