/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a worker's parts have and count by themselves, copied to its figures twice a second, so that
 * a message costs nothing of it. */

#include "gateway.h"

struct worker_figures {
    struct gateway *gateway; /* NULL: not started */
    struct reactor_timer timer;
};

/* Owns: the caller embeds it, and keeps the gateway until it is stopped. */
void worker_figures_start(struct worker_figures *copier, struct gateway *gateway);
void worker_figures_stop(struct worker_figures *copier);
