/* SPDX-License-Identifier: Apache-2.0 */

#include "vault_task.h"

static void work(struct worker_pool_task *pooled) {
    struct vault_task *task = OWNER_OF(pooled, struct vault_task, task);
    task->work(task);
}

static void finish(struct vault_task *task) {
    task->is_busy = false;
    LIST_REMOVE(task, links);
    task->done(task);
}

static void done(struct worker_pool_task *pooled) {
    finish(OWNER_OF(pooled, struct vault_task, task));
}

void vault_task_run(struct vault_task *task, struct vault *vault) {
    task->task = (struct worker_pool_task){.work = work, .done = done};
    task->vault = vault;
    task->is_busy = true;
    LIST_INSERT_HEAD(&vault->tasks, task, links);
    if (vault->completions != NULL) {
        worker_pool_submit(vault->completions, &task->task);
    } else {
        task->work(task);
        finish(task);
    }
}

void vault_tasks_abandon(struct vault *vault) {
    struct vault_task *task;
    while ((task = LIST_FIRST(&vault->tasks)) != NULL) {
        finish(task);
    }
}
