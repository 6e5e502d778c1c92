/* SPDX-License-Identifier: Apache-2.0 */

/* See offload.h. Everything whose time grows with the message is done by the worker pool, freeing
 * it too. */

#include "offload.h"

#include <stdlib.h>

#include "message_metrics.h"

static struct offload *offload_of(struct worker_pool_task *task) {
    return OWNER_OF(task, struct offload, task);
}

/* Facts in a bucket may be needed for the subject, and only the reactor may ask. */
static bool can_publish(const struct offload *offload) {
    const struct fact_store *store =
        gateway_fact_store(offload->options.gateway, offload->options.protocol);
    return offload->payload.limit_bytes > 0 && (store == NULL || fact_store_is_last(store));
}

static enum parley_status prepare(struct offload *offload) {
    const struct request_options *options = &offload->options;
    struct parley_message *message = &offload->message;
    const size_t limit = offload->object_upload_limit;
    offload->is_prepared = true;
    if (object_upload_is_due(options, message, limit)) {
        return object_upload_prepare(&offload->deposit, options, message, offload->slice.number,
                                     limit, &offload->payload, &offload->publication);
    }
    if (options->task == INGEST_CONVERT) {
        return message->protocol->convert(message, options->to, &offload->payload);
    }
    if (options->task == INGEST_VALIDATE && options->emit != EMIT_VERDICTS) {
        return message->protocol->encode(message, &offload->payload);
    }
    if (options->task == INGEST_FORWARD && can_publish(offload)) {
        return publication_prepare(message, &options->publication, offload->slice.number,
                                   (struct parley_bytes){0}, &offload->payload,
                                   &offload->publication);
    }
    offload->is_prepared = false;
    return PARLEY_OK;
}

/* A verdict says what would keep the message from being forwarded; a filter has no verdicts. */
static enum parley_status find_size(struct offload *offload) {
    const struct request_options *options = &offload->options;
    if (options->task != INGEST_VALIDATE || options->emit == EMIT_MESSAGES) {
        return PARLEY_OK;
    }
    const enum parley_status status =
        check_size(options, &offload->message, offload->slice.number, &offload->limits,
                   &offload->payload, &offload->size);
    parley_buffer_finish(&offload->payload);
    return status;
}

static void check(struct offload *offload) {
    const int64_t began_ns = reactor_clock_ns();
    offload->status = check_message_as(&offload->options, &offload->message, offload->slice.bytes,
                                       offload->slice.origin);
    offload->check_ns = reactor_clock_ns() - began_ns;
    if (offload->status == PARLEY_OK && parley_message_is_valid(&offload->message)) {
        offload->status = find_size(offload);
        if (offload->status == PARLEY_OK) {
            offload->prepared = prepare(offload);
        }
    }
}

static void work(struct worker_pool_task *task) {
    check(offload_of(task));
}

static void finish(struct offload *offload) {
    LIST_REMOVE(offload, links);
    if (offload->check_ns > 0) {
        message_metrics_check(&offload->options, offload->check_ns);
    }
    offload->done(offload, offload->context);
}

static void on_checked(struct worker_pool_task *task) {
    finish(offload_of(task));
}

struct offload *offload_begin(const struct request_options *options,
                              const struct parley_slice *slice,
                              void (*done)(struct offload *offload, void *context), void *context) {
    struct gateway *gateway = options->gateway;
    const size_t limit = object_upload_limit(options);
    const bool is_large = slice->bytes.length >= OFFLOAD_BYTES_MIN ||
                          object_upload_is_possible(options, slice->bytes.length, limit);
    const bool is_wanted = is_large && gateway->completions != NULL;
    struct offload *offload = is_wanted ? malloc(sizeof *offload) : NULL;
    if (offload == NULL) {
        return NULL;
    }
    *offload = (struct offload){.task = {.work = work, .done = on_checked},
                                .options = *options,
                                .slice = *slice,
                                .done = done,
                                .context = context};
    offload->options.publication.identities = NULL; /* the reactor's */
    parley_message_init(&offload->message, gateway_message(gateway, options->protocol)->schema);
    offload->limits = check_size_limits(gateway);
    offload->object_upload_limit = limit;
    if (options->task == INGEST_FORWARD) {
        offload->payload.limit_bytes = offload->limits.most;
    }
    LIST_INSERT_HEAD(&gateway->offloads, offload, links);
    worker_pool_submit(gateway->completions, &offload->task);
    return offload;
}

static void give_back(struct worker_pool_task *task) {
    struct offload *offload = offload_of(task);
    parley_message_finish(&offload->message);
    parley_buffer_finish(&offload->payload);
    free(offload);
}

void offload_release(struct offload *offload) {
    if (offload != NULL) {
        object_upload_finish(&offload->deposit, offload->options.gateway->budget);
        offload->task.work = give_back;
        worker_pool_detach(offload->options.gateway->worker_pool, &offload->task);
    }
}

void offloads_abandon(struct gateway *gateway) {
    struct offload *offload;
    gateway->completions = NULL; /* nothing more is begun */
    while ((offload = LIST_FIRST(&gateway->offloads)) != NULL) {
        offload->status = PARLEY_E_IO;
        finish(offload);
    }
}
