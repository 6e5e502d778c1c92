/* SPDX-License-Identifier: Apache-2.0 */

/* Waiting for the disk: a sync that had begun before does not count, one serves all that wait, and
 * none is made that nobody waits for. The test makes the syncs, and lets each end when it says. */

#include <errno.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../lib/loop.h"
#include "commit.h"

enum { WAITS = 8, LOOPS = 2 };

struct waiter {
    struct commit_wait wait;
    atomic_bool is_done;
};

struct world {
    struct commit *commit;
    struct loop loops[LOOPS];
    struct commit_queue *queues[LOOPS];
    struct waiter waiters[WAITS];
};

/* `sync` is given nothing but a descriptor. */
static struct {
    sem_t begun, may_end;
    atomic_int count, error, failure;
    atomic_uint synced;
} disk;

static int sync_when_told(int fd) {
    assert_true(fd >= 0);
    atomic_fetch_add(&disk.count, 1);
    sem_post(&disk.begun);
    sem_wait(&disk.may_end);
    errno = atomic_load(&disk.error);
    return errno != 0 ? -1 : 0;
}

static void on_synced(void *context, uint64_t ns) {
    (void)context, (void)ns;
    atomic_fetch_add(&disk.synced, 1);
}

static void on_failed(void *context, int error) {
    (void)context;
    atomic_store(&disk.failure, error);
    sem_post(&disk.begun);
}

static void on_done(struct commit_wait *wait) {
    atomic_store(&OWNER_OF(wait, struct waiter, wait)->is_done, true);
}

static int set_up(void **state) {
    struct world *world = calloc(1, sizeof *world);
    const struct commit_options options = {
        .folder = "/", .sync = sync_when_told, .synced = on_synced, .failed = on_failed};
    assert_non_null(world);
    sem_init(&disk.begun, 0, 0);
    sem_init(&disk.may_end, 0, 0);
    atomic_store(&disk.count, 0);
    atomic_store(&disk.error, 0);
    atomic_store(&disk.failure, 0);
    atomic_store(&disk.synced, 0);
    assert_int_equal(commit_create(&options, &world->commit), PARLEY_OK);
    for (size_t i = 0; i < LOOPS; i++) {
        loop_create(&world->loops[i]);
        assert_int_equal(
            commit_queue_create(world->commit, world->loops[i].reactor, &world->queues[i]),
            PARLEY_OK);
        loop_start(&world->loops[i]);
    }
    for (size_t i = 0; i < WAITS; i++) {
        world->waiters[i].wait.done = on_done;
    }
    *state = world;
    return 0;
}

static int tear_down(void **state) {
    struct world *world = *state;
    for (size_t i = 0; i < LOOPS; i++) {
        loop_stop(&world->loops[i]);
        commit_queue_destroy(world->queues[i]);
        loop_destroy(&world->loops[i]);
    }
    for (size_t i = 0; i < WAITS; i++) {
        sem_post(&disk.may_end); /* what is under way ends, and what follows */
    }
    commit_destroy(world->commit);
    sem_destroy(&disk.begun);
    sem_destroy(&disk.may_end);
    free(world);
    return 0;
}

struct step {
    struct world *world;
    size_t waiter, loop;
};

static void begin_in_loop(void *context) {
    const struct step *step = context;
    commit_wait_begin(step->world->queues[step->loop], &step->world->waiters[step->waiter].wait);
}

static void cancel_in_loop(void *context) {
    const struct step *step = context;
    commit_wait_cancel(&step->world->waiters[step->waiter].wait);
}

/* The waiter `number` begins to wait, on the loop that has its turn. */
static void begin(struct world *world, size_t number) {
    struct step step = {world, number, number % LOOPS};
    loop_do(&world->loops[step.loop], begin_in_loop, &step);
}

static void cancel(struct world *world, size_t number) {
    struct step step = {world, number, number % LOOPS};
    loop_do(&world->loops[step.loop], cancel_in_loop, &step);
}

static void do_nothing(void *context) {
    (void)context;
}

/* Those below `end` are done, and no others, now and after a turn of each loop. */
static void assert_done(struct world *world, size_t end) {
    for (size_t i = 0; i < end; i++) {
        while (!atomic_load(&world->waiters[i].is_done)) {
            loop_pause();
        }
    }
    for (size_t i = 0; i < LOOPS; i++) {
        loop_do(&world->loops[i], do_nothing, NULL);
    }
    for (size_t i = end; i < WAITS; i++) {
        assert_false(atomic_load(&world->waiters[i].is_done));
    }
}

static void test_one_waits_until_a_sync_has_ended(void **state) {
    struct world *world = *state;
    begin(world, 0);
    sem_wait(&disk.begun);
    assert_done(world, 0);
    sem_post(&disk.may_end);
    assert_done(world, 1);
    assert_int_equal(atomic_load(&disk.synced), 1);
}

static void test_a_sync_that_has_begun_does_not_count(void **state) {
    struct world *world = *state;
    begin(world, 0);
    sem_wait(&disk.begun);
    begin(world, 1);
    sem_post(&disk.may_end);
    assert_done(world, 1);
    sem_wait(&disk.begun);
    assert_done(world, 1);
    sem_post(&disk.may_end);
    assert_done(world, 2);
}

static void test_one_sync_serves_all_that_wait_on_all_loops(void **state) {
    struct world *world = *state;
    begin(world, 0);
    sem_wait(&disk.begun);
    for (size_t i = 1; i < WAITS; i++) {
        begin(world, i);
    }
    sem_post(&disk.may_end);
    sem_post(&disk.may_end);
    assert_done(world, WAITS);
    assert_int_equal(atomic_load(&disk.count), 2);
}

/* Two begin in one turn, and there is time for a sync in between. */
static void begin_two(void *context) {
    struct world *world = context;
    struct timespec soon;
    commit_wait_begin(world->queues[0], &world->waiters[0].wait);
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += 50 * 1000 * 1000;
    soon.tv_sec += soon.tv_nsec / 1000000000;
    soon.tv_nsec %= 1000000000;
    assert_int_equal(sem_timedwait(&disk.begun, &soon), -1);
    commit_wait_begin(world->queues[0], &world->waiters[LOOPS].wait);
}

static void test_those_of_one_turn_wait_for_the_same_sync(void **state) {
    struct world *world = *state;
    loop_do(&world->loops[0], begin_two, world);
    sem_wait(&disk.begun);
    sem_post(&disk.may_end);
    while (!atomic_load(&world->waiters[LOOPS].is_done)) {
        loop_pause();
    }
    assert_true(atomic_load(&world->waiters[0].is_done));
    assert_int_equal(atomic_load(&disk.count), 1);
}

static void test_no_sync_is_made_that_nobody_waits_for(void **state) {
    struct world *world = *state;
    begin(world, 0);
    sem_wait(&disk.begun);
    sem_post(&disk.may_end);
    assert_done(world, 1);
    assert_int_equal(atomic_load(&disk.count), 1);
}

static void test_one_that_is_cancelled_is_not_done(void **state) {
    struct world *world = *state;
    begin(world, 0);
    begin(world, 2); /* on the same loop */
    sem_wait(&disk.begun);
    cancel(world, 2);
    cancel(world, 2);
    sem_post(&disk.may_end);
    sem_post(&disk.may_end);
    assert_done(world, 1);
}

static void test_a_sync_that_fails_is_the_last(void **state) {
    struct world *world = *state;
    atomic_store(&disk.error, EIO);
    begin(world, 0);
    sem_wait(&disk.begun);
    sem_post(&disk.may_end);
    sem_wait(&disk.begun); /* by on_failed */
    assert_int_equal(atomic_load(&disk.failure), EIO);
    begin(world, 1);
    assert_done(world, 0);
    assert_int_equal(atomic_load(&disk.count), 1);
    assert_int_equal(atomic_load(&disk.synced), 0);
    cancel(world, 0);
    cancel(world, 1);
}

static void test_a_folder_that_is_none_is_an_error(void **state) {
    const struct commit_options options = {.folder = "/nonexistent"};
    struct commit *commit;
    (void)state;
    assert_int_equal(commit_create(&options, &commit), PARLEY_E_IO);
    assert_int_equal(errno, ENOENT);
}

static void test_without_a_commit_there_is_no_queue(void **state) {
    struct world *world = *state;
    struct commit_queue *queue = world->queues[0];
    assert_int_equal(commit_queue_create(NULL, world->loops[0].reactor, &queue), PARLEY_OK);
    assert_null(queue);
    commit_queue_destroy(queue);
}

int main(void) {
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_one_waits_until_a_sync_has_ended),
        TEST(test_a_sync_that_has_begun_does_not_count),
        TEST(test_one_sync_serves_all_that_wait_on_all_loops),
        TEST(test_those_of_one_turn_wait_for_the_same_sync),
        TEST(test_no_sync_is_made_that_nobody_waits_for),
        TEST(test_one_that_is_cancelled_is_not_done),
        TEST(test_a_sync_that_fails_is_the_last),
        TEST(test_a_folder_that_is_none_is_an_error),
        TEST(test_without_a_commit_there_is_no_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
