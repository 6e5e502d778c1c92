/* SPDX-License-Identifier: Apache-2.0 */

#include "checkpoint_task.h"

static void work(struct worker_pool_task *pooled) {
    struct checkpoint_task *task = OWNER_OF(pooled, struct checkpoint_task, task);
    task->work(task);
}

static void finish(struct checkpoint_task *task) {
    task->is_busy = false;
    LIST_REMOVE(task, links);
    task->done(task);
}

static void done(struct worker_pool_task *pooled) {
    finish(OWNER_OF(pooled, struct checkpoint_task, task));
}

void checkpoint_task_run(struct checkpoint_task *task, struct checkpoints *checkpoints) {
    task->task = (struct worker_pool_task){.work = work, .done = done};
    task->checkpoints = checkpoints;
    task->is_busy = true;
    LIST_INSERT_HEAD(&checkpoints->tasks, task, links);
    if (checkpoints->completions != NULL) {
        worker_pool_submit(checkpoints->completions, &task->task);
    } else {
        task->work(task);
        finish(task);
    }
}

void checkpoint_tasks_abandon(struct checkpoints *checkpoints) {
    struct checkpoint_task *task;
    while ((task = LIST_FIRST(&checkpoints->tasks)) != NULL) {
        finish(task);
    }
}
