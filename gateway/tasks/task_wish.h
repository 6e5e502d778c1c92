/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The body of a request for work: {"agent":"galahad","domains":["security"],"tasks":["a.b"]}. */

#include "board.h"

enum { WORK_WORDS_MAX = 64 };

/* Owns: borrows from the body and from the arena. */
struct task_wish {
    struct board_wish wish;
    struct parley_bytes domains[WORK_WORDS_MAX], tasks[WORK_WORDS_MAX];
};

/* Returns: NULL, or the fault of the body (static). */
const char *task_wish_read(struct parley_bytes body, struct parley_arena *arena,
                           struct task_wish *out);
