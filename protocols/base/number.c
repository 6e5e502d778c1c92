/* SPDX-License-Identifier: Apache-2.0 */

/* The C library can print a double with a given number of digits, but no function says how many are
 * enough. For common magnitudes, 128-bit integers find the shortest decimal exactly; beyond them,
 * it is found by trial, which is slow and may use one digit too many at a power of two. */

#include "number.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

__extension__ typedef unsigned __int128 wide;

/* d.ddd times 10 to the exponent; the digits have no point. */
struct decimal {
    char digits[24];
    size_t count;
    int exponent;
};

static wide power_of_ten(int exponent) {
    wide power = 1;
    while (exponent-- > 0) {
        power *= 10;
    }
    return power;
}

/* ---- exactly ---- */

/* The decimals that read back as a number, times 10^scale and 2^shift: all from low to high. */
struct interval {
    wide low, middle, high;
    int scale, shift;
    bool has_ends; /* low and high read back so too */
};

static bool holds(const struct interval *interval, uint64_t candidate) {
    const wide scaled = (wide)candidate << interval->shift;
    return interval->has_ends ? scaled >= interval->low && scaled <= interval->high
                              : scaled > interval->low && scaled < interval->high;
}

/* `number` is at least 1e-4 and less than 2^53, so that nothing here overflows. */
static struct interval interval_of(double number) {
    int exponent;
    const uint64_t mantissa = (uint64_t)ldexp(frexp(number, &exponent), DBL_MANT_DIG);
    exponent -= DBL_MANT_DIG; /* number == mantissa * 2^exponent */
    struct interval interval = {.scale = 16 - (int)floor(log10(number)),
                                .shift = 2 - exponent,
                                .has_ends = mantissa % 2 == 0};
    if (((wide)mantissa * 4 * power_of_ten(interval.scale) >> interval.shift) < power_of_ten(16)) {
        interval.scale++; /* the logarithm was rounded up */
    }
    const bool is_power_of_two = mantissa == UINT64_C(1) << (DBL_MANT_DIG - 1);
    const wide scale = power_of_ten(interval.scale);
    interval.middle = (wide)mantissa * 4 * scale;
    interval.low = interval.middle - scale * (is_power_of_two ? 1 : 2);
    interval.high = interval.middle + scale * 2;
    return interval;
}

/* Whether `above` is better; of two equally good ones, the one with an even last digit. */
static bool is_nearer(const struct interval *interval, uint64_t above, uint64_t below) {
    const wide over = ((wide)above << interval->shift) - interval->middle;
    const wide under = interval->middle - ((wide)below << interval->shift);
    return over < under || (over == under && below / (above - below) % 2 != 0);
}

static struct decimal shortest(double number) {
    const struct interval interval = interval_of(number);
    const uint64_t floor_of_middle = (uint64_t)(interval.middle >> interval.shift);
    uint64_t best = floor_of_middle, unit = 1;
    int zeros = 0;
    for (uint64_t power = 1; power <= floor_of_middle; power *= 10) {
        const uint64_t below = floor_of_middle / power * power, above = below + power;
        const bool below_fits = below > 0 && holds(&interval, below);
        const bool above_fits = holds(&interval, above);
        if (!below_fits && !above_fits) {
            break;
        }
        best = above_fits && (!below_fits || is_nearer(&interval, above, below)) ? above : below;
        unit = power;
        zeros += power > 1;
    }
    struct decimal decimal;
    decimal.count = (size_t)snprintf(decimal.digits, sizeof decimal.digits, "%llu",
                                     (unsigned long long)(best / unit));
    decimal.exponent = (int)decimal.count - 1 + zeros - interval.scale;
    return decimal;
}

/* ---- by trial ---- */

static struct decimal tried(double number) {
    struct decimal decimal = {.count = 0};
    int precision = number < DBL_MIN ? 1 : DBL_DIG;
    char text[48];
    do {
        snprintf(text, sizeof text, "%.*e", precision - 1, number);
    } while (strtod(text, NULL) != number && precision++ < DBL_DECIMAL_DIG);
    const char *exponent = strchr(text, 'e');
    for (const char *at = text; at < exponent; at++) {
        if (*at != '.') {
            decimal.digits[decimal.count++] = *at;
        }
    }
    while (decimal.count > 1 && decimal.digits[decimal.count - 1] == '0') {
        decimal.count--;
    }
    decimal.exponent = atoi(exponent + 1);
    return decimal;
}

/* ---- as text ---- */

static void write_zeros(struct parley_buffer *out, int count) {
    while (count-- > 0) {
        parley_buffer_char(out, '0');
    }
}

static void write_positional(struct parley_buffer *out, const struct decimal *decimal) {
    const int before = decimal->exponent + 1; /* the number of digits before the point */
    const size_t whole = before <= 0                       ? 0
                         : (size_t)before < decimal->count ? (size_t)before
                                                           : decimal->count;
    const struct parley_bytes fraction = {decimal->digits + whole, decimal->count - whole};
    parley_buffer_append(out, (struct parley_bytes){decimal->digits, whole});
    write_zeros(out, before <= 0 ? 1 : before - (int)whole);
    parley_buffer_char(out, '.');
    write_zeros(out, fraction.length == 0 ? 1 : -before);
    parley_buffer_append(out, fraction);
}

static void write_scientific(struct parley_buffer *out, const struct decimal *decimal) {
    parley_buffer_char(out, decimal->digits[0]);
    if (decimal->count > 1) {
        parley_buffer_char(out, '.');
        parley_buffer_append(out, (struct parley_bytes){decimal->digits + 1, decimal->count - 1});
    }
    parley_buffer_format(out, "e%d", decimal->exponent);
}

void number_write(struct parley_buffer *out, double number) {
    if (signbit(number)) {
        parley_buffer_char(out, '-');
        number = -number;
    }
    if (number == 0) {
        parley_buffer_text(out, "0.0");
        return;
    }
    const bool is_everyday = number >= 1e-4 && number < 9007199254740992.0;
    const struct decimal decimal = is_everyday ? shortest(number) : tried(number);
    if (decimal.exponent >= -4 && decimal.exponent < 16) {
        write_positional(out, &decimal);
    } else {
        write_scientific(out, &decimal);
    }
}
