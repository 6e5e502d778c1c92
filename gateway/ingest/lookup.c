/* SPDX-License-Identifier: Apache-2.0 */

/* See lookup.h. A protocol without facts passes through here at the price of a comparison. */

#include "lookup.h"

#include <stdio.h>
#include <stdlib.h>

/* A verdict says where the message would go, but never waits for it. Of the messages themselves
 * nobody wants to know that. */
static bool wants_subject(const struct request_options *options) {
    return options->task == INGEST_FORWARD ||
           (options->task == INGEST_VALIDATE && options->emit != EMIT_MESSAGES &&
            jetstream_is_ready(options->gateway->jetstream));
}

enum parley_status lookup_is_needed(struct request_options *options, struct parley_message *message,
                                    struct parley_route *out_route, bool *out_is_needed) {
    *out_is_needed = false;
    if (gateway_fact_store(options->gateway, options->protocol) == NULL ||
        !wants_subject(options)) {
        return PARLEY_OK;
    }
    PARLEY_TRY(parley_message_route(message, out_route));
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        *out_is_needed = *out_is_needed || out_route->fact_keys[i].data != NULL;
    }
    return PARLEY_OK;
}

static void fail(struct lookup *lookup, const char *error) {
    lookup->state = LOOKUP_FAILED;
    lookup->error = error != NULL ? strdup(error) : NULL;
}

static void on_answer(struct fact_query *query) {
    struct lookup *lookup = OWNER_OF(query, struct lookup, query);
    lookup->state = LOOKUP_DONE;
    if (query->has_failed) {
        fail(lookup, query->error);
    }
    lookup->on_ready(lookup);
}

static void ask(struct lookup *lookup, struct request_options *options, int64_t delay_ms) {
    lookup->state = LOOKUP_ASKING;
    if (!fact_query_begin(&lookup->query, delay_ms)) {
        fail(lookup, failure_of_refusal(options, JETSTREAM_AWAY).detail);
    }
}

void lookup_begin(struct lookup *lookup, struct request_options *options,
                  const struct parley_route *route) {
    struct fact_store *store = gateway_fact_store(options->gateway, options->protocol);
    lookup->query.done = on_answer;
    lookup->reactor = options->gateway->reactor;
    lookup->begun_ms = reactor_now_ms(lookup->reactor);
    lookup->is_patient = options->task == INGEST_FORWARD;
    lookup->is_final = !lookup->is_patient;
    if (!fact_query_init(&lookup->query, store, route->fact_keys)) {
        fail(lookup, NULL);
    } else if (fact_query_is_complete(&lookup->query)) {
        lookup->state = LOOKUP_DONE;
    } else {
        ask(lookup, options, 0);
    }
}

static bool has_waited(const struct lookup *lookup) {
    return reactor_now_ms(lookup->reactor) - lookup->begun_ms >= FACT_RETRY_MS;
}

void lookup_again(struct lookup *lookup, struct request_options *options, int64_t delay_ms) {
    lookup->is_final = lookup->is_final || delay_ms > 0 || has_waited(lookup);
    ask(lookup, options, delay_ms);
}

enum parley_status lookup_decide(struct lookup *lookup, struct parley_message *message,
                                 struct parley_decision *out, int64_t *out_delay_ms) {
    struct parley_known_facts *known = &lookup->known;
    *out_delay_ms = 0;
    if (lookup->is_patient && !fact_query_refresh(&lookup->query)) {
        *out = (struct parley_decision){.kind = PARLEY_DECISION_ASK_AGAIN};
        return PARLEY_OK;
    }
    PARLEY_TRY(digest_of_message(message, lookup->digest));
    *known = (struct parley_known_facts){.is_final = lookup->is_final, .digest = lookup->digest};
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        known->values[i] = parley_bytes_of(lookup->query.values[i]);
    }
    *out_delay_ms = has_waited(lookup) ? 0 : FACT_RETRY_MS;
    return parley_message_decide(message, known, out);
}

const char *lookup_value(const struct lookup *lookup, const char *key) {
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        if (lookup->query.keys[i] != NULL && strcmp(lookup->query.keys[i], key) == 0) {
            return lookup->query.values[i];
        }
    }
    return NULL;
}

void lookup_finish(struct lookup *lookup) {
    fact_query_finish(&lookup->query);
    free(lookup->error);
    lookup->error = NULL;
}

struct failure lookup_failure(const struct lookup *lookup) {
    struct failure failure = {.problem = lookup->error != NULL ? PROBLEM_BUS_UNAVAILABLE
                                                               : PROBLEM_INTERNAL};
    snprintf(failure.detail, sizeof failure.detail, "%s",
             lookup->error != NULL ? lookup->error : "Out of memory.");
    return failure;
}
