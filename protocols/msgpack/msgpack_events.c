/* SPDX-License-Identifier: Apache-2.0 */

/* Reports the content of MessagePack that is known to have no fault. Values that the listener does
 * not ask for are skipped at almost no cost. */

#include <assert.h>

#include "msgpack_read.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { DEPTH_MAX = 64 };

/* nil, true, false, and integers of one byte. */
static bool is_small(char byte) {
    const unsigned char first = (unsigned char)byte;
    return first < 0x80 || first >= 0xe0 || first == 0xc0 || first == 0xc2 || first == 0xc3;
}

size_t msgpack_small_values(const char *at, size_t count) {
    size_t done = 0;
#ifdef __SSE2__
    for (; count - done >= 16; done += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(at + done));
        const __m128i booleans = _mm_and_si128(bytes, _mm_set1_epi8((char)0xfe));
        const __m128i small =
            _mm_or_si128(_mm_or_si128(_mm_cmpgt_epi8(bytes, _mm_set1_epi8(-33)),
                                      _mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)0xc0))),
                         _mm_cmpeq_epi8(booleans, _mm_set1_epi8((char)0xc2)));
        const unsigned others = 0xffff ^ (unsigned)_mm_movemask_epi8(small);
        if (others != 0) {
            return done + (size_t)__builtin_ctz(others);
        }
    }
#endif
    while (done < count && is_small(at[done])) {
        done++;
    }
    return done;
}

/* ---- visiting ---- */

/* One open array or map that is reported. */
struct level {
    bool is_map;
    size_t count, left; /* items or members */
};

struct visitor {
    const char *start, *end;
    const struct msgpack_events *events;
    struct level levels[DEPTH_MAX];
    size_t depth;
};

static bool is_open(const struct msgpack_value *value) {
    return value->value.kind == PARLEY_OBJECT || value->value.kind == PARLEY_ARRAY;
}

static size_t values_in(const struct msgpack_value *value) {
    return value->value.count * (value->value.kind == PARLEY_OBJECT ? 2 : 1);
}

/* Returns: the end of `left` values. */
static const char *skip(const char *at, const char *end, size_t left) {
    while (left > 0) {
        const size_t small = msgpack_small_values(at, left);
        at += small;
        left -= small;
        if (left > 0) {
            struct msgpack_value value = {.is_integer = false};
            at = msgpack_take(at, end, &value);
            assert(at != NULL);
            left += is_open(&value) ? values_in(&value) : 0;
            left--;
        }
    }
    return at;
}

static const char *visit_value(struct visitor *visitor, const char *at) {
    struct msgpack_value value = {.is_integer = false};
    const char *after = msgpack_take(at, visitor->end, &value);
    assert(after != NULL);
    value.value = msgpack_value_of(&value, (size_t)(at - visitor->start));
    const bool has_interest = visitor->events->value(visitor->events->context, &value);
    if (!is_open(&value)) {
        return after;
    }
    if (!has_interest) {
        return skip(after, visitor->end, values_in(&value));
    }
    visitor->levels[visitor->depth++] = (struct level){.is_map = value.value.kind == PARLEY_OBJECT,
                                                       .count = value.value.count,
                                                       .left = value.value.count};
    return after;
}

static const char *visit_member(struct visitor *visitor, const char *at) {
    struct msgpack_value key = {.is_integer = false};
    at = msgpack_take(at, visitor->end, &key);
    assert(at != NULL);
    return visitor->events->key(visitor->events->context, key.value.text)
               ? visit_value(visitor, at)
               : skip(at, visitor->end, 1);
}

void msgpack_visit(struct parley_bytes bytes, const struct msgpack_events *events) {
    struct visitor visitor; /* its levels are written before they are read */
    visitor.start = bytes.data;
    visitor.end = bytes.data + bytes.length;
    visitor.events = events;
    visitor.depth = 0;
    const char *at = visit_value(&visitor, visitor.start);
    while (visitor.depth > 0) {
        struct level *level = &visitor.levels[visitor.depth - 1];
        if (level->left == 0) {
            visitor.depth--;
            events->leave(events->context, level->count);
            continue;
        }
        level->left--;
        at = level->is_map ? visit_member(&visitor, at) : visit_value(&visitor, at);
    }
    assert(at == visitor.end);
    (void)at;
}
