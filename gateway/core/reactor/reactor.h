/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One thread's event loop: an epoll set, timers, and work posted by other threads. It does not
 * depend on HTTP or NATS, which register watches, timers and turns. Everything here is called on
 * the reactor's thread, unless it says otherwise.
 *
 * A turn of the loop: wait; call the watches that are ready; fire the timers that are due; run
 * posted work; then call every turn in the order in which they were added (HTTP first, so that
 * incoming acknowledgements are answered, then the bus, so that all published messages leave in one
 * write). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <parley/status.h>

struct reactor;

/* Returns the `type` that embeds the object passed to a callback as its `member`. */
#define OWNER_OF(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* A file descriptor to wait for.  Owns: the caller embeds it, and keeps it until it is removed. */
struct reactor_watch {
    void (*ready)(struct reactor_watch *watch, uint32_t epoll_events);
    int fd;
};

/* A deadline.  Owns: the caller embeds it; zeroed is valid and not armed. */
struct reactor_timer {
    void (*fire)(struct reactor_timer *timer);
    int64_t due_ms; /* on reactor_now_ms's clock */
    bool is_armed;
    struct reactor_timer *next, *previous;
};

/* A function to run once per turn.  Owns: the caller embeds it, for as long as the reactor runs. */
struct reactor_turn {
    void (*run)(struct reactor_turn *turn);
    /* How long the loop may sleep; 0: not at all; -1: until an event.  NULL: -1. */
    int64_t (*timeout_ms)(struct reactor_turn *turn);
    struct reactor_turn *next;
};

enum parley_status reactor_create(struct reactor **out) PARLEY_MUST_CHECK;
void reactor_destroy(struct reactor *reactor);

/* Runs turns until reactor_stop. */
void reactor_run(struct reactor *reactor);

/* Ends reactor_run after the present turn.  Threads: any; safe in a signal handler. */
void reactor_stop(struct reactor *reactor);

/* Runs `work` on the reactor's thread, in a later turn.  Threads: any.
 * Returns: PARLEY_E_MEMORY, and then nothing will run. */
enum parley_status reactor_post(struct reactor *reactor, void (*work)(void *context),
                                void *context) PARLEY_MUST_CHECK;

/* Ends the loop's sleep.  Threads: any. */
void reactor_wake(struct reactor *reactor);

/* Milliseconds on the monotonic clock, read once per turn. */
int64_t reactor_now_ms(const struct reactor *reactor);
/* That reading, in nanoseconds. */
int64_t reactor_now_ns(const struct reactor *reactor);
/* Reads that clock now.  Threads: any. */
int64_t reactor_clock_ns(void);
int64_t reactor_clock_ms(void);
/* Unix time, of the clock that people set.  Threads: any. */
int64_t reactor_wall_clock_ns(void);

/* `events` are epoll's.  Returns: PARLEY_E_IO. */
enum parley_status reactor_watch_add(struct reactor *reactor, struct reactor_watch *watch,
                                     uint32_t events) PARLEY_MUST_CHECK;
enum parley_status reactor_watch_change(struct reactor *reactor, struct reactor_watch *watch,
                                        uint32_t events) PARLEY_MUST_CHECK;
/* watch->ready is not called again, not even for an event of the present turn. It is due before
 * watch->fd is closed: afterwards that may be the number of another thread's. */
void reactor_watch_remove(struct reactor *reactor, struct reactor_watch *watch);

/* Replaces the deadline if the timer is armed already. */
void reactor_timer_set(struct reactor *reactor, struct reactor_timer *timer, int64_t delay_ms);
void reactor_timer_clear(struct reactor *reactor, struct reactor_timer *timer);

void reactor_turn_add(struct reactor *reactor, struct reactor_turn *turn);
