/* SPDX-License-Identifier: Apache-2.0 */

/* Fifteen digits are exact in a double, and so is a power of ten up to 10^22; one division rounds
 * once, as strtod does. Only longer numbers, and those with an exponent, are left to strtod. */

#include "json_number.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXACT_DIGITS = 15,
    SURE_MAGNITUDE = 300, /* so many digits before the point are not infinite */
    EXPONENT_ENOUGH = 10000,
};

struct form {
    const char *end;
    bool is_negative, has_exponent;
    size_t whole, fraction; /* digits */
    uint64_t digits;        /* all of them as one number, if they are few enough */
    long exponent;
};

static const char *read_digits(const char *at, const char *end, uint64_t *digits) {
    while (at < end && *at >= '0' && *at <= '9') {
        *digits = *digits * 10 + (uint64_t)(*at++ - '0');
    }
    return at;
}

static bool read_exponent(const char *at, const char *end, struct form *out) {
    const bool has_sign = at < end && (*at == '+' || *at == '-');
    const bool is_negative = has_sign && *at == '-';
    at += has_sign;
    const char *first = at;
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        out->exponent =
            out->exponent < EXPONENT_ENOUGH ? out->exponent * 10 + (*at - '0') : out->exponent;
    }
    out->exponent = is_negative ? -out->exponent : out->exponent;
    out->has_exponent = true;
    out->end = at;
    return at > first;
}

static bool read_form(const char *at, const char *end, struct form *out) {
    *out = (struct form){.is_negative = at < end && *at == '-'};
    at += out->is_negative;
    out->end = read_digits(at, end, &out->digits);
    out->whole = (size_t)(out->end - at);
    if (out->whole == 0 || (*at == '0' && out->whole > 1)) {
        return false;
    }
    if (out->end < end && *out->end == '.') {
        const char *first = out->end + 1;
        out->end = read_digits(first, end, &out->digits);
        out->fraction = (size_t)(out->end - first);
        if (out->fraction == 0) {
            return false;
        }
    }
    const bool has_exponent = out->end < end && (*out->end | 32) == 'e';
    return !has_exponent || read_exponent(out->end + 1, end, out);
}

static bool is_exact(const struct form *form) {
    return FLT_EVAL_METHOD == 0 && !form->has_exponent &&
           form->whole + form->fraction <= EXACT_DIGITS;
}

static double exact_value(const struct form *form) {
    static const double powers[EXACT_DIGITS + 1] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const double value = (double)form->digits / powers[form->fraction];
    return form->is_negative ? -value : value;
}

static bool is_surely_finite(const struct form *form) {
    return form->whole <= SURE_MAGNITUDE && (long)form->whole + form->exponent <= SURE_MAGNITUDE;
}

/* strtod needs a NUL. */
static bool long_value(const char *first, const char *end, double *out) {
    char copy[128];
    const size_t length = (size_t)(end - first);
    if (length >= sizeof copy) {
        return false;
    }
    memcpy(copy, first, length);
    copy[length] = '\0';
    *out = strtod(copy, NULL);
    return isfinite(*out);
}

static inline const char *read_number(const char *at, const char *end, struct form *form,
                                      double *out) {
    if (!read_form(at, end, form)) {
        return NULL;
    }
    if (is_exact(form)) {
        if (out != NULL) {
            *out = exact_value(form);
        }
        return form->end;
    }
    double unused;
    const bool is_known = (out == NULL && is_surely_finite(form)) ||
                          long_value(at, form->end, out != NULL ? out : &unused);
    return is_known ? form->end : NULL;
}

const char *json_number_read(const char *at, const char *end, double *out) {
    struct form form;
    return read_number(at, end, &form, out);
}

/* ---- as MessagePack ---- */

static bool is_integer(const struct form *form) {
    enum { SURE_DIGITS = 19 }; /* so many do not overflow form->digits */
    return form->fraction == 0 && !form->has_exponent && form->whole <= SURE_DIGITS &&
           form->digits <= (uint64_t)INT64_MAX + (form->is_negative ? 1 : 0) &&
           !(form->is_negative && form->digits == 0);
}

static size_t positive_bytes(uint64_t number) {
    return number < 128           ? 1
           : number <= UINT8_MAX  ? 2
           : number <= UINT16_MAX ? 3
           : number <= UINT32_MAX ? 5
                                  : 9;
}

static size_t negative_bytes(uint64_t magnitude) {
    return magnitude <= 32                  ? 1
           : magnitude <= UINT64_C(1) << 7  ? 2
           : magnitude <= UINT64_C(1) << 15 ? 3
           : magnitude <= UINT64_C(1) << 31 ? 5
                                            : 9;
}

static size_t real_bytes(double number) {
    return fabs(number) <= FLT_MAX && (double)(float)number == number ? 5 : 9;
}

const char *json_number_measure(const char *at, const char *end, double *out, size_t *out_bytes) {
    struct form form;
    if (read_number(at, end, &form, out) == NULL) {
        return NULL;
    }
    *out_bytes = !is_integer(&form) ? real_bytes(*out)
                 : form.is_negative ? negative_bytes(form.digits)
                                    : positive_bytes(form.digits);
    return form.end;
}
