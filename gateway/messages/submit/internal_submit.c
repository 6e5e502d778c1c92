/* SPDX-License-Identifier: Apache-2.0 */

#include "internal_submit.h"

#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "fact_lookup.h"
#include "submission.h"

struct internal_submit {
    struct request_options options;
    struct parley_buffer message, answer;
    struct submitter submitter;
    struct submission submission;
    struct kept_message *kept; /* holds the message; NULL: gateway_message() does */
    struct submission_outcome outcome;
    internal_submit_fn *done;
    void *context;
    struct reactor_timer end; /* so that `done` comes in a later turn */
    bool is_held;             /* until it is released … */
    bool has_ended, is_ready; /* … which it waits for then */
};

static void destroy(struct internal_submit *sending) {
    submission_finish(&sending->submission);
    kept_message_release(sending->options.gateway, sending->kept);
    parley_buffer_finish(&sending->message);
    parley_buffer_finish(&sending->answer);
    gateway_forget_message(sending->options.gateway, sending->options.protocol);
    request_options_release(&sending->options);
    free(sending);
}

/* ---- its end ---- */

static void write_receipt(struct internal_submit *sending) {
    const struct submission_outcome *outcome = &sending->outcome;
    const struct receipt_place place = {.stream = outcome->stream,
                                        .sequence = outcome->sequence,
                                        .is_duplicate = outcome->is_duplicate,
                                        .traceparent = sending->options.publication.traceparent,
                                        .members = outcome->members};
    receipt_write(&sending->submission.receipt, &place, &sending->answer);
}

static void tell(struct internal_submit *sending) {
    struct submission_outcome *outcome = &sending->outcome;
    struct internal_submit_answer answer = {.failure = &outcome->failure, .text = outcome->members};
    if (outcome->end == SUBMISSION_STORED) {
        write_receipt(sending);
        answer = (struct internal_submit_answer){.is_stored = true,
                                                 .is_duplicate = outcome->is_duplicate,
                                                 .text = parley_buffer_bytes(&sending->answer)};
    }
    if (sending->answer.has_failed) {
        outcome->failure = failure_of_status(PARLEY_E_MEMORY);
        answer = (struct internal_submit_answer){.failure = &outcome->failure};
    }
    sending->done(sending->context, &answer);
}

static void on_end(struct reactor_timer *timer) {
    struct internal_submit *sending = OWNER_OF(timer, struct internal_submit, end);
    tell(sending);
    destroy(sending);
}

static void end(struct internal_submit *sending) {
    sending->has_ended = true;
    if (sending->is_held) {
        return;
    }
    reactor_timer_set(sending->options.gateway->reactor, &sending->end, 0);
}

/* It does not get as far as being settled. */
static void end_with(struct internal_submit *sending, const struct failure *failure) {
    sending->outcome = (struct submission_outcome){.end = SUBMISSION_FAILED, .failure = *failure};
    end(sending);
}

/* ---- on its way ---- */

static void go(struct internal_submit *sending, const struct verdict *verdict) {
    switch (submission_go(&sending->submission, verdict, &sending->outcome)) {
    case SUBMISSION_WAITS:
    case SUBMISSION_IS_FULL: /* only of what waits for room */
    case SUBMISSION_GOES:
        return;
    case SUBMISSION_ENDS:
    case SUBMISSION_HALTS:
    case SUBMISSION_CHECKED:
        end(sending);
        return;
    }
}

/* `verdict`: as submission_go. */
static void go_or_wait(struct internal_submit *sending, const struct verdict *verdict) {
    sending->is_ready = true;
    if (!sending->is_held) {
        go(sending, verdict);
    }
}

static void on_ready(struct submission *submission) {
    go_or_wait(OWNER_OF(submission, struct internal_submit, submission), NULL);
}

static void on_settled(struct submission *submission, const struct submission_outcome *outcome) {
    struct internal_submit *sending = OWNER_OF(submission, struct internal_submit, submission);
    sending->outcome = *outcome;
    end(sending);
}

static void submit(struct internal_submit *sending, const struct verdict *verdict,
                   const struct parley_route *route) {
    static const struct submission_events events = {.on_ready = on_ready, .on_settled = on_settled};
    sending->submitter.events = &events;
    sending->submitter.options = &sending->options;
    const enum parley_status status =
        submission_begin(&sending->submission, &sending->submitter, verdict, route);
    if (status != PARLEY_OK) {
        const struct failure failure = failure_of_status(status);
        end_with(sending, &failure);
    } else if (sending->submission.phase == SUBMISSION_READY) {
        go_or_wait(sending, verdict);
    }
}

static void refuse_invalid(struct internal_submit *sending, const struct parley_message *message) {
    struct failure failure = {.problem = PROBLEM_INVALID_MESSAGE};
    struct parley_buffer detail;
    parley_buffer_init(&detail);
    check_describe(message, &detail);
    snprintf(failure.detail, sizeof failure.detail, "%.*s", (int)detail.length,
             detail.data != NULL ? detail.data : "");
    parley_buffer_finish(&detail);
    end_with(sending, &failure);
}

static void begin(struct internal_submit *sending) {
    struct request_options *options = &sending->options;
    const struct parley_slice slice = {
        .bytes = parley_buffer_bytes(&sending->message), .origin = {1, 1}, .number = 1};
    sending->kept = kept_message_take(options);
    struct parley_message *message = check_object(options, sending->kept);
    struct parley_route route;
    bool is_needed = false;
    enum parley_status status = check_message_in(options, sending->kept, slice.bytes, slice.origin);
    if (status == PARLEY_OK && !parley_message_is_valid(message)) {
        refuse_invalid(sending, message);
        return;
    }
    if (status == PARLEY_OK) {
        status = fact_lookup_is_needed(options, message, &route, &is_needed);
    }
    if (status == PARLEY_OK && is_needed) {
        submit(sending,
               &(struct verdict){.message = message, .slice = &slice, .kept = sending->kept},
               &route);
        return;
    }
    /* Messages on which nothing decides are not sent like this. */
    const struct failure failure =
        failure_of_status(status != PARLEY_OK ? status : PARLEY_E_UNSUPPORTED);
    end_with(sending, &failure);
}

void internal_submit_release(struct internal_submit *sending) {
    sending->is_held = false;
    if (sending->has_ended) {
        end(sending);
    } else if (sending->is_ready) {
        go(sending, NULL);
    }
}

void internal_submit_cancel(struct internal_submit *sending) {
    destroy(sending);
}

/* `out`: NULL: it is not held. */
static enum parley_status create(const struct request_options *options, struct parley_bytes message,
                                 internal_submit_fn *done, void *context,
                                 struct internal_submit **out) {
    struct internal_submit *sending = calloc(1, sizeof *sending);
    struct request_options own = *options;
    own.publication.idempotency_key = NULL;
    own.task = INGEST_FORWARD;
    if (sending == NULL || !request_options_keep(&sending->options, &own)) {
        free(sending);
        return PARLEY_E_MEMORY;
    }
    sending->done = done;
    sending->context = context;
    sending->end.fire = on_end;
    parley_buffer_init(&sending->message);
    parley_buffer_init(&sending->answer);
    parley_buffer_append(&sending->message, message);
    if (sending->message.has_failed) {
        destroy(sending);
        return PARLEY_E_MEMORY;
    }
    if (out != NULL) {
        sending->is_held = true;
        *out = sending;
    }
    begin(sending);
    return PARLEY_OK;
}

enum parley_status internal_submit_begin(const struct request_options *options,
                                         struct parley_bytes message, internal_submit_fn *done,
                                         void *context) {
    return create(options, message, done, context, NULL);
}

enum parley_status internal_submit_prepare(const struct request_options *options,
                                           struct parley_bytes message, internal_submit_fn *done,
                                           void *context, struct internal_submit **out) {
    return create(options, message, done, context, out);
}
