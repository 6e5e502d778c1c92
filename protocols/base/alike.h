/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Words that are probably meant to be the same, compared as ASCII. Pure functions. */

#include <stdbool.h>
#include <stdint.h>

#include <parley/bytes.h>

/* The set of the letters in a word, for alike_may(). */
uint32_t alike_letters(struct parley_bytes word);

/* Whether two words may be alike in any of the ways below, by their letters: one letter for another
 * changes two bits. Most pairs are told apart by this. */
static inline bool alike_may(uint32_t letters, uint32_t others) {
    uint32_t differing = letters ^ others;
    differing &= differing - 1;
    return (differing & (differing - 1)) == 0;
}

/* Whether they differ in the case of letters alone. */
bool alike_but_case(struct parley_bytes a, struct parley_bytes b);

/* Whether they differ only in case, and in the dashes, underscores, dots and spaces in them:
 * "refersTo" and "refers_to". */
bool alike_but_style(struct parley_bytes a, struct parley_bytes b);

/* Whether one letter less, more or other, or a swap of two neighbours, makes one of the other.
 * Words of fewer than 4 letters never do: they are alike by chance. */
bool alike_but_letter(struct parley_bytes a, struct parley_bytes b);
