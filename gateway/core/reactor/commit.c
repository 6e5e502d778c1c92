/* SPDX-License-Identifier: Apache-2.0 */

#include "commit.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct commit_queue {
    struct commit *commit;
    struct reactor *reactor;
    struct reactor_turn turn;
    TAILQ_HEAD(commit_waits, commit_wait) waits; /* in the order in which they began */
    atomic_bool is_waiting;                      /* so that a sync wakes the reactor */
    LIST_ENTRY(commit_queue) links;
};

struct commit {
    struct commit_options options;
    int fd;
    pthread_t thread;
    pthread_mutex_t lock; /* of the four below */
    pthread_cond_t work;
    uint64_t begun, wanted; /* numbers of syncs, from 1 on */
    bool is_stopped;
    LIST_HEAD(, commit_queue) queues;
    _Atomic uint64_t done; /* the last one that has ended */
};

/* ---- the thread ---- */

static int sync_all(int fd) {
    return syncfs(fd);
}

/* Returns: the number of the next one; 0 when stopped. */
static uint64_t wait_for_work(struct commit *commit) {
    pthread_mutex_lock(&commit->lock);
    while (commit->wanted <= commit->begun && !commit->is_stopped) {
        pthread_cond_wait(&commit->work, &commit->lock);
    }
    const uint64_t number = commit->is_stopped ? 0 : ++commit->begun;
    pthread_mutex_unlock(&commit->lock);
    return number;
}

static void tell(struct commit *commit) {
    struct commit_queue *queue;
    pthread_mutex_lock(&commit->lock);
    LIST_FOREACH(queue, &commit->queues, links) {
        if (atomic_load(&queue->is_waiting)) {
            reactor_wake(queue->reactor);
        }
    }
    pthread_mutex_unlock(&commit->lock);
}

static void *run(void *context) {
    struct commit *commit = context;
    const struct commit_options *options = &commit->options;
    uint64_t number;
    pthread_setname_np(pthread_self(), "disk-sync"); /* for top -H and debuggers */
    while ((number = wait_for_work(commit)) != 0) {
        const int64_t began_ns = reactor_clock_ns();
        if (options->sync(commit->fd) != 0) {
            options->failed(options->context, errno);
            break;
        }
        options->synced(options->context, (uint64_t)(reactor_clock_ns() - began_ns));
        atomic_store(&commit->done, number);
        tell(commit);
    }
    return NULL;
}

/* ---- lifecycle ---- */

enum parley_status commit_create(const struct commit_options *options, struct commit **out) {
    struct commit *commit = calloc(1, sizeof *commit);
    if (commit == NULL) {
        return PARLEY_E_MEMORY;
    }
    commit->options = *options;
    commit->options.folder = NULL;
    if (options->sync == NULL) {
        commit->options.sync = sync_all;
    }
    LIST_INIT(&commit->queues);
    pthread_mutex_init(&commit->lock, NULL);
    pthread_cond_init(&commit->work, NULL);
    commit->fd = open(options->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int error = commit->fd < 0 ? errno : pthread_create(&commit->thread, NULL, run, commit);
    if (error != 0) {
        if (commit->fd >= 0) {
            close(commit->fd);
        }
        free(commit);
        errno = error;
        return PARLEY_E_IO;
    }
    *out = commit;
    return PARLEY_OK;
}

void commit_destroy(struct commit *commit) {
    if (commit == NULL) {
        return;
    }
    assert(LIST_EMPTY(&commit->queues));
    pthread_mutex_lock(&commit->lock);
    commit->is_stopped = true;
    pthread_cond_signal(&commit->work);
    pthread_mutex_unlock(&commit->lock);
    pthread_join(commit->thread, NULL);
    pthread_cond_destroy(&commit->work);
    pthread_mutex_destroy(&commit->lock);
    close(commit->fd);
    free(commit);
}

/* ---- a reactor's queue ---- */

/* Whether the last wait has no sync to wait for so far. */
static bool has_unasked(const struct commit_queue *queue) {
    const struct commit_wait *last = TAILQ_LAST(&queue->waits, commit_waits);
    return last != NULL && last->sync == 0;
}

/* Asks for a sync, for all waits that have none so far. One that has begun may have missed data
 * written since. The thread is woken without the lock, which it needs first. */
static void ask(struct commit_queue *queue) {
    struct commit *commit = queue->commit;
    pthread_mutex_lock(&commit->lock);
    const uint64_t number = commit->begun + 1;
    const bool is_first = commit->wanted < number;
    commit->wanted = is_first ? number : commit->wanted;
    pthread_mutex_unlock(&commit->lock);
    if (is_first) {
        pthread_cond_signal(&commit->work);
    }
    struct commit_wait *wait = TAILQ_LAST(&queue->waits, commit_waits);
    for (; wait != NULL && wait->sync == 0; wait = TAILQ_PREV(wait, commit_waits, links)) {
        wait->sync = number;
    }
}

static bool is_under_way(struct commit *commit) {
    pthread_mutex_lock(&commit->lock);
    const bool is_begun = commit->begun > atomic_load(&commit->done);
    pthread_mutex_unlock(&commit->lock);
    return is_begun;
}

static void run_turn(struct reactor_turn *turn) {
    struct commit_queue *queue = OWNER_OF(turn, struct commit_queue, turn);
    const uint64_t done = atomic_load(&queue->commit->done);
    struct commit_wait *wait;
    while ((wait = TAILQ_FIRST(&queue->waits)) != NULL && wait->sync != 0 && wait->sync <= done) {
        commit_wait_cancel(wait);
        wait->done(wait);
    }
    if (has_unasked(queue)) {
        ask(queue);
    }
}

/* Waits that begin after its turn are asked for in the next one. */
static int64_t sleep_of(struct reactor_turn *turn) {
    return has_unasked(OWNER_OF(turn, struct commit_queue, turn)) ? 0 : -1;
}

enum parley_status commit_queue_create(struct commit *commit, struct reactor *reactor,
                                       struct commit_queue **out) {
    *out = NULL;
    if (commit == NULL) {
        return PARLEY_OK;
    }
    struct commit_queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL) {
        return PARLEY_E_MEMORY;
    }
    queue->commit = commit;
    queue->reactor = reactor;
    queue->turn.run = run_turn;
    queue->turn.timeout_ms = sleep_of;
    TAILQ_INIT(&queue->waits);
    reactor_turn_add(reactor, &queue->turn);
    pthread_mutex_lock(&commit->lock);
    LIST_INSERT_HEAD(&commit->queues, queue, links);
    pthread_mutex_unlock(&commit->lock);
    *out = queue;
    return PARLEY_OK;
}

void commit_queue_destroy(struct commit_queue *queue) {
    if (queue == NULL) {
        return;
    }
    struct commit_wait *wait;
    while ((wait = TAILQ_FIRST(&queue->waits)) != NULL) {
        commit_wait_cancel(wait);
    }
    pthread_mutex_lock(&queue->commit->lock);
    LIST_REMOVE(queue, links);
    pthread_mutex_unlock(&queue->commit->lock);
    free(queue);
}

void commit_wait_begin(struct commit_queue *queue, struct commit_wait *wait) {
    struct commit *commit = queue->commit;
    assert(!commit_is_waiting(wait));
    wait->queue = queue;
    wait->sync = 0;
    TAILQ_INSERT_TAIL(&queue->waits, wait, links);
    atomic_store(&queue->is_waiting, true); /* before a sync that it asks for can end */
    if (is_under_way(commit)) {
        ask(queue); /* it begins when that has ended */
    }
}

void commit_wait_cancel(struct commit_wait *wait) {
    struct commit_queue *queue = wait->queue;
    if (queue != NULL) {
        TAILQ_REMOVE(&queue->waits, wait, links);
        wait->queue = NULL;
        atomic_store(&queue->is_waiting, !TAILQ_EMPTY(&queue->waits));
    }
}
