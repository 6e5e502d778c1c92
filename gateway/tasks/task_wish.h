/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The body of a request for work: {"agent":"galahad","domains":["security"],"tasks":["a.b"],
 * "max":8,"lease":600}. */

#include "board.h"

enum { WORK_WORDS_MAX = 64, WORK_ITEMS_MAX = 64 };

/* Owns: borrows from the body and from the arena. */
struct task_wish {
    struct board_wish wish;
    struct parley_bytes domains[WORK_WORDS_MAX], tasks[WORK_WORDS_MAX];
    size_t max;     /* so many at once; 0: one, not in a list */
    uint64_t lease; /* for so many seconds; 0: as their requests or the operator say */
};

/* Returns: NULL, or the fault of the body (static). */
const char *task_wish_read(struct parley_bytes body, struct parley_arena *arena,
                           struct task_wish *out);
