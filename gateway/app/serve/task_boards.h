/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The boards of the process: one for each protocol that has work. */

#include <parley/status.h>

#include "configuration.h"

struct board;
struct moments;

/* `moments`: to which they add what happens by the clock alone, also what happened up to `past_ms`
 * before it is read.  Owns: borrows them; returns an
 * array in the order of parley_protocols, NULL where a protocol has no work, which the caller
 * destroys once no reactor runs. */
enum parley_status task_boards_create(const struct configuration *configuration,
                                      struct moments *moments, int64_t past_ms,
                                      struct board ***out) PARLEY_MUST_CHECK;
/* NULL is allowed. */
void task_boards_destroy(struct board **boards);
