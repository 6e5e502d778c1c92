/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a message needs to know of earlier ones, and what its protocol decides by it. */

#include "failure.h"
#include "log_count.h"

enum lookup_state {
    LOOKUP_NONE,
    LOOKUP_ASKING, /* on_ready will be called */
    LOOKUP_DONE,
    LOOKUP_FAILED, /* `error` is what to say to the sender, NULL: no memory */
};

/* Owns: what was found; zeroed at first. */
struct lookup {
    struct fact_query query;
    void (*on_ready)(struct lookup *lookup);
    enum lookup_state state;
    bool is_patient; /* it waits for what may come: a verdict does not */
    bool is_final;   /* what is missing was asked for again */
    struct reactor *reactor;
    struct request_options *options;
    struct log_count *log; /* of its request; set before lookup_begin */
    int64_t begun_ms;
    char *error;
    struct parley_known_facts known; /* for lookup_decide */
    char digest[DIGEST_LENGTH + 1];
};

/* Whether a valid message has to be decided on.  `out_route`: its route then. */
enum parley_status lookup_is_needed(struct request_options *options, struct parley_message *message,
                                    struct parley_route *out_route,
                                    bool *out_is_needed) PARLEY_MUST_CHECK;

/* Asks for the facts of this route; `on_ready` follows in a later turn if the state is
 * LOOKUP_ASKING. What a request reads once (facts->of) is not asked for before
 * lookup_again. */
void lookup_begin(struct lookup *lookup, struct request_options *options,
                  const struct parley_route *route);
/* Asks for what is missing once more, after `delay_ms`. */
void lookup_again(struct lookup *lookup, int64_t delay_ms);

/* By what was found: PARLEY_DECISION_ASK_AGAIN also when something that is missing is expected on
 * this reactor: then lookup_again is to be called without a delay (out_delay_ms). What the message
 * has waited in line counts: a batch of many that miss something does not wait once for each.
 * Owns: the decision borrows from message and lookup. */
enum parley_status lookup_decide(struct lookup *lookup, struct parley_message *message,
                                 struct parley_decision *out,
                                 int64_t *out_delay_ms) PARLEY_MUST_CHECK;

/* Gives the message the warnings that it has without any fact. */
enum parley_status lookup_decide_alone(struct lookup *lookup,
                                       struct parley_message *message) PARLEY_MUST_CHECK;

/* The message was published or refused by a decision that has a count: its request counts on. */
void lookup_count(struct lookup *lookup, const struct parley_decision *decision);
/* It was published … */
void lookup_count_begin(struct lookup *lookup);
/* … and has ended; if it is not stored, its request reads once more. */
void lookup_count_end(struct lookup *lookup, bool is_stored);

/* The value of a key that was asked for; NULL: none. */
const char *lookup_value(const struct lookup *lookup, const char *key);

void lookup_finish(struct lookup *lookup);
struct failure lookup_failure(const struct lookup *lookup);
