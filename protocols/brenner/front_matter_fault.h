/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What can be wrong with front matter, in words that say how to fix it. */

#include "front_matter.h"

/* What libyaml lets pass, or hands on without a judgement. */
enum front_matter_flaw {
    FRONT_MATTER_ANCHOR,
    FRONT_MATTER_ALIAS,
    FRONT_MATTER_TAG,
    FRONT_MATTER_DOCUMENT,
    FRONT_MATTER_INFINITE,
    FRONT_MATTER_KEY_KIND,
    FRONT_MATTER_KEY_NUL,
    FRONT_MATTER_QUESTION,
    FRONT_MATTER_TOP_LEVEL,
    FRONT_MATTER_DIRECTIVE,
    FRONT_MATTER_HEADER_COMMENT,
    FRONT_MATTER_UNFIT,
    FRONT_MATTER_CONTROL,
    FRONT_MATTER_RETURN,
    FRONT_MATTER_UTF8,
};

struct front_matter_fault front_matter_fault_of(enum front_matter_flaw flaw, size_t offset);

/* What libyaml said; places are offsets in bytes. */
struct front_matter_problem {
    const char *text; /* static */
    size_t at;
    size_t context_at; /* where what it was reading began */
};

/* Returns: false when there was no memory. */
bool front_matter_explain(struct parley_bytes yaml, const struct front_matter_problem *problem,
                          struct parley_arena *arena, struct front_matter_fault *out);

/* Whether front matter may hold a character (UTF-8, of `length` bytes) only between quotes or as an
 * escape: what YAML does not print (controls but tab, CR and LF; U+FEFF; what is not a character),
 * and what YAML 1.1 takes for a line's end and 1.2 does not (U+0085, U+2028, U+2029). Of control
 * characters below U+0020 only an escape is allowed. */
bool front_matter_is_unfit(const char *at, size_t length);

/* Whether there are such characters, or bytes that are not UTF-8. */
bool front_matter_has_unfit(struct parley_bytes yaml);

/* Looks for the first bytes that are not UTF-8, control character below U+0020, or carriage return
 * without a line feed: nowhere may they be. */
bool front_matter_find_unreadable(struct parley_bytes yaml, struct front_matter_fault *out);
