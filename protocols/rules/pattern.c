/* SPDX-License-Identifier: Apache-2.0 */

/* The characters and classes of an expression are its positions (Glushkov): which can come first,
 * which last, and which after which, is computed while the expression is read. The states of the
 * automaton are sets of positions; those that can be reached are its rows. The C library's regexec
 * takes a lock and a microsecond, which is more than the rest of a short message takes. */

#include "pattern.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

enum {
    POSITIONS_MAX = 256, /* a character repeated {m,n} times has n positions */
    STATES_MAX = 512,
    BYTES = 256,
    START = 0, /* the position before the first character */
    DEAD = 0,  /* the state without a position */
    FIRST = 1, /* the state of START alone */
};

/* The rows of the automaton follow each other: for each class the index of the next row, and last
 * whether the state accepts. */
struct pattern {
    bool is_open_ended; /* no $: any text may follow */
    size_t class_count;
    uint8_t classes[BYTES]; /* bytes of one class are the same to the expression */
    const uint32_t *rows;
};

/* Positions, or bytes. */
struct set {
    uint64_t words[4];
};

struct builder {
    const char *at;
    bool is_beyond; /* of what this file understands */
    size_t position_count;
    struct set bytes[POSITIONS_MAX];   /* at a position */
    struct set follows[POSITIONS_MAX]; /* positions that may come next */
    struct set last;
    size_t state_count;
    struct set states[STATES_MAX];
};

/* A part of the expression. */
struct part {
    bool is_nullable; /* it matches nothing, too */
    struct set first, last;
};

static void add(struct set *set, size_t member) {
    set->words[member / 64] |= UINT64_C(1) << member % 64;
}

static bool has(const struct set *set, size_t member) {
    return (set->words[member / 64] >> member % 64 & 1) != 0;
}

static void unite(struct set *into, const struct set *from) {
    for (size_t i = 0; i < 4; i++) {
        into->words[i] |= from->words[i];
    }
}

static bool meet(const struct set *a, const struct set *b) {
    uint64_t common = 0;
    for (size_t i = 0; i < 4; i++) {
        common |= a->words[i] & b->words[i];
    }
    return common != 0;
}

/* ---- reading the expression ---- */

static struct part give_up(struct builder *builder) {
    builder->is_beyond = true;
    return (struct part){.is_nullable = true};
}

/* Each of `before` may be followed by each of `after`. */
static void link(struct builder *builder, const struct set *before, const struct set *after) {
    for (size_t i = 0; i < builder->position_count; i++) {
        if (has(before, i)) {
            unite(&builder->follows[i], after);
        }
    }
}

static struct part join(struct builder *builder, const struct part *left,
                        const struct part *right) {
    struct part both = {left->is_nullable && right->is_nullable, left->first, right->last};
    link(builder, &left->last, &right->first);
    if (left->is_nullable) {
        unite(&both.first, &right->first);
    }
    if (right->is_nullable) {
        unite(&both.last, &left->last);
    }
    return both;
}

static struct part position(struct builder *builder, const struct set *bytes) {
    if (builder->position_count == POSITIONS_MAX) {
        return give_up(builder);
    }
    struct part part = {.is_nullable = false};
    builder->bytes[builder->position_count] = *bytes;
    add(&part.first, builder->position_count);
    add(&part.last, builder->position_count);
    builder->position_count++;
    return part;
}

static struct part read_class(struct builder *builder) {
    struct set bytes = {{0}};
    const bool is_complement = *builder->at == '^';
    builder->at += is_complement;
    const char *first = builder->at;
    while (*builder->at != ']' || builder->at == first) {
        const unsigned char from = (unsigned char)*builder->at++;
        unsigned char to = from;
        if (from == '\0' || from == '[' || from == '\\') {
            return give_up(builder);
        }
        if (builder->at[0] == '-' && builder->at[1] != ']') {
            to = (unsigned char)builder->at[1];
            builder->at += 2;
        }
        if (to < from) {
            return give_up(builder);
        }
        for (size_t byte = from; byte <= to; byte++) {
            add(&bytes, byte);
        }
    }
    builder->at++;
    for (size_t i = 0; is_complement && i < 4; i++) {
        bytes.words[i] = ~bytes.words[i];
    }
    return position(builder, &bytes);
}

static struct part read_alternatives(struct builder *builder);

static struct part read_atom(struct builder *builder) {
    char c = *builder->at++;
    if (c == '(') {
        const struct part group = read_alternatives(builder);
        return *builder->at++ == ')' ? group : give_up(builder);
    }
    if (c == '[') {
        return read_class(builder);
    }
    if (c == '\\') {
        c = *builder->at++;
        if (strchr(".[](){}*+?|^$\\/", c) == NULL) {
            return give_up(builder); /* \d, \w */
        }
    } else if (strchr(".){}*+?|^$", c) != NULL) {
        return give_up(builder); /* and the end of the text */
    }
    struct set bytes = {{0}};
    add(&bytes, (unsigned char)c);
    return c != '\0' ? position(builder, &bytes) : give_up(builder);
}

/* How often an atom may occur; `maximum` SIZE_MAX: any number of times. */
struct repeat {
    size_t minimum, maximum;
};

static bool read_repeat(struct builder *builder, struct repeat *out) {
    *out = (struct repeat){1, 1};
    switch (*builder->at) {
    case '*':
        *out = (struct repeat){0, SIZE_MAX};
        break;
    case '+':
        *out = (struct repeat){1, SIZE_MAX};
        break;
    case '?':
        *out = (struct repeat){0, 1};
        break;
    case '{': {
        char *end;
        if (builder->at[1] < '0' || builder->at[1] > '9') {
            return false;
        }
        out->minimum = out->maximum = strtoul(builder->at + 1, &end, 10);
        if (*end == ',') {
            const char *digits = end + 1;
            out->maximum = *digits == '}' ? SIZE_MAX : strtoul(digits, &end, 10);
            end = out->maximum == SIZE_MAX ? (char *)digits : end;
        }
        builder->at = end;
        return *builder->at++ == '}' && out->maximum > 0 && out->maximum >= out->minimum;
    }
    default:
        return true;
    }
    builder->at++;
    return true;
}

/* An atom with its quantifier. A repeated one is read again for each time. */
static struct part read_piece(struct builder *builder) {
    const char *atom = builder->at;
    struct part piece = read_atom(builder);
    struct repeat repeat;
    if (builder->is_beyond || !read_repeat(builder, &repeat)) {
        return give_up(builder);
    }
    const char *end = builder->at;
    const size_t least = repeat.minimum > 0 ? repeat.minimum : 1;
    const size_t copies = repeat.maximum != SIZE_MAX ? repeat.maximum : least;
    struct part copy = piece;
    for (size_t i = 1;; i++) {
        if (i == copies && repeat.maximum == SIZE_MAX) {
            link(builder, &copy.last, &copy.first);
        }
        copy.is_nullable = copy.is_nullable || i > repeat.minimum;
        piece = i == 1 ? copy : join(builder, &piece, &copy);
        if (i >= copies || builder->is_beyond) {
            break;
        }
        builder->at = atom;
        copy = read_atom(builder);
    }
    builder->at = end;
    return piece;
}

static bool is_at_end(const struct builder *builder) {
    const char *at = builder->at;
    return *at == '\0' || *at == ')' || *at == '|' || (at[0] == '$' && at[1] == '\0');
}

/* Recurses as deep as the groups of an expression, which is in the source code. */
static struct part read_alternatives(struct builder *builder) {
    struct part all = {.is_nullable = false};
    do {
        struct part one = {.is_nullable = true};
        while (!is_at_end(builder) && !builder->is_beyond) {
            const struct part piece = read_piece(builder);
            one = join(builder, &one, &piece);
        }
        all.is_nullable = all.is_nullable || one.is_nullable;
        unite(&all.first, &one.first);
        unite(&all.last, &one.last);
    } while (*builder->at == '|' && builder->at++ != NULL);
    return all;
}

/* Returns: whether all of it is supported. */
static bool read_expression(struct builder *builder, const char *expression, bool *out_is_anchored,
                            bool *out_is_open_ended) {
    builder->at = expression;
    builder->position_count = 1;
    *out_is_anchored = *expression == '^';
    builder->at += *out_is_anchored;
    const struct part all = read_alternatives(builder);
    *out_is_open_ended = *builder->at != '$';
    builder->at += !*out_is_open_ended;
    builder->follows[START] = all.first;
    builder->last = all.last;
    if (all.is_nullable) {
        add(&builder->last, START);
    }
    return !builder->is_beyond && *builder->at == '\0';
}

/* ---- making the automaton ---- */

/* Bytes with the same positions are in one class. */
static void find_classes(const struct builder *builder, struct pattern *pattern) {
    pattern->class_count = 1;
    for (size_t i = 1; i < builder->position_count; i++) {
        const struct set *bytes = &builder->bytes[i];
        if (memcmp(bytes, &builder->bytes[i - 1], sizeof *bytes) == 0) {
            continue;
        }
        int16_t split[BYTES]; /* for each class, the new class of its bytes that are here */
        memset(split, -1, sizeof split);
        bool is_left[BYTES] = {false}; /* whether a class has bytes that do not */
        for (size_t byte = 0; byte < BYTES; byte++) {
            is_left[pattern->classes[byte]] |= !has(bytes, byte);
        }
        for (size_t byte = 0; byte < BYTES; byte++) {
            int16_t *own = &split[pattern->classes[byte]];
            if (has(bytes, byte) && is_left[pattern->classes[byte]]) {
                *own = (int16_t)(*own < 0 ? (int16_t)pattern->class_count++ : *own);
                pattern->classes[byte] = (uint8_t)*own;
            }
        }
    }
}

/* The number of the state with these positions; STATES_MAX: there are too many. */
static size_t state_of(struct builder *builder, const struct set *positions) {
    for (size_t i = 0; i < builder->state_count; i++) {
        if (memcmp(&builder->states[i], positions, sizeof *positions) == 0) {
            return i;
        }
    }
    if (builder->state_count < STATES_MAX) {
        builder->states[builder->state_count++] = *positions;
        return builder->state_count - 1;
    }
    return STATES_MAX;
}

/* Where `byte` leads from a state. */
static size_t step(struct builder *builder, size_t state, size_t byte, bool is_anchored) {
    struct set reached = {{0}}, next = {{0}};
    for (size_t i = 0; i < builder->position_count; i++) {
        if (has(&builder->states[state], i)) {
            unite(&reached, &builder->follows[i]);
        }
    }
    for (size_t i = 1; i < builder->position_count; i++) {
        if (has(&reached, i) && has(&builder->bytes[i], byte)) {
            add(&next, i);
        }
    }
    if (!is_anchored) {
        add(&next, START); /* it may begin anywhere */
    }
    return state_of(builder, &next);
}

static size_t some_byte(const struct pattern *pattern, size_t class) {
    size_t byte = 0;
    while (pattern->classes[byte] != class) {
        byte++;
    }
    return byte;
}

/* Returns: false when there are too many states. */
static bool find_states(struct builder *builder, const struct pattern *pattern, bool is_anchored,
                        uint16_t *next) {
    builder->state_count = 2; /* the empty set is DEAD, whose row is all zero */
    add(&builder->states[FIRST], START);
    for (size_t state = FIRST; state < builder->state_count; state++) {
        for (size_t class = 0; class < pattern->class_count; class ++) {
            const size_t to = step(builder, state, some_byte(pattern, class), is_anchored);
            if (to == STATES_MAX) {
                return false;
            }
            next[state * pattern->class_count + class] = (uint16_t)to;
        }
    }
    return true;
}

/* The automaton, in the arena.  Returns: false when there is no memory. */
static bool keep(const struct builder *builder, struct parley_arena *arena, struct pattern *pattern,
                 const uint16_t *next) {
    const size_t class_count = pattern->class_count, length = class_count + 1;
    uint32_t *rows = parley_arena_allocate(arena, builder->state_count * length * sizeof *rows);
    if (rows == NULL) {
        return false;
    }
    for (size_t state = 0; state < builder->state_count; state++) {
        for (size_t class = 0; class < class_count; class ++) {
            rows[state * length + class] = (uint32_t)(next[state * class_count + class] * length);
        }
        rows[state * length + class_count] = meet(&builder->states[state], &builder->last);
    }
    pattern->rows = rows;
    return true;
}

const struct pattern *pattern_compile(struct parley_arena *arena, const char *expression) {
    struct pattern *pattern = parley_arena_allocate(arena, sizeof *pattern);
    struct builder *builder = calloc(1, sizeof *builder);
    uint16_t *next = NULL;
    bool is_kept = false;
    if (pattern != NULL && builder != NULL) {
        bool is_anchored;
        memset(pattern, 0, sizeof *pattern);
        bool is_understood =
            read_expression(builder, expression, &is_anchored, &pattern->is_open_ended);
        find_classes(builder, pattern);
        next = calloc(STATES_MAX * pattern->class_count, sizeof *next);
        if (next != NULL) {
            is_understood = is_understood && find_states(builder, pattern, is_anchored, next);
            assert(is_understood);
            is_kept = is_understood && keep(builder, arena, pattern, next);
        }
    }
    free(builder);
    free(next);
    return is_kept ? pattern : NULL;
}

/* A state without a transition leads back to itself, so that it needs no special case. */
static bool matches_to_the_end(const struct pattern *pattern, struct parley_bytes text) {
    const uint32_t *rows = pattern->rows;
    size_t row = FIRST * (pattern->class_count + 1);
    for (size_t i = 0; i < text.length; i++) {
        row = rows[row + pattern->classes[(unsigned char)text.data[i]]];
    }
    return rows[row + pattern->class_count] != 0;
}

bool pattern_matches(const struct pattern *pattern, struct parley_bytes text) {
    if (!pattern->is_open_ended) {
        return matches_to_the_end(pattern, text);
    }
    const uint32_t *rows = pattern->rows;
    size_t row = FIRST * (pattern->class_count + 1);
    for (size_t i = 0; i < text.length && rows[row + pattern->class_count] == 0; i++) {
        row = rows[row + pattern->classes[(unsigned char)text.data[i]]];
    }
    return rows[row + pattern->class_count] != 0;
}
