/* SPDX-License-Identifier: Apache-2.0 */

/* See correlation_lookup.h. A protocol without a memory passes through here at the price of a
 * comparison. */

#include "correlation_lookup.h"

#include "admission.h"

#include <stdio.h>
#include <stdlib.h>

/* A verdict says where the message would go, but never waits for it. Of the messages themselves
 * nobody wants to know that. */
static bool wants_subject(const struct request_options *options) {
    return options->task == INGEST_FORWARD ||
           (options->task == INGEST_VALIDATE && options->emit != EMIT_MESSAGES &&
            jetstream_is_ready(options->gateway->jetstream));
}

enum parley_status correlation_lookup_need(struct request_options *options,
                                           struct parley_message *message,
                                           struct parley_bytes *out_key) {
    struct correlation_store *store =
        gateway_correlation_store(options->gateway, options->protocol);
    *out_key = (struct parley_bytes){0};
    if (store == NULL || !wants_subject(options)) {
        return PARLEY_OK;
    }
    struct parley_route route;
    PARLEY_TRY(parley_message_route(message, &route));
    if (route.recall_key.data == NULL) {
        return PARLEY_OK;
    }
    const char *known = correlation_store_cached(store, route.recall_key);
    if (known == NULL) {
        *out_key = route.recall_key;
        return PARLEY_OK;
    }
    message->options.recalled = parley_arena_copy(&message->arena, parley_bytes_of(known));
    return message->options.recalled != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

static void on_answer(struct correlation_query *query, const struct correlation_answer *answer) {
    struct correlation_lookup *lookup = OWNER_OF(query, struct correlation_lookup, query);
    lookup->state = LOOKUP_DONE;
    if (answer->found == CORRELATION_FOUND) {
        correlation_lookup_set(lookup, answer->value);
    } else if (answer->found == CORRELATION_FAILED) {
        lookup->state = LOOKUP_FAILED;
        lookup->text = answer->error != NULL ? strdup(answer->error) : NULL;
    }
    lookup->on_ready(lookup);
}

void correlation_lookup_begin(struct correlation_lookup *lookup, struct request_options *options,
                              struct parley_bytes key) {
    struct correlation_store *store =
        gateway_correlation_store(options->gateway, options->protocol);
    lookup->query.done = on_answer;
    lookup->state = LOOKUP_ASKING;
    if (!correlation_store_query(store, &lookup->query, key, options->task == INGEST_FORWARD)) {
        lookup->state = LOOKUP_FAILED;
        lookup->text = strdup(failure_of_refusal(options, JETSTREAM_AWAY).detail);
    }
}

void correlation_lookup_set(struct correlation_lookup *lookup, const char *text) {
    lookup->text = strdup(text);
    lookup->state = lookup->text != NULL ? LOOKUP_DONE : LOOKUP_FAILED;
}

const char *correlation_lookup_value(const struct correlation_lookup *lookup) {
    return lookup->state == LOOKUP_DONE ? lookup->text : NULL;
}

void correlation_lookup_finish(struct correlation_lookup *lookup) {
    correlation_query_cancel(&lookup->query);
    free(lookup->text);
    lookup->text = NULL;
}

struct failure correlation_lookup_failure(const struct correlation_lookup *lookup) {
    struct failure failure = {.problem = lookup->text != NULL ? PROBLEM_BUS_UNAVAILABLE
                                                              : PROBLEM_INTERNAL};
    snprintf(failure.detail, sizeof failure.detail, "%s",
             lookup->text != NULL ? lookup->text : "Out of memory.");
    return failure;
}

static void ignore_ack(void *context, const struct jetstream_ack *ack) {
    (void)context;
    (void)ack;
}

/* Whether it is kept is found out when the message itself is published. */
void correlation_lookup_keep_early(struct request_options *options,
                                   struct parley_message *message) {
    struct correlation_store *store =
        gateway_correlation_store(options->gateway, options->protocol);
    struct parley_route route;
    if (store != NULL && options->task == INGEST_FORWARD &&
        parley_message_route(message, &route) == PARLEY_OK && route.remember_key.data != NULL) {
        (void)correlation_store_put(store, route.remember_key, route.remember_value, ignore_ack,
                                    NULL);
    }
}

enum jetstream_publish correlation_lookup_publish(struct request_options *options,
                                                  const struct publication *publication,
                                                  struct jetstream_sender *sender,
                                                  struct halt_hold *hold, jetstream_ack_fn *done,
                                                  void *context) {
    struct gateway *gateway = options->gateway;
    struct correlation_store *store = gateway_correlation_store(gateway, options->protocol);
    const struct parley_route *route = &publication->route;
    const struct jetstream_message message = {
        .subject = route->subject.data,
        .headers = publication->headers,
        .header_count = publication->header_count,
        .payload = parley_buffer_bytes(&gateway->payload),
        .sender = sender,
        .share = admission_share(options->protocol, route->priority)};
    if (store == NULL || route->remember_key.data == NULL) {
        return halting_publish(options, route, &message, hold, done, context);
    }
    return correlation_store_publish(store, route->remember_key, route->remember_value, &message,
                                     done, context);
}
