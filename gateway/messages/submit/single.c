/* SPDX-License-Identifier: Apache-2.0 */

/* Receives the body, reaches a verdict, and then reports the errors, converts the message, or
 * publishes it. */

#include "single.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "fact_lookup.h"
#include "phase.h"
#include "rejection.h"
#include "single_state.h"

enum { LARGE_BYTES_MIN = 8 << 20 };

#define HUGE_PAGE_BYTES ((uintptr_t)2 << 20)

void single_enter(struct single *single, enum single_phase phase) {
    static const unsigned allowed[] = {
        [SINGLE_RECEIVING] = PHASE(SINGLE_CHECKING),
        [SINGLE_CHECKING] = PHASE(SINGLE_IDLE),
        [SINGLE_IDLE] = PHASE(SINGLE_SUBMITTED) | PHASE(SINGLE_AWAITING),
        [SINGLE_SUBMITTED] = PHASE(SINGLE_IDLE),
        [SINGLE_AWAITING] = PHASE(SINGLE_IDLE),
    };
    single->phase = (enum single_phase)phase_after(allowed, single->phase, phase);
}

void single_drop_body(struct single *single) {
    parley_buffer_finish(&single->body);
    budget_uncover(single->options.gateway->budget, &single->held);
}

void single_drop_message(struct single *single) {
    offload_release(single->offload);
    kept_message_release(single->options.gateway, single->kept);
    single->offload = NULL;
    single->kept = NULL;
}

void single_destroy(struct single *single) {
    awaited_reply_drop(single->reply);
    submission_finish(&single->submission);
    object_upload_begin_finish(&single->begin);
    single_drop_message(single);
    single_drop_body(single);
    parley_buffer_finish(&single->answer);
    gateway_forget_message(single->options.gateway, single->options.protocol);
    request_options_release(&single->options);
    free(single);
}

void single_destroy_if_over(struct single *single) {
    if (single->request == NULL &&
        (single->phase == SINGLE_RECEIVING || single->phase == SINGLE_IDLE)) {
        single_destroy(single);
    }
}

/* ---- the verdict ---- */

static void finish_checked(struct single *single, const struct verdict *verdict) {
    if (verdict->status != PARLEY_OK) {
        single_fail(single, verdict->status);
        return;
    }
    message_metrics_valid(&single->options);
    single_answer_verdict(single, verdict);
}

/* Whether a message that was received whole is served though the client may be gone. */
static bool is_served(const struct single *single) {
    return single->request != NULL || single->options.task == INGEST_FORWARD;
}

/* ---- its submission ---- */

static void finish_submitted(struct single *single, const struct submission_outcome *outcome) {
    single_enter(single, SINGLE_IDLE);
    if (single->request == NULL) {
        submission_account(&single->submission, outcome);
    } else {
        single_answer_outcome(single, outcome);
    }
}

/* The upload was converted from it, and the receipt is noted. */
static void drop_converted(struct single *single) {
    if (single->submission.phase == SUBMISSION_UPLOADING && single->offload->payload.length > 0) {
        single_drop_body(single);
    }
}

static void go(struct single *single, const struct verdict *verdict) {
    struct verdict now = *verdict;
    struct submission_outcome outcome;
    switch (submission_go(&single->submission, &now, &outcome)) {
    case SUBMISSION_WAITS:
        break;
    case SUBMISSION_GOES:
        drop_converted(single);
        break;
    case SUBMISSION_HALTS:
        single_note_halting(single, now.message);
        break;
    case SUBMISSION_IS_FULL:
        single_enter(single, SINGLE_IDLE);
        single_answer_refused(single, JETSTREAM_FULL);
        break;
    case SUBMISSION_ENDS:
        finish_submitted(single, &outcome);
        break;
    case SUBMISSION_CHECKED:
        single_enter(single, SINGLE_IDLE);
        finish_checked(single, &now);
        break;
    }
}

static void on_ready(struct submission *submission) {
    struct single *single = OWNER_OF(submission, struct single, submission);
    if (is_served(single)) {
        go(single, &(struct verdict){0});
    } else {
        single_enter(single, SINGLE_IDLE);
    }
    single_destroy_if_over(single);
}

static void on_sent(struct submission *submission) {
    struct single *single = OWNER_OF(submission, struct single, submission);
    submission->offload = NULL;
    submission->kept = NULL;
    single_drop_body(single); /* blanks in it count for nothing in the window */
    single_drop_message(single);
}

static void on_settled(struct submission *submission, const struct submission_outcome *outcome) {
    struct single *single = OWNER_OF(submission, struct single, submission);
    finish_submitted(single, outcome);
    single_drop_body(single);
    single_drop_message(single);
    single_destroy_if_over(single);
}

static void on_replied(void *context) {
    single_enter(context, SINGLE_IDLE);
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
        single_fail(single, PARLEY_E_MEMORY);
        return;
    }
    if (route != NULL) {
        single->reply =
            awaited_reply_expect(&single->options, single->request, route, on_replied, single);
    }
    single_enter(single, SINGLE_SUBMITTED);
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
        single_answer_converted(single, verdict);
        break;
    }
}

static void submit_or_finish(struct single *single, const struct verdict *verdict) {
    struct parley_route route;
    bool is_needed = false;
    const enum parley_status status =
        fact_lookup_is_needed(&single->options, verdict->message, &route, &is_needed);
    if (status != PARLEY_OK) {
        single_fail(single, status);
    } else if (is_needed) {
        submit(single, verdict, &route);
    } else {
        finish_valid(single, verdict);
    }
}

/* Handles an invalid message. Without a client no one reads the reason, but it may halt. */
static void refuse(struct single *single, const struct verdict *verdict) {
    struct parley_message *message = verdict->message;
    const bool is_oversize =
        message->findings.items[0].rule == &parley_gateway_rules[PARLEY_GW_SIZE];
    const enum halting_effect effect = halting_of_invalid(&single->options, message);
    single->submission.account = message_metrics_mark(&single->options, message);
    rate_charge_charge_invalid(&single->options.meter);
    if (effect == HALTING_HALTS) {
        submit(single, verdict, NULL);
    } else if (effect == HALTING_HALTED) {
        single_note_halting(single, message);
        single_answer_halting(single);
    } else {
        message_metrics_invalid(&single->options, single->submission.account);
    }
    if (single->request == NULL) {
        return;
    }
    if (single->options.task == INGEST_VALIDATE && !is_oversize) {
        single_answer_verdict(single, verdict);
    } else if (effect == HALTING_NOTHING) {
        single_answer_invalid(single, message);
    }
    rejection_note(&single->options, single->request, verdict);
}

static void on_verdict(struct single *single, const struct verdict *verdict) {
    single_enter(single, SINGLE_IDLE);
    if (verdict->status != PARLEY_OK) {
        single_fail(single, verdict->status);
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
        single_enter(single, SINGLE_IDLE);
    }
    single_destroy_if_over(single);
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
}

static void check(struct single *single) {
    struct request_options *options = &single->options;
    const struct parley_slice slice = {
        .bytes = parley_buffer_bytes(&single->body), .origin = {1, 1}, .number = 1};
    single_enter(single, SINGLE_CHECKING);
    single_drop_message(single);
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
    single_drop_body(single);
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
        single_fail(single, PARLEY_E_MEMORY);
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
    single_drop_body(single);
    single_enter(single, SINGLE_CHECKING);
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
        single_enter(single, SINGLE_IDLE);
    }
    awaited_reply_drop(single->reply);
    single->reply = NULL;
    single_destroy_if_over(single);
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
