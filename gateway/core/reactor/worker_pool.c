/* SPDX-License-Identifier: Apache-2.0 */

/* See worker_pool.h. One lock protects everything: a task takes milliseconds, and a list holds few
 * of them. */

#include "worker_pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

TAILQ_HEAD(worker_pool_tasks, worker_pool_task);

struct worker_pool {
    pthread_mutex_t lock; /* protects the members below, and those of queues that say so */
    pthread_cond_t come;  /* a task was added, or the pool ends */
    pthread_cond_t gone;  /* a task has been run */
    struct worker_pool_tasks tasks;
    bool is_ending;
    unsigned thread_count;
    pthread_t threads[WORKER_POOL_THREADS_MAX];
};

struct completion_queue {
    struct worker_pool *pool;
    struct reactor *reactor;
    struct reactor_turn turn;
    atomic_bool has_done;          /* `done` is not empty; read without the lock */
    struct worker_pool_tasks done; /* under the pool's lock, like the count */
    size_t running_count;
};

/* ---- the threads ---- */

static void run_task(struct worker_pool *pool, struct worker_pool_task *task) {
    struct completion_queue *completions =
        task->completions; /* a detached task is freed by its work */
    if (completions != NULL) {
        completions->running_count++;
    }
    pthread_mutex_unlock(&pool->lock);
    task->work(task);
    pthread_mutex_lock(&pool->lock);
    if (completions != NULL) {
        completions->running_count--;
        TAILQ_INSERT_TAIL(&completions->done, task, links);
        atomic_store(&completions->has_done, true);
        reactor_wake(completions->reactor); /* with the lock, so that the queue cannot be closed */
        pthread_cond_broadcast(&pool->gone);
    }
}

static void *serve(void *context) {
    struct worker_pool *pool = context;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        struct worker_pool_task *task = TAILQ_FIRST(&pool->tasks);
        if (task != NULL) {
            TAILQ_REMOVE(&pool->tasks, task, links);
            run_task(pool, task);
        } else if (pool->is_ending) {
            break;
        } else {
            pthread_cond_wait(&pool->come, &pool->lock);
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

enum parley_status worker_pool_create(unsigned thread_count, struct worker_pool **out) {
    struct worker_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL) {
        return PARLEY_E_MEMORY;
    }
    assert(thread_count > 0 && thread_count <= WORKER_POOL_THREADS_MAX);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->come, NULL);
    pthread_cond_init(&pool->gone, NULL);
    TAILQ_INIT(&pool->tasks);
    for (; pool->thread_count < thread_count; pool->thread_count++) {
        if (pthread_create(&pool->threads[pool->thread_count], NULL, serve, pool) != 0) {
            worker_pool_destroy(pool);
            return PARLEY_E_IO;
        }
    }
    *out = pool;
    return PARLEY_OK;
}

void worker_pool_destroy(struct worker_pool *pool) {
    if (pool == NULL) {
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->is_ending = true;
    pthread_cond_broadcast(&pool->come);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->thread_count; i++) {
        pthread_join(pool->threads[i], NULL);
    }
    pthread_cond_destroy(&pool->gone);
    pthread_cond_destroy(&pool->come);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

/* ---- completion queues ---- */

static void deliver_done(struct reactor_turn *turn) {
    struct completion_queue *completions = OWNER_OF(turn, struct completion_queue, turn);
    if (!atomic_load(&completions->has_done)) {
        return;
    }
    struct worker_pool_tasks done = TAILQ_HEAD_INITIALIZER(done);
    pthread_mutex_lock(&completions->pool->lock);
    TAILQ_CONCAT(&done, &completions->done, links);
    atomic_store(&completions->has_done, false);
    pthread_mutex_unlock(&completions->pool->lock);
    struct worker_pool_task *task;
    while ((task = TAILQ_FIRST(&done)) != NULL) {
        TAILQ_REMOVE(&done, task, links);
        task->done(task);
    }
}

enum parley_status completion_queue_open(struct worker_pool *pool, struct reactor *reactor,
                                         struct completion_queue **out) {
    struct completion_queue *completions = calloc(1, sizeof *completions);
    if (completions == NULL) {
        return PARLEY_E_MEMORY;
    }
    completions->pool = pool;
    completions->reactor = reactor;
    completions->turn.run = deliver_done;
    TAILQ_INIT(&completions->done);
    reactor_turn_add(reactor, &completions->turn);
    *out = completions;
    return PARLEY_OK;
}

void completion_queue_close(struct completion_queue *completions) {
    if (completions == NULL) {
        return;
    }
    struct worker_pool *pool = completions->pool;
    pthread_mutex_lock(&pool->lock);
    struct worker_pool_task *task = TAILQ_FIRST(&pool->tasks);
    while (task != NULL) {
        struct worker_pool_task *next = TAILQ_NEXT(task, links);
        if (task->completions == completions) {
            TAILQ_REMOVE(&pool->tasks, task, links);
        }
        task = next;
    }
    while (completions->running_count > 0) {
        pthread_cond_wait(&pool->gone, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    free(completions);
}

static void add(struct worker_pool *pool, struct worker_pool_task *task) {
    pthread_mutex_lock(&pool->lock);
    TAILQ_INSERT_TAIL(&pool->tasks, task, links);
    pthread_cond_signal(&pool->come);
    pthread_mutex_unlock(&pool->lock);
}

void worker_pool_submit(struct completion_queue *completions, struct worker_pool_task *task) {
    task->completions = completions;
    add(completions->pool, task);
}

void worker_pool_detach(struct worker_pool *pool, struct worker_pool_task *task) {
    task->completions = NULL;
    add(pool, task);
}
