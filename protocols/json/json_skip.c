/* SPDX-License-Identifier: Apache-2.0 */

#include "json_skip.h"

#include <stdbool.h>
#include <string.h>

#include "json_string.h"

/* A place in a text that is skipped. */
struct skipping {
    const char *at;
    unsigned quotes; /* it is in a string where the number of its bits is odd */
    size_t depth;    /* of the arrays and objects around it */
};

static inline bool is_in_string(unsigned quotes) {
    return __builtin_parity(quotes) != 0;
}

/* A byte outside of strings: the brackets of arrays and of objects differ in one bit.  Returns:
 * whether the outermost ends with it. */
static inline bool take_byte(struct skipping *skipping, char c) {
    skipping->depth += (c | 0x20) == '{' ? 1 : 0;
    skipping->depth -= (c | 0x20) == '}' ? 1 : 0;
    return skipping->depth == 0;
}

#ifdef __SSE2__
enum { STEP_BYTES = 32 };

/* Of sixteen bytes, a bit for each quote, and for each bracket or backslash. */
static inline void find_marks(const char *at, unsigned *quotes, unsigned *turns) {
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
    const __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
    const __m128i brackets = _mm_or_si128(_mm_cmpeq_epi8(folded, _mm_set1_epi8('{')),
                                          _mm_cmpeq_epi8(folded, _mm_set1_epi8('}')));
    const __m128i backslashes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
    *turns = (unsigned)_mm_movemask_epi8(_mm_or_si128(brackets, backslashes));
    *quotes = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
}

/* Goes over STEP_BYTES, of more, or up to an escape among them.  Returns: the byte after the value;
 * NULL: it does not end there. */
static inline const char *take_step(struct skipping *skipping) {
    const char *const at = skipping->at;
    unsigned quotes, turns, later_quotes, later_turns;
    find_marks(at, &quotes, &turns);
    find_marks(at + 16, &later_quotes, &later_turns);
    quotes |= later_quotes << 16;
    turns |= later_turns << 16;
    for (; turns != 0; turns &= turns - 1) {
        const int i = __builtin_ctz(turns);
        const unsigned before = skipping->quotes ^ (quotes & ((1U << i) - 1));
        if (!is_in_string(before)) {
            if (take_byte(skipping, at[i])) {
                return at + i + 1;
            }
        } else if (at[i] == '\\') {
            skipping->quotes = before;
            skipping->at += i + 2;
            return NULL;
        }
    }
    skipping->quotes ^= quotes;
    skipping->at += STEP_BYTES;
    return NULL;
}
#endif

const char *json_skip_unread(const char *at, const char *end) {
    struct skipping skipping = {.at = at};
#ifdef __SSE2__
    while (end - skipping.at > STEP_BYTES) {
        const char *after = take_step(&skipping);
        if (after != NULL) {
            return after;
        }
    }
#endif
    while (skipping.at < end) {
        const char c = *skipping.at++;
        if (c == '"') {
            skipping.quotes ^= 1;
        } else if (is_in_string(skipping.quotes)) {
            skipping.at += c == '\\' && skipping.at < end ? 1 : 0;
        } else if (take_byte(&skipping, c)) {
            return skipping.at;
        }
    }
    return NULL;
}

size_t json_skip_blank(struct parley_bytes text, size_t at) {
    while (strchr(" \t\n\r", text.data[at]) != NULL) {
        at++;
    }
    return at;
}

size_t json_skip_string(struct parley_bytes text, size_t at) {
    for (at++; text.data[at] != '"'; at++) {
        at += text.data[at] == '\\';
    }
    return at + 1;
}

size_t json_skip_value(struct parley_bytes text, size_t at) {
    switch (text.data[at]) {
    case '"':
        return json_skip_string(text, at);
    case '{':
    case '[':
        return (size_t)(json_skip_unread(text.data + at, text.data + text.length) - text.data);
    default:
        while (at < text.length && strchr(",]} \t\n\r", text.data[at]) == NULL) {
            at++;
        }
        return at;
    }
}
