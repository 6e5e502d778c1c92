/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A protocol's rules as data. A row says what must hold and where. It never sees a parsed document,
 * so that all readers (JSON, MessagePack) and the writers of schema and documentation use the same
 * table. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <parley/bytes.h>

struct parley_options;

enum parley_severity { PARLEY_ERROR, PARLEY_WARNING };

/* "error" or "warning". */
const char *parley_severity_name(enum parley_severity severity);

/* Kinds of values, one bit each. PARLEY_INTEGER is a number without a fractional part, however it
 * is written (docs/rules.md#readings). A reader reports numbers as PARLEY_NUMBER. */
enum parley_kind {
    PARLEY_ABSENT = 0,
    PARLEY_NULL = 1 << 0,
    PARLEY_BOOLEAN = 1 << 1,
    PARLEY_NUMBER = 1 << 2,
    PARLEY_STRING = 1 << 3,
    PARLEY_ARRAY = 1 << 4,
    PARLEY_OBJECT = 1 << 5,
    PARLEY_INTEGER = 1 << 6,
};

/* One value as a reader found it.  Owns: `text` is borrowed from the reader. */
struct parley_value {
    enum parley_kind kind;
    struct parley_bytes text; /* PARLEY_STRING: decoded */
    double number;            /* PARLEY_NUMBER; PARLEY_BOOLEAN: 0 or 1 */
    size_t count;             /* PARLEY_ARRAY, PARLEY_OBJECT: how many items or members */
    size_t offset;            /* where it starts in the text; 0 from readers without positions */
};

/* The text of a string; data NULL: it is not a string. */
static inline struct parley_bytes parley_value_text(const struct parley_value *value) {
    return value->kind == PARLEY_STRING ? value->text : (struct parley_bytes){0};
}

/* Whether it is the string `text`. */
static inline bool parley_value_is(const struct parley_value *value, const char *text) {
    return value->kind == PARLEY_STRING && parley_bytes_equal(value->text, parley_bytes_of(text));
}

/* Whether it is missing or null. */
static inline bool parley_value_is_nothing(const struct parley_value *value) {
    return value->kind == PARLEY_ABSENT || value->kind == PARLEY_NULL;
}

/* The captures of one message: the values of the protocol's fields, for rules that look at several
 * members at once. */
struct parley_captures {
    const struct parley_value *values; /* by the protocol's field numbers */
    unsigned type;                     /* index into the protocol's types, or PARLEY_TYPE_OTHER */
    const struct parley_options *options;
};

/* The type of a message whose type is missing or unknown. */
#define PARLEY_TYPE_OTHER 31u
#define PARLEY_TYPE_BIT(type) (UINT32_C(1) << (type))

/* A yes-or-no question about one capture. It is data, so that rows over several members that
 * consist of such questions can be both checked and written into the JSON Schema. */
enum parley_question {
    PARLEY_TEST_END,       /* ends a list */
    PARLEY_IS_THERE,       /* not missing, and of one of .kinds unless that is 0 */
    PARLEY_IS_TEXT,        /* the string .text */
    PARLEY_IS_TRUE,        /* the boolean true */
    PARLEY_IS_WITHIN,      /* .minimum <= a number <= .maximum */
    PARLEY_HAS_ITEMS,      /* an array that is not empty */
    PARLEY_HAS_MAX_LENGTH, /* a string of at most .maximum code points */
    PARLEY_IS_FILLED, /* a string or an array that is not empty. Numbers, booleans and objects pass:
                         the row that checks the kind reports them */
};

struct parley_test {
    unsigned field; /* of the protocol's fields */
    enum parley_question asks;
    unsigned kinds;
    const char *text;
    double minimum, maximum;
};

#define PARLEY_TESTS(...) ((const struct parley_test[]){__VA_ARGS__, {.asks = PARLEY_TEST_END}})

/* A condition on a value of the right kind. Each constraint concerns one kind and ignores others:
 * lengths, choices and formats of strings, ranges of numbers. */
enum parley_constraint {
    PARLEY_ANY,
    PARLEY_MIN_LENGTH, /* .minimum, in code points */
    PARLEY_ONE_OF,     /* .choices */
    PARLEY_RANGE,      /* .minimum <= value <= .maximum */
    PARLEY_MINIMUM,    /* .minimum <= value */
    PARLEY_TIME,       /* an RFC 3339 date-time (docs/rules.md#readings) */
    PARLEY_TIME_UTC,   /* one whose offset is UTC */
    PARLEY_UUID,       /* any version, either case */
    PARLEY_UUID4,
    PARLEY_TOKEN, /* one token of a subject: not empty, no space, no control character (C0, DEL,
                     C1), none of . * >; .maximum code points at most */
    PARLEY_MAX_LENGTH, /* .maximum, in code points */
    PARLEY_PATTERN,    /* .pattern; .maximum code points at most, unless 0 */
    PARLEY_MIN_ITEMS,  /* .minimum: of an array */
    PARLEY_INCREASING, /* greater than at this place in the previous item; for one place of an array
                          only */
};

/* One place that a rule checks. */
struct parley_place {
    const char *path; /* JSON Pointer; the token `*` stands for every item or member */
    unsigned kinds;   /* set of enum parley_kind; 0: any */
    bool is_required; /* it must not be absent (checked where its parent is an object) */
    enum parley_constraint constraint;
    const char *const *choices; /* PARLEY_ONE_OF: NULL-terminated */
    double minimum, maximum;
    const char *pattern; /* PARLEY_PATTERN: a regular expression with the same meaning in POSIX ERE
                            and ECMA-262, limited to what rules/pattern.h supports */
    const char
        *words; /* PARLEY_PATTERN, PARLEY_TOKEN: "an agent id (1 to 64 of A-Z a-z 0-9 _ -)" */
    uint32_t for_types; /* set of PARLEY_TYPE_BIT; 0: every type */

    /* A rule over several members is checked once per message, when all captures are known; `path`
     * is then the place to report, and `kinds` and `constraint` are unused. It has one of two
     * forms. Tests: if all of `when` hold (NULL: always), one of `wants` must hold. A JSON Schema
     * can express that. */
    const struct parley_test *when, *wants;
    /* Code: returns true when the rule is broken. A schema cannot express it. */
    bool (*is_broken)(const struct parley_captures *captures);
    /* For rules over several members: whether the options of the request ask for it; NULL: always
     * checked. A JSON Schema has no options. */
    bool (*is_asked)(const struct parley_options *options);

    /* The protocol's `inspect` hook checks this one; the place only says where it is reported. */
    bool by_inspection;

    const char *message; /* NULL: written from the constraint and the value */
    const char *hint;    /* how to fix it, one sentence; NULL: the rule's */

    /* Of its fix (parley/fix.h), beside what the constraint says. */
    const char *const *aliases; /* other keys under which agents send a required member;
                                   NULL-terminated; NULL: none */
    const char *suggested;      /* a value, as JSON, with which the row holds; NULL: none */
};

/* One rule. Once a rule has failed at a place, the rules below it in the table are not checked
 * there; rows over several members are always checked. */
struct parley_rule {
    const char *id; /* "VLP-012": stable, never reused, the anchor in the documents */
    enum parley_severity severity;
    const char *summary; /* what must hold: one sentence, Markdown, no full stop */
    const char *source;  /* page and section that explain it: "docs/protocols/vlp.md#envelope" */
    const char *hint;    /* for places without a hint */
    const struct parley_place *places;
    size_t place_count;
    bool is_logged;      /* the protocol asks that a refusal by it be logged */
    bool spans_messages; /* only facts->decide reports it: a message alone never breaks it */
};

#define PARLEY_PLACES(...)                                                                         \
    .places = (const struct parley_place[]){__VA_ARGS__},                                          \
    .place_count =                                                                                 \
        sizeof((const struct parley_place[]){__VA_ARGS__}) / sizeof(struct parley_place)

/* GW-001 to GW-006, checked for every protocol while decoding (docs/rules.md#gw). */
enum parley_gateway_rule {
    PARLEY_GW_PARSE,
    PARLEY_GW_SIZE,
    PARLEY_GW_DUPLICATE_KEY,
    PARLEY_GW_DEPTH,
    PARLEY_GW_UTF8,
    PARLEY_GW_TOP_LEVEL,
    PARLEY_GW_TRANSPORT, /* checked by a server that forwards */
    PARLEY_GW_SENDER,    /* checked where options.only_sender asks for it */
    PARLEY_GW_SPELLING,  /* checked where options.has_spelling asks for it */
    PARLEY_GW_COUNT
};
extern const struct parley_rule parley_gateway_rules[PARLEY_GW_COUNT];
