/* SPDX-License-Identifier: Apache-2.0 */

/* See correlation_lookup.h. A protocol without a memory passes through here at the price of a
 * comparison. */

#include "correlation_lookup.h"

#include <stdio.h>
#include <stdlib.h>

/* A verdict says where the message would go, but never waits for it. Of the messages themselves
 * nobody wants to know that. */
static bool wants_subject(const struct sending *sending) {
    return sending->task == SENDING_FORWARD ||
           (sending->task == SENDING_VALIDATE && sending->emit != EMIT_MESSAGES &&
            jetstream_is_ready(sending->gateway->jetstream));
}

enum parley_status recalling_need(struct sending *sending, struct parley_message *message,
                                  struct parley_bytes *out_key) {
    struct memory *memory = gateway_memory(sending->gateway, sending->protocol);
    *out_key = (struct parley_bytes){0};
    if (memory == NULL || !wants_subject(sending)) {
        return PARLEY_OK;
    }
    struct parley_route route;
    PARLEY_TRY(parley_message_route(message, &route));
    if (route.recall_key.data == NULL) {
        return PARLEY_OK;
    }
    const char *known = memory_known(memory, route.recall_key);
    if (known == NULL) {
        *out_key = route.recall_key;
        return PARLEY_OK;
    }
    message->options.recalled = parley_arena_copy(&message->arena, parley_bytes_of(known));
    return message->options.recalled != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

static void on_recollection(struct memory_recall *recall,
                            const struct memory_recollection *recollection) {
    struct recalling *recalling = OWNER_OF(recall, struct recalling, recall);
    recalling->is_asking = false;
    recalling->has_failed = recollection->found == MEMORY_FAILED;
    if (recollection->found == MEMORY_FOUND) {
        recalling->text = strdup(recollection->value);
        recalling->has_failed = recalling->text == NULL;
    } else if (recalling->has_failed && recollection->error != NULL) {
        recalling->text = strdup(recollection->error);
    }
    recalling->told(recalling);
}

void recalling_begin(struct recalling *recalling, struct sending *sending,
                     struct parley_bytes key) {
    struct memory *memory = gateway_memory(sending->gateway, sending->protocol);
    recalling->recall.done = on_recollection;
    recalling->is_asking =
        memory_recall(memory, &recalling->recall, key, sending->task == SENDING_FORWARD);
    if (!recalling->is_asking) {
        recalling->has_failed = true;
        recalling->text = strdup(sending_refused(sending, JETSTREAM_AWAY).detail);
    }
}

void recalling_finish(struct recalling *recalling) {
    memory_recall_cancel(&recalling->recall);
    free(recalling->text);
    recalling->text = NULL;
}

struct sending_failure recalling_failure(const struct recalling *recalling) {
    struct sending_failure failure = {.problem = recalling->text != NULL ? PROBLEM_BUS_UNAVAILABLE
                                                                         : PROBLEM_INTERNAL};
    snprintf(failure.detail, sizeof failure.detail, "%s",
             recalling->text != NULL ? recalling->text : "There is no memory for this request.");
    return failure;
}

static void ignore_ack(void *context, const struct jetstream_ack *ack) {
    (void)context;
    (void)ack;
}

/* Whether it is kept is found out when the message itself is published. */
void recalling_keep_early(struct sending *sending, struct parley_message *message) {
    struct memory *memory = gateway_memory(sending->gateway, sending->protocol);
    struct parley_route route;
    if (memory != NULL && sending->task == SENDING_FORWARD &&
        parley_message_route(message, &route) == PARLEY_OK && route.remember_key.data != NULL) {
        (void)memory_keep(memory, route.remember_key, route.remember_value, ignore_ack, NULL);
    }
}

enum jetstream_publish recalling_publish(struct sending *sending,
                                         const struct publication *publication,
                                         jetstream_ack_fn *done, void *context) {
    struct gateway *gateway = sending->gateway;
    struct memory *memory = gateway_memory(gateway, sending->protocol);
    const struct parley_route *route = &publication->route;
    const struct parley_bytes payload = parley_buffer_bytes(&gateway->payload);
    if (memory == NULL || route->remember_key.data == NULL) {
        return jetstream_publish(gateway->jetstream, route->subject.data, publication->headers,
                                 publication->header_count, payload, done, context);
    }
    return memory_publish(memory, route->remember_key, route->remember_value, route->subject.data,
                          publication->headers, publication->header_count, payload, done, context);
}
