/* SPDX-License-Identifier: Apache-2.0 */

/* Receives the body, reaches a verdict, and either says what is wrong, or converts the message, or
 * publishes it and answers when JetStream has stored it. The receipt is noted before publishing,
 * since the message object belongs to the next request by the time of the ack. */

#include "single.h"

#include <stdio.h>
#include <stdlib.h>

#include "account.h"
#include "awaited.h"
#include "budget.h"
#include "dispatch.h"
#include "phase.h"
#include "quarantine.h"
#include "receipt.h"
#include "verdict.h"

enum { ANSWER_BYTES_USUAL = 480 }; /* with malloc's header one of its classes */

/*   RECEIVING ── the body has ended ──▶ CHECKING ── verdict ──▶ IDLE
 *
 *   IDLE ── earlier messages decide on it ──▶ DISPATCHED ── settled ──▶ IDLE
 *   IDLE ── publish ──▶ PUBLISHED ── ack ──▶ IDLE
 *   IDLE ── it is a duplicate ──▶ COMPARING ── answer ──▶ IDLE
 *   IDLE ── stored, and its client waits for the reply ──▶ AWAITING ── reply, time up ──▶ IDLE
 */
enum single_phase {
    SINGLE_RECEIVING,
    SINGLE_CHECKING,   /* by the worker pool, or right now */
    SINGLE_IDLE,       /* it waits for nothing: it is answered, or about to be */
    SINGLE_DISPATCHED, /* the dispatch has it */
    SINGLE_PUBLISHED,  /* its ack is still to come */
    SINGLE_COMPARING,  /* JetStream calls it a duplicate */
    SINGLE_AWAITING,   /* the reply to it */
};

struct single {
    struct request_options options;
    struct http_request *request; /* NULL once it is gone */
    enum single_phase phase;
    struct parley_buffer body;   /* up to a byte over the limit: enough to refuse it */
    struct parley_buffer answer; /* other than a receipt */
    struct receipt receipt;
    struct dispatch *dispatch;    /* NULL: it needs none */
    struct budget_share held;     /* taken for the body */
    struct offload *offload;      /* that checks the message or did; NULL: this reactor does */
    struct publication_mark mark; /* of what was published */
    struct account_mark account;  /* of the message */
    struct jetstream_sender sender;
    struct log_count log;
    struct duplicate *duplicate; /* COMPARING */
    struct awaited *reply;       /* NULL: nobody waits for one */
};

static void enter(struct single *single, enum single_phase phase) {
    static const unsigned allowed[] = {
        [SINGLE_RECEIVING] = PHASE(SINGLE_CHECKING),
        [SINGLE_CHECKING] = PHASE(SINGLE_IDLE),
        [SINGLE_IDLE] = PHASE(SINGLE_DISPATCHED) | PHASE(SINGLE_PUBLISHED) |
                        PHASE(SINGLE_COMPARING) | PHASE(SINGLE_AWAITING),
        [SINGLE_DISPATCHED] = PHASE(SINGLE_IDLE),
        [SINGLE_PUBLISHED] = PHASE(SINGLE_IDLE),
        [SINGLE_COMPARING] = PHASE(SINGLE_IDLE),
        [SINGLE_AWAITING] = PHASE(SINGLE_IDLE),
    };
    single->phase = (enum single_phase)phase_after(allowed, single->phase, phase);
}

static void drop_body(struct single *single) {
    parley_buffer_finish(&single->body);
    budget_uncover(single->options.gateway->budget, &single->held);
}

static void drop_offload(struct single *single) {
    offload_release(single->offload);
    single->offload = NULL;
}

static void destroy(struct single *single) {
    awaited_drop(single->reply);
    dispatch_finish(single->dispatch);
    free(single->dispatch);
    drop_offload(single);
    drop_body(single);
    parley_buffer_finish(&single->answer);
    receipt_finish(&single->receipt);
    gateway_forget_message(single->options.gateway, single->options.protocol);
    request_options_release(&single->options);
    free(single);
}

/* The client is gone, and nothing is under way. */
static void destroy_if_over(struct single *single) {
    if (single->request == NULL &&
        (single->phase == SINGLE_RECEIVING || single->phase == SINGLE_IDLE)) {
        destroy(single);
    }
}

static void respond_internal(struct single *single, enum parley_status status) {
    if (single->request == NULL) {
        return;
    }
    problem_respond_format(single->request, PROBLEM_INTERNAL,
                           "The message could not be checked: %s.", parley_status_text(status));
}

/* The message ends with an error of ours. */
static void fail(struct single *single, enum parley_status status) {
    account_problem(&single->options, single->account, PROBLEM_INTERNAL);
    respond_internal(single, status);
}

/* Whether the answer was written; else the error is answered. */
static bool is_written(struct single *single, enum parley_status status) {
    status = status != PARLEY_OK ? status : parley_buffer_status(&single->answer);
    if (status != PARLEY_OK) {
        respond_internal(single, status);
    }
    return status == PARLEY_OK;
}

/* RFC 7763 requires a charset with text/markdown. */
static void respond_as(struct single *single, unsigned status, const char *media_type) {
    char type[128];
    const bool is_text = strncmp(media_type, "text/", 5) == 0;
    snprintf(type, sizeof type, "%s%s", media_type, is_text ? "; charset=utf-8" : "");
    http_compress(single->request);
    http_respond(single->request, status, type, parley_buffer_bytes(&single->answer));
}

/* The refusal as the protocol itself would write it. */
static void respond_own_refusal(struct single *single, struct parley_message *message,
                                unsigned http_status) {
    const struct parley_protocol *protocol = message->protocol;
    if (is_written(single, protocol->write_refusal(message, &single->answer))) {
        respond_as(single, http_status, protocol->refusal_media_type);
    }
}

static void respond_converted(struct single *single, const struct verdict *verdict) {
    const struct parley_codec *to = single->options.to;
    if (!request_accepts_converted(&single->options, single->request, false)) {
        return;
    }
    const enum parley_status status = verdict_convert(&single->options, verdict, &single->answer);
    if (to->framing == PARLEY_FRAMING_LINES) {
        parley_buffer_char(&single->answer, '\n');
    }
    if (is_written(single, status)) {
        respond_as(single, 200, request_converted_type(&single->options, false));
    }
}

static void respond_verdict(struct single *single, const struct verdict *verdict) {
    struct parley_message *message = verdict->message;
    const bool is_valid = parley_message_is_valid(message);
    if (single->options.has_own_refusal && !is_valid) {
        respond_own_refusal(single, message, 200);
        return;
    }
    struct parley_buffer *answer = &single->answer;
    enum parley_status status =
        is_valid ? verdict_warn_of_size(&single->options, verdict) : PARLEY_OK;
    parley_buffer_reserve(answer, ANSWER_BYTES_USUAL);
    parley_buffer_char(answer, '{');
    status = status != PARLEY_OK ? status : parley_message_write_verdict(message, answer);
    parley_buffer_text(answer, "}\n");
    if (is_written(single, status)) {
        http_compress(single->request);
        http_respond(single->request, 200, "application/json", parley_buffer_bytes(answer));
    }
}

/* Broken rules: the problem names the first error, its violations are all findings. */
static void respond_invalid(struct single *single, struct parley_message *message) {
    const struct parley_finding *first = &message->findings.items[0];
    const enum problem problem =
        first->rule == &parley_gateway_rules[PARLEY_GW_SENDER] ? PROBLEM_FORBIDDEN
        : message->is_decoded                                  ? PROBLEM_INVALID_MESSAGE
        : first->rule == &parley_gateway_rules[PARLEY_GW_SIZE] ? PROBLEM_TOO_LARGE
                                                               : PROBLEM_MALFORMED;
    if (single->options.has_own_refusal) {
        problem_remark_rules(single->request, &message->findings);
        respond_own_refusal(single, message, problem_status(problem));
        return;
    }
    struct parley_buffer *detail = &single->answer;
    check_describe(message, detail);
    parley_buffer_char(detail, '\0');
    if (detail->has_failed) {
        respond_internal(single, PARLEY_E_MEMORY);
        return;
    }
    problem_respond_findings(single->request, problem, detail->data, &message->findings);
}

static void respond_stored(struct single *single, const struct receipt_place *place) {
    /* Nothing is being published now. */
    struct parley_buffer *answer = &single->options.gateway->payload;
    account_stored(&single->options, single->account, place->is_duplicate);
    parley_buffer_clear(answer);
    answer->limit_bytes = 0;
    receipt_write(&single->receipt, place, answer);
    if (single->reply != NULL && !answer->has_failed) {
        if (awaited_begin(single->reply, parley_buffer_bytes(answer), &single->receipt)) {
            enter(single, SINGLE_AWAITING);
        }
        return;
    }
    parley_buffer_char(answer, '\n');
    if (answer->has_failed) {
        respond_internal(single, PARLEY_E_MEMORY);
        return;
    }
    http_respond(single->request, 200, "application/json", parley_buffer_bytes(answer));
}

static void respond_problem(struct single *single, const struct failure *failure,
                            struct parley_bytes members) {
    account_problem(&single->options, single->account, failure->problem);
    problem_respond_members(single->request, failure->problem, failure->detail, members);
}

/* `stream` NULL: none. */
static void respond_failed(struct single *single, const struct failure *failure, const char *stream,
                           uint64_t sequence) {
    struct parley_buffer members;
    parley_buffer_init(&members);
    failure_write_members(failure->problem, receipt_id(&single->receipt), stream, sequence,
                          &members);
    if (members.has_failed) {
        fail(single, PARLEY_E_MEMORY);
    } else {
        respond_problem(single, failure, parley_buffer_bytes(&members));
    }
    parley_buffer_finish(&members);
}

/* ---- publishing ---- */

static void on_compared(void *context, const struct duplicate_answer *answer) {
    struct single *single = context;
    enter(single, SINGLE_IDLE);
    single->duplicate = NULL;
    if (answer->verdict != DUPLICATE_SAME) {
        respond_failed(single, &answer->failure, answer->stream, answer->sequence);
        return;
    }
    receipt_name_stored(&single->receipt, answer);
    respond_stored(single,
                   &(struct receipt_place){.stream = answer->stream,
                                           .sequence = answer->sequence,
                                           .is_duplicate = !answer->is_again,
                                           .traceparent = single->options.publication.traceparent});
}

static void compare(struct single *single, const struct jetstream_ack *ack) {
    struct failure failure;
    single->duplicate =
        duplicate_begin(&single->options, &single->mark, ack, on_compared, single, &failure);
    if (single->duplicate != NULL) {
        enter(single, SINGLE_COMPARING);
    } else {
        respond_failed(single, &failure, ack->stream, ack->sequence);
    }
}

static void on_ack(void *context, const struct jetstream_ack *ack) {
    struct single *single = context;
    const bool is_open = duplicate_is_open(&single->mark, ack);
    enter(single, SINGLE_IDLE);
    account_ack(&single->options, single->account, ack);
    if (single->request == NULL) {
        account_unread(&single->options, single->account, ack, is_open);
        destroy(single);
    } else if (is_open) {
        compare(single, ack);
    } else if (ack->outcome == JETSTREAM_STORED) {
        respond_stored(single, &(struct receipt_place){
                                   .stream = ack->stream,
                                   .sequence = ack->sequence,
                                   .is_duplicate = ack->is_duplicate && !ack->is_again,
                                   .traceparent = single->options.publication.traceparent});
    } else {
        const struct failure failure = failure_of_ack(&single->options, &single->mark, ack);
        respond_failed(single, &failure, NULL, 0);
    }
}

static enum parley_status note_receipt(struct single *single, const struct parley_message *message,
                                       const struct parley_route *route) {
    parley_buffer_reserve(&single->receipt.text, ANSWER_BYTES_USUAL);
    receipt_note(&single->receipt, RECEIPT_OBJECT, message, route);
    return parley_buffer_status(&single->receipt.text);
}

/* Nothing was published. */
static void respond_failure(struct single *single, const struct failure *failure) {
    account_problem(&single->options, single->account, failure->problem);
    if (single->request != NULL) {
        problem_respond(single->request, failure->problem, failure->detail);
    }
}

static void respond_refused(struct single *single, enum jetstream_publish refused) {
    const struct failure failure = failure_of_refusal(&single->options, refused);
    respond_failure(single, &failure);
}

static void publish(struct single *single, const struct verdict *verdict) {
    struct publication publication;
    single->account = account_mark(&single->options, verdict->message);
    struct failure halted;
    if (halting_refuses(&single->options, verdict->message, &halted)) {
        respond_failure(single, &halted);
        return;
    }
    if (verdict_is_unpublishable(&single->options, verdict)) {
        respond_refused(single, JETSTREAM_AWAY);
        return;
    }
    enum parley_status status =
        verdict_prepare(&single->options, verdict, (struct parley_bytes){0}, &publication);
    if (status == PARLEY_OK) {
        status = note_receipt(single, verdict->message, &publication.route);
    }
    if (status != PARLEY_OK && status != PARLEY_E_LIMIT) {
        fail(single, status);
        return;
    }
    const enum jetstream_publish published =
        status == PARLEY_E_LIMIT ? JETSTREAM_TOO_LARGE
                                 : verdict_publish(&single->options, verdict, &publication,
                                                   &single->sender, NULL, on_ack, single);
    if (published != JETSTREAM_PUBLISHED) {
        respond_refused(single, published);
        return;
    }
    enter(single, SINGLE_PUBLISHED);
    single->mark = publication.mark;
    drop_body(single); /* blanks in it count for nothing in the window */
    drop_offload(single);
}

/* ---- the verdict ---- */

static void finish_checked(struct single *single, const struct verdict *verdict) {
    if (verdict->status != PARLEY_OK) {
        fail(single, verdict->status);
        return;
    }
    account_valid(&single->options);
    respond_verdict(single, verdict);
}

static void finish_valid(struct single *single, const struct verdict *verdict) {
    switch (single->options.task) {
    case INGEST_FORWARD:
        publish(single, verdict);
        break;
    case INGEST_VALIDATE:
        finish_checked(single, verdict);
        break;
    case INGEST_CONVERT:
        account_valid(&single->options);
        respond_converted(single, verdict);
        break;
    }
}

/* Whether a message that was received whole is served though the client may be gone. */
static bool is_served(const struct single *single) {
    return single->request != NULL || single->options.task == INGEST_FORWARD;
}

/* ---- dispatching ---- */

static void finish_dispatched(struct single *single) {
    const struct dispatch *dispatch = single->dispatch;
    const struct dispatch_outcome *outcome = &dispatch->outcome;
    enter(single, SINGLE_IDLE);
    single->account = dispatch->account;
    if (single->request == NULL) {
        dispatch_account(dispatch);
    } else if (outcome->is_stored) {
        respond_stored(
            single, &(struct receipt_place){.stream = outcome->stream,
                                            .sequence = outcome->sequence,
                                            .is_duplicate = outcome->is_duplicate,
                                            .traceparent = single->options.publication.traceparent,
                                            .members = outcome->members});
    } else {
        respond_problem(single, &outcome->failure, outcome->members);
    }
}

static void decide(struct single *single) {
    struct dispatch *dispatch = single->dispatch;
    switch (dispatch_decide(dispatch)) {
    case DISPATCH_STEP_WAIT:
        break;
    case DISPATCH_STEP_GO:
        if (dispatch_has_sent_all(dispatch)) {
            drop_body(single);
            drop_offload(single);
        }
        break;
    case DISPATCH_STEP_FULL:
        enter(single, SINGLE_IDLE);
        respond_refused(single, JETSTREAM_FULL);
        break;
    case DISPATCH_STEP_SETTLED:
        finish_dispatched(single);
        break;
    case DISPATCH_STEP_CHECKED:
        enter(single, SINGLE_IDLE);
        finish_checked(single, &dispatch->verdict);
        break;
    }
}

static void on_dispatch_ready(struct dispatch *dispatch) {
    struct single *single = dispatch->context;
    if (is_served(single)) {
        decide(single);
    } else {
        enter(single, SINGLE_IDLE);
    }
    destroy_if_over(single);
}

static void on_dispatch_settled(struct dispatch *dispatch) {
    struct single *single = dispatch->context;
    finish_dispatched(single);
    destroy_if_over(single);
}

static void on_replied(void *context) {
    enter(context, SINGLE_IDLE);
}

static void begin_dispatch(struct single *single, const struct verdict *verdict,
                           const struct parley_route *route) {
    static const struct dispatch_events events = {on_dispatch_ready, on_dispatch_settled};
    single->dispatch = malloc(sizeof *single->dispatch);
    if (single->dispatch == NULL) {
        fail(single, PARLEY_E_MEMORY);
        return;
    }
    struct dispatch *dispatch = single->dispatch;
    *dispatch = (struct dispatch){.events = &events,
                                  .context = single,
                                  .options = &single->options,
                                  .slice = *verdict->slice,
                                  .offload = verdict->offload,
                                  .receipt = &single->receipt,
                                  .form = RECEIPT_OBJECT,
                                  .sender = &single->sender,
                                  .log = &single->log,
                                  .account = single->account};
    single->reply = awaited_expect(&single->options, single->request, route, on_replied, single);
    enter(single, SINGLE_DISPATCHED);
    dispatch_begin(dispatch, route);
    if (dispatch->phase == DISPATCH_READY) {
        decide(single);
    }
}

static void dispatch_or_finish(struct single *single, const struct verdict *verdict) {
    struct parley_route route;
    bool is_needed = false;
    const enum parley_status status =
        lookup_is_needed(&single->options, verdict->message, &route, &is_needed);
    if (status != PARLEY_OK) {
        fail(single, status);
    } else if (is_needed) {
        single->account = account_mark(&single->options, verdict->message);
        begin_dispatch(single, verdict, &route);
    } else {
        finish_valid(single, verdict);
    }
}

/* Counts what the check found. */
static void account_verdict(struct single *single, const struct parley_message *message) {
    account_violations(&single->options, message);
    if (!parley_message_is_valid(message)) {
        account_invalid(&single->options, message);
        meter_charge_invalid(&single->options.meter);
    }
}

static void on_verdict(struct single *single, const struct verdict *verdict) {
    struct parley_message *message = verdict->message;
    const bool is_oversize =
        verdict->status == PARLEY_OK && message->findings.count > 0 &&
        message->findings.items[0].rule == &parley_gateway_rules[PARLEY_GW_SIZE];
    enter(single, SINGLE_IDLE);
    if (verdict->status == PARLEY_OK) {
        account_verdict(single, message);
    }
    if (verdict->status != PARLEY_OK) {
        fail(single, verdict->status);
    } else if (parley_message_is_valid(message)) {
        dispatch_or_finish(single, verdict);
    } else if (single->request == NULL) {
        return; /* no client is there to read it */
    } else if (single->options.task == INGEST_VALIDATE && !is_oversize) {
        respond_verdict(single, verdict);
    } else {
        respond_invalid(single, message);
        quarantine_keep(&single->options, single->request, verdict);
    }
}

static void on_offload_done(struct offload *offload, void *context) {
    struct single *single = context;
    if (is_served(single)) {
        on_verdict(single, &(struct verdict){.message = &offload->message,
                                             .slice = &offload->slice,
                                             .status = offload->status,
                                             .offload = offload});
    } else {
        enter(single, SINGLE_IDLE);
    }
    destroy_if_over(single);
}

static void check(struct single *single) {
    struct request_options *options = &single->options;
    const struct parley_slice slice = {
        .bytes = parley_buffer_bytes(&single->body), .origin = {1, 1}, .number = 1};
    enter(single, SINGLE_CHECKING);
    drop_offload(single);
    if (slice.bytes.length <= request_message_bytes_max(options)) {
        single->offload = offload_begin(options, &slice, on_offload_done, single);
    }
    if (single->offload == NULL) {
        const enum parley_status status = check_message(options, slice.bytes, slice.origin);
        on_verdict(single, &(struct verdict){
                               .message = gateway_message(options->gateway, options->protocol),
                               .slice = &slice,
                               .status = status});
    }
}

/* ---- the body ---- */

struct parley_bytes single_text(const void *state) {
    const struct single *single = state;
    return parley_buffer_bytes(&single->body);
}

static void refuse_overloaded(struct single *single) {
    const struct failure failure = failure_overloaded(&single->options);
    drop_body(single);
    problem_respond(single->request, failure.problem, failure.detail);
}

/* Takes all of it, and keeps what it needs. */
static size_t single_body(void *state, struct parley_bytes bytes) {
    struct single *single = state;
    const size_t room = request_message_bytes_max(&single->options) + 1 - single->body.length;
    const size_t count = bytes.length < room ? bytes.length : room;
    parley_buffer_append(&single->body, (struct parley_bytes){bytes.data, count});
    if (!budget_cover(single->options.gateway->budget, &single->held, single->body.length)) {
        refuse_overloaded(single);
    }
    return bytes.length;
}

/* What was not known at its beginning. */
static void charge_body(const struct single *single) {
    if (!single->options.meter.has_length) {
        meter_charge(&single->options.meter, 0, single->body.length);
    }
}

static void single_end(void *state) {
    struct single *single = state;
    charge_body(single);
    if (single->body.has_failed) {
        fail(single, PARLEY_E_MEMORY);
    } else {
        check(single);
    }
}

static void single_broken(void *state, const struct body_fault *fault) {
    struct single *single = state;
    const struct parley_slice slice = {.origin = {1, 1}, .number = 1};
    if (fault->text == NULL) {
        refuse_overloaded(single);
        return;
    }
    struct parley_message *message =
        gateway_message(single->options.gateway, single->options.protocol);
    charge_body(single);
    drop_body(single);
    enter(single, SINGLE_CHECKING);
    const enum parley_status status =
        parley_message_refuse_fault(message, fault->text, fault->hint, slice.origin);
    on_verdict(single, &(struct verdict){.message = message, .slice = &slice, .status = status});
}

/* What was received whole is published, whether or not the client waits for it; but not if it waits
 * for NATS: the client was not answered, and sends it again. */
static void single_closed(void *state) {
    struct single *single = state;
    single->request = NULL;
    single->sender.is_abandoned = true;
    if (single->phase == SINGLE_DISPATCHED && dispatch_close(single->dispatch)) {
        finish_dispatched(single);
    } else if (single->phase == SINGLE_COMPARING) {
        enter(single, SINGLE_IDLE);
        account_uncompared(&single->options, single->account,
                           duplicate_is_again(single->duplicate));
        duplicate_cancel(single->duplicate);
        single->duplicate = NULL;
    } else if (single->phase == SINGLE_AWAITING) {
        enter(single, SINGLE_IDLE);
    }
    awaited_drop(single->reply);
    single->reply = NULL;
    destroy_if_over(single);
}

static void *single_create(const struct request_options *options, enum parley_framing framing,
                           struct http_request *request) {
    (void)framing;
    struct single *single = malloc(sizeof *single);
    if (single == NULL) {
        return NULL;
    }
    *single = (struct single){.request = request, .account = ACCOUNT_UNKNOWN};
    if (!request_options_keep(&single->options, options)) {
        free(single);
        return NULL;
    }
    return single;
}

const struct body_handler single_handler = {.create = single_create,
                                            .body = single_body,
                                            .end = single_end,
                                            .broken = single_broken,
                                            .closed = single_closed};
