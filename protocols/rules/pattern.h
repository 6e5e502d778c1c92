/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Regular expressions of rule tables (rule.h, PARLEY_PATTERN) as deterministic automata: one look
 * into a table a byte, no lock, and no memory while they run. */

#include <parley/arena.h>

struct pattern;

/* What can be said: literal characters (special ones behind a backslash), classes [a-z0-9_-],
 * [^ :], groups, |, * + ? {m} {m,} {m,n}, a ^ at the start and a $ at the end. A class [^…] matches
 * one byte, so it is not to be counted: other readers match a character. Anything else, and what
 * makes more than some hundred states, is the programmer's mistake: an assert.
 * Owns: the arena; `expression` is not kept.  Returns: NULL when there is no memory. */
const struct pattern *pattern_compile(struct parley_arena *arena, const char *expression);

/* Whether it matches `text` somewhere, or where its anchors say.  Threads: any. */
bool pattern_matches(const struct pattern *pattern, struct parley_bytes text);
