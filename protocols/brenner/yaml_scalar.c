/* SPDX-License-Identifier: Apache-2.0 */

/* The core schema's regular expressions, written out by hand. */

#include "yaml_scalar.h"

#include <math.h>
#include <stdlib.h>

#include "text.h"

/* A number as the core schema writes it: [-+]? whole (\. fraction)? ([eE] exponent)? */
struct decimal {
    bool is_negative, has_point, has_exponent;
    struct parley_bytes whole, fraction;
    struct parley_bytes exponent; /* with its sign */
};

static struct parley_bytes rest_from(struct parley_bytes text, size_t at) {
    return (struct parley_bytes){text.data + at, text.length - at};
}

static struct parley_bytes take_digits(struct parley_bytes *text) {
    size_t length = 0;
    while (length < text->length && text->data[length] >= '0' && text->data[length] <= '9') {
        length++;
    }
    const struct parley_bytes digits = {text->data, length};
    *text = rest_from(*text, length);
    return digits;
}

static bool take_char(struct parley_bytes *text, char a, char b) {
    if (text->length == 0 || (text->data[0] != a && text->data[0] != b)) {
        return false;
    }
    *text = rest_from(*text, 1);
    return true;
}

static bool read_exponent(struct parley_bytes *text, struct decimal *out) {
    const char *start = text->data;
    take_char(text, '-', '+');
    const bool has_digits = take_digits(text).length > 0;
    out->exponent = (struct parley_bytes){start, (size_t)(text->data - start)};
    return has_digits;
}

static bool read_decimal(struct parley_bytes text, struct decimal *out) {
    *out = (struct decimal){.is_negative = text.length > 0 && text.data[0] == '-'};
    take_char(&text, '-', '+');
    out->whole = take_digits(&text);
    out->has_point = take_char(&text, '.', '.');
    if (out->has_point) {
        out->fraction = take_digits(&text);
    }
    if (out->whole.length + out->fraction.length == 0) {
        return false;
    }
    out->has_exponent = take_char(&text, 'e', 'E');
    return (!out->has_exponent || read_exponent(&text, out)) && text.length == 0;
}

static bool is_finite(struct parley_buffer *out, size_t start) {
    parley_buffer_char(out, '\0');
    if (out->has_failed) {
        return true; /* the caller asks for that */
    }
    out->length--;
    return isfinite(strtod(out->data + start, NULL));
}

static void write_decimal(const struct decimal *number, struct parley_buffer *out) {
    struct parley_bytes whole = number->whole;
    while (whole.length > 1 && whole.data[0] == '0') {
        whole = rest_from(whole, 1);
    }
    parley_buffer_text(out, number->is_negative ? "-" : "");
    parley_buffer_append(out, whole.length > 0 ? whole : PARLEY_BYTES("0"));
    if (number->has_point) {
        parley_buffer_char(out, '.');
        parley_buffer_append(out,
                             number->fraction.length > 0 ? number->fraction : PARLEY_BYTES("0"));
    }
    if (number->has_exponent) {
        const char *spelling = number->exponent.data - 1;
        parley_buffer_append(out, (struct parley_bytes){spelling, number->exponent.length + 1});
    }
}

static int digit_value(char c, unsigned base) {
    const int value = c >= '0' && c <= '9'                 ? c - '0'
                      : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                           : 16;
    return (unsigned)value < base ? value : -1;
}

static bool has_base(struct parley_bytes digits, unsigned base) {
    for (size_t i = 0; i < digits.length; i++) {
        if (digit_value(digits.data[i], base) < 0) {
            return false;
        }
    }
    return digits.length > 0;
}

/* Long multiplication. A double holds no integer of more than 309 decimal digits, so that more are
 * not worked out. */
static enum yaml_scalar write_integer(struct parley_bytes digits, unsigned base,
                                      struct parley_buffer *out) {
    enum { DIGITS_MAX = 309 };
    unsigned char decimal[DIGITS_MAX] = {0}; /* the lowest first */
    size_t count = 1;
    for (size_t i = 0; i < digits.length; i++) {
        unsigned carry = (unsigned)digit_value(digits.data[i], base);
        for (size_t k = 0; k < count; k++) {
            carry += decimal[k] * base;
            decimal[k] = (unsigned char)(carry % 10);
            carry /= 10;
        }
        for (; carry > 0; carry /= 10) {
            if (count == DIGITS_MAX) {
                return YAML_SCALAR_INFINITE;
            }
            decimal[count++] = (unsigned char)(carry % 10);
        }
    }
    const size_t start = out->length;
    while (count > 0) {
        parley_buffer_char(out, (char)('0' + decimal[--count]));
    }
    return is_finite(out, start) ? YAML_SCALAR_WRITTEN : YAML_SCALAR_INFINITE;
}

/* Whether text that begins so can be but a string, as most text does. */
static bool begins_string(char c) {
    return ((c | 32) >= 'a' && (c | 32) <= 'z') && strchr("nNtf", c) == NULL;
}

enum yaml_scalar yaml_scalar_write(struct parley_bytes text, struct parley_buffer *out) {
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const booleans[] = {"true", "false", NULL};
    static const char *const infinities[] = {".inf",  ".Inf",  ".INF",  "+.inf", "+.Inf",
                                             "+.INF", "-.inf", "-.Inf", "-.INF", ".nan",
                                             ".NaN",  ".NAN",  NULL};
    if (text.length > 0 && begins_string(text.data[0])) {
        return YAML_SCALAR_STRING;
    }
    if (text_is_one_of(text, nulls)) {
        parley_buffer_text(out, "null");
        return YAML_SCALAR_WRITTEN;
    }
    if (text_is_one_of(text, booleans)) {
        parley_buffer_append(out, text);
        return YAML_SCALAR_WRITTEN;
    }
    if (text_is_one_of(text, infinities)) {
        return YAML_SCALAR_INFINITE;
    }
    if (text.length > 2 && text.data[0] == '0' && (text.data[1] == 'o' || text.data[1] == 'x')) {
        const unsigned base = text.data[1] == 'o' ? 8 : 16;
        const struct parley_bytes digits = rest_from(text, 2);
        return has_base(digits, base) ? write_integer(digits, base, out) : YAML_SCALAR_STRING;
    }
    struct decimal number;
    if (!read_decimal(text, &number)) {
        return YAML_SCALAR_STRING;
    }
    const size_t start = out->length;
    write_decimal(&number, out);
    return is_finite(out, start) ? YAML_SCALAR_WRITTEN : YAML_SCALAR_INFINITE;
}
