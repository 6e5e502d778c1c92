/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The limits of all workers together: memory, disk, rates, connections. */

#include <parley/buffer.h>

#include "budget.h"
#include "coding.h"
#include "object_store.h"
#include "sender_limits.h"
#include "spool.h"

struct configuration;

/* Owns: the caller embeds it; zeroed is valid for process_limits_finish. */
struct process_limits {
    struct budget budget;
    struct coding_quota codings;
    struct spool_quota spools;
    struct object_room object_room;
    struct limits limits;
    struct parley_buffer full_answer; /* to an address that has too many connections */
};

/* Finish it even after a failure. */
enum parley_status process_limits_init(struct process_limits *bounds,
                                       const struct configuration *configuration) PARLEY_MUST_CHECK;
/* Applies the limits that can change. Requests beyond a lowered limit stay until they end. Threads:
 * main's, while the workers run. */
void process_limits_change(struct process_limits *bounds,
                           const struct configuration *configuration);
void process_limits_finish(struct process_limits *bounds);
