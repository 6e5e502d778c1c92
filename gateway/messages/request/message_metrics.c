/* SPDX-License-Identifier: Apache-2.0 */

#include "message_metrics.h"

static struct protocol_figures *figures_of(const struct request_options *options) {
    return gateway_figures(options->gateway, options->protocol);
}

struct message_metrics_mark message_metrics_mark(const struct request_options *options,
                                                 const struct parley_message *message) {
    return (struct message_metrics_mark){.type = figures_type(message->type),
                                         .published_ns = reactor_now_ns(options->gateway->reactor)};
}

/* ---- the check ---- */

void message_metrics_findings(const struct request_options *options,
                              const struct parley_findings *findings) {
    struct protocol_figures *figures = figures_of(options);
    for (size_t i = 0; i < findings->count; i++) {
        const size_t index = figures_rule_index(options->protocol, findings->items[i].rule);
        counter_add(&figures->violations[index], 1);
    }
}

void message_metrics_check(const struct request_options *options, int64_t duration_ns) {
    histogram_add(&figures_of(options)->check, (uint64_t)duration_ns);
}

void message_metrics_ack(const struct request_options *options, struct message_metrics_mark mark,
                         const struct jetstream_ack *ack) {
    const int64_t now_ns = reactor_now_ns(options->gateway->reactor);
    if (ack->outcome == JETSTREAM_STORED) {
        histogram_add(&figures_of(options)->ack, (uint64_t)(now_ns - mark.published_ns));
    }
}

/* ---- what became of a message ---- */

static void count(const struct request_options *options, struct message_metrics_mark mark,
                  enum outcome outcome) {
    counter_add(&figures_of(options)->messages[mark.type][outcome], 1);
}

static void count_validated(const struct request_options *options, enum validity validity) {
    counter_add(&figures_of(options)->validated[validity], 1);
}

void message_metrics_stored(const struct request_options *options, struct message_metrics_mark mark,
                            bool is_duplicate) {
    count(options, mark, is_duplicate ? OUTCOME_DUPLICATE : OUTCOME_ACCEPTED);
}

void message_metrics_uncompared(const struct request_options *options,
                                struct message_metrics_mark mark, bool is_again) {
    count(options, mark, is_again ? OUTCOME_FAILED : OUTCOME_REFUSED);
}

void message_metrics_valid(const struct request_options *options) {
    count_validated(options, VALIDITY_VALID);
}

void message_metrics_invalid(const struct request_options *options,
                             struct message_metrics_mark mark) {
    if (options->task == INGEST_FORWARD) {
        count(options, mark, OUTCOME_INVALID);
    } else {
        count_validated(options, VALIDITY_INVALID);
    }
}

void message_metrics_problem(const struct request_options *options,
                             struct message_metrics_mark mark, enum problem problem) {
    const bool is_failure = problem == PROBLEM_INTERNAL || problem == PROBLEM_BUS_TIMEOUT;
    if (options->task == INGEST_FORWARD) {
        count(options, mark, is_failure ? OUTCOME_FAILED : OUTCOME_REFUSED);
    } else {
        count_validated(options, VALIDITY_FAILED);
    }
}
