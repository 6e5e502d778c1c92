/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Suggestions for mistyped words in command lines, configuration files and queries. */

#include <stddef.h>

/* Longer words get no suggestion. */
#define NEAREST_WORD_MAX 31

/* Returns: the one of `names` (ends with NULL) that `word` probably means, ignoring case, or
 * NULL. */
const char *nearest_word(const char *word, const char *const names[]);
