/* SPDX-License-Identifier: Apache-2.0 */

/* The event loop. It takes a lock in one place only: for work that another thread posts. Timers are
 * a sorted list, since a reactor has few of them: modules with a deadline per message keep a queue
 * of their own, and one timer for its head. */

#include "reactor.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS_A_TURN = 256 };

struct posted {
    void (*work)(void *context);
    void *context;
    struct posted *next;
};

struct reactor {
    int epoll_fd;
    struct reactor_watch wake;   /* an eventfd */
    struct reactor_timer timers; /* sentinel; the earliest is timers.next */
    struct reactor_turn *turns, **turns_end;
    int64_t now_ms, now_ns;
    atomic_bool is_stopped;

    struct epoll_event events[EVENTS_A_TURN]; /* of this turn, for reactor_watch_remove */
    int event_count;

    pthread_mutex_t posted_lock; /* protects the two below */
    struct posted *posted, **posted_end;
};

static int64_t clock_ns_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t reactor_clock_ns(void) {
    return clock_ns_of(CLOCK_MONOTONIC);
}

int64_t reactor_wall_clock_ns(void) {
    return clock_ns_of(CLOCK_REALTIME);
}

int64_t reactor_clock_ms(void) {
    return reactor_clock_ns() / 1000000;
}

static void read_clock(struct reactor *reactor) {
    reactor->now_ns = reactor_clock_ns();
    reactor->now_ms = reactor->now_ns / 1000000;
}

static void drain_wake(struct reactor_watch *watch, uint32_t events) {
    (void)events;
    uint64_t count;
    while (read(watch->fd, &count, sizeof count) < 0 && errno == EINTR) {
    }
}

enum parley_status reactor_create(struct reactor **out) {
    struct reactor *reactor = calloc(1, sizeof *reactor);
    if (reactor == NULL) {
        return PARLEY_E_MEMORY;
    }
    pthread_mutex_init(&reactor->posted_lock, NULL);
    reactor->posted_end = &reactor->posted;
    reactor->turns_end = &reactor->turns;
    reactor->timers.next = reactor->timers.previous = &reactor->timers;
    read_clock(reactor);
    reactor->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    reactor->wake.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    reactor->wake.ready = drain_wake;
    if (reactor->epoll_fd < 0 || reactor->wake.fd < 0 ||
        reactor_watch_add(reactor, &reactor->wake, EPOLLIN) != PARLEY_OK) {
        reactor_destroy(reactor);
        return PARLEY_E_IO;
    }
    *out = reactor;
    return PARLEY_OK;
}

void reactor_destroy(struct reactor *reactor) {
    if (reactor == NULL) {
        return;
    }
    while (reactor->posted != NULL) {
        struct posted *posted = reactor->posted;
        reactor->posted = posted->next;
        free(posted);
    }
    if (reactor->wake.fd >= 0) {
        close(reactor->wake.fd);
    }
    if (reactor->epoll_fd >= 0) {
        close(reactor->epoll_fd);
    }
    pthread_mutex_destroy(&reactor->posted_lock);
    free(reactor);
}

void reactor_wake(struct reactor *reactor) {
    const uint64_t one = 1;
    /* It fails only when a wake-up is pending already. */
    if (write(reactor->wake.fd, &one, sizeof one) < 0) {
    }
}

void reactor_stop(struct reactor *reactor) {
    atomic_store(&reactor->is_stopped, true);
    reactor_wake(reactor);
}

int64_t reactor_now_ms(const struct reactor *reactor) {
    return reactor->now_ms;
}

int64_t reactor_now_ns(const struct reactor *reactor) {
    return reactor->now_ns;
}

enum parley_status reactor_post(struct reactor *reactor, void (*work)(void *context),
                                void *context) {
    struct posted *posted = malloc(sizeof *posted);
    if (posted == NULL) {
        return PARLEY_E_MEMORY;
    }
    *posted = (struct posted){.work = work, .context = context};
    pthread_mutex_lock(&reactor->posted_lock);
    *reactor->posted_end = posted;
    reactor->posted_end = &posted->next;
    pthread_mutex_unlock(&reactor->posted_lock);
    reactor_wake(reactor);
    return PARLEY_OK;
}

static void run_posted(struct reactor *reactor) {
    pthread_mutex_lock(&reactor->posted_lock);
    struct posted *posted = reactor->posted;
    reactor->posted = NULL;
    reactor->posted_end = &reactor->posted;
    pthread_mutex_unlock(&reactor->posted_lock);
    while (posted != NULL) {
        struct posted *next = posted->next;
        posted->work(posted->context);
        free(posted);
        posted = next;
    }
}

static enum parley_status control(struct reactor *reactor, int operation,
                                  struct reactor_watch *watch, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = watch};
    return epoll_ctl(reactor->epoll_fd, operation, watch->fd, &event) == 0 ? PARLEY_OK
                                                                           : PARLEY_E_IO;
}

enum parley_status reactor_watch_add(struct reactor *reactor, struct reactor_watch *watch,
                                     uint32_t events) {
    return control(reactor, EPOLL_CTL_ADD, watch, events);
}

enum parley_status reactor_watch_change(struct reactor *reactor, struct reactor_watch *watch,
                                        uint32_t events) {
    return control(reactor, EPOLL_CTL_MOD, watch, events);
}

void reactor_watch_remove(struct reactor *reactor, struct reactor_watch *watch) {
    const int failed = epoll_ctl(reactor->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
    assert(!failed);
    (void)failed;
    for (int i = 0; i < reactor->event_count; i++) {
        if (reactor->events[i].data.ptr == watch) {
            reactor->events[i].data.ptr = NULL;
        }
    }
}

/* Looks from both ends: most are due after all others, or at once.  Returns: the last one that is
 * due by then. */
static struct reactor_timer *find_place(struct reactor *reactor, int64_t due_ms) {
    struct reactor_timer *all = &reactor->timers;
    struct reactor_timer *early = all, *late = all->previous;
    while (late != all && late->due_ms > due_ms) {
        if (early->next->due_ms > due_ms) {
            return early;
        }
        early = early->next;
        late = late->previous;
    }
    return late;
}

void reactor_timer_set(struct reactor *reactor, struct reactor_timer *timer, int64_t delay_ms) {
    reactor_timer_clear(reactor, timer);
    timer->due_ms = reactor->now_ms + (delay_ms > 0 ? delay_ms : 0);
    struct reactor_timer *after = find_place(reactor, timer->due_ms);
    timer->previous = after;
    timer->next = after->next;
    after->next->previous = timer;
    after->next = timer;
    timer->is_armed = true;
}

void reactor_timer_clear(struct reactor *reactor, struct reactor_timer *timer) {
    (void)reactor;
    if (timer->is_armed) {
        timer->previous->next = timer->next;
        timer->next->previous = timer->previous;
        timer->is_armed = false;
    }
}

/* A timer that is set again while it fires, even without delay, fires in the next turn. */
static void fire_timers(struct reactor *reactor) {
    struct reactor_timer due = {.next = &due, .previous = &due};
    while (reactor->timers.next != &reactor->timers &&
           reactor->timers.next->due_ms <= reactor->now_ms) {
        struct reactor_timer *timer = reactor->timers.next;
        reactor_timer_clear(reactor, timer);
        timer->previous = due.previous;
        timer->next = &due;
        due.previous->next = timer;
        due.previous = timer;
        timer->is_armed = true; /* so that a due timer may clear another one */
    }
    while (due.next != &due) {
        struct reactor_timer *timer = due.next;
        reactor_timer_clear(reactor, timer);
        timer->fire(timer);
    }
}

void reactor_turn_add(struct reactor *reactor, struct reactor_turn *turn) {
    turn->next = NULL;
    *reactor->turns_end = turn;
    reactor->turns_end = &turn->next;
}

static int sleep_ms(const struct reactor *reactor) {
    int64_t sleep = -1;
    if (reactor->timers.next != &reactor->timers) {
        int64_t left = reactor->timers.next->due_ms - reactor_clock_ms();
        sleep = left > 0 ? left : 0;
    }
    for (struct reactor_turn *turn = reactor->turns; turn != NULL; turn = turn->next) {
        int64_t wanted = turn->timeout_ms != NULL ? turn->timeout_ms(turn) : -1;
        if (wanted >= 0 && (sleep < 0 || wanted < sleep)) {
            sleep = wanted;
        }
    }
    return sleep > INT32_MAX ? INT32_MAX : (int)sleep;
}

void reactor_run(struct reactor *reactor) {
    while (!atomic_load(&reactor->is_stopped)) {
        int count =
            epoll_wait(reactor->epoll_fd, reactor->events, EVENTS_A_TURN, sleep_ms(reactor));
        reactor->event_count = count > 0 ? count : 0;
        read_clock(reactor);
        for (int i = 0; i < reactor->event_count; i++) {
            struct reactor_watch *watch = reactor->events[i].data.ptr;
            if (watch != NULL) {
                watch->ready(watch, reactor->events[i].events);
            }
        }
        reactor->event_count = 0;
        fire_timers(reactor);
        run_posted(reactor);
        for (struct reactor_turn *turn = reactor->turns; turn != NULL; turn = turn->next) {
            turn->run(turn);
        }
    }
}
