/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds the ends of strings in JSON texts, checks and decodes them. */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <parley/arena.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

static inline bool json_string_is_plain(char c) {
    return (signed char)c >= 0x20 && c != '"' && c != '\\';
}

/* The same for eight bytes at once (Hacker's Delight, section 6-1: a byte of a difference borrows
 * its highest bit where it was zero). */
static inline bool json_string_eight_are_plain(const char *at) {
    const uint64_t ones = UINT64_C(0x0101010101010101), highest = ones << 7;
    uint64_t bytes;
    memcpy(&bytes, at, sizeof bytes);
    const uint64_t quotes = bytes ^ ones * '"', backslashes = bytes ^ ones * '\\';
    const uint64_t special = bytes | (bytes - ones * 0x20) | (quotes - ones) | (backslashes - ones);
    return (special & highest) == 0;
}

#ifdef __SSE2__
/* Those of sixteen bytes that are not plain, a bit for each. */
static inline unsigned json_string_sixteen(const char *at) {
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
    /* As signed bytes, those that are not ASCII are less than a space, too. */
    const __m128i special = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                                      _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))),
                                         _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20)));
    return (unsigned)_mm_movemask_epi8(special);
}
#endif

/* The first byte from `at` on that needs a closer look: a quote, a backslash, a control character,
 * or a byte that is not ASCII; `end` when there is none. */
static inline const char *json_string_plain(const char *at, const char *end) {
#ifdef __SSE2__
    while (end - at >= 16) {
        const unsigned found = json_string_sixteen(at);
        if (found != 0) {
            return at + __builtin_ctz(found);
        }
        at += 16;
    }
#endif
    while (end - at >= 8 && json_string_eight_are_plain(at)) {
        at += 8;
    }
    while (at < end && json_string_is_plain(*at)) {
        at++;
    }
    return at;
}

/* Continues json_string_end at a byte that json_string_plain found. */
const char *json_string_rest(const char *at, const char *end, bool *out_has_escapes);

/* The closing quote of the string whose text begins at `at`; NULL if there is none before `end`, or
 * if the text breaks RFC 8259. */
static inline const char *json_string_end(const char *at, const char *end, bool *out_has_escapes) {
    at = json_string_plain(at, end);
    if (at < end && *at == '"') {
        *out_has_escapes = false;
        return at;
    }
    return json_string_rest(at, end, out_has_escapes);
}

/* The number of the escape \uXXXX at `at`, or -1 if it is not valid. */
long json_string_unit(const char *at, const char *end);

/* Decodes the text between the quotes of a valid string into `out`, which has room for as many
 * bytes as `raw` has.  Returns: the number of bytes written. */
size_t json_string_write(struct parley_bytes raw, char *out);

/* The same, into memory of the arena.
 * Returns: false when there is no memory. */
bool json_string_decode(struct parley_arena *arena, struct parley_bytes raw,
                        struct parley_bytes *out);

/* How many bytes json_string_write would write. */
size_t json_string_bytes(struct parley_bytes raw);
