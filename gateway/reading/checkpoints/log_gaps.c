/* SPDX-License-Identifier: Apache-2.0 */

/* See log_gaps.h. */

#include "log_gaps.h"

#include <string.h>

void log_gaps_init(struct log_gaps *holes, const struct parley_checkpoint *says) {
    *holes = (struct log_gaps){.has_end = says->has_position, .end = says->position};
}

static void insert(struct log_gaps *holes, size_t at, struct parley_log_run hole) {
    if (holes->count == PARLEY_LOG_HOLES_MAX) {
        holes->has_more = true;
        if (at == holes->count) {
            return;
        }
        holes->count--; /* the last one gives way */
    }
    memmove(holes->runs + at + 1, holes->runs + at, (holes->count - at) * sizeof holes->runs[0]);
    holes->runs[at] = hole;
    holes->count++;
}

static void drop(struct log_gaps *holes, size_t at) {
    holes->count--;
    memmove(holes->runs + at, holes->runs + at + 1, (holes->count - at) * sizeof holes->runs[0]);
}

/* Keeps the parts of the hole at `at` on either side of the run.  Returns: where the next hole is.
 */
static size_t fill_one(struct log_gaps *holes, size_t at, struct parley_log_run run) {
    struct parley_log_run *hole = &holes->runs[at];
    const struct parley_log_run whole = *hole;
    if (run.last < whole.first || run.first > whole.last) {
        return at + 1;
    }
    if (run.first <= whole.first && run.last >= whole.last) {
        drop(holes, at);
        return at;
    }
    if (run.first <= whole.first) {
        hole->first = run.last + 1;
        return at + 1;
    }
    hole->last = run.first - 1;
    if (run.last < whole.last) {
        insert(holes, at + 1, (struct parley_log_run){run.last + 1, whole.last});
    }
    return at + 1;
}

void log_gaps_note(struct log_gaps *holes, struct parley_log_run run) {
    const bool is_beyond = !holes->has_end || run.first > holes->end;
    for (size_t at = 0; !is_beyond && at < holes->count;) {
        at = fill_one(holes, at, run);
    }
    if (!is_beyond && run.last <= holes->end) {
        return;
    }
    if (holes->has_end && run.first - 1 > holes->end) {
        insert(holes, holes->count, (struct parley_log_run){holes->end + 1, run.first - 1});
    }
    holes->has_end = true;
    holes->end = run.last;
}
