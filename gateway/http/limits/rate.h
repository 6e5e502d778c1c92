/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The arithmetic of a rate: a bucket that holds the amount of two seconds, as a single number
 * (GCRA). That number is the time at which the bucket will be full again if nothing is sent; the
 * time from now until then is the *lead*, how far a sender is ahead of its rate. A bucket that was
 * never used is equal to a full one, so a full one can be forgotten.
 *
 * All of it is integers: nanoseconds of a monotonic clock that the caller reads. */

#include <stdbool.h>
#include <stdint.h>

#define RATE_SECOND_NS INT64_C(1000000000)
#define RATE_BURST_NS (2 * RATE_SECOND_NS)
/* More than this is never owed, so that no mistake locks a sender out for longer. */
#define RATE_LEAD_MAX_NS (3600 * RATE_SECOND_NS)
/* The maximum for either unit; its cost fits the arithmetic. */
#define RATE_PER_S_MAX (UINT64_C(1) << 32)

/* A lead of at most this is not ahead at all.  Returns: the nanoseconds that `count` takes at
 * `per_s`, which is not 0; rounded up, and at most RATE_LEAD_MAX_NS. */
static inline int64_t rate_cost_ns(uint64_t per_s, uint64_t count) {
    const uint64_t most = (uint64_t)RATE_LEAD_MAX_NS / RATE_SECOND_NS * per_s;
    if (count >= most) {
        return RATE_LEAD_MAX_NS;
    }
    const uint64_t whole = count / per_s;
    const uint64_t rest = count % per_s;
    return (int64_t)(whole * RATE_SECOND_NS + (rest * RATE_SECOND_NS + per_s - 1) / per_s);
}

/* Whole seconds, rounded up. */
static inline int64_t rate_seconds(int64_t ns) {
    return (ns + RATE_SECOND_NS - 1) / RATE_SECOND_NS;
}

/* How much a sender with this lead may send at once. */
static inline uint64_t rate_left(uint64_t per_s, int64_t lead_ns) {
    if (lead_ns >= RATE_BURST_NS) {
        return 0;
    }
    const uint64_t room_ns = (uint64_t)(RATE_BURST_NS - lead_ns);
    return room_ns / RATE_SECOND_NS * per_s + room_ns % RATE_SECOND_NS * per_s / RATE_SECOND_NS;
}

/* How long until `count` may be sent at once; 0: now. More than a burst may be sent when the bucket
 * is full, and is owed afterwards: otherwise it could never be sent. */
static inline int64_t rate_wait_ns(uint64_t per_s, int64_t lead_ns, uint64_t count) {
    const int64_t cost_ns = rate_cost_ns(per_s, count);
    const int64_t wait_ns =
        lead_ns + (cost_ns < RATE_BURST_NS ? cost_ns : RATE_BURST_NS) - RATE_BURST_NS;
    return wait_ns > 0 ? wait_ns : 0;
}

/* The lead after `count` was sent. */
static inline int64_t rate_lead_after(uint64_t per_s, int64_t lead_ns, uint64_t count) {
    const int64_t after_ns = lead_ns + rate_cost_ns(per_s, count);
    return after_ns < RATE_LEAD_MAX_NS ? after_ns : RATE_LEAD_MAX_NS;
}
