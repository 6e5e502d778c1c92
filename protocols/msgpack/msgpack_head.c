/* SPDX-License-Identifier: Apache-2.0 */

/* The heads of values (the MessagePack specification, Formats). */

#include "msgpack_read.h"

/* By the first byte, from 0xc0 to 0xdf. */
static const struct msgpack_family wide_families[32] = {
    {"nil", 1},      {"0xc1", 1},     {"false", 1},    {"true", 1},     {"bin 8", 2},
    {"bin 16", 3},   {"bin 32", 5},   {"ext 8", 3},    {"ext 16", 4},   {"ext 32", 6},
    {"float 32", 5}, {"float 64", 9}, {"uint 8", 2},   {"uint 16", 3},  {"uint 32", 5},
    {"uint 64", 9},  {"int 8", 2},    {"int 16", 3},   {"int 32", 5},   {"int 64", 9},
    {"fixext 1", 2}, {"fixext 2", 2}, {"fixext 4", 2}, {"fixext 8", 2}, {"fixext 16", 2},
    {"str 8", 2},    {"str 16", 3},   {"str 32", 5},   {"array 16", 3}, {"array 32", 5},
    {"map 16", 3},   {"map 32", 5},
};

struct msgpack_family msgpack_family_of(unsigned char first) {
    if (first >= 0xc0 && first <= 0xdf) {
        return wide_families[first - 0xc0];
    }
    return (struct msgpack_family){first < 0x80    ? "positive fixint"
                                   : first >= 0xe0 ? "negative fixint"
                                   : first < 0x90  ? "fixmap"
                                   : first < 0xa0  ? "fixarray"
                                                   : "fixstr",
                                   1};
}

bool msgpack_is_string(unsigned char first) {
    return (first >= 0xa0 && first <= 0xbf) || (first >= 0xd9 && first <= 0xdb);
}

static bool is_binary(unsigned char first) {
    return first >= 0xc4 && first <= 0xc6;
}

bool msgpack_is_map(unsigned char first) {
    return (first & 0xf0) == 0x80 || first == 0xde || first == 0xdf;
}

bool msgpack_is_container(unsigned char first) {
    return (first >= 0x80 && first <= 0x9f) || (first >= 0xdc && first <= 0xdf);
}

bool msgpack_is_extension(unsigned char first) {
    return (first >= 0xc7 && first <= 0xc9) || (first >= 0xd4 && first <= 0xd8);
}

struct msgpack_head msgpack_head_of(struct parley_bytes bytes, size_t offset) {
    const unsigned char first = (unsigned char)bytes.data[offset];
    const struct msgpack_family family = msgpack_family_of(first);
    struct msgpack_head head = {.name = family.name, .bytes = family.head_bytes};
    if (head.bytes == 1) {
        head.claim = msgpack_is_container(first) ? first & 0x0f
                     : msgpack_is_string(first)  ? first & 0x1f
                                                 : 0;
    } else if (msgpack_is_container(first) || msgpack_is_string(first) || is_binary(first)) {
        for (size_t i = 1; i < head.bytes && offset + i < bytes.length; i++) {
            head.claim = head.claim << 8 | (unsigned char)bytes.data[offset + i];
        }
    }
    return head;
}
