/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Something of a request that takes long, on the worker pool. */

#include "checkpoints.h"

/* Owns: the owner embeds it, zeroed but for the first two, and keeps it and all that the work needs
 * until `done`, even if the request is gone in the meantime. */
struct checkpoint_task {
    /* Threads: one of the pool's. */
    void (*work)(struct checkpoint_task *task);
    /* In a later turn, or at the end of the process, when the work may not have been done. */
    void (*done)(struct checkpoint_task *task);
    struct worker_pool_task task; /* private, like the members below */
    LIST_ENTRY(checkpoint_task) links;
    struct checkpoints *checkpoints;
    bool is_busy;
};

/* Without a worker pool the work is done at once, and so is `done` called. */
void checkpoint_task_run(struct checkpoint_task *task, struct checkpoints *checkpoints);

/* After the completion queue was closed: calls `done` of all that are not. */
void checkpoint_tasks_abandon(struct checkpoints *checkpoints);
