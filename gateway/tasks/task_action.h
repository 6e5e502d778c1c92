/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Cancels one task, or requests it again: its facts are read, its protocol decides whether that may
 * be, and a message is sent like any other. */

#include "board.h"
#include "failure.h"
#include "request_options.h"

struct task_action;

/* What is done to tasks.  Owns: everything is borrowed, for as long as the action lasts. */
struct task_action_kind {
    const struct request_options *options; /* of the request that asks for it */
    enum parley_task_change_kind kind;     /* PARLEY_TASK_CANCEL, PARLEY_TASK_RETRY */
    struct parley_bytes agent;
    bool may_any;
    struct parley_bytes why; /* data NULL: it is not said */
};

/* Owns: borrowed for the call. */
struct task_action_answer {
    bool is_done;
    const struct failure *failure; /* of one that is not done */
    struct parley_bytes text;      /* the receipt; or further members of the problem */
    const char *new_id;            /* of the task that tries it again; "": there is none */
};
typedef void task_action_fn(void *context, const struct task_action_answer *answer);

/* `id`: in lower case, of BOARD_ID_MAX at most.  Returns: PARLEY_OK: `done` is called once, in a
 * later turn, unless the action is left before.  `out` is valid until then. */
enum parley_status task_action_begin(const struct task_action_kind *what, const char *id,
                                     task_action_fn *done, void *context,
                                     struct task_action **out) PARLEY_MUST_CHECK;
/* `done` is no longer called. A message that is on its way is sent all the same. */
void task_action_leave(struct task_action *action);
