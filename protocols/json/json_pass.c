/* SPDX-License-Identifier: Apache-2.0 */

/* Functions that read return false when they are not sure. */

#include "json_pass.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "json_number.h"
#include "json_string.h"

struct passing {
    const char *at, *end;
    uint64_t arrays; /* a bit for each level, the innermost lowest: whether it is an array */
    size_t depth, depth_max;
};

/* Most texts have none. */
static inline void skip_blanks(struct passing *passing) {
    while (passing->at < passing->end && (unsigned char)*passing->at <= ' ' &&
           (*passing->at == ' ' || *passing->at == '\n' || *passing->at == '\r' ||
            *passing->at == '\t')) {
        passing->at++;
    }
}

static inline bool pass_string(struct passing *passing, bool *out_has_escapes) {
    const char *quote = json_string_end(passing->at + 1, passing->end, out_has_escapes);
    passing->at = quote != NULL ? quote + 1 : passing->at;
    return quote != NULL;
}

static bool pass_word(struct passing *passing, struct parley_bytes word) {
    const bool is_there = (size_t)(passing->end - passing->at) >= word.length &&
                          memcmp(passing->at, word.data, word.length) == 0;
    passing->at += is_there ? word.length : 0;
    return is_there;
}

static bool pass_number(struct passing *passing) {
    const char *after = json_number_read(passing->at, passing->end, NULL);
    passing->at = after != NULL ? after : passing->at;
    return after != NULL;
}

static inline bool pass_scalar(struct passing *passing) {
    bool has_escapes;
    switch (*passing->at) {
    case '"':
        return pass_string(passing, &has_escapes);
    case 't':
        return pass_word(passing, PARLEY_BYTES("true"));
    case 'f':
        return pass_word(passing, PARLEY_BYTES("false"));
    case 'n':
        return pass_word(passing, PARLEY_BYTES("null"));
    default:
        return pass_number(passing);
    }
}

/* A key and its colon. An escape may stand for a NUL, which no key has. */
static inline bool pass_key(struct passing *passing) {
    bool has_escapes;
    const bool is_string = passing->at < passing->end && *passing->at == '"' &&
                           pass_string(passing, &has_escapes) && !has_escapes;
    if (!is_string) {
        return false;
    }
    skip_blanks(passing);
    return passing->at < passing->end && *passing->at++ == ':';
}

static inline bool open_level(struct passing *passing) {
    if (passing->depth == passing->depth_max) {
        return false;
    }
    passing->depth++;
    passing->arrays = passing->arrays << 1 | (*passing->at++ == '[');
    return true;
}

/* After a value, or the opening of one: closes what ends here, and moves to the next value. */
static inline bool step(struct passing *passing, bool is_open) {
    for (; passing->depth > 0; is_open = false) {
        const bool is_array = (passing->arrays & 1) != 0;
        skip_blanks(passing);
        if (passing->at == passing->end) {
            return false;
        }
        if (*passing->at != (is_array ? ']' : '}')) {
            if (!is_open && *passing->at++ != ',') {
                return false;
            }
            skip_blanks(passing);
            return is_array || pass_key(passing);
        }
        passing->at++;
        passing->arrays >>= 1;
        passing->depth--;
    }
    return true;
}

const char *json_pass(const char *at, const char *end, size_t depth_max) {
    struct passing passing = {.at = at, .end = end, .depth_max = depth_max};
    assert(depth_max <= 64);
    do {
        skip_blanks(&passing);
        if (passing.at == end) {
            return NULL;
        }
        const bool is_open = *passing.at == '{' || *passing.at == '[';
        if (!(is_open ? open_level(&passing) : pass_scalar(&passing)) || !step(&passing, is_open)) {
            return NULL;
        }
    } while (passing.depth > 0);
    return passing.at;
}
