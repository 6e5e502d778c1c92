/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How often a test does what it could do forever: mutate, draw by chance, fail one allocation after
 * another. PARLEY_TEST_ROUNDS asks for another number; the tests "..._thorough" ask for many. */

#include <stdlib.h>

static inline size_t test_rounds(size_t usual) {
    const char *wanted = getenv("PARLEY_TEST_ROUNDS");
    return wanted != NULL ? strtoul(wanted, NULL, 10) : usual;
}

/* The distance at which about so many of `count` are taken, over all of them. */
static inline size_t test_stride(size_t count, size_t usual) {
    const size_t rounds = test_rounds(usual);
    return count > rounds && rounds > 0 ? (count + rounds - 1) / rounds : 1;
}
