/* SPDX-License-Identifier: Apache-2.0 */

/* Floats as JSON: the fewest digits that read back the same, and never an integer's form. The
 * digits themselves are compared with another implementation's in tests/interop. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "base/number.h"
#include "lib/random.h"

static void write(struct parley_buffer *out, double number) {
    parley_buffer_clear(out);
    number_write(out, number);
    parley_buffer_char(out, '\0');
    assert_false(out->has_failed);
}

static void test_numbers_are_short(void **state) {
    (void)state;
    static const struct {
        double number;
        const char *text;
    } rows[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1.0, "1.0"},
        {-1.0, "-1.0"},
        {10.0, "10.0"},
        {123456.0, "123456.0"},
        {0.1, "0.1"},
        {0.30000000000000004, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {9.5, "9.5"},
        {99999.9, "99999.9"},
        {0.0001, "0.0001"},
        {0.00099999, "0.00099999"},
        {0.00001, "1e-5"},
        {1.5e-7, "1.5e-7"},
        {999999999999999.9, "999999999999999.9"},
        {1e15, "1000000000000000.0"},
        {9007199254740991.0, "9007199254740991.0"},
        {9007199254740992.0, "9007199254740992.0"},
        {1e16, "1e16"},
        {1.25e22, "1.25e22"},
        {3.02788543701171875, "3.0278854370117188"}, /* half-way: to the even digit */
        {4.5, "4.5"},
        {1.7976931348623157e308, "1.7976931348623157e308"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {5e-324, "5e-324"},
        {(double)0.1f, "0.10000000149011612"},
    };
    struct parley_buffer out;
    parley_buffer_init(&out);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        write(&out, rows[i].number);
        assert_string_equal(out.data, rows[i].text);
    }
    parley_buffer_finish(&out);
}

/* Of every magnitude, and around each power of ten and of two, where the edges are. */
static void test_what_is_written_reads_back_the_same(void **state) {
    (void)state;
    struct parley_buffer out;
    struct random_source source = {20};
    size_t count = 0;
    parley_buffer_init(&out);
    for (int i = 0; i < 60000; i++) {
        double number;
        const uint64_t bits = random_next(&source);
        memcpy(&number, &bits, sizeof number);
        if (i % 3 == 1) {
            number = nextafter(pow(10, (int)random_below(&source, 40) - 20), i % 2 == 0 ? 0 : 1e99);
        } else if (i % 3 == 2) {
            number = ldexp(1, (int)random_below(&source, 120) - 60) + (i % 2 == 0 ? 0 : 1e-3);
        }
        if (isfinite(number)) {
            write(&out, number);
            const double again = strtod(out.data, NULL);
            assert_memory_equal(&again, &number, sizeof number);
            assert_non_null(strpbrk(out.data, ".e"));
            count++;
        }
    }
    assert_true(count > 50000);
    parley_buffer_finish(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_short),
        cmocka_unit_test(test_what_is_written_reads_back_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
