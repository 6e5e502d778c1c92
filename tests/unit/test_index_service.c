/* SPDX-License-Identifier: Apache-2.0 */

/* The threads that answer questions to the index. */

#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>

#include "index_file.h"
#include "index_service.h"
#include "index_store.h"
#include "reactor.h"

struct world {
    char folder[64];
    struct reactor *reactor;
    struct index_service *service;
    struct completion_queue *queues[INDEX_POOLS];
    sem_t gate;
    struct worker_pool_task held, lookup;
    int64_t begin_by_ms;
    enum index_answered answered;
};

static void hold(struct worker_pool_task *task) {
    sem_wait(&OWNER_OF(task, struct world, held)->gate);
}

static void ignore(struct worker_pool_task *task) {
    (void)task;
}

static void look_up(struct worker_pool_task *task) {
    struct world *world = OWNER_OF(task, struct world, lookup);
    const struct index_question question = {.view = index_view_find("messages"),
                                            .readable = 1,
                                            .until_ms = INT64_MAX,
                                            .limit = 1,
                                            .begin_by_ms = world->begin_by_ms};
    char progress[INDEX_PROGRESS_MAX];
    struct parley_buffer out;
    parley_buffer_init(&out);
    world->answered =
        index_service_answer(world->service, INDEX_LOOKUPS, &question, &out, NULL, progress);
    parley_buffer_finish(&out);
}

static void on_answer(struct worker_pool_task *task) {
    struct world *world = OWNER_OF(task, struct world, lookup);
    sem_post(&world->gate);
    reactor_stop(world->reactor);
}

static int set_up(void **state) {
    struct world *world = calloc(1, sizeof *world);
    struct index_store *store;
    char error[INDEX_ERROR_MAX];
    bool is_new;
    assert_non_null(world);
    snprintf(world->folder, sizeof world->folder, "/tmp/parley-service-XXXXXX");
    assert_true(sodium_init() >= 0);
    assert_non_null(mkdtemp(world->folder));
    assert_int_equal(index_store_open(world->folder, &store, &is_new, error), PARLEY_OK);
    index_store_close(store);
    assert_int_equal(sem_init(&world->gate, 0, 0), 0);
    assert_int_equal(reactor_create(&world->reactor), PARLEY_OK);
    assert_int_equal(index_service_create(world->folder, false, &world->service), PARLEY_OK);
    for (size_t i = 0; i < INDEX_POOLS; i++) {
        assert_int_equal(
            completion_queue_open(index_service_pool(world->service, (enum index_pool)i),
                                  world->reactor, &world->queues[i]),
            PARLEY_OK);
    }
    *state = world;
    return 0;
}

static int tear_down(void **state) {
    struct world *world = *state;
    for (size_t i = 0; i < INDEX_POOLS; i++) {
        completion_queue_close(world->queues[i]);
    }
    index_service_destroy(world->service);
    reactor_destroy(world->reactor);
    sem_destroy(&world->gate);
    index_file_remove(world->folder);
    assert_int_equal(rmdir(world->folder), 0);
    free(world);
    return 0;
}

/* Were both on one thread, the look-up would never be answered. */
static void test_a_view_that_takes_long_does_not_delay_a_look_up(void **state) {
    struct world *world = *state;
    world->answered = INDEX_BROKEN;
    world->held = (struct worker_pool_task){.work = hold, .done = ignore};
    world->lookup = (struct worker_pool_task){.work = look_up, .done = on_answer};
    worker_pool_submit(world->queues[INDEX_VIEWS], &world->held);
    worker_pool_submit(world->queues[INDEX_LOOKUPS], &world->lookup);
    reactor_run(world->reactor);
    assert_int_equal(world->answered, INDEX_ANSWERED);
}

static void test_a_question_that_waits_too_long_for_its_thread_is_given_up(void **state) {
    struct world *world = *state;
    world->begin_by_ms = reactor_clock_ms() + 20;
    world->held = (struct worker_pool_task){.work = hold, .done = ignore};
    world->lookup = (struct worker_pool_task){.work = look_up, .done = on_answer};
    worker_pool_submit(world->queues[INDEX_LOOKUPS], &world->held);
    worker_pool_submit(world->queues[INDEX_LOOKUPS], &world->lookup);
    usleep(50000);
    sem_post(&world->gate);
    reactor_run(world->reactor);
    assert_int_equal(world->answered, INDEX_TOO_LATE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_view_that_takes_long_does_not_delay_a_look_up,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_a_question_that_waits_too_long_for_its_thread_is_given_up, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
