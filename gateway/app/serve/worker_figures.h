/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a worker's parts have and count by themselves, copied to its figures twice a second, so that
 * a message costs nothing of it. */

#include "fact_consumers.h"
#include "services.h"
#include "halt_keeper.h"

struct worker_figures {
    struct services *services; /* NULL: not started */
    /* One a protocol; NULL: it has none, or another worker does. */
    struct fact_consumers *const *fact_consumers;
    struct halt_keeper *const *halt_keepers;
    struct reactor_timer timer;
};

/* Owns: the caller embeds it, with what it is to read, and keeps that until it is stopped. */
void worker_figures_start(struct worker_figures *copier);
void worker_figures_stop(struct worker_figures *copier);
