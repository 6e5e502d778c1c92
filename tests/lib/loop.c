/* SPDX-License-Identifier: Apache-2.0 */

/* See loop.h. It deliberately has no way to look at a reactor's things from another thread: all
 * goes through reactor_post, so that the thread sanitizer has nothing to excuse. */

#include "loop.h"

#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

struct errand {
    void (*work)(void *context);
    bool (*holds)(void *context);
    void *context;
    bool answer;
    sem_t done;
};

static void *run(void *context) {
    reactor_run(context);
    return NULL;
}

void loop_create(struct loop *loop) {
    if (reactor_create(&loop->reactor) != PARLEY_OK) {
        abort();
    }
}

void loop_start(struct loop *loop) {
    if (pthread_create(&loop->thread, NULL, run, loop->reactor) != 0) {
        abort();
    }
}

void loop_stop(struct loop *loop) {
    reactor_stop(loop->reactor);
    pthread_join(loop->thread, NULL);
}

void loop_destroy(struct loop *loop) {
    reactor_destroy(loop->reactor);
}

static void do_errand(void *context) {
    struct errand *errand = context;
    if (errand->work != NULL) {
        errand->work(errand->context);
    } else {
        errand->answer = errand->holds(errand->context);
    }
    sem_post(&errand->done);
}

static void send_on(struct loop *loop, struct errand *errand) {
    sem_init(&errand->done, 0, 0);
    if (reactor_post(loop->reactor, do_errand, errand) != PARLEY_OK) {
        abort();
    }
    while (sem_wait(&errand->done) != 0) {
    }
    sem_destroy(&errand->done);
}

void loop_do(struct loop *loop, void (*work)(void *context), void *context) {
    struct errand errand = {.work = work, .context = context};
    send_on(loop, &errand);
}

void loop_pause(void) {
    const struct timespec pause = {.tv_nsec = 2 * 1000 * 1000};
    nanosleep(&pause, NULL);
}

static int64_t clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static long now_ms(void) {
    return (long)(clock_ns(CLOCK_MONOTONIC) / 1000000);
}

/* The second number there is the time that the thread was runnable and had no processor. */
static int64_t waited_for_processor_ns(void) {
    int64_t waited = -1;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (file == NULL || fscanf(file, "%*d %" SCNd64, &waited) != 1) {
        abort();
    }
    fclose(file);
    return waited;
}

/* Once more when the thread lost its processor between two of the clocks. */
static int64_t slept_ns(void) {
    for (;;) {
        const int64_t waited = waited_for_processor_ns();
        const int64_t slept =
            clock_ns(CLOCK_MONOTONIC) - clock_ns(CLOCK_THREAD_CPUTIME_ID) - waited;
        if (waited_for_processor_ns() == waited) {
            return slept;
        }
    }
}

static long sleep_count(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

void loop_nap_begin(struct loop_nap *nap) {
    nap->slept_ns = slept_ns();
    nap->count = sleep_count();
}

long loop_nap_ms(const struct loop_nap *nap) {
    return sleep_count() == nap->count ? 0 : (long)((slept_ns() - nap->slept_ns) / 1000000);
}

bool loop_wait(struct loop *loop, bool (*holds)(void *context), void *context, int timeout_ms) {
    long end = now_ms() + timeout_ms;
    for (;;) {
        struct errand errand = {.holds = holds, .context = context};
        send_on(loop, &errand);
        if (errand.answer || now_ms() >= end) {
            return errand.answer;
        }
        loop_pause();
    }
}
