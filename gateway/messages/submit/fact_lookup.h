/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Looks up the facts that a message needs of earlier ones, and lets its protocol decide. */

#include "fact_last.h"
#include "failure.h"
#include "log_count.h"

enum fact_lookup_state {
    FACT_LOOKUP_NONE,
    FACT_LOOKUP_ASKING, /* on_ready will be called */
    FACT_LOOKUP_DONE,
    FACT_LOOKUP_FAILED, /* `error` is for the sender, NULL if there was no memory */
};

/* Owns: the results; zeroed at first. */
struct fact_lookup {
    struct fact_query query;
    void (*on_ready)(struct fact_lookup *lookup);
    enum fact_lookup_state state;
    bool is_patient; /* it waits for facts that may come: a verdict does not */
    bool is_final;   /* missing facts were asked for again */
    struct reactor *reactor;
    struct request_options *options;
    struct log_count *log; /* of its request; set before fact_lookup_begin */
    int64_t begun_ms;
    int64_t kept_seconds; /* how long NATS keeps the message and its facts; 0: not known */
    char *error;
    struct fact_last last;                /* that the decision needs besides */
    struct fact_preparation *preparation; /* whose key is being written; NULL: none is */
    unsigned prepared_count;
    struct parley_known_facts known; /* for fact_lookup_decide */
    char digest[DIGEST_LENGTH + 1];
};

/* Whether messages of this request may have to wait for facts. */
bool fact_lookup_may_wait(const struct request_options *options);

/* Whether a valid message must be decided on.  `out_route`: its route then. */
enum parley_status fact_lookup_is_needed(struct request_options *options,
                                         struct parley_message *message,
                                         struct parley_route *out_route,
                                         bool *out_is_needed) PARLEY_MUST_CHECK;

/* Asks for the facts of this route; `on_ready` follows in a later turn if the state is
 * FACT_LOOKUP_ASKING. Facts that a request reads once (facts->of) are not asked for before
 * fact_lookup_again. */
void fact_lookup_begin(struct fact_lookup *lookup, struct request_options *options,
                       const struct parley_route *route);
/* Asks for missing facts once more, after `delay_ms`. */
void fact_lookup_again(struct fact_lookup *lookup, int64_t delay_ms);

/* Decides by the facts found. PARLEY_DECISION_ASK_AGAIN also when a missing fact is expected on
 * this reactor: then call fact_lookup_again without a delay (out_delay_ms). The time that the
 * message waited in line counts: a batch of many that miss something does not wait once for each.
 * Owns: the decision borrows from message and lookup. */
enum parley_status fact_lookup_decide(struct fact_lookup *lookup, struct parley_message *message,
                                      struct parley_decision *out,
                                      int64_t *out_delay_ms) PARLEY_MUST_CHECK;

/* Asks for the message of PARLEY_DECISION_ASK_LAST: `on_ready` follows if the state is
 * FACT_LOOKUP_ASKING. */
void fact_lookup_ask_last(struct fact_lookup *lookup, const struct parley_decision *decision);

/* Creates the key of PARLEY_DECISION_PREPARE, and asks for the facts again: `on_ready` follows, if
 * it is published. */
enum jetstream_publish fact_lookup_prepare(struct fact_lookup *lookup,
                                           const struct parley_decision *decision);

/* Gives the message the warnings that it has without any fact. */
enum parley_status fact_lookup_decide_alone(struct fact_lookup *lookup,
                                            struct parley_message *message) PARLEY_MUST_CHECK;

/* The message was published or refused by a decision that has a count: its request counts on. */
void fact_lookup_count(struct fact_lookup *lookup, const struct parley_decision *decision);
/* Whether its facts are those that a request reads once. */
bool fact_lookup_is_log(const struct fact_lookup *lookup);
/* It was published … */
void fact_lookup_count_begin(struct fact_lookup *lookup);
/* … and has ended; if it is not stored, its request reads once more. */
void fact_lookup_count_end(struct fact_lookup *lookup, bool is_stored);

/* The value of a key that was asked for; NULL if it has none. */
const char *fact_lookup_value(const struct fact_lookup *lookup, const char *key);

void fact_lookup_finish(struct fact_lookup *lookup);
struct failure fact_lookup_failure(const struct fact_lookup *lookup);
