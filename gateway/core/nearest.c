/* SPDX-License-Identifier: Apache-2.0 */

/* Mistyped words, by the number of edits between two words. */

#include "nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Case does not count as an edit. */
static bool is_same(char a, char b) {
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* The number of letters to insert, delete, change or swap with their neighbour to turn one word
 * into the other, ignoring case (restricted Damerau-Levenshtein distance). */
static size_t distance(const char *a, const char *b) {
    size_t rows[NEAREST_WORD_MAX + 1][NEAREST_WORD_MAX + 1];
    const size_t a_length = strlen(a), b_length = strlen(b);
    if (a_length > NEAREST_WORD_MAX || b_length > NEAREST_WORD_MAX) {
        return SIZE_MAX;
    }
    for (size_t i = 0; i <= a_length; i++) {
        for (size_t j = 0; j <= b_length; j++) {
            if (i == 0 || j == 0) {
                rows[i][j] = i + j;
                continue;
            }
            const size_t edit = least(rows[i - 1][j], rows[i][j - 1]) + 1;
            const size_t change = rows[i - 1][j - 1] + !is_same(a[i - 1], b[j - 1]);
            rows[i][j] = least(edit, change);
            if (i > 1 && j > 1 && is_same(a[i - 1], b[j - 2]) && is_same(a[i - 2], b[j - 1])) {
                rows[i][j] = least(rows[i][j], rows[i - 2][j - 2] + 1);
            }
        }
    }
    return rows[a_length][b_length];
}

const char *nearest_word_within(const char *word, const char *const names[], size_t edits_max) {
    const char *nearest = NULL;
    size_t limit = edits_max;
    for (const char *const *name = names; *name != NULL; name++) {
        const size_t away = distance(word, *name);
        if (away == 0) {
            return *name;
        }
        if (away <= limit && away < strlen(*name)) {
            nearest = *name;
            limit = away - 1;
        }
    }
    return nearest;
}

/* With more edits than a third of its letters, it is a different word. */
const char *nearest_word(const char *word, const char *const names[]) {
    return nearest_word_within(word, names, strlen(word) / 3 + 1);
}
