/* SPDX-License-Identifier: Apache-2.0 */

/* See crew.h. One lock for all: a task takes milliseconds, and a list holds a few. */

#include "crew.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

TAILQ_HEAD(crew_tasks, crew_task);

struct crew {
    pthread_mutex_t lock; /* protects what follows, and of desks what they say it does */
    pthread_cond_t come;  /* a task, or the end */
    pthread_cond_t gone;  /* a task that was under way */
    struct crew_tasks tasks;
    bool is_ending;
    unsigned thread_count;
    pthread_t threads[CREW_THREADS_MAX];
};

struct crew_desk {
    struct crew *crew;
    struct reactor *reactor;
    struct reactor_turn turn;
    atomic_bool has_done;   /* tells without the lock that `done` is not empty */
    struct crew_tasks done; /* under the crew's lock */
    size_t under_way_count; /* the same */
};

/* ---- the threads ---- */

static void do_task(struct crew *crew, struct crew_task *task) {
    struct crew_desk *desk = task->desk; /* a task that was left is gone after its work */
    if (desk != NULL) {
        desk->under_way_count++;
    }
    pthread_mutex_unlock(&crew->lock);
    task->work(task);
    pthread_mutex_lock(&crew->lock);
    if (desk != NULL) {
        desk->under_way_count--;
        TAILQ_INSERT_TAIL(&desk->done, task, links);
        atomic_store(&desk->has_done, true);
        reactor_wake(desk->reactor); /* with the lock: the desk cannot be closed meanwhile */
        pthread_cond_broadcast(&crew->gone);
    }
}

static void *serve(void *context) {
    struct crew *crew = context;
    pthread_mutex_lock(&crew->lock);
    for (;;) {
        struct crew_task *task = TAILQ_FIRST(&crew->tasks);
        if (task != NULL) {
            TAILQ_REMOVE(&crew->tasks, task, links);
            do_task(crew, task);
        } else if (crew->is_ending) {
            break;
        } else {
            pthread_cond_wait(&crew->come, &crew->lock);
        }
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

enum parley_status crew_create(unsigned thread_count, struct crew **out) {
    struct crew *crew = calloc(1, sizeof *crew);
    if (crew == NULL) {
        return PARLEY_E_MEMORY;
    }
    assert(thread_count > 0 && thread_count <= CREW_THREADS_MAX);
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->come, NULL);
    pthread_cond_init(&crew->gone, NULL);
    TAILQ_INIT(&crew->tasks);
    for (; crew->thread_count < thread_count; crew->thread_count++) {
        if (pthread_create(&crew->threads[crew->thread_count], NULL, serve, crew) != 0) {
            crew_destroy(crew);
            return PARLEY_E_IO;
        }
    }
    *out = crew;
    return PARLEY_OK;
}

void crew_destroy(struct crew *crew) {
    if (crew == NULL) {
        return;
    }
    pthread_mutex_lock(&crew->lock);
    crew->is_ending = true;
    pthread_cond_broadcast(&crew->come);
    pthread_mutex_unlock(&crew->lock);
    for (unsigned i = 0; i < crew->thread_count; i++) {
        pthread_join(crew->threads[i], NULL);
    }
    pthread_cond_destroy(&crew->gone);
    pthread_cond_destroy(&crew->come);
    pthread_mutex_destroy(&crew->lock);
    free(crew);
}

/* ---- desks ---- */

static void tell_done(struct reactor_turn *turn) {
    struct crew_desk *desk = OWNER_OF(turn, struct crew_desk, turn);
    if (!atomic_load(&desk->has_done)) {
        return;
    }
    struct crew_tasks done = TAILQ_HEAD_INITIALIZER(done);
    pthread_mutex_lock(&desk->crew->lock);
    TAILQ_CONCAT(&done, &desk->done, links);
    atomic_store(&desk->has_done, false);
    pthread_mutex_unlock(&desk->crew->lock);
    struct crew_task *task;
    while ((task = TAILQ_FIRST(&done)) != NULL) {
        TAILQ_REMOVE(&done, task, links);
        task->done(task);
    }
}

enum parley_status crew_desk_open(struct crew *crew, struct reactor *reactor,
                                  struct crew_desk **out) {
    struct crew_desk *desk = calloc(1, sizeof *desk);
    if (desk == NULL) {
        return PARLEY_E_MEMORY;
    }
    desk->crew = crew;
    desk->reactor = reactor;
    desk->turn.run = tell_done;
    TAILQ_INIT(&desk->done);
    reactor_turn_add(reactor, &desk->turn);
    *out = desk;
    return PARLEY_OK;
}

void crew_desk_close(struct crew_desk *desk) {
    if (desk == NULL) {
        return;
    }
    struct crew *crew = desk->crew;
    pthread_mutex_lock(&crew->lock);
    struct crew_task *task = TAILQ_FIRST(&crew->tasks);
    while (task != NULL) {
        struct crew_task *next = TAILQ_NEXT(task, links);
        if (task->desk == desk) {
            TAILQ_REMOVE(&crew->tasks, task, links);
        }
        task = next;
    }
    while (desk->under_way_count > 0) {
        pthread_cond_wait(&crew->gone, &crew->lock);
    }
    pthread_mutex_unlock(&crew->lock);
    free(desk);
}

static void add(struct crew *crew, struct crew_task *task) {
    pthread_mutex_lock(&crew->lock);
    TAILQ_INSERT_TAIL(&crew->tasks, task, links);
    pthread_cond_signal(&crew->come);
    pthread_mutex_unlock(&crew->lock);
}

void crew_do(struct crew_desk *desk, struct crew_task *task) {
    task->desk = desk;
    add(desk->crew, task);
}

void crew_leave(struct crew *crew, struct crew_task *task) {
    task->desk = NULL;
    add(crew, task);
}
