/* SPDX-License-Identifier: Apache-2.0 */

/* The preference `wait` of RFC 7240. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "prefer.h"

static const struct {
    const char *value;
    bool is_there;
    uint32_t seconds;
} rows[] = {
    {"wait=60", true, 60},
    {"Wait=60", true, 60},
    {"  wait = 60 ", true, 60},
    {"wait\t=\t60", true, 60},
    {"wait=\"60\"", true, 60},
    {"wait=60; foo", true, 60},
    {"wait=60;foo=\"a, wait=7\"", true, 60},
    {"respond-async, wait=10", true, 10},
    {"respond-async,wait=10", true, 10},
    {", ,wait=10,", true, 10},
    {"handling=lenient; wait=5, wait=10", true, 10}, /* a parameter is none */
    {"note=\"x, wait=5\", wait=10", true, 10},
    {"note=\"x\\\", wait=5\", wait=10", true, 10},
    {"wait=10, wait=20", true, 10}, /* the first counts … */
    {"wait=x, wait=20", true, 0},   /* … though it says nothing */
    {"wait=0", true, 0},
    {"wait=007", true, 7},
    {"wait=4294967295", true, UINT32_MAX},
    {"wait=4294967296", true, UINT32_MAX},
    {"wait=99999999999999999999999999999999999999999", true, UINT32_MAX},
    {"wait", true, 0},
    {"wait;a=b", true, 0},
    {"wait=", true, 0},
    {"wait=\"\"", true, 0},
    {"wait=\"6", true, 0},
    {"wait=\"60\"x", true, 0},
    {"wait=60s", true, 0},
    {"wait=6 0", true, 0},
    {"wait=-1", true, 0},
    {"wait=+1", true, 0},
    {"wait=1.5", true, 0},
    {"wait=0x10", true, 0},
    {"wait 60", true, 0},
    {"", false, 0},
    {",", false, 0},
    {"waits=60", false, 0},
    {"await=60", false, 0},
    {"w", false, 0},
    {"return=minimal", false, 0},
    {"x=\"wait=60", false, 0},
    {"x=\"\\", false, 0},
};

static void test_wait_is_found_as_the_standard_says(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t seconds = 0;
        const bool is_there = prefer_find_wait(parley_bytes_of(rows[i].value), &seconds);
        if (is_there != rows[i].is_there || seconds != rows[i].seconds) {
            fail_msg("%s: %d, %u", rows[i].value, is_there, (unsigned)seconds);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wait_is_found_as_the_standard_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
