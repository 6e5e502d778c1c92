/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Notices a worker that does not come back to its loop: it answers none of its clients, while its
 * process lives and looks well to a service manager. The main thread asks each worker for a sign of
 * life once a second, and counts the seconds in which none came. It counts its own turns instead of
 * reading a clock, so that a process that was stopped, or a machine that slept, is no stall.
 *
 * Threads: all functions are the main thread's. */

#include "reactor.h"

struct stall_watched;

struct stall_watch {
    struct reactor *reactor; /* the main thread's; NULL: not started */
    struct reactor_timer timer;
    struct stall_watched *watched; /* `count` of them; there is room for all workers */
    unsigned count;
    unsigned limit; /* in seconds; 0: no worker is ever stalled */
    unsigned left;  /* seconds until all must have ended; 0: they need not end */
    /* `number`: of the worker, in the order in which they were added, or STALL_OF_DRAIN. */
    void (*stalled)(struct stall_watch *watch, unsigned number);
};

#define STALL_OF_DRAIN (~0u) /* not all have ended in time */

/* Begins, with `stalled` set. It also tells the service manager that the main thread is alive.
 * `limit_ms` is rounded up to seconds; 0: it never calls `stalled`. */
enum parley_status stall_watch_start(struct stall_watch *watch, struct reactor *reactor,
                                     unsigned workers_max, int64_t limit_ms) PARLEY_MUST_CHECK;

/* Watches a worker's reactor, which is borrowed and must outlive the watch's next stop or drain. */
void stall_watch_add(struct stall_watch *watch, struct reactor *worker);

/* Tells the watch that the workers end by themselves now, within `drain_ms`: it no longer asks
 * them, and calls `stalled` if stall_watch_stop does not follow within that time and the limit. */
void stall_watch_drain(struct stall_watch *watch, int64_t drain_ms);

/* Safe when it was not started.  After: the threads of the workers have ended. */
void stall_watch_stop(struct stall_watch *watch);
