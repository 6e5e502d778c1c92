/* SPDX-License-Identifier: Apache-2.0 */

#include "worker_tasks.h"

#include <stdlib.h>

#include "channel.h"
#include "loss_keeper.h"
#include "moment_keeper.h"
#include "task_ender.h"
#include "webhook_file.h"

static bool are_wanted(const struct webhook_file *webhooks,
                       const struct parley_protocol *protocol) {
    for (size_t i = 0; webhooks != NULL && i < webhooks->count; i++) {
        if (webhook_wants_moments(&webhooks->webhooks[i], protocol)) {
            return true;
        }
    }
    return false;
}

bool worker_tasks_keep_moments(const struct webhook_file *webhooks) {
    for (size_t i = 0; i < parley_protocol_count(); i++) {
        if (are_wanted(webhooks, parley_protocols[i])) {
            return true;
        }
    }
    return false;
}

bool worker_tasks_keep_losses(const struct webhook_file *webhooks,
                              const struct parley_protocol *protocol) {
    for (size_t i = 0; webhooks != NULL && i < webhooks->count; i++) {
        if (webhook_wants_losses(&webhooks->webhooks[i], protocol)) {
            return true;
        }
    }
    return false;
}

/* The keeper comes first: boards tell nothing before there is an ender. */
static enum parley_status create_one(struct worker_tasks *tasks,
                                     const struct worker_tasks_options *options, size_t number) {
    struct gateway *gateway = options->gateway;
    const struct channel *channel = &gateway->configuration->channels[number];
    if (worker_tasks_keep_losses(options->webhooks, channel->protocol)) {
        PARLEY_TRY(loss_keeper_create(gateway->reactor, gateway->jetstream, channel,
                                      gateway->schemas[number], &tasks->losses[number]));
    }
    if (options->boards[number] == NULL) {
        return PARLEY_OK;
    }
    if (are_wanted(options->webhooks, channel->protocol)) {
        PARLEY_TRY(moment_keeper_create(gateway, channel->protocol, channel->fact_bucket,
                                        options->moments, &tasks->keepers[number]));
    }
    return task_ender_create(gateway, channel->protocol, options->boards[number],
                             &tasks->enders[number]);
}

enum parley_status worker_tasks_create(struct worker_tasks *tasks,
                                       const struct worker_tasks_options *options) {
    const size_t count = parley_protocol_count();
    tasks->enders = calloc(count, sizeof(struct task_ender *));
    tasks->keepers = calloc(count, sizeof(struct moment_keeper *));
    tasks->losses = calloc(count, sizeof(struct loss_keeper *));
    if (tasks->enders == NULL || tasks->keepers == NULL || tasks->losses == NULL) {
        return PARLEY_E_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        PARLEY_TRY(create_one(tasks, options, i));
    }
    return PARLEY_OK;
}

static bool is_made(const struct worker_tasks *tasks) {
    return tasks->enders != NULL && tasks->keepers != NULL && tasks->losses != NULL;
}

void worker_tasks_stop(const struct worker_tasks *tasks) {
    for (size_t i = 0; is_made(tasks) && i < parley_protocol_count(); i++) {
        task_ender_stop(tasks->enders[i]);
        moment_keeper_stop(tasks->keepers[i]);
        loss_keeper_stop(tasks->losses[i]);
    }
}

void worker_tasks_destroy(struct worker_tasks *tasks) {
    for (size_t i = 0; is_made(tasks) && i < parley_protocol_count(); i++) {
        task_ender_destroy(tasks->enders[i]);
        moment_keeper_destroy(tasks->keepers[i]);
        loss_keeper_destroy(tasks->losses[i]);
    }
    free(tasks->enders);
    free(tasks->keepers);
    free(tasks->losses);
}
