/* SPDX-License-Identifier: Apache-2.0 */

/* See fact_lookup.h. A protocol without facts passes through here at the price of a comparison. */

#include "fact_lookup.h"

#include <stdio.h>
#include <stdlib.h>

#include "jetstream_map.h"

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

/* The message, or its fact, whichever NATS removes first. */
static int64_t kept_seconds(const struct gateway *gateway, const struct fact_store *store,
                            const struct parley_route *route) {
    const struct jetstream_place *place =
        jetstream_place_find(gateway->jetstream, route->subject.data);
    const int64_t message_ms =
        place != NULL ? jetstream_kept_ms(gateway->jetstream, place->stream) : 0;
    const int64_t fact_ms = fact_store_kept_ms(store);
    return (message_ms > 0 && (fact_ms == 0 || message_ms < fact_ms) ? message_ms : fact_ms) / 1000;
}

void fact_lookup_begin(struct fact_lookup *lookup, struct request_options *options,
                       const struct parley_route *route) {
    struct fact_store *store = gateway_fact_store(options->gateway, options->protocol);
    lookup->query.done = on_answer;
    lookup->options = options;
    lookup->reactor = options->gateway->reactor;
    lookup->begun_ms = reactor_now_ms(lookup->reactor);
    lookup->kept_seconds = kept_seconds(options->gateway, store, route);
    lookup->is_patient = options->task == INGEST_FORWARD;
    lookup->is_final = !lookup->is_patient;
    if (!fact_query_init(&lookup->query, store, route->fact_keys, options->facts_read_to)) {
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

/* ---- the last message on a subject ---- */

static void fail_last(struct fact_lookup *lookup) {
    fail(lookup, "The last sign of life of an agent, on which this depends, could not be read. "
                 "Nothing was stored: send it again.");
}

static void on_last(struct fact_last *last) {
    struct fact_lookup *lookup = OWNER_OF(last, struct fact_lookup, last);
    lookup->state = FACT_LOOKUP_DONE;
    if (!last->is_known) {
        fail_last(lookup);
    }
    lookup->on_ready(lookup);
}

void fact_lookup_ask_last(struct fact_lookup *lookup, const struct parley_decision *decision) {
    char subject[FACT_KEY_MAX * 4];
    snprintf(subject, sizeof subject, "%.*s", (int)decision->last_subject.length,
             decision->last_subject.data);
    lookup->last.done = on_last;
    if (fact_last_ask(&lookup->last, lookup->options->gateway->jetstream, subject)) {
        lookup->state = FACT_LOOKUP_ASKING;
    } else if (!lookup->last.is_known) {
        fail_last(lookup);
    }
}

/* ---- preparing ---- */

/* A key on its way; the look-up may end before it is acknowledged. */
struct fact_preparation {
    struct fact_lookup *lookup; /* NULL once that has ended */
};

static void on_prepared(void *context, enum fact_written written, const struct jetstream_ack *ack) {
    struct fact_preparation *preparation = context;
    struct fact_lookup *lookup = preparation->lookup;
    free(preparation);
    if (lookup == NULL) {
        return;
    }
    lookup->preparation = NULL;
    if (written == FACT_FAILED) {
        char error[512];
        snprintf(error, sizeof error,
                 "A key that this message needs could not be written (%.300s). Nothing was stored: "
                 "send it again.",
                 ack->error != NULL ? ack->error : "no acknowledgement came in time");
        fail(lookup, error);
    } else {
        ask(lookup, 0);
    }
    if (lookup->state != FACT_LOOKUP_ASKING) {
        lookup->on_ready(lookup);
    }
}

enum jetstream_publish fact_lookup_prepare(struct fact_lookup *lookup,
                                           const struct parley_decision *decision) {
    enum { PREPARED_MAX = 16 }; /* others that were quicker; each time the task had another turn */
    struct fact_preparation *preparation = malloc(sizeof *preparation);
    struct parley_buffer value;
    if (preparation == NULL || ++lookup->prepared_count > PREPARED_MAX) {
        free(preparation);
        return JETSTREAM_FAILED;
    }
    preparation->lookup = lookup;
    parley_buffer_init(&value);
    parley_decision_write_fact(decision, (struct parley_bytes){0}, 0, &value);
    const enum jetstream_publish published =
        value.has_failed
            ? JETSTREAM_FAILED
            : fact_store_create_key(lookup->query.store, decision->fact_key,
                                    parley_buffer_bytes(&value), on_prepared, preparation);
    parley_buffer_finish(&value);
    if (published != JETSTREAM_PUBLISHED) {
        free(preparation);
        return published;
    }
    lookup->preparation = preparation;
    lookup->state = FACT_LOOKUP_ASKING;
    return published;
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
                                         .kept_seconds = lookup->kept_seconds,
                                         .digest = lookup->digest,
                                         .has_count = lookup->log->is_known,
                                         .count = lookup->log->count};
    if (!fact_lookup_is_log(lookup)) {
        PARLEY_TRY(digest_of_message(message, lookup->digest));
    }
    fact_last_tell(&lookup->last, known);
    for (size_t i = 0; i < PARLEY_FACT_KEYS_MAX; i++) {
        known->values[i] = parley_bytes_of(lookup->query.values[i]);
        known->sequences[i] = lookup->query.sequences[i];
    }
    *out_delay_ms = has_waited(lookup) ? 0 : FACT_RETRY_MS;
    return parley_message_decide(message, known, out);
}

const char *fact_lookup_value(const struct fact_lookup *lookup, const char *key) {
    return fact_query_value(&lookup->query, key);
}

void fact_lookup_finish(struct fact_lookup *lookup) {
    if (lookup->log != NULL && lookup->log->waiting == lookup) {
        lookup->log->waiting = NULL;
        reactor_timer_clear(lookup->reactor, &lookup->log->turn);
    }
    if (lookup->preparation != NULL) {
        lookup->preparation->lookup = NULL;
        lookup->preparation = NULL;
    }
    fact_last_finish(&lookup->last);
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
