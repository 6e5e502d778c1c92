/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Suggestions for mistyped words in command lines, configuration files and queries. */

#include <stddef.h>

/* Longer words get no suggestion. */
#define NEAREST_WORD_MAX 31

/* Returns: the one of `names` (ends with NULL) that `word` probably means, ignoring case, or
 * NULL. */
const char *nearest_word(const char *word, const char *const names[]);
/* As nearest_word, with at most `edits_max` letters that are missing, superfluous, other or
 * swapped; for nearest_word it is a third of its letters and one more. */
const char *nearest_word_within(const char *word, const char *const names[], size_t edits_max);
