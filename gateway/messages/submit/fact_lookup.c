/* SPDX-License-Identifier: Apache-2.0 */

/* See fact_lookup.h. A protocol without facts passes through here at the price of a comparison. */

#include "fact_lookup.h"

#include <stdio.h>
#include <stdlib.h>

/* A verdict names the destination of the message, but never waits for it. It is not asked for of
 * published messages. */
static bool wants_subject(const struct request_options *options) {
    return options->task == INGEST_FORWARD ||
           (options->task == INGEST_VALIDATE && options->emit != EMIT_MESSAGES &&
            jetstream_is_ready(options->gateway->jetstream));
}

/* Returns: NULL: nothing decides on messages of this request. */
static const struct fact_store *store_of(const struct request_options *options) {
    return wants_subject(options) ? gateway_fact_store(options->gateway, options->protocol) : NULL;
}

/* A verdict does not read a log. */
bool fact_lookup_may_wait(const struct request_options *options) {
    const struct fact_store *store = store_of(options);
    return store != NULL && (options->task == INGEST_FORWARD || !fact_store_is_last(store));
}

enum parley_status fact_lookup_is_needed(struct request_options *options,
                                         struct parley_message *message,
                                         struct parley_route *out_route, bool *out_is_needed) {
    *out_is_needed = false;
    if (store_of(options) == NULL) {
        return PARLEY_OK;
    }
    PARLEY_TRY(parley_message_route(message, out_route));
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        *out_is_needed = *out_is_needed || out_route->fact_keys[i].data != NULL;
    }
    return PARLEY_OK;
}

static void fail(struct fact_lookup *lookup, const char *error) {
    lookup->state = FACT_LOOKUP_FAILED;
    lookup->error = error != NULL ? strdup(error) : NULL;
}

bool fact_lookup_is_log(const struct fact_lookup *lookup) {
    return lookup->query.store != NULL && fact_store_is_last(lookup->query.store);
}

static void on_answer(struct fact_query *query) {
    struct fact_lookup *lookup = OWNER_OF(query, struct fact_lookup, query);
    lookup->state = FACT_LOOKUP_DONE;
    if (query->has_failed) {
        fail(lookup, query->error);
        lookup->log->unreadable_until_ms = reactor_now_ms(lookup->reactor) + FACT_RETRY_MS;
    }
    lookup->on_ready(lookup);
}

static void ask(struct fact_lookup *lookup, int64_t delay_ms) {
    lookup->state = FACT_LOOKUP_ASKING;
    if (!fact_query_begin(&lookup->query, delay_ms)) {
        fail(lookup, failure_of_refusal(lookup->options, JETSTREAM_AWAY).detail);
    }
}

/* ---- facts that a request reads once ---- */

/* Those that waited in line for a reading that failed do not wait once more, each on its own. */
static void ask_log(struct fact_lookup *lookup) {
    struct log_count *log = lookup->log;
    lookup->is_final = true;
    if (reactor_now_ms(lookup->reactor) < log->unreadable_until_ms) {
        fail(lookup, "The last messages before this one could not be read a moment ago. Nothing "
                     "was stored: send it again.");
    } else if (log->under_way_count > 0) {
        lookup->state = FACT_LOOKUP_ASKING;
        log->waiting = lookup;
    } else {
        ask(lookup, 0);
    }
}

static void on_turn(struct reactor_timer *timer) {
    struct log_count *log = OWNER_OF(timer, struct log_count, turn);
    struct fact_lookup *lookup = log->waiting;
    log->waiting = NULL;
    ask(lookup, 0);
    if (lookup->state != FACT_LOOKUP_ASKING) {
        lookup->on_ready(lookup);
    }
}

void fact_lookup_count(struct fact_lookup *lookup, const struct parley_decision *decision) {
    lookup->log->is_known = true;
    lookup->log->count = decision->count;
}

void fact_lookup_count_begin(struct fact_lookup *lookup) {
    lookup->log->under_way_count++;
}

void fact_lookup_count_end(struct fact_lookup *lookup, bool is_stored) {
    struct log_count *log = lookup->log;
    log->is_known = log->is_known && is_stored;
    if (--log->under_way_count == 0 && log->waiting != NULL) {
        log->turn.fire = on_turn;
        reactor_timer_set(lookup->reactor, &log->turn, 0);
    }
}

/* ---- asking ---- */

void fact_lookup_begin(struct fact_lookup *lookup, struct request_options *options,
                       const struct parley_route *route) {
    struct fact_store *store = gateway_fact_store(options->gateway, options->protocol);
    lookup->query.done = on_answer;
    lookup->options = options;
    lookup->reactor = options->gateway->reactor;
    lookup->begun_ms = reactor_now_ms(lookup->reactor);
    lookup->is_patient = options->task == INGEST_FORWARD;
    lookup->is_final = !lookup->is_patient;
    if (!fact_query_init(&lookup->query, store, route->fact_keys)) {
        fail(lookup, NULL);
    } else if (fact_lookup_is_log(lookup) || fact_query_is_complete(&lookup->query)) {
        lookup->state = FACT_LOOKUP_DONE;
    } else {
        ask(lookup, 0);
    }
}

static bool has_waited(const struct fact_lookup *lookup) {
    return reactor_now_ms(lookup->reactor) - lookup->begun_ms >= FACT_RETRY_MS;
}

void fact_lookup_again(struct fact_lookup *lookup, int64_t delay_ms) {
    if (fact_lookup_is_log(lookup)) {
        ask_log(lookup);
        return;
    }
    lookup->is_final = lookup->is_final || delay_ms > 0 || has_waited(lookup);
    ask(lookup, delay_ms);
}

enum parley_status fact_lookup_decide_alone(struct fact_lookup *lookup,
                                            struct parley_message *message) {
    struct parley_decision ignored;
    lookup->known =
        (struct parley_known_facts){.is_final = true, .is_unread = true, .digest = lookup->digest};
    return parley_message_decide(message, &lookup->known, &ignored);
}

enum parley_status fact_lookup_decide(struct fact_lookup *lookup, struct parley_message *message,
                                      struct parley_decision *out, int64_t *out_delay_ms) {
    struct parley_known_facts *known = &lookup->known;
    *out_delay_ms = 0;
    if (lookup->is_patient && !fact_query_refresh(&lookup->query)) {
        *out = (struct parley_decision){.kind = PARLEY_DECISION_ASK_AGAIN};
        return PARLEY_OK;
    }
    *known = (struct parley_known_facts){.is_final = lookup->is_final,
                                         .digest = lookup->digest,
                                         .has_count = lookup->log->is_known,
                                         .count = lookup->log->count};
    if (!fact_lookup_is_log(lookup)) {
        PARLEY_TRY(digest_of_message(message, lookup->digest));
    }
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        known->values[i] = parley_bytes_of(lookup->query.values[i]);
        known->sequences[i] = lookup->query.sequences[i];
    }
    *out_delay_ms = has_waited(lookup) ? 0 : FACT_RETRY_MS;
    return parley_message_decide(message, known, out);
}

const char *fact_lookup_value(const struct fact_lookup *lookup, const char *key) {
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        if (lookup->query.keys[i] != NULL && strcmp(lookup->query.keys[i], key) == 0) {
            return lookup->query.values[i];
        }
    }
    return NULL;
}

void fact_lookup_finish(struct fact_lookup *lookup) {
    if (lookup->log != NULL && lookup->log->waiting == lookup) {
        lookup->log->waiting = NULL;
        reactor_timer_clear(lookup->reactor, &lookup->log->turn);
    }
    fact_query_finish(&lookup->query);
    free(lookup->error);
    lookup->error = NULL;
}

struct failure fact_lookup_failure(const struct fact_lookup *lookup) {
    struct failure failure = {.problem = lookup->error != NULL ? PROBLEM_BUS_UNAVAILABLE
                                                               : PROBLEM_INTERNAL};
    snprintf(failure.detail, sizeof failure.detail, "%s",
             lookup->error != NULL ? lookup->error : "Out of memory.");
    return failure;
}
