/* SPDX-License-Identifier: Apache-2.0 */

/* Writes heads by hand, since a packer writes only the shortest. */

#include "mutate_msgpack.h"

#include <float.h>
#include <math.h>

/* A byte, and behind it `count` bytes of a number, the highest first. */
static void put(struct parley_buffer *out, unsigned first, uint64_t number, unsigned count) {
    parley_buffer_char(out, (char)first);
    while (count-- > 0) {
        parley_buffer_char(out, (char)(number >> 8 * count & 255));
    }
}

/* One head in so many is wider than it must be. */
static bool is_wider(struct random_source *source) {
    return random_below(source, 16) == 0;
}

/* A head of a length or count: `fix` with up to `fix_max` in itself (none: fix_max SIZE_MAX), else
 * one of 8, 16 and 32 bits whose first bytes follow each other from `wide` on; `narrowest` 1 where
 * there is none of 8 bits. */
static void put_head(struct random_source *source, struct parley_buffer *out, size_t length,
                     unsigned fix, size_t fix_end, unsigned wide, unsigned narrowest) {
    if (length < fix_end && !is_wider(source)) {
        parley_buffer_char(out, (char)(fix | length));
        return;
    }
    unsigned size = narrowest;
    while ((size == 0 && length > 0xff) || (size == 1 && length > 0xffff) ||
           (size < 2 && is_wider(source))) {
        size++;
    }
    put(out, wide + size - narrowest, length, 1u << size);
}

static void put_integer(struct random_source *source, struct parley_buffer *out, int64_t number) {
    if (number >= -32 && number <= 127 && !is_wider(source)) {
        parley_buffer_char(out, (char)number);
        return;
    }
    const bool is_unsigned = number >= 0 && random_below(source, 2) == 0;
    unsigned size = 0;
    for (; size < 3; size++) {
        const int64_t end = INT64_C(1) << ((8 << size) - !is_unsigned);
        const bool fits = number < end && number >= (is_unsigned ? 0 : -end);
        if (fits && !is_wider(source)) {
            break;
        }
    }
    put(out, (is_unsigned ? 0xcc : 0xd0) + size, (uint64_t)number, 1u << size);
}

static void put_float(struct random_source *source, struct parley_buffer *out, double number) {
    const bool is_narrow = fabs(number) <= FLT_MAX && (double)(float)number == number;
    if (is_narrow && random_below(source, 2) == 0) {
        const float narrow = (float)number;
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        put(out, 0xca, bits, 4);
        return;
    }
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    put(out, 0xcb, bits, 8);
}

static void put_number(struct random_source *source, struct parley_buffer *out, double number) {
    static const double integers_end = 9007199254740992.0; /* 2^53 */
    const bool is_whole = fabs(number) < integers_end && number == floor(number);
    if (is_whole && !(number == 0 && signbit(number)) && random_below(source, 8) != 0) {
        put_integer(source, out, (int64_t)number);
    } else {
        put_float(source, out, number);
    }
}

static void put_text(struct random_source *source, struct parley_buffer *out, const char *text,
                     size_t length, bool is_key) {
    if (!is_key && random_below(source, 24) == 0) {
        put_head(source, out, length, 0, 0, 0xc4, 0);
    } else {
        put_head(source, out, length, 0xa0, 32, 0xd9, 0);
    }
    parley_buffer_append(out, (struct parley_bytes){text, length});
}

/* Extensions, NaN, integers beyond 63 bits, a byte that begins nothing. */
static void put_wrong_value(struct random_source *source, struct parley_buffer *out) {
    switch (random_below(source, 6)) {
    case 0:
        put(out, 0xd4, 0x0101, 2);
        break;
    case 1:
        put(out, 0xc7, 0x010101, 3);
        break;
    case 2:
        put(out, 0xca, 0x7fc00000, 4);
        break;
    case 3:
        put(out, 0xcb, UINT64_C(0xfff0000000000000), 8);
        break;
    case 4:
        put(out, 0xcf, UINT64_C(0x8000000000000000) + random_below(source, 3), 8);
        break;
    default:
        parley_buffer_char(out, (char)0xc1);
    }
}

/* Recurses as deep as the tree. */
static void put_value(struct random_source *source, struct parley_buffer *out, const json_t *tree) {
    if (random_below(source, 1000) == 0) {
        put_wrong_value(source, out);
        return;
    }
    switch (json_typeof(tree)) {
    case JSON_OBJECT:
        put_head(source, out, json_object_size(tree), 0x80, 16, 0xde, 1);
        for (void *at = json_object_iter((json_t *)tree); at != NULL;
             at = json_object_iter_next((json_t *)tree, at)) {
            put_text(source, out, json_object_iter_key(at), json_object_iter_key_len(at),
                     random_below(source, 500) != 0);
            put_value(source, out, json_object_iter_value(at));
        }
        break;
    case JSON_ARRAY:
        put_head(source, out, json_array_size(tree), 0x90, 16, 0xdc, 1);
        for (size_t i = 0; i < json_array_size(tree); i++) {
            put_value(source, out, json_array_get(tree, i));
        }
        break;
    case JSON_STRING:
        put_text(source, out, json_string_value(tree), json_string_length(tree), false);
        break;
    case JSON_INTEGER:
    case JSON_REAL:
        put_number(source, out, json_number_value(tree));
        break;
    case JSON_TRUE:
        parley_buffer_char(out, (char)0xc3);
        break;
    case JSON_FALSE:
        parley_buffer_char(out, (char)0xc2);
        break;
    case JSON_NULL:
        parley_buffer_char(out, (char)0xc0);
        break;
    }
}

void pack_randomly(struct random_source *source, const json_t *tree, struct parley_buffer *out) {
    put_value(source, out, tree);
}

void damage_bytes(struct random_source *source, struct parley_buffer *bytes) {
    for (size_t i = 1 + random_below(source, 3); i > 0 && bytes->length > 0; i--) {
        const size_t at = random_below(source, bytes->length);
        char *place = bytes->data + at;
        const size_t behind = bytes->length - at;
        switch (random_below(source, 8)) {
        case 0:
            bytes->length = at;
            break;
        case 1:
            memmove(place, place + 1, behind - 1);
            bytes->length--;
            break;
        case 2:
            parley_buffer_char(bytes, '\0');
            place = bytes->data + at;
            memmove(place + 1, place, behind);
            *place = (char)random_next(source);
            break;
        case 3:
            *place = (char)(*place + 1 - (int)random_below(source, 3));
            break;
        default:
            *place = (char)random_next(source);
        }
    }
}
