/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Copies the figures that all workers share, and those of the process, to the main thread's figures
 * twice a second. So that block too has one writer, and a request for /metrics makes no system
 * calls for it. */

#include "process_limits.h"
#include "figures.h"
#include "reactor.h"

struct board;
struct index_keeper;

/* The sources of the copies.  Owns: borrowed. */
struct shared_sources {
    const struct configuration *configuration;
    const struct process_limits *bounds;
    const atomic_uint *away_count;            /* of the workers: those that NATS is not ready for */
    struct halt_set *const *halt_sets;        /* one per protocol; NULL if it halts nothing */
    struct board *const *const *boards;       /* of the protocols, once there are workers */
    struct index_keeper *const *index_keeper; /* NULL there: no index is kept */
    const struct figures_set *set;
};

struct shared_figures {
    struct shared_sources sources;
    struct reactor *reactor; /* NULL: not started */
    struct reactor_timer timer;
    unsigned turn;
};

/* Owns: the caller embeds it, and keeps the sources until it is stopped.  Threads: main's. */
void shared_figures_start(struct shared_figures *copier, struct reactor *reactor,
                          const struct shared_sources *sources);
void shared_figures_stop(struct shared_figures *copier);
