/* SPDX-License-Identifier: Apache-2.0 */

/* The files of the console, which are made at start. tests/e2e/36_console has them served. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <sodium.h>

#include "console.h"
#include "lib/fault_heap.h"
#include "lib/rounds.h"

static void test_all_files_are_kept_or_none(void **state) {
    (void)state;
    struct console *console = NULL;
    assert_true(sodium_init() >= 0);
    fault_heap_arm(SIZE_MAX, 0);
    assert_int_equal(console_create(NULL, &console), PARLEY_OK);
    const size_t count = fault_heap_disarm();
    console_destroy(console);
    console_destroy(NULL);
    for (size_t first = 0; first < count; first += test_stride(count, 10)) {
        fault_heap_arm(first, 1);
        assert_int_equal(console_create(NULL, &console), PARLEY_E_MEMORY);
        fault_heap_disarm();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_files_are_kept_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
