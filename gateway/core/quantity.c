/* SPDX-License-Identifier: Apache-2.0 */

/* Counts, sizes and durations, parsed strictly: no sign, fraction, space or overflow. */

#include "quantity.h"

#include <inttypes.h>
#include <string.h>

struct unit {
    const char *name;
    uint64_t factor;
};

/* From the largest to the smallest, which quantity_write relies on. */
static const struct unit sizes[] = {{"g", 1u << 30}, {"m", 1u << 20}, {"k", 1u << 10}, {"", 1}};
static const struct unit durations[] = {
    {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};

/* Reads digits.  Returns: the text after them; NULL without digits or on overflow. */
static const char *read_digits(const char *text, uint64_t *out) {
    uint64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value)) {
            return NULL;
        }
    }
    *out = value;
    return at == text ? NULL : at;
}

static bool multiply(uint64_t value, const char *unit, const struct unit *units, size_t count,
                     uint64_t *out) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(units[i].name, unit) == 0 && value <= UINT64_MAX / units[i].factor) {
            *out = value * units[i].factor;
            return true;
        }
    }
    return false;
}

bool quantity_read_count(const char *text, uint64_t *out) {
    uint64_t value;
    const char *rest = read_digits(text, &value);
    if (rest == NULL || *rest != '\0') {
        return false;
    }
    *out = value;
    return true;
}

bool quantity_is_port(struct parley_bytes port) {
    char text[8];
    uint64_t number;
    if (port.length >= sizeof text) {
        return false;
    }
    memcpy(text, port.data, port.length);
    text[port.length] = '\0';
    return quantity_read_count(text, &number) && number > 0 && number <= UINT16_MAX;
}

bool quantity_read_size(const char *text, uint64_t *out_bytes) {
    uint64_t value;
    const char *rest = read_digits(text, &value);
    if (rest == NULL || (rest[0] != '\0' && rest[1] != '\0')) {
        return false;
    }
    const char unit[2] = {rest[0] >= 'A' && rest[0] <= 'Z' ? (char)(rest[0] | 32) : rest[0], '\0'};
    return multiply(value, unit, sizes, sizeof sizes / sizeof sizes[0], out_bytes);
}

bool quantity_read_duration(const char *text, int64_t *out_ms) {
    uint64_t value, ms;
    const char *rest = read_digits(text, &value);
    if (rest == NULL) {
        return false;
    }
    if (value == 0 && *rest == '\0') {
        *out_ms = 0;
        return true;
    }
    if (!multiply(value, rest, durations, sizeof durations / sizeof durations[0], &ms) ||
        ms > INT64_MAX) {
        return false;
    }
    *out_ms = (int64_t)ms;
    return true;
}

static void write_in(struct parley_buffer *out, uint64_t value, const struct unit *unit) {
    while (value % unit->factor != 0) {
        unit++;
    }
    parley_buffer_format(out, "%" PRIu64 "%s", value / unit->factor, unit->name);
}

void quantity_write_size(struct parley_buffer *out, uint64_t bytes) {
    if (bytes == 0) {
        parley_buffer_text(out, "0");
    } else {
        write_in(out, bytes, sizes);
    }
}

void quantity_write_duration(struct parley_buffer *out, int64_t duration_ms) {
    if (duration_ms == 0) {
        parley_buffer_text(out, "0");
    } else {
        write_in(out, (uint64_t)duration_ms, durations);
    }
}
