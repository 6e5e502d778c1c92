/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The workers of the process, as the main thread has them: all are started, told of what changes
 * and ended together, and what they say of themselves comes to the main thread.
 *
 * Threads: all functions are the main thread's. */

#include <stdatomic.h>

#include "worker.h"

struct workers;

/* Called on the main thread, except `trouble`. */
struct workers_events {
    void (*ready)(struct workers *workers);        /* NATS is ready for all of them: once */
    void (*unusable)(struct workers *workers);     /* as in worker_events, … */
    void (*unresponsive)(struct workers *workers); /* … as this */
    void (*ended)(struct workers *workers);        /* all have, and wait for workers_finish */
    /* As in worker_events. */
    void (*trouble)(void *context, unsigned worker, const char *subject, const char *text);
    void *context; /* of `trouble` */
};

/* Owns: the caller embeds it, zeroed at first, until workers_finish. */
struct workers {
    struct worker **all;
    unsigned count;
    atomic_uint nats_version; /* that was logged last */
    atomic_uint away_count;   /* those that NATS is not ready for */
    /* Private. */
    struct reactor *reactor;
    struct workers_events events;
    unsigned ready_count, ended_count;
    atomic_uint busy_count; /* that still drain */
};

/* Starts options->worker_count of them.  `options`: of the first worker, which does what one does
 * for all: it has the admin address, the webhooks and the facts; what counts and numbers workers is
 * filled in here.  Owns: as worker_create; borrows the reactor, which is the main thread's. */
enum parley_status workers_start(struct workers *workers, struct reactor *reactor,
                                 const struct worker_options *options,
                                 const struct workers_events *events) PARLEY_MUST_CHECK;

/* These give all workers what worker_set_… gives one. A failure is logged. */
void workers_set_tokens(const struct workers *workers, struct tokens *tokens);
void workers_set_jwks(const struct workers *workers, struct jwks *jwks);
void workers_set_configuration(const struct workers *workers,
                               const struct configuration *configuration);

/* As worker_drain. */
void workers_drain(struct workers *workers, int64_t deadline_ms);
/* Waits for the end of all threads.  After: workers_drain. */
void workers_finish(struct workers *workers);
