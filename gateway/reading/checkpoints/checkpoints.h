/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The checkpoints and restores of agents (parley/restore.h), read from NATS for each request:
 * nothing is kept between two of them. All answers are for the agent that the address names. */

#include <parley/protocol.h>

#include "budget.h"
#include "configuration.h"
#include "http.h"
#include "jetstream.h"
#include "request_slots.h"
#include "worker_pool.h"

struct checkpoint_task;

/* Reads checkpoints on one reactor.  Owns: borrows all objects that it points to, which must
 * outlive it. */
struct checkpoints {
    const struct configuration *configuration; /* read-only */
    struct parley_schema *const *schemas;      /* of parley_protocols, read-only, shared */
    struct reactor *reactor;
    struct jetstream *jetstream;
    struct completion_queue *completions; /* NULL: long work is done at once */
    struct budget *budget;                /* shared; NULL: no limit */
    struct limits *limits;                /* shared; NULL: no sender is limited */
    struct request_slots slots;           /* of the requests being served; zeroed at first */
    LIST_HEAD(, checkpoint_task) tasks;   /* with the worker pool; zeroed at first */
};

/* GET …/agents/{agent}/checkpoints: the newest first. */
void checkpoints_serve_list(struct checkpoints *checkpoints, struct http_request *request,
                            const struct parley_protocol *protocol, const char *agent);
/* GET …/agents/{agent}/checkpoints/{id}: the whole message. */
void checkpoints_serve_one(struct checkpoints *checkpoints, struct http_request *request,
                           const struct parley_protocol *protocol, const char *agent,
                           const char *id);
/* GET …/agents/{agent}/restore: the last checkpoint, or the one that the option `checkpoint` names,
 * and the log entries after it. */
void checkpoints_serve_restore(struct checkpoints *checkpoints, struct http_request *request,
                               const struct parley_protocol *protocol, const char *agent);
