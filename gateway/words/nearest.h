/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What somebody probably meant: for command lines, configuration files and queries. */

#include <stddef.h>

/* A longer word is no slip for anything. */
#define NEAREST_WORD_MAX 31

/* Of `names` (ends with NULL) the one that `word` is probably a slip for, whatever their case, or
 * NULL. */
const char *nearest_word(const char *word, const char *const names[]);
