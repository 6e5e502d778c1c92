/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How far the log of a request's agent goes (facts->of, ADR 32): read for the first message
 * of the request that continues it, and counted from then on. The messages of a body are published
 * without waiting for each other; if one of them fails, the log is read once more, when the ones
 * under way have ended. */

#include "reactor.h"

struct fact_lookup;

/* Owns: each request embeds one, zeroed at first. */
struct log_count {
    bool is_known;
    uint64_t count; /* as parley_decision.count */
    size_t under_way_count;
    struct fact_lookup *waiting; /* until none is under way; NULL if none waits. Only the first
                                    message of a line is decided on, so one does at most. */
    struct reactor_timer turn;   /* in which that one reads */
    int64_t unreadable_until_ms; /* since it could not be read just now; 0: it could */
};
