/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A few threads that run long tasks for all reactors, so that no task keeps a reactor from its
 * other requests. Each reactor has a completion queue: it submits tasks through it, and gets them
 * back on its own thread, in a later turn. Tasks start in the order in which they were submitted.
 */

#include <sys/queue.h>

#include "reactor.h"

struct worker_pool;
struct completion_queue;

/* A unit of work.  Owns: the caller embeds it, and keeps it and everything the work needs until
 * `done` is called. */
struct worker_pool_task {
    /* Threads: one of the pool's. No other thread may touch the task while it runs. */
    void (*work)(struct worker_pool_task *task);
    void (*done)(struct worker_pool_task *task); /* Threads: the reactor's */
    struct completion_queue *completions;        /* private, like all below */
    TAILQ_ENTRY(worker_pool_task) links;
};

enum { WORKER_POOL_THREADS_MAX = 8 };

/* Starts `thread_count` threads, 1 to WORKER_POOL_THREADS_MAX.  Owns: returns a new pool, which the
 * caller destroys. */
enum parley_status worker_pool_create(unsigned thread_count,
                                      struct worker_pool **out) PARLEY_MUST_CHECK;
/* Runs the detached tasks that are left, ends the threads and frees the pool. All completion queues
 * must be closed. NULL is allowed. */
void worker_pool_destroy(struct worker_pool *pool);

/* Call it before the reactor runs.  Owns: borrows pool and reactor; returns a new queue, which the
 * caller closes. */
enum parley_status completion_queue_open(struct worker_pool *pool, struct reactor *reactor,
                                         struct completion_queue **out) PARLEY_MUST_CHECK;
/* Call it when the reactor has stopped. Drops the tasks that have not started and waits for those
 * that run; `done` is not called for either. NULL is allowed. */
void completion_queue_close(struct completion_queue *completions);

/* Runs `work` on a thread of the pool, then `done` on the reactor's.  Threads: the reactor's. */
void worker_pool_submit(struct completion_queue *completions, struct worker_pool_task *task);
/* Runs `work` at some time; `done` is not called.  Owns: steals the task, which `work` may free. */
void worker_pool_detach(struct worker_pool *pool, struct worker_pool_task *task);
