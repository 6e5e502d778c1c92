/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Errors and warnings about a message for its sender: the violations of docs/api.md#violations.
 * Findings are allocated in the message's arena. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <parley/bytes.h>
#include <parley/rule.h>

struct parley_buffer;
struct parley_finding;
struct parley_fix;
struct schema_check;

/* A member's text that is a document of its own, such as Markdown, and the part of it that a
 * finding is about.  Owns: all is borrowed from the message. */
struct parley_part {
    struct parley_bytes text; /* the whole of it, decoded */
    size_t text_at;       /* where it begins in what was sent, if that has it as it is; else 0 */
    size_t start, length; /* of the part, in `text` */
    /* Makes the fix of the finding, of kind PARLEY_FIX_EDIT, if there is one (parley_fix_of).
     * `memory`: empty, for what it inserts. Pure.  Returns: false: there is none; it may have
     * written. */
    bool (*fix)(const struct parley_finding *finding, struct parley_buffer *memory,
                struct parley_fix *out);
};

/* A place in the text that was sent, for its author: line and column count from 1, columns in code
 * points. In a binary encoding `line` is PARLEY_IN_BYTES and `column` the offset from the body's
 * start. */
struct parley_position {
    size_t line; /* 0: not known */
    size_t column;
};
#define PARLEY_IN_BYTES SIZE_MAX

struct parley_finding {
    const struct parley_rule *rule; /* borrowed, lives as long as the program */
    const char *path;               /* JSON Pointer */
    const char *message;            /* the fault of this value */
    const char *hint;               /* what would make it right */
    struct parley_position at;
    struct parley_position
        body_at; /* inside a member's text (Markdown in JSON): the position in that text */

    /* What its fix (parley/fix.h) and what it expects are made from.  Owns: borrowed from the
     * message. */
    const struct schema_check *check; /* the row that is broken; NULL: code has found it */
    bool is_encoded; /* it is inside a value that the message has encoded, which no patch reaches */
    bool
        is_provisional; /* of the type that the message's seems to be: only if that is what is meant
                         */
    bool is_missing;    /* the row is over several members, and the one at `path` is missing */
    struct parley_value value; /* what was found; PARLEY_ABSENT: nothing, or the row is over
                                  several members, or is_encoded: its text is gone */
    struct parley_bytes stray; /* a key that the missing member seems to have; data NULL: none */
    struct parley_bytes meant; /* GW-103: the key that `stray` should have been; else data NULL … */
    bool is_fitting;           /* … and its value is right for that */

    struct parley_part part; /* part.fix NULL: it is about no part of a text, or there is no fix */

    /* Private to the engine: the offset in the text, the order in the table and of discovery, and
     * the message types for which it counts. */
    size_t offset;
    unsigned order, discovered;
    uint32_t for_types;
};

/* Findings beyond this number are counted, not kept: the answer to a hostile body must not be a
 * hundred times its size. */
#define PARLEY_FINDINGS_MAX 1000

struct parley_findings {
    struct parley_finding *items;
    size_t count;
    size_t capacity;
    size_t omitted_count; /* beyond PARLEY_FINDINGS_MAX; warnings give way to errors */
    size_t warning_count; /* private: of the kept ones */
    unsigned discovered_count;
    bool is_short;                /* where there is a fix, hint and expected are not written */
    bool has_error;               /* at least one of severity error: the message is invalid */
    uint32_t omitted_error_types; /* private: the types for which an error was omitted */
};

/* Appends a place as JSON, {"line":3,"column":5} or {"offset":17}, or in words, "line 3, column 5"
 * or "byte 17".  `at`.line != 0. */
void parley_position_write(struct parley_position at, struct parley_buffer *out);
void parley_position_describe(struct parley_position at, struct parley_buffer *out);

/* Appends `member` and what the value should have been, as a JSON Schema of one line
 * (docs/api.md#expected); nothing if the row does not say. */
void parley_finding_write_expected(const struct parley_finding *finding, const char *member,
                                   struct parley_buffer *out);

/* Appends a JSON array of the violations, in the order of the rule table (docs/api.md#violations).
 */
void parley_findings_write(const struct parley_findings *findings, struct parley_buffer *out);
