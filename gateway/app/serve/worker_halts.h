/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The halts of all protocols on one worker; one worker of the process reads their buckets. */

#include "gateway.h"
#include "halt_keeper.h"

struct worker_halts_options {
    struct gateway *gateway;
    struct halt_set *const *sets; /* one per protocol, shared; NULL if it halts nothing */
    bool is_keeper;
    void (*seen)(void *context); /* a keeper has read a bucket for the first time */
    void *context;
};

/* Fills gateway->halt_gates, and keeps the gates.  Owns: the caller embeds it, zeroed at first, and
 * destroys it in any case, before the jetstream. */
struct worker_halts {
    struct gateway *gateway;
    struct halt_keeper **keepers; /* one per protocol; NULL for none */
};
enum parley_status
worker_halts_create(struct worker_halts *halts,
                    const struct worker_halts_options *options) PARLEY_MUST_CHECK;
void worker_halts_stop(struct worker_halts *halts);
void worker_halts_destroy(struct worker_halts *halts);

/* Nothing is held. */
bool worker_halts_are_idle(const struct worker_halts *halts);
void worker_halts_give_up(struct worker_halts *halts);

/* One set for each protocol that has halts. */
enum parley_status halt_sets_create(struct halt_set ***out) PARLEY_MUST_CHECK;
/* NULL is allowed. */
void halt_sets_destroy(struct halt_set **sets);
/* Every bucket whose halts are obeyed was read once. */
bool halt_sets_were_seen(struct halt_set *const *sets, const struct configuration *configuration);
