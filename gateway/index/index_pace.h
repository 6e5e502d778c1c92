/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How much processor time the thread of the index may take, and when it commits what it has
 * written: it takes what the gateway leaves, and a small part while that is busy, so that senders
 * are not slowed (ADR 59). It reads no clock: the caller says what the clocks show. Threads: one.
 */

#include <stdbool.h>
#include <stdint.h>

/* From half as many on it takes more, at so many as much as it can: 20 s of reading, or less. */
#define INDEX_PACE_LAG_MAX UINT64_C(1000000)
/* While the gateway is busy it takes 1 / this of one processor at least. */
enum { INDEX_PACE_FLOOR = 32 };

/* All times are in nanoseconds, each on a clock of its own, which only grows. */
struct index_pace_sample {
    int64_t now;
    int64_t process; /* processor time of all threads of the process */
    int64_t own;     /* and of this one alone */
    int64_t waited;  /* how long this thread was ready to run and did not; 0: it is not known */
    uint64_t lag;    /* messages that are still to be read, about */
    bool is_wanted;  /* a question waits for some of them: there is no limit */
};

/* Private, like all members. */
struct index_pace {
    unsigned processors;
    struct index_pace_sample measured; /* at the begin of the period that is measured */
    int64_t now, own;                  /* when it was asked last */
    double share;                      /* of one processor; 1 or more: no limit */
    double credit;                     /* nanoseconds that it may use at once; below 0: none */
    bool is_crowded;                   /* others wanted the processor that this thread had */
};

/* `processors`: those that the process may use, 1 or more. There is no limit before the first
 * period has been measured. */
void index_pace_init(struct index_pace *pace, unsigned processors,
                     const struct index_pace_sample *sample);
/* Returns whether the thread may go on now; if not, ask again after some milliseconds. While it has
 * something to do it is to be asked every INDEX_PACE_MS, or more often. */
enum { INDEX_PACE_MS = 100 };
bool index_pace_allows(struct index_pace *pace, const struct index_pace_sample *sample);
/* Whether the thread has less than a processor, if no question waits. */
bool index_pace_is_limited(const struct index_pace *pace);

/* Returns the milliseconds until rows are to be committed of which the first was written `age_ms`
 * ago, 0 or more, if no other message comes. Large transactions are cheap, and a stream that is
 * never silent must not put them off without end.  `is_current`: no other message is known to come.
 */
int64_t index_pace_commit_ms(const struct index_pace *pace, int64_t age_ms, bool is_current,
                             bool is_wanted);
