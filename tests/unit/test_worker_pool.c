/* SPDX-License-Identifier: Apache-2.0 */

/* What is done for reactors by other threads: told on their own, and taken back at the end. */

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "worker_pool.h"

enum { TASKS = 100 };

struct job {
    struct worker_pool_task task;
    struct world *world;
    pthread_t worked_by;
    int worked, told;
};

struct world {
    struct reactor *reactor;
    struct worker_pool *pool;
    struct completion_queue *completions;
    pthread_t thread;
    int told_count;
    sem_t gate; /* `work_at_gate` ends once it is open */
    struct job jobs[TASKS];
};

static int set_up(void **state) {
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->thread = pthread_self();
    assert_int_equal(sem_init(&world->gate, 0, 0), 0);
    assert_int_equal(reactor_create(&world->reactor), PARLEY_OK);
    assert_int_equal(worker_pool_create(2, &world->pool), PARLEY_OK);
    assert_int_equal(completion_queue_open(world->pool, world->reactor, &world->completions),
                     PARLEY_OK);
    *state = world;
    return 0;
}

static int tear_down(void **state) {
    struct world *world = *state;
    completion_queue_close(world->completions);
    worker_pool_destroy(world->pool);
    reactor_destroy(world->reactor);
    sem_destroy(&world->gate);
    free(world);
    return 0;
}

static void work(struct worker_pool_task *task) {
    struct job *job = OWNER_OF(task, struct job, task);
    job->worked_by = pthread_self();
    job->worked++;
}

static void work_at_gate(struct worker_pool_task *task) {
    struct job *job = OWNER_OF(task, struct job, task);
    sem_wait(&job->world->gate);
    sem_post(&job->world->gate);
    job->worked++;
}

static void tell(struct worker_pool_task *task) {
    struct job *job = OWNER_OF(task, struct job, task);
    assert_true(pthread_equal(job->world->thread, pthread_self()));
    job->told++;
    if (++job->world->told_count == TASKS) {
        reactor_stop(job->world->reactor);
    }
}

static void test_tasks_are_done_elsewhere_and_told_on_the_thread_of_the_reactor(void **state) {
    struct world *world = *state;
    for (int i = 0; i < TASKS; i++) {
        world->jobs[i] = (struct job){.task = {.work = work, .done = tell}, .world = world};
        worker_pool_submit(world->completions, &world->jobs[i].task);
    }
    reactor_run(world->reactor);
    for (int i = 0; i < TASKS; i++) {
        assert_int_equal(world->jobs[i].worked, 1);
        assert_int_equal(world->jobs[i].told, 1);
        assert_false(pthread_equal(world->jobs[i].worked_by, world->thread));
    }
}

static void *open_gate(void *context) {
    struct world *world = context;
    sem_post(&world->gate);
    return NULL;
}

static void test_a_closed_desk_has_nothing_under_way_and_nothing_told(void **state) {
    struct world *world = *state;
    pthread_t opener;
    for (int i = 0; i < TASKS; i++) {
        world->jobs[i] = (struct job){.task = {.work = work_at_gate, .done = tell}, .world = world};
        worker_pool_submit(world->completions, &world->jobs[i].task);
    }
    assert_int_equal(pthread_create(&opener, NULL, open_gate, world), 0);
    completion_queue_close(world->completions);
    world->completions = NULL;
    pthread_join(opener, NULL);
    int worked[TASKS];
    for (int i = 0; i < TASKS; i++) {
        worked[i] = world->jobs[i].worked;
    }
    worker_pool_destroy(world->pool);
    world->pool = NULL;
    for (int i = 0; i < TASKS; i++) {
        assert_int_equal(world->jobs[i].worked, worked[i]);
        assert_int_equal(world->jobs[i].told, 0);
    }
}

static void free_job(struct worker_pool_task *task) {
    free(OWNER_OF(task, struct job, task));
}

/* The leak sanitizer is the judge. */
static void test_what_was_left_is_done_before_the_crew_ends(void **state) {
    struct world *world = *state;
    for (int i = 0; i < TASKS; i++) {
        struct job *job = calloc(1, sizeof *job);
        assert_non_null(job);
        job->task.work = free_job;
        worker_pool_detach(world->pool, &job->task);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_tasks_are_done_elsewhere_and_told_on_the_thread_of_the_reactor, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_closed_desk_has_nothing_under_way_and_nothing_told,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_was_left_is_done_before_the_crew_ends, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
