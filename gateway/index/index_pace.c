/* SPDX-License-Identifier: Apache-2.0 */

/* See index_pace.h. A share of one processor is a credit that grows with time and shrinks with what
 * the thread uses. The share follows from the last tenth of a second. After a silence, of which
 * nothing follows, it is small for as long: the first messages of many senders are no time to take
 * all, and the credit is enough for those of few.
 *
 * What the machine has left is estimated from the process alone, since a service may not see more
 * (ProcSubset=pid), and a container sees what is not its own. A message costs NATS and the client,
 * which may be on the same machine, about as much as the gateway each. Where this thread has to
 * wait for its processor, others are taken to use most of the machine. */

#include "index_pace.h"

static const int64_t period_ns = 100000000, silence_ns = 500000000;
static const double share_least = 1.0 / INDEX_PACE_FLOOR;
static const double used_quiet = 0.05;    /* of a processor: nothing is sent that could be slowed */
static const double used_times = 3;       /* by the gateway, NATS and clients */
static const double reserve = 0.5;        /* of a processor, for bursts */
static const double crowd = 0.75;         /* of all processors: what others use then */
static const double waits_crowded = 0.25; /* of the time that the thread ran */
static const double ran_least_ns = 1000000; /* less says nothing about waiting */
static const double credit_most_ns = 5000000;
static const double debt_most_ns = 100000000;

static double bounded(double value, double least, double most) {
    return value < least ? least : value > most ? most : value;
}

void index_pace_init(struct index_pace *pace, unsigned processors,
                     const struct index_pace_sample *sample) {
    *pace = (struct index_pace){.processors = processors,
                                .measured = *sample,
                                .now = sample->now,
                                .own = sample->own,
                                .share = 1,
                                .credit = credit_most_ns};
}

/* ---- the share ---- */

/* How far the index falls behind is bounded. */
static double share_for_lag(uint64_t lag) {
    const double half = (double)INDEX_PACE_LAG_MAX / 2;
    return (double)lag > half ? ((double)lag - half) / half : 0;
}

static double share_left(const struct index_pace *pace, double used) {
    const double processors = (double)pace->processors;
    const double others = pace->is_crowded ? processors * crowd : reserve;
    return used < used_quiet ? 1 : processors - used_times * used - others;
}

static void measure(struct index_pace *pace, const struct index_pace_sample *sample) {
    const struct index_pace_sample *before = &pace->measured;
    const double elapsed = (double)(sample->now - before->now);
    const double ran = (double)(sample->own - before->own);
    const double used = ((double)(sample->process - before->process) - ran) / elapsed;
    if (ran >= ran_least_ns) {
        pace->is_crowded = (double)(sample->waited - before->waited) > waits_crowded * ran;
    }
    const double left = share_left(pace, used), wanted = share_for_lag(sample->lag);
    pace->share = bounded(left > wanted ? left : wanted, share_least, 1);
    pace->measured = *sample;
}

/* ---- the credit ---- */

bool index_pace_allows(struct index_pace *pace, const struct index_pace_sample *sample) {
    const double gained = pace->share * (double)(sample->now - pace->now);
    const double spent = (double)(sample->own - pace->own);
    pace->credit = bounded(pace->credit + gained - spent, -debt_most_ns, credit_most_ns);
    pace->now = sample->now;
    pace->own = sample->own;
    if (sample->now - pace->measured.now >= silence_ns) {
        pace->measured = *sample;
        pace->share = share_least;
    } else if (sample->now - pace->measured.now >= period_ns) {
        measure(pace, sample);
    }
    if (!index_pace_is_limited(pace)) {
        pace->credit = credit_most_ns;
    }
    return pace->credit >= 0 || sample->is_wanted;
}

bool index_pace_is_limited(const struct index_pace *pace) {
    return pace->share < 1;
}

/* ---- transactions ---- */

int64_t index_pace_commit_ms(const struct index_pace *pace, int64_t age_ms, bool is_current,
                             bool is_wanted) {
    enum { SILENCE = 10, WANTED = 50, USUAL = 1000, LIMITED = 5000 };
    const int64_t most = is_wanted ? WANTED : index_pace_is_limited(pace) ? LIMITED : USUAL;
    const int64_t left = age_ms < most ? most - age_ms : 0;
    return is_current && left > SILENCE ? SILENCE : left;
}
