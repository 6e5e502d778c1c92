/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The body of a request that cancels or retries many tasks: their ids, or a filter. */

#include "board.h"

enum {
    TASK_MANY_MAX = 500, /* tasks of one request */
    TASK_MANY_NAMES_MAX = 64,
    TASK_MANY_BODY_BYTES_MAX = 64 * 1024,
};

/* Owns: borrows from the body and the arena. */
struct task_many_body {
    struct parley_bytes agent;
    bool has_ids; /* else the filter chooses */
    size_t id_count;
    struct parley_bytes ids[TASK_MANY_MAX];
    struct board_filter filter; /* no states: the usual ones */
    struct parley_bytes domains[TASK_MANY_NAMES_MAX], errors[TASK_MANY_NAMES_MAX];
};

/* `states`: of the filter; NULL-terminated.  Returns: NULL, or a sentence that says what is wrong
 * with the body. */
const char *task_many_read(struct parley_bytes body, const char *const *states,
                           struct parley_arena *arena, struct task_many_body *out);
