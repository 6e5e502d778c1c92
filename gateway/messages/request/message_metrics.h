/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Counts messages for /metrics, in this worker's own figures. A message is counted once, when it is
 * known what became of it, whether or not its client is still there. */

#include "figures.h"
#include "problem.h"
#include "request_options.h"

struct jetstream_ack;

/* The data needed to count a message: its type, and the time of its publication. */
struct message_metrics_mark {
    unsigned type;
    int64_t published_ns;
};

/* Counts a message that could not be examined. */
#define ACCOUNT_UNKNOWN ((struct message_metrics_mark){.type = FIGURES_TYPES - 1})

/* Counts a message that was checked, and that is published in this turn or not at all. */
struct message_metrics_mark message_metrics_mark(const struct request_options *options,
                                                 const struct parley_message *message);

/* The violations of a message that was to be forwarded. */
void message_metrics_findings(const struct request_options *options,
                              const struct parley_findings *findings);

/* The same, if it has any, and was to be forwarded. Once a message. */
static inline void message_metrics_violations(const struct request_options *options,
                                              const struct parley_message *message) {
    if (message->findings.count > 0 && options->task == INGEST_FORWARD) {
        message_metrics_findings(options, &message->findings);
    }
}

/* Whether this message is one of those whose check is measured. */
static inline bool message_metrics_is_measured(const struct request_options *options) {
    /* Reading the clock twice takes as long as a small part of a check. */
    enum { MESSAGES_A_MEASUREMENT = 16 };
    return options->gateway->figures->check_turn++ % MESSAGES_A_MEASUREMENT == 0;
}

/* A message was decoded and validated in this time. */
void message_metrics_check(const struct request_options *options, int64_t duration_ns);

/* The ack of a published message has come: counts how long that took, if the message is stored. */
void message_metrics_ack(const struct request_options *options, struct message_metrics_mark mark,
                         const struct jetstream_ack *ack);

/* ---- what became of a message ---- */

/* It is stored. */
void message_metrics_stored(const struct request_options *options, struct message_metrics_mark mark,
                            bool is_duplicate);
/* JetStream has a message with its id, and whether that is the same one was not found out, since
 * the client is gone: it was not stored now; or perhaps was, if it was published again
 * (`is_again`). */
void message_metrics_uncompared(const struct request_options *options,
                                struct message_metrics_mark mark, bool is_again);
/* It was to be checked alone, or converted, and is valid. */
void message_metrics_valid(const struct request_options *options);
void message_metrics_invalid(const struct request_options *options,
                             struct message_metrics_mark mark);
/* It was not stored, or perhaps was. */
void message_metrics_problem(const struct request_options *options,
                             struct message_metrics_mark mark, enum problem problem);
