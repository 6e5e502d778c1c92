/* SPDX-License-Identifier: Apache-2.0 */

#include "worker_tasks.h"

#include <stdlib.h>

#include <parley/index.h>

#include "ack_reminder.h"
#include "channel.h"
#include "loss_keeper.h"
#include "moment_keeper.h"
#include "task_ender.h"
#include "webhook_file.h"
#include "worker.h"

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

static enum parley_status create_reminder(struct worker_tasks *tasks,
                                          const struct worker_tasks_options *options,
                                          size_t number) {
    const struct worker_options *worker = options->worker;
    const struct channel *channel = &options->gateway->configuration->channels[number];
    const struct parley_index_kind *index = channel->protocol->index;
    const struct ack_reminder_options reminder = {.gateway = options->gateway,
                                                  .channel = channel,
                                                  .keeper = worker->index_keeper,
                                                  .service = worker->index_service,
                                                  .overdue_ms = worker->configuration->remind_ms};
    return reminder.overdue_ms > 0 && reminder.service != NULL && index != NULL &&
                   index->acks != NULL
               ? ack_reminder_create(&reminder, &tasks->reminders[number])
               : PARLEY_OK;
}

/* The keeper comes first: boards tell nothing before there is an ender. */
static enum parley_status create_one(struct worker_tasks *tasks,
                                     const struct worker_tasks_options *options, size_t number) {
    struct gateway *gateway = options->gateway;
    const struct webhook_file *webhooks = options->worker->webhooks;
    struct board *board = options->worker->boards[number];
    const struct channel *channel = &gateway->configuration->channels[number];
    PARLEY_TRY(create_reminder(tasks, options, number));
    if (worker_tasks_keep_losses(webhooks, channel->protocol)) {
        PARLEY_TRY(loss_keeper_create(gateway->reactor, gateway->jetstream, channel,
                                      gateway->schemas[number], &tasks->losses[number]));
    }
    if (board == NULL) {
        return PARLEY_OK;
    }
    if (are_wanted(webhooks, channel->protocol)) {
        PARLEY_TRY(moment_keeper_create(gateway, channel->protocol, channel->fact_bucket,
                                        options->worker->moments, &tasks->keepers[number]));
    }
    return task_ender_create(gateway, channel->protocol, board, &tasks->enders[number]);
}

static bool is_made(const struct worker_tasks *tasks) {
    return tasks->enders != NULL && tasks->keepers != NULL && tasks->losses != NULL &&
           tasks->reminders != NULL;
}

enum parley_status worker_tasks_create(struct worker_tasks *tasks,
                                       const struct worker_tasks_options *options) {
    const size_t count = parley_protocol_count();
    tasks->enders = calloc(count, sizeof(struct task_ender *));
    tasks->keepers = calloc(count, sizeof(struct moment_keeper *));
    tasks->losses = calloc(count, sizeof(struct loss_keeper *));
    tasks->reminders = calloc(count, sizeof(struct ack_reminder *));
    if (!is_made(tasks)) {
        return PARLEY_E_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        PARLEY_TRY(create_one(tasks, options, i));
    }
    return PARLEY_OK;
}

void worker_tasks_stop(const struct worker_tasks *tasks) {
    for (size_t i = 0; is_made(tasks) && i < parley_protocol_count(); i++) {
        task_ender_stop(tasks->enders[i]);
        moment_keeper_stop(tasks->keepers[i]);
        loss_keeper_stop(tasks->losses[i]);
        ack_reminder_stop(tasks->reminders[i]);
    }
}

void worker_tasks_destroy(struct worker_tasks *tasks) {
    for (size_t i = 0; is_made(tasks) && i < parley_protocol_count(); i++) {
        task_ender_destroy(tasks->enders[i]);
        moment_keeper_destroy(tasks->keepers[i]);
        loss_keeper_destroy(tasks->losses[i]);
        ack_reminder_destroy(tasks->reminders[i]);
    }
    free(tasks->enders);
    free(tasks->keepers);
    free(tasks->losses);
    free(tasks->reminders);
}
