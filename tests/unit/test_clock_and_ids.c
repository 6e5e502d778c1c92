/* SPDX-License-Identifier: Apache-2.0 */

/* Fresh ids and the present time. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "clock_and_ids.h"

static void test_an_id_is_a_new_uuid_of_version_4(void **state) {
    (void)state;
    char a[37], b[37];
    for (int i = 0; i < 100; i++) {
        id_new(a);
        id_new(b);
        assert_int_equal(strlen(a), 36);
        assert_int_equal(strspn(a, "0123456789abcdef-"), 36);
        assert_int_equal(a[8] == '-' && a[13] == '-' && a[18] == '-' && a[23] == '-', 1);
        assert_int_equal(a[14], '4');
        assert_non_null(strchr("89ab", a[19]));
        assert_string_not_equal(a, b);
    }
}

static void test_now_is_a_time_in_utc_with_milliseconds(void **state) {
    (void)state;
    char now[32];
    clock_now_text(now);
    int year, month, day, hour, minute, second, ms, end = 0;
    assert_int_equal(sscanf(now, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ%n", &year, &month, &day, &hour,
                            &minute, &second, &ms, &end),
                     7);
    assert_int_equal(end, 24);
    assert_int_equal(strlen(now), 24);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_id_is_a_new_uuid_of_version_4),
        cmocka_unit_test(test_now_is_a_time_in_utc_with_milliseconds),
    };
    return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
