/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Faults of front matter, with messages and hints. */

#include "front_matter.h"

/* Faults that libyaml does not report. */
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

/* A fault that libyaml reported; places are offsets in bytes. */
struct front_matter_problem {
    const char *text; /* static */
    size_t at;
    size_t context_at; /* where the construct that it was reading began */
};

/* Returns: false when there is no memory. */
bool front_matter_explain(struct parley_bytes yaml, const struct front_matter_problem *problem,
                          struct parley_arena *arena, struct front_matter_fault *out);

/* Whether a character (UTF-8, of `length` bytes) is allowed in front matter only between quotes or
 * as an escape: what YAML calls not printable (controls except tab, CR and LF; U+FEFF;
 * noncharacters), and line breaks of YAML 1.1 that 1.2 does not have (U+0085, U+2028, U+2029).
 * Control characters below U+0020 are allowed only as escapes. */
bool front_matter_is_unfit(const char *at, size_t length);

/* Whether there are such characters, or bytes that are not UTF-8. */
bool front_matter_has_unfit(struct parley_bytes yaml);

/* Looks for the first bytes that are not UTF-8, control character below U+0020, or carriage return
 * without a line feed: these are not allowed anywhere. */
bool front_matter_find_unreadable(struct parley_bytes yaml, struct front_matter_fault *out);
