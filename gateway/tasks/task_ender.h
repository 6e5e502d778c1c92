/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Ends the tasks whose attempts are used up: publishes, in the gateway's name, the message that a
 * task has failed, so that those who wait for its answer get it. Every gateway of a fleet does
 * so; only one such message can be stored, and its protocol decides whether it counts. */

#include "tasks.h"

struct task_ender;

/* Begins to read the board, and to end tasks on it.  Owns: borrows gateway, protocol and board;
 * returns a new one, which the caller destroys after the jetstream. */
enum parley_status task_ender_create(struct gateway *gateway,
                                     const struct parley_protocol *protocol, struct board *board,
                                     struct task_ender **out) PARLEY_MUST_CHECK;
/* It begins nothing from now on. NULL is allowed, here and below. */
void task_ender_stop(struct task_ender *ender);
void task_ender_destroy(struct task_ender *ender);
