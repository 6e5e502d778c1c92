/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Regular expressions of rule tables (rule.h, PARLEY_PATTERN) as deterministic automata: one table
 * look-up per byte, without locks or allocations. */

#include <parley/arena.h>

struct pattern;

/* Supported: literal characters (special ones after a backslash), classes [a-z0-9_-], [^ :],
 * groups, |, * + ? {m} {m,} {m,n}, a ^ at the start and a $ at the end. A class [^…] matches one
 * byte, so it must not be counted: other readers match a character. Anything else, and an
 * expression with more than some hundred states, fails an assert.
 * Returns: a pattern in the arena, which does not refer to `expression`; NULL when there is no
 * memory. */
const struct pattern *pattern_compile(struct parley_arena *arena, const char *expression);

/* Whether the pattern occurs in `text`, or matches at its anchors.  Threads: any. */
bool pattern_matches(const struct pattern *pattern, struct parley_bytes text);
