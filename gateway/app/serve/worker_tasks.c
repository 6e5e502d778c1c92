/* SPDX-License-Identifier: Apache-2.0 */

#include "worker_tasks.h"

#include <stdlib.h>

#include "ack_watch.h"
#include "channel.h"
#include "index_view.h"
#include "loss_keeper.h"
#include "moment_keeper.h"
#include "task_ender.h"
#include "webhook_file.h"
#include "worker.h"

typedef bool wants_fn(const struct webhook *webhook, const struct parley_protocol *protocol);

static bool does_any(const struct webhook_file *webhooks, wants_fn *wants,
                     const struct parley_protocol *protocol) {
    for (size_t i = 0; webhooks != NULL && i < webhooks->count; i++) {
        if (wants(&webhooks->webhooks[i], protocol)) {
            return true;
        }
    }
    return false;
}

bool worker_tasks_keep_moments(const struct webhook_file *webhooks) {
    for (size_t i = 0; i < parley_protocol_count(); i++) {
        if (does_any(webhooks, webhook_wants_moments, parley_protocols[i])) {
            return true;
        }
    }
    return false;
}

bool worker_tasks_keep_losses(const struct webhook_file *webhooks,
                              const struct parley_protocol *protocol) {
    return does_any(webhooks, webhook_wants_losses, protocol);
}

bool worker_tasks_keep_overdue(const struct webhook_file *webhooks,
                               const struct parley_protocol *protocol) {
    return does_any(webhooks, webhook_wants_overdue, protocol);
}

/* Without reminders, what is overdue is what lists call so. */
static enum parley_status create_ack_watch(struct worker_tasks *tasks,
                                           const struct worker_tasks_options *options,
                                           size_t number) {
    const struct worker_options *worker = options->worker;
    const struct channel *channel = &options->gateway->configuration->channels[number];
    const int64_t remind_ms = worker->configuration->remind_ms;
    const struct ack_watch_options watch = {
        .gateway = options->gateway,
        .channel = channel,
        .keeper = worker->index_keeper,
        .service = worker->index_service,
        .overdue_ms = remind_ms > 0 ? remind_ms : INDEX_OVERDUE_DEFAULT_MS,
        .reminds = remind_ms > 0,
        .stores = worker_tasks_keep_overdue(worker->webhooks, channel->protocol)};
    return channel->ack_bucket != NULL && watch.service != NULL && (watch.reminds || watch.stores)
               ? ack_watch_create(&watch, &tasks->acks[number])
               : PARLEY_OK;
}

/* The keeper comes first: boards tell nothing before there is an ender. */
static enum parley_status create_one(struct worker_tasks *tasks,
                                     const struct worker_tasks_options *options, size_t number) {
    struct gateway *gateway = options->gateway;
    const struct webhook_file *webhooks = options->worker->webhooks;
    struct board *board = options->worker->boards[number];
    const struct channel *channel = &gateway->configuration->channels[number];
    PARLEY_TRY(create_ack_watch(tasks, options, number));
    if (worker_tasks_keep_losses(webhooks, channel->protocol)) {
        PARLEY_TRY(loss_keeper_create(gateway->reactor, gateway->jetstream, channel,
                                      gateway->schemas[number], &tasks->losses[number]));
    }
    if (board == NULL) {
        return PARLEY_OK;
    }
    if (does_any(webhooks, webhook_wants_moments, channel->protocol)) {
        PARLEY_TRY(moment_keeper_create(gateway, channel->protocol, channel->fact_bucket,
                                        options->worker->moments, &tasks->keepers[number]));
    }
    return task_ender_create(gateway, channel->protocol, board, &tasks->enders[number]);
}

static bool is_made(const struct worker_tasks *tasks) {
    return tasks->enders != NULL && tasks->keepers != NULL && tasks->losses != NULL &&
           tasks->acks != NULL;
}

enum parley_status worker_tasks_create(struct worker_tasks *tasks,
                                       const struct worker_tasks_options *options) {
    const size_t count = parley_protocol_count();
    tasks->enders = calloc(count, sizeof(struct task_ender *));
    tasks->keepers = calloc(count, sizeof(struct moment_keeper *));
    tasks->losses = calloc(count, sizeof(struct loss_keeper *));
    tasks->acks = calloc(count, sizeof(struct ack_watch *));
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
        ack_watch_stop(tasks->acks[i]);
    }
}

void worker_tasks_destroy(struct worker_tasks *tasks) {
    for (size_t i = 0; is_made(tasks) && i < parley_protocol_count(); i++) {
        task_ender_destroy(tasks->enders[i]);
        moment_keeper_destroy(tasks->keepers[i]);
        loss_keeper_destroy(tasks->losses[i]);
        ack_watch_destroy(tasks->acks[i]);
    }
    free(tasks->enders);
    free(tasks->keepers);
    free(tasks->losses);
    free(tasks->acks);
}
