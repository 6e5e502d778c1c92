/* SPDX-License-Identifier: Apache-2.0 */

/* How a fuzz target fails: aloud, and so that libFuzzer keeps the input. */

#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

void require(bool holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "it does not hold that: %s\n", what);
        abort();
    }
}
