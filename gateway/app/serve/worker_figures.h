/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Copies the counts of a worker's parts to its figures twice a second, so that they cost a message
 * nothing. */

#include "fact_consumers.h"
#include "services.h"
#include "halt_keeper.h"

struct worker_figures {
    struct services *services; /* NULL: not started */
    /* One per protocol; NULL if it has none, or if another worker reports it. */
    struct fact_consumers *const *fact_consumers;
    struct halt_keeper *const *halt_keepers;
    struct reactor_timer timer;
};

/* Owns: the caller embeds it with its sources, and keeps them until it is stopped. */
void worker_figures_start(struct worker_figures *copier);
void worker_figures_stop(struct worker_figures *copier);
