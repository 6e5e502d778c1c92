/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds the gaps of an agent's log since its last checkpoint, as a restore would report them (ADR
 * 37). The log is read for the request that asks, up to a number of bytes and for a bounded time.
 */

#include "checkpoints.h"

#include <parley/restore.h>

struct log_survey;

/* `missing`: its member has_more also if not all of the log could be read.  Owns: the survey's. */
typedef void log_survey_fn(void *context, const struct parley_log_gaps *missing);

/* `agent`: as in subjects.  Owns: returns a new survey, which the caller closes; NULL: it cannot
 * begin now. `done` is called once, in a later turn, unless it is closed before. */
struct log_survey *log_survey_open(struct checkpoints *checkpoints,
                                   const struct parley_protocol *protocol, const char *agent,
                                   log_survey_fn *done, void *context);
/* NULL is allowed. May be called from `done`. */
void log_survey_close(struct log_survey *survey);
