/* SPDX-License-Identifier: Apache-2.0 */

/* See offload.h. Everything that takes as long as the message is large happens in `work`, and the
 * giving back of a tree, which does too, is left to the crew as well. */

#include "offload.h"

#include <stdlib.h>

static struct aside *aside_of(struct crew_task *task) {
    return OWNER_OF(task, struct aside, task);
}

/* What a protocol remembers decides where a message goes, and only the reactor may ask it. */
static bool can_publish(const struct aside *aside) {
    return aside->payload.limit_bytes > 0 &&
           gateway_memory(aside->sending.gateway, aside->sending.protocol) == NULL;
}

static enum parley_status prepare(struct aside *aside) {
    const struct sending *sending = &aside->sending;
    struct parley_message *message = &aside->message;
    aside->is_prepared = true;
    if (sending->task == SENDING_CONVERT) {
        return message->protocol->convert(message, sending->to, &aside->payload);
    }
    if (sending->task == SENDING_VALIDATE && sending->emit != EMIT_VERDICTS) {
        return message->protocol->encode(message, &aside->payload);
    }
    if (sending->task == SENDING_FORWARD && can_publish(aside)) {
        return publication_prepare(message, &sending->publication, aside->slice.number,
                                   &aside->payload, &aside->publication);
    }
    aside->is_prepared = false;
    return PARLEY_OK;
}

/* A verdict says what would stop the message on its way; a filter has no verdicts. */
static enum parley_status warn_of_size(struct aside *aside) {
    const struct sending *sending = &aside->sending;
    if (sending->task != SENDING_VALIDATE || sending->emit == EMIT_MESSAGES) {
        return PARLEY_OK;
    }
    const enum parley_status status = sending_warn_of_size(
        sending, &aside->message, aside->slice.number, aside->nats_bytes_max, &aside->payload);
    parley_buffer_finish(&aside->payload);
    return status;
}

static void work(struct crew_task *task) {
    struct aside *aside = aside_of(task);
    aside->status =
        sending_check_as(&aside->sending, &aside->message, aside->slice.bytes, aside->slice.origin);
    if (aside->status == PARLEY_OK && parley_message_is_valid(&aside->message)) {
        aside->status = warn_of_size(aside);
        aside->prepared = prepare(aside);
    }
}

static void on_done(struct crew_task *task) {
    struct aside *aside = aside_of(task);
    LIST_REMOVE(aside, links);
    aside->done(aside, aside->context);
}

struct aside *aside_begin(const struct sending *sending, const struct parley_slice *slice,
                          void (*done)(struct aside *aside, void *context), void *context) {
    struct gateway *gateway = sending->gateway;
    struct aside *aside = gateway->desk != NULL ? malloc(sizeof *aside) : NULL;
    if (aside == NULL) {
        return NULL;
    }
    *aside = (struct aside){.task = {.work = work, .done = on_done},
                            .sending = *sending,
                            .slice = *slice,
                            .done = done,
                            .context = context};
    aside->sending.publication.identities = NULL; /* the reactor's */
    parley_message_init(&aside->message, gateway_message(gateway, sending->protocol)->schema);
    aside->nats_bytes_max = jetstream_max_payload_bytes(gateway->jetstream);
    if (sending->task == SENDING_FORWARD) {
        aside->payload.limit_bytes = aside->nats_bytes_max;
    }
    LIST_INSERT_HEAD(&gateway->asides, aside, links);
    crew_do(gateway->desk, &aside->task);
    return aside;
}

static void give_back(struct crew_task *task) {
    struct aside *aside = aside_of(task);
    parley_message_finish(&aside->message);
    parley_buffer_finish(&aside->payload);
    free(aside);
}

void aside_release(struct aside *aside) {
    if (aside != NULL) {
        aside->task.work = give_back;
        crew_leave(aside->sending.gateway->crew, &aside->task);
    }
}

void asides_abandon(struct gateway *gateway) {
    struct aside *aside;
    gateway->desk = NULL; /* nothing more is begun */
    while ((aside = LIST_FIRST(&gateway->asides)) != NULL) {
        aside->status = PARLEY_E_IO;
        on_done(&aside->task);
    }
}
