/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Counts how far ahead of their rates senders are: a table of fixed size for any number of them,
 * shared by all workers (ADR 13). It does not depend on HTTP or on a clock: the caller passes the
 * time.
 *
 * A sender that is not ahead takes no place. Where all places that a sender may have are taken, the
 * one that is least ahead is given up: it has nearly recovered, and loses the least by being
 * forgotten. So an attacker who wants a limited sender to be forgotten must bring all the others in
 * those places as far ahead, and cannot know who they are. */

#include <stddef.h>

#include <parley/status.h>

#include "limit_key.h"
#include "rate.h"

enum rate_unit { RATE_MESSAGES, RATE_BYTES, RATE_UNITS };

/* How fast a sender may send.  0: as fast as it can. */
struct rate {
    uint64_t per_s[RATE_UNITS];
};

/* The cost of a request. */
struct rate_cost {
    uint64_t count[RATE_UNITS];
};

/* The leads of rate.h.  0 where there is no limit. */
struct rate_lead {
    int64_t ns[RATE_UNITS];
};

struct rate_table;

static inline bool rate_is_limited(const struct rate *rate) {
    return rate->per_s[RATE_MESSAGES] > 0 || rate->per_s[RATE_BYTES] > 0;
}

/* Returns the wait for the unit that takes longest; 0: `cost` can be taken now. */
int64_t rate_wait_for(const struct rate *rate, const struct rate_lead *lead,
                      const struct rate_cost *cost);

/* `places`: how many senders it holds, rounded up to a power of 2 (32 bytes each). */
enum parley_status rate_table_create(size_t places, struct rate_table **out) PARLEY_MUST_CHECK;
void rate_table_destroy(struct rate_table *table);

/* The lead of a sender.  Threads: any, like all that follow.  Units: `now_ns` is nanoseconds of a
 * monotonic clock, which may differ a little from thread to thread. */
struct rate_lead rate_table_look(struct rate_table *table, const struct limit_key *key,
                                 int64_t now_ns);
/* Takes `cost`, of both units or of neither.
 * Returns: the lead after it or, where *out_is_taken is false, the unchanged one. */
struct rate_lead rate_table_take(struct rate_table *table, const struct limit_key *key,
                                 const struct rate *rate, const struct rate_cost *cost,
                                 int64_t now_ns, bool *out_is_taken);
/* Takes the cost in any case: for work already done, or as a penalty.  Returns: the lead after
 * it. */
struct rate_lead rate_table_charge(struct rate_table *table, const struct limit_key *key,
                                   const struct rate *rate, const struct rate_cost *cost,
                                   int64_t now_ns);
