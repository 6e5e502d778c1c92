/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Words that are probably meant to be the same, compared as ASCII. Pure functions. */

#include <stdbool.h>

#include <parley/bytes.h>

/* Whether they differ in the case of letters alone. */
bool alike_but_case(struct parley_bytes a, struct parley_bytes b);

/* Whether they differ only in case, and in the dashes, underscores, dots and spaces in them:
 * "refersTo" and "refers_to". */
bool alike_but_style(struct parley_bytes a, struct parley_bytes b);

/* Whether one letter less, more or other, or a swap of two neighbours, makes one of the other.
 * Words of fewer than 4 letters never do: they are alike by chance. */
bool alike_but_letter(struct parley_bytes a, struct parley_bytes b);
