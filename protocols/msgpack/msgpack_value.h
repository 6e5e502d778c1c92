/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Decodes one value of MessagePack, for the readers of valid bytes; inline, since it is half of
 * their work. msgpack_read.c explains faults. */

#include <math.h>
#include <string.h>

#include <parley/rule.h>

/* For a PARLEY_STRING, `value.text` has the bytes; for an array or map, `value.count` is the
 * claimed count. Other members of `value` are not set. */
struct msgpack_value {
    struct parley_value value;
    bool is_integer; /* of a number: it is exactly `integer` */
    bool is_binary;  /* of a string: it is a `bin` */
    int64_t integer;
};

/* `count` bytes, the highest first. */
static inline uint64_t msgpack_number(const char *at, size_t count) {
    uint64_t number = 0;
    for (size_t i = 0; i < count; i++) {
        number = number << 8 | (unsigned char)at[i];
    }
    return number;
}

static inline const char *msgpack_take_integer(const char *after, int64_t integer,
                                               struct msgpack_value *out) {
    out->value.kind = PARLEY_NUMBER;
    out->value.number = (double)integer;
    out->is_integer = true;
    out->is_binary = false;
    out->integer = integer;
    return after;
}

static inline const char *msgpack_take_float(const char *after, double number,
                                             struct msgpack_value *out) {
    out->value.kind = PARLEY_NUMBER;
    out->value.number = number;
    out->is_integer = out->is_binary = false;
    return isfinite(number) ? after : NULL;
}

static inline const char *msgpack_take_word(const char *after, enum parley_kind kind, double number,
                                            struct msgpack_value *out) {
    out->value.kind = kind;
    out->value.number = number;
    out->is_integer = out->is_binary = false;
    return after;
}

static inline const char *msgpack_take_text(const char *text, const char *end, size_t length,
                                            bool is_binary, struct msgpack_value *out) {
    out->value.kind = PARLEY_STRING;
    out->is_integer = false;
    out->is_binary = is_binary;
    out->value.text = (struct parley_bytes){text, length};
    return length <= (size_t)(end - text) ? text + length : NULL;
}

/* Each item takes a byte at least, and each member two. */
static inline const char *msgpack_take_items(const char *first, const char *end,
                                             enum parley_kind kind, size_t count,
                                             struct msgpack_value *out) {
    out->value.kind = kind;
    out->value.count = count;
    out->is_integer = out->is_binary = false;
    const size_t most = (size_t)(end - first) / (kind == PARLEY_OBJECT ? 2 : 1);
    return count <= most ? first : NULL;
}

/* Those whose head is more than a byte: the MessagePack specification, Formats. */
static inline const char *msgpack_take_wide(const char *at, const char *end,
                                            struct msgpack_value *out) {
    /* By the first byte, from 0xc0 on: how many bytes of length, count or number follow. */
    static const unsigned char sizes[32] = {0, 0, 0, 0, 1, 2, 4, 0, 0, 0, 4, 8, 1, 2, 4, 8,
                                            1, 2, 4, 8, 0, 0, 0, 0, 0, 1, 2, 4, 2, 4, 2, 4};
    const unsigned char first = (unsigned char)*at++;
    const size_t size = sizes[first & 31];
    if (size > (size_t)(end - at)) {
        return NULL;
    }
    const char *after = at + size;
    switch (first) {
    case 0xc0:
        return msgpack_take_word(after, PARLEY_NULL, 0, out);
    case 0xc2:
    case 0xc3:
        return msgpack_take_word(after, PARLEY_BOOLEAN, first & 1, out);
    case 0xc4:
    case 0xc5:
    case 0xc6:
        return msgpack_take_text(after, end, msgpack_number(at, size), true, out);
    case 0xca: {
        const uint32_t bits = (uint32_t)msgpack_number(at, 4);
        float number;
        memcpy(&number, &bits, sizeof number);
        return msgpack_take_float(after, (double)number, out);
    }
    case 0xcb: {
        const uint64_t bits = msgpack_number(at, 8);
        double number;
        memcpy(&number, &bits, sizeof number);
        return msgpack_take_float(after, number, out);
    }
    case 0xcc:
        return msgpack_take_integer(after, (unsigned char)*at, out);
    case 0xcd:
        return msgpack_take_integer(after, (int64_t)msgpack_number(at, 2), out);
    case 0xce:
        return msgpack_take_integer(after, (int64_t)msgpack_number(at, 4), out);
    case 0xcf: /* more than 63 bits would be negative */
        return *(const signed char *)at >= 0
                   ? msgpack_take_integer(after, (int64_t)msgpack_number(at, 8), out)
                   : NULL;
    case 0xd0:
        return msgpack_take_integer(after, *(const signed char *)at, out);
    case 0xd1:
        return msgpack_take_integer(after, (int16_t)msgpack_number(at, 2), out);
    case 0xd2:
        return msgpack_take_integer(after, (int32_t)msgpack_number(at, 4), out);
    case 0xd3:
        return msgpack_take_integer(after, (int64_t)msgpack_number(at, 8), out);
    case 0xd9:
    case 0xda:
    case 0xdb:
        return msgpack_take_text(after, end, msgpack_number(at, size), false, out);
    case 0xdc:
    case 0xdd:
        return msgpack_take_items(after, end, PARLEY_ARRAY, msgpack_number(at, size), out);
    case 0xde:
    case 0xdf:
        return msgpack_take_items(after, end, PARLEY_OBJECT, msgpack_number(at, size), out);
    default: /* 0xc1, and extension types */
        return NULL;
    }
}

/* Reads the value at `at` (of an array or map, its head), except value.offset.
 * Returns: the end of it; NULL: it is not complete before `end`, or JSON cannot express it. */
static inline const char *msgpack_take(const char *at, const char *end, struct msgpack_value *out) {
    if (at == end) {
        return NULL;
    }
    const unsigned char first = (unsigned char)*at;
    if (first < 0x80 || first >= 0xe0) {
        return msgpack_take_integer(at + 1, (signed char)first, out);
    }
    if (first >= 0xc0) {
        return msgpack_take_wide(at, end, out);
    }
    if (first >= 0xa0) {
        return msgpack_take_text(at + 1, end, first & 31, false, out);
    }
    return msgpack_take_items(at + 1, end, first < 0x90 ? PARLEY_OBJECT : PARLEY_ARRAY, first & 15,
                              out);
}

/* The value in the form that is common to all encodings.  `offset`: where it starts. */
static inline struct parley_value msgpack_value_of(const struct msgpack_value *value,
                                                   size_t offset) {
    const enum parley_kind kind = value->value.kind;
    struct parley_value out = {.kind = kind, .offset = offset};
    if (kind == PARLEY_STRING) {
        out.text = value->value.text;
    } else if (kind == PARLEY_ARRAY || kind == PARLEY_OBJECT) {
        out.count = value->value.count;
    } else {
        out.number = value->value.number;
    }
    return out;
}

/* How many of the first `count` bytes are a whole value each, and neither text nor array nor map:
 * small values are frequent. */
size_t msgpack_small_values(const char *at, size_t count);
