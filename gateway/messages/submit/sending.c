/* SPDX-License-Identifier: Apache-2.0 */

#include "sending.h"

#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "dispatch.h"

struct sending {
    struct request_options options;
    struct parley_buffer message, answer;
    struct receipt receipt;
    struct dispatch dispatch;
    struct jetstream_sender sender;
    struct log_count log;
    struct failure failure; /* where the dispatch does not get it */
    bool is_dispatched;
    sending_fn *done;
    void *context;
    struct reactor_timer end; /* so that `done` comes in a later turn */
};

static void destroy(struct sending *sending) {
    dispatch_finish(&sending->dispatch);
    parley_buffer_finish(&sending->message);
    parley_buffer_finish(&sending->answer);
    receipt_finish(&sending->receipt);
    gateway_forget_message(sending->options.gateway, sending->options.protocol);
    request_options_release(&sending->options);
    free(sending);
}

/* ---- its end ---- */

static void write_receipt(struct sending *sending) {
    const struct dispatch_outcome *outcome = &sending->dispatch.outcome;
    const struct receipt_place place = {.stream = outcome->stream,
                                        .sequence = outcome->sequence,
                                        .is_duplicate = outcome->is_duplicate,
                                        .traceparent = sending->options.publication.traceparent,
                                        .members = outcome->members};
    receipt_write(&sending->receipt, &place, &sending->answer);
}

static void tell(struct sending *sending) {
    const struct dispatch_outcome *outcome = &sending->dispatch.outcome;
    struct sending_answer answer = {.failure = &sending->failure};
    if (sending->is_dispatched && outcome->is_stored) {
        write_receipt(sending);
        answer = (struct sending_answer){.is_stored = true,
                                         .is_duplicate = outcome->is_duplicate,
                                         .text = parley_buffer_bytes(&sending->answer)};
    } else if (sending->is_dispatched) {
        answer = (struct sending_answer){.failure = &outcome->failure, .text = outcome->members};
    }
    if (sending->answer.has_failed) {
        sending->failure = failure_of_status(PARLEY_E_MEMORY);
        answer = (struct sending_answer){.failure = &sending->failure};
    }
    sending->done(sending->context, &answer);
}

static void on_end(struct reactor_timer *timer) {
    struct sending *sending = OWNER_OF(timer, struct sending, end);
    if (sending->is_dispatched) {
        dispatch_account(&sending->dispatch);
    }
    tell(sending);
    destroy(sending);
}

static void end(struct sending *sending) {
    reactor_timer_set(sending->options.gateway->reactor, &sending->end, 0);
}

static void end_with(struct sending *sending, const struct failure *failure) {
    sending->failure = *failure;
    sending->is_dispatched = false;
    end(sending);
}

/* ---- on its way ---- */

static void decide(struct sending *sending) {
    switch (dispatch_decide(&sending->dispatch)) {
    case DISPATCH_STEP_WAIT:
    case DISPATCH_STEP_GO:
        return;
    case DISPATCH_STEP_FULL: {
        const struct failure failure = failure_of_refusal(&sending->options, JETSTREAM_FULL);
        end_with(sending, &failure);
        return;
    }
    case DISPATCH_STEP_SETTLED:
    case DISPATCH_STEP_CHECKED:
        end(sending);
        return;
    }
}

static void on_ready(struct dispatch *dispatch) {
    decide(dispatch->context);
}

static void on_settled(struct dispatch *dispatch) {
    end(dispatch->context);
}

static void dispatch(struct sending *sending, const struct parley_slice *slice,
                     const struct parley_message *message, const struct parley_route *route) {
    static const struct dispatch_events events = {on_ready, on_settled};
    sending->is_dispatched = true;
    sending->dispatch = (struct dispatch){.events = &events,
                                          .context = sending,
                                          .options = &sending->options,
                                          .slice = *slice,
                                          .receipt = &sending->receipt,
                                          .form = RECEIPT_OBJECT,
                                          .sender = &sending->sender,
                                          .log = &sending->log,
                                          .account = account_mark(&sending->options, message)};
    dispatch_begin(&sending->dispatch, route);
    if (sending->dispatch.phase == DISPATCH_READY) {
        decide(sending);
    }
}

static void refuse_invalid(struct sending *sending, const struct parley_message *message) {
    struct failure failure = {.problem = PROBLEM_INVALID_MESSAGE};
    struct parley_buffer detail;
    parley_buffer_init(&detail);
    check_describe(message, &detail);
    snprintf(failure.detail, sizeof failure.detail, "%.*s", (int)detail.length,
             detail.data != NULL ? detail.data : "");
    parley_buffer_finish(&detail);
    end_with(sending, &failure);
}

static void begin(struct sending *sending) {
    struct request_options *options = &sending->options;
    const struct parley_slice slice = {
        .bytes = parley_buffer_bytes(&sending->message), .origin = {1, 1}, .number = 1};
    struct parley_message *message = gateway_message(options->gateway, options->protocol);
    struct parley_route route;
    bool is_needed = false;
    enum parley_status status = check_message(options, slice.bytes, slice.origin);
    if (status == PARLEY_OK && !parley_message_is_valid(message)) {
        refuse_invalid(sending, message);
        return;
    }
    if (status == PARLEY_OK) {
        status = lookup_is_needed(options, message, &route, &is_needed);
    }
    if (status == PARLEY_OK && is_needed) {
        dispatch(sending, &slice, message, &route);
        return;
    }
    /* What nothing decides on is not sent like this. */
    const struct failure failure =
        failure_of_status(status != PARLEY_OK ? status : PARLEY_E_UNSUPPORTED);
    end_with(sending, &failure);
}

enum parley_status sending_begin(const struct request_options *options, struct parley_bytes message,
                                 sending_fn *done, void *context) {
    struct sending *sending = calloc(1, sizeof *sending);
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
    begin(sending);
    return PARLEY_OK;
}
