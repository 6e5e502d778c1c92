/* SPDX-License-Identifier: Apache-2.0 */

/* Receives the body, reaches a verdict, and then reports the errors, converts the message, or
 * submits it, and answers its client. */

#include "single.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "awaited_reply.h"
#include "budget.h"
#include "fact_lookup.h"
#include "guard.h"
#include "phase.h"
#include "rejection.h"
#include "repeats.h"
#include "submission.h"

enum {
    ANSWER_BYTES_USUAL = 480, /* with malloc's header one of its classes */
    LARGE_BYTES_MIN = 8 << 20,
};

#define HUGE_PAGE_BYTES ((uintptr_t)2 << 20)

/*   RECEIVING ── the body has ended ──▶ CHECKING ── verdict ──▶ IDLE
 *
 *   IDLE ── it is to be forwarded, or earlier messages decide ──▶ SUBMITTED ── settled ──▶ IDLE
 *   IDLE ── stored, and its client waits for the reply ──▶ AWAITING ── reply, time up ──▶ IDLE
 */
enum single_phase {
    SINGLE_RECEIVING,
    SINGLE_CHECKING,  /* by the worker pool, or right now */
    SINGLE_IDLE,      /* it waits for nothing: it is answered, or about to be */
    SINGLE_SUBMITTED, /* its submission has it */
    SINGLE_AWAITING,  /* the reply to it */
};

struct single {
    struct request_options options;
    struct http_request *request; /* NULL once it is gone */
    enum single_phase phase;
    struct parley_buffer body;   /* up to a byte over the limit: enough to refuse it */
    struct parley_buffer answer; /* other than a receipt; of an invalid message, the detail, NUL,
                                    and the members of the problem */
    uint32_t tries;              /* how often its sender has sent it, if it is invalid */
    struct budget_share held;    /* taken for the body */
    struct offload *offload;     /* that checks the message or did; NULL: this reactor does … */
    struct kept_message *kept;   /* … in this object; NULL: in gateway_message() */
    struct submitter submitter;
    struct submission submission;
    struct awaited_reply *reply;      /* NULL if no request waits for one */
    struct object_upload_begin begin; /* where the stream was when the request began */
};

static void enter(struct single *single, enum single_phase phase) {
    static const unsigned allowed[] = {
        [SINGLE_RECEIVING] = PHASE(SINGLE_CHECKING),
        [SINGLE_CHECKING] = PHASE(SINGLE_IDLE),
        [SINGLE_IDLE] = PHASE(SINGLE_SUBMITTED) | PHASE(SINGLE_AWAITING),
        [SINGLE_SUBMITTED] = PHASE(SINGLE_IDLE),
        [SINGLE_AWAITING] = PHASE(SINGLE_IDLE),
    };
    single->phase = (enum single_phase)phase_after(allowed, single->phase, phase);
}

static void drop_body(struct single *single) {
    parley_buffer_finish(&single->body);
    budget_uncover(single->options.gateway->budget, &single->held);
}

static void drop_message(struct single *single) {
    offload_release(single->offload);
    kept_message_release(single->options.gateway, single->kept);
    single->offload = NULL;
    single->kept = NULL;
}

/* Called at the end of a turn: a client may take its time to read the answer. */
static void drop_unused(struct single *single) {
    if (single->phase != SINGLE_SUBMITTED) {
        drop_message(single);
    }
}

static void destroy(struct single *single) {
    awaited_reply_drop(single->reply);
    submission_finish(&single->submission);
    object_upload_begin_finish(&single->begin);
    drop_message(single);
    drop_body(single);
    parley_buffer_finish(&single->answer);
    gateway_forget_message(single->options.gateway, single->options.protocol);
    request_options_release(&single->options);
    free(single);
}

/* Destroys it if the client is gone, and nothing is under way. */
static void destroy_if_over(struct single *single) {
    if (single->request == NULL &&
        (single->phase == SINGLE_RECEIVING || single->phase == SINGLE_IDLE)) {
        destroy(single);
    }
}

/* ---- answers ---- */

static void answer_internal(struct single *single, enum parley_status status) {
    if (single->request == NULL) {
        return;
    }
    problem_respond_format(single->request, PROBLEM_INTERNAL,
                           "The message could not be checked: %s.", parley_status_text(status));
}

/* The message ends with an error of ours. */
static void fail(struct single *single, enum parley_status status) {
    message_metrics_problem(&single->options, single->submission.account, PROBLEM_INTERNAL);
    answer_internal(single, status);
}

/* Whether the answer was written; else the error is answered. */
static bool is_written(struct single *single, enum parley_status status) {
    status = status != PARLEY_OK ? status : parley_buffer_status(&single->answer);
    if (status != PARLEY_OK) {
        answer_internal(single, status);
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

static void answer_converted(struct single *single, const struct verdict *verdict) {
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

static void answer_verdict(struct single *single, const struct verdict *verdict) {
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

/* Broken rules: the problem names the first error, its violations are all findings. Not in the
 * protocol's own form, which has no room for more.  `more`: of the detail; `members`: of the
 * problem. */
static void note_invalid(struct single *single, const struct parley_message *message,
                         const char *more, const char *members) {
    struct parley_buffer *out = &single->answer;
    check_describe(message, out);
    parley_buffer_text(out, more);
    parley_buffer_char(out, '\0');
    parley_buffer_text(out, members);
    if (single->tries > 1) {
        parley_buffer_format(out, ",\"unchanged\":true,\"tries\":%" PRIu32, single->tries);
    }
    parley_buffer_text(out, ",\"violations\":");
    parley_findings_write(&message->findings, out);
    if (single->request != NULL) {
        problem_remark_rules(single->request, &message->findings);
    }
}

static void respond_noted(struct single *single, enum problem problem) {
    const struct parley_bytes noted = parley_buffer_bytes(&single->answer);
    if (is_written(single, PARLEY_OK)) {
        const size_t start = strlen(noted.data) + 1;
        problem_respond_members(single->request, problem, noted.data,
                                (struct parley_bytes){noted.data + start, noted.length - start});
    }
}

static void answer_invalid(struct single *single, struct parley_message *message) {
    const struct parley_finding *first = &message->findings.items[0];
    const enum problem problem = check_is_forbidden(message) ? PROBLEM_FORBIDDEN
                                 : message->is_decoded       ? PROBLEM_INVALID_MESSAGE
                                 : first->rule == &parley_gateway_rules[PARLEY_GW_SIZE]
                                     ? PROBLEM_TOO_LARGE
                                     : PROBLEM_MALFORMED;
    if (single->options.has_own_refusal) {
        problem_remark_rules(single->request, &message->findings);
        respond_own_refusal(single, message, problem_status(problem));
        return;
    }
    note_invalid(single, message, "", "");
    respond_noted(single, problem);
}

static void note_halting(struct single *single, const struct parley_message *message) {
    note_invalid(single, message,
                 " It halts its conversation all the same, until people release it.",
                 ",\"halted\":true");
}

static void answer_halting(struct single *single) {
    if (single->request != NULL) {
        http_commit_refusal(single->request);
        respond_noted(single, PROBLEM_INVALID_MESSAGE);
    }
}

static void answer_stored(struct single *single, const struct submission_outcome *outcome) {
    const struct receipt_place place = {.stream = outcome->stream,
                                        .sequence = outcome->sequence,
                                        .is_duplicate = outcome->is_duplicate,
                                        .traceparent = single->options.publication.traceparent,
                                        .members = outcome->members};
    const struct receipt *receipt = &single->submission.receipt;
    struct parley_buffer *answer = &single->options.gateway->answer;
    parley_buffer_clear(answer);
    receipt_write(receipt, &place, answer);
    if (single->reply != NULL && !answer->has_failed) {
        if (awaited_reply_begin(single->reply, parley_buffer_bytes(answer), receipt)) {
            enter(single, SINGLE_AWAITING);
        }
        return;
    }
    parley_buffer_char(answer, '\n');
    if (answer->has_failed) {
        answer_internal(single, PARLEY_E_MEMORY);
        return;
    }
    http_respond(single->request, 200, "application/json", parley_buffer_bytes(answer));
}

static void answer_outcome(struct single *single, const struct submission_outcome *outcome) {
    switch (outcome->end) {
    case SUBMISSION_STORED:
        answer_stored(single, outcome);
        break;
    case SUBMISSION_HALTED:
        answer_halting(single);
        break;
    case SUBMISSION_FAILED:
        problem_respond_members(single->request, outcome->failure.problem, outcome->failure.detail,
                                outcome->members);
        break;
    case SUBMISSION_UNCOMPARED: /* no one reads it */
        break;
    }
}

/* ---- the verdict ---- */

static void finish_checked(struct single *single, const struct verdict *verdict) {
    if (verdict->status != PARLEY_OK) {
        fail(single, verdict->status);
        return;
    }
    message_metrics_valid(&single->options);
    answer_verdict(single, verdict);
}

/* Whether a message that was received whole is served though the client may be gone. */
static bool is_served(const struct single *single) {
    return single->request != NULL || single->options.task == INGEST_FORWARD;
}

/* ---- its submission ---- */

static void finish_submitted(struct single *single, const struct submission_outcome *outcome) {
    enter(single, SINGLE_IDLE);
    if (single->request != NULL) {
        answer_outcome(single, outcome);
    }
}

/* The upload was converted from it, and the receipt is noted. */
static void drop_converted(struct single *single) {
    if (single->submission.phase == SUBMISSION_UPLOADING && single->offload->payload.length > 0) {
        drop_body(single);
    }
}

/* `verdict` NULL: the message has waited. */
static void go(struct single *single, const struct verdict *verdict) {
    struct submission_outcome outcome;
    switch (submission_go(&single->submission, verdict, &outcome)) {
    case SUBMISSION_WAITS:
    case SUBMISSION_IS_FULL: /* only of what waits for room */
        break;
    case SUBMISSION_GOES:
        drop_converted(single);
        break;
    case SUBMISSION_HALTS:
        note_halting(single, outcome.verdict.message);
        break;
    case SUBMISSION_ENDS:
        finish_submitted(single, &outcome);
        break;
    case SUBMISSION_CHECKED:
        enter(single, SINGLE_IDLE);
        finish_checked(single, &outcome.verdict);
        break;
    }
}

static void on_ready(struct submission *submission) {
    struct single *single = OWNER_OF(submission, struct single, submission);
    if (is_served(single)) {
        go(single, NULL);
    } else {
        enter(single, SINGLE_IDLE);
    }
    drop_unused(single);
    destroy_if_over(single);
}

static void on_sent(struct submission *submission) {
    struct single *single = OWNER_OF(submission, struct single, submission);
    submission->offload = NULL;
    submission->kept = NULL;
    drop_body(single); /* blanks in it count for nothing in the window */
    drop_message(single);
}

static void on_settled(struct submission *submission, const struct submission_outcome *outcome) {
    struct single *single = OWNER_OF(submission, struct single, submission);
    finish_submitted(single, outcome);
    drop_body(single);
    drop_message(single);
    destroy_if_over(single);
}

static void on_replied(void *context) {
    enter(context, SINGLE_IDLE);
}

/* `route`: of a message that earlier ones decide on, else NULL. */
static void submit(struct single *single, const struct verdict *verdict,
                   const struct parley_route *route) {
    static const struct submission_events events = {on_ready, on_sent, on_settled};
    struct submission *submission = &single->submission;
    single->submitter.events = &events;
    single->submitter.options = &single->options;
    single->submitter.begin = &single->begin;
    if (submission_begin(submission, &single->submitter, verdict, route) != PARLEY_OK) {
        fail(single, PARLEY_E_MEMORY);
        return;
    }
    if (route != NULL) {
        single->reply = awaited_reply_expect(&single->options, single->request, route,
                                             verdict->message, on_replied, single);
    }
    enter(single, SINGLE_SUBMITTED);
    if (submission->phase == SUBMISSION_READY) {
        go(single, verdict);
    }
}

static void finish_valid(struct single *single, const struct verdict *verdict) {
    switch (single->options.task) {
    case INGEST_FORWARD:
        submit(single, verdict, NULL);
        break;
    case INGEST_VALIDATE:
        finish_checked(single, verdict);
        break;
    case INGEST_CONVERT:
        message_metrics_valid(&single->options);
        answer_converted(single, verdict);
        break;
    }
}

static void submit_or_finish(struct single *single, const struct verdict *verdict) {
    struct parley_route route;
    bool is_needed = false;
    const enum parley_status status =
        fact_lookup_is_needed(&single->options, verdict->message, &route, &is_needed);
    if (status != PARLEY_OK) {
        fail(single, status);
    } else if (is_needed) {
        submit(single, verdict, &route);
    } else {
        finish_valid(single, verdict);
    }
}

/* `text`: as it was sent; data NULL: it could not be read. */
static uint32_t count_tries(const struct single *single, struct parley_bytes text) {
    struct gateway *gateway = single->options.gateway;
    if (single->request == NULL || single->options.task != INGEST_FORWARD || text.data == NULL) {
        return 1;
    }
    const struct parley_bytes name = parley_bytes_of(guard_principal(single->request)->name);
    return repeats_note(&gateway->repeats,
                        name.length > 0 ? name : peer_network(http_request_peer(single->request)),
                        parley_bytes_of(single->options.protocol->name), text,
                        reactor_now_ms(gateway->reactor));
}

/* Handles an invalid message. Without a client no one reads the reason, but it may halt. */
static void refuse(struct single *single, const struct verdict *verdict) {
    struct parley_message *message = verdict->message;
    const bool is_oversize =
        message->findings.items[0].rule == &parley_gateway_rules[PARLEY_GW_SIZE];
    const enum halting_effect effect = halting_of_invalid(&single->options, message);
    if (!is_oversize) { /* of which not all bytes are known */
        single->tries = count_tries(single, verdict->slice->bytes);
    }
    single->submission.account = message_metrics_mark(&single->options, message);
    rate_charge_charge_invalid(&single->options.meter);
    if (effect == HALTING_HALTS) {
        submit(single, verdict, NULL);
    } else {
        message_metrics_invalid(&single->options, single->submission.account);
    }
    if (effect == HALTING_HALTED) {
        note_halting(single, message);
        answer_halting(single);
    }
    if (single->request == NULL) {
        return;
    }
    if (single->options.task == INGEST_VALIDATE && !is_oversize) {
        answer_verdict(single, verdict);
    } else if (effect == HALTING_NOTHING) {
        answer_invalid(single, message);
    }
    rejection_note(&single->options, single->request, verdict);
}

static void on_verdict(struct single *single, const struct verdict *verdict) {
    enter(single, SINGLE_IDLE);
    if (verdict->status != PARLEY_OK) {
        fail(single, verdict->status);
        return;
    }
    message_metrics_violations(&single->options, verdict->message);
    if (parley_message_is_valid(verdict->message)) {
        submit_or_finish(single, verdict);
    } else {
        refuse(single, verdict);
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

static void check_here(struct single *single, const struct parley_slice *slice) {
    struct request_options *options = &single->options;
    single->kept = kept_message_take(options);
    const enum parley_status status =
        check_message_in(options, single->kept, slice->bytes, slice->origin);
    on_verdict(single, &(struct verdict){.message = check_object(options, single->kept),
                                         .slice = slice,
                                         .status = status,
                                         .kept = single->kept});
    drop_unused(single);
}

static void check(struct single *single) {
    struct request_options *options = &single->options;
    const struct parley_slice slice = {
        .bytes = parley_buffer_bytes(&single->body), .origin = {1, 1}, .number = 1};
    enter(single, SINGLE_CHECKING);
    drop_message(single);
    if (slice.bytes.length <= request_message_bytes_max(options)) {
        single->offload = offload_begin(options, &slice, on_offload_done, single);
    }
    if (single->offload == NULL) {
        check_here(single, &slice);
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

/* The rest of a large body is in pages of 2 MiB, where the system has them: 100 MB in pages of 4
 * KiB are 24,000 page faults, and freeing them holds the reactor for 8 ms. Its beginning does not,
 * since a client that only announces a large body would take 2 MiB with its first byte. */
static void make_room_for_large(struct single *single, size_t bytes_max) {
    struct parley_buffer *body = &single->body;
    const int64_t length = http_request_content_length(single->request);
    if (length > (int64_t)body->length && (uint64_t)length <= bytes_max) {
        (void)parley_buffer_reserve(body, (size_t)length - body->length);
    }
    const uintptr_t next = (uintptr_t)body->data + body->length;
    const size_t start = body->length + (size_t)(-next & (HUGE_PAGE_BYTES - 1));
    if (start < body->capacity) {
        (void)madvise(body->data + start, body->capacity - start, MADV_HUGEPAGE);
    }
}

/* Takes all of it, and keeps the part that it needs. */
static size_t single_body(void *state, struct parley_bytes bytes) {
    struct single *single = state;
    const size_t bytes_max = request_message_bytes_max(&single->options) + 1;
    const size_t room = bytes_max - single->body.length;
    const size_t count = bytes.length < room ? bytes.length : room;
    const bool was_large = single->body.length >= LARGE_BYTES_MIN;
    parley_buffer_append(&single->body, (struct parley_bytes){bytes.data, count});
    if (!was_large && single->body.length >= LARGE_BYTES_MIN) {
        make_room_for_large(single, bytes_max);
    }
    if (!budget_cover(single->options.gateway->budget, &single->held, single->body.length)) {
        refuse_overloaded(single);
    }
    return bytes.length;
}

/* The members that were not known at its beginning. */
static void charge_body(const struct single *single) {
    if (!single->options.meter.has_length) {
        rate_charge_charge(&single->options.meter, 0, single->body.length);
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

/* A whole message is published, whether or not the client waits for it; but not if it waits for
 * NATS: the client was not answered, and sends it again. */
static void single_closed(void *state) {
    struct single *single = state;
    single->request = NULL;
    single->submitter.sender.is_abandoned = true;
    single->submitter.is_unread = true;
    struct submission_outcome outcome;
    if (submission_close(&single->submission, &outcome)) {
        finish_submitted(single, &outcome);
    } else if (single->phase == SINGLE_AWAITING) {
        enter(single, SINGLE_IDLE);
    }
    awaited_reply_drop(single->reply);
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
    *single = (struct single){.request = request, .submission = {.account = ACCOUNT_UNKNOWN}};
    if (!request_options_keep(&single->options, options)) {
        free(single);
        return NULL;
    }
    single->options.is_alone = true;
    object_upload_begin(&single->begin, &single->options, http_request_content_length(request));
    return single;
}

const struct body_handler single_handler = {.create = single_create,
                                            .body = single_body,
                                            .end = single_end,
                                            .broken = single_broken,
                                            .closed = single_closed};
