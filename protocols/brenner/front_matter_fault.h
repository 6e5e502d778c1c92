/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What can be wrong with front matter, in words that say how to mend it. */

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

/* Whether front matter may not hold a character (UTF-8, of `length` bytes) but as an escape: what
 * YAML does not print (controls but tab, CR and LF; U+FEFF; what is no character), and what YAML
 * 1.1 takes for a line's end and 1.2 does not (U+0085, U+2028, U+2029). */
bool front_matter_is_unfit(const char *at, size_t length);

/* Looks for the first bytes that are no UTF-8, or an unfit character. */
bool front_matter_find_unfit(struct parley_bytes yaml, struct front_matter_fault *out);
