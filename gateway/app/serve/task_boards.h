/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The boards of the process: one for each protocol that has work. */

#include <parley/status.h>

#include "channel.h"

struct board;

/* `channels`: of parley_protocols, in their order.  Owns: returns an array in that order, NULL
 * where a protocol has no work, which the caller destroys once no reactor runs. */
enum parley_status task_boards_create(const struct channel *channels,
                                      struct board ***out) PARLEY_MUST_CHECK;
/* NULL is allowed. */
void task_boards_destroy(struct board **boards);
