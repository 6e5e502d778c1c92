/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What one worker of the process does without being asked: it ends tasks whose attempts are used
 * up, stores for webhooks the moments of tasks, the losses of agents, and acknowledgements that are
 * overdue, and reminds of these. */

#include "gateway.h"

struct ack_watch;
struct board;
struct loss_keeper;
struct moment_keeper;
struct task_ender;
struct webhook_file;
struct worker_options;

struct worker_tasks {
    struct task_ender **enders;     /* one per protocol; NULL for none */
    struct moment_keeper **keepers; /* likewise */
    struct loss_keeper **losses;    /* likewise */
    struct ack_watch **acks;        /* likewise */
};

struct worker_tasks_options {
    struct gateway *gateway;
    const struct worker_options *worker;
};

/* Whether a webhook wants moments of some protocol. */
bool worker_tasks_keep_moments(const struct webhook_file *webhooks);

/* Whether a webhook wants to be told of agents of this protocol that are lost. */
bool worker_tasks_keep_losses(const struct webhook_file *webhooks,
                              const struct parley_protocol *protocol);

/* Whether a webhook wants to be told of acknowledgements of this protocol that are overdue. */
bool worker_tasks_keep_overdue(const struct webhook_file *webhooks,
                               const struct parley_protocol *protocol);

/* Owns: borrows what the options point to.  Returns: PARLEY_E_MEMORY; what was made is destroyed in
 * any case. */
enum parley_status
worker_tasks_create(struct worker_tasks *tasks,
                    const struct worker_tasks_options *options) PARLEY_MUST_CHECK;
/* They begin nothing from now on.  Before: the jetstream is destroyed. Harmless if zeroed, as the
 * next one. */
void worker_tasks_stop(const struct worker_tasks *tasks);
void worker_tasks_destroy(struct worker_tasks *tasks);
