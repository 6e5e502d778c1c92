/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Something of a request that takes long, on the worker pool. */

#include "vault.h"

/* Owns: the owner embeds it, zeroed but for the first two, and keeps it and all that the work needs
 * until `done`, even if the request is gone meanwhile. */
struct vault_task {
    /* Threads: one of the pool's. */
    void (*work)(struct vault_task *task);
    /* In a later turn, or at the end of the process, when the work may not have been done. */
    void (*done)(struct vault_task *task);
    struct worker_pool_task task; /* private, like what follows */
    LIST_ENTRY(vault_task) links;
    struct vault *vault;
    bool is_busy;
};

/* Without a worker pool the work is done at once, and so is `done` called. */
void vault_task_run(struct vault_task *task, struct vault *vault);

/* After the completion queue was closed: calls `done` of all that are not. */
void vault_tasks_abandon(struct vault *vault);
