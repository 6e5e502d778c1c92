/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Which entries a log lacks, as far as it was read. They come in the order of storage, so that one
 * may fill a hole that others left. A bounded number of holes is known; beyond it, that there may
 * be more. */

#include <parley/restore.h>

struct log_gaps {
    bool has_end; /* there was an entry, or it is known where the log continues … */
    int64_t end;  /* … and this is the highest number so far */
    bool has_more;
    size_t count;
    struct parley_log_run runs[PARLEY_LOG_HOLES_MAX]; /* in their order */
};

/* `says`: of the checkpoint that the log follows. */
void log_gaps_init(struct log_gaps *holes, const struct parley_checkpoint *says);
/* The entries of a run are there. */
void log_gaps_note(struct log_gaps *holes, struct parley_log_run run);
