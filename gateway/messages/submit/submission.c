/* SPDX-License-Identifier: Apache-2.0 */

/* See submission.h. Most messages need only this file; decisions of earlier messages on one are in
 * deciding.c. */

#include "submission.h"

#include <inttypes.h>
#include <stdio.h>

#include "window_share.h"
#include "deciding.h"
#include "phase.h"
#include "rejection.h"

enum { RECEIPT_BYTES_USUAL = 480 }; /* with malloc's header one of its classes */

void submission_enter(struct submission *submission, enum submission_phase phase) {
    enum { STORED = PHASE(SUBMISSION_ACKNOWLEDGING) | PHASE(SUBMISSION_SETTLED) };
    static const unsigned allowed[] = {
        [SUBMISSION_NONE] = PHASE(SUBMISSION_ASKING) | PHASE(SUBMISSION_READY),
        [SUBMISSION_ASKING] = PHASE(SUBMISSION_READY),
        [SUBMISSION_READY] = PHASE(SUBMISSION_ASKING) | PHASE(SUBMISSION_UPLOADING) |
                             PHASE(SUBMISSION_PUBLISHED) | PHASE(SUBMISSION_SETTLED),
        [SUBMISSION_UPLOADING] = PHASE(SUBMISSION_PUBLISHED) | PHASE(SUBMISSION_SETTLED),
        [SUBMISSION_PUBLISHED] = PHASE(SUBMISSION_WRITING) | PHASE(SUBMISSION_RESOLVING) |
                                 PHASE(SUBMISSION_COMPARING) | STORED,
        [SUBMISSION_WRITING] = PHASE(SUBMISSION_RESOLVING) | STORED,
        [SUBMISSION_RESOLVING] = PHASE(SUBMISSION_RESOLVING) | PHASE(SUBMISSION_COMPARING) |
                                 PHASE(SUBMISSION_WRITING) | STORED,
        [SUBMISSION_COMPARING] = PHASE(SUBMISSION_RESOLVING) | PHASE(SUBMISSION_WRITING) | STORED,
        [SUBMISSION_ACKNOWLEDGING] = PHASE(SUBMISSION_SETTLED),
        [SUBMISSION_SETTLED] = 0,
    };
    submission->phase = (enum submission_phase)phase_after(allowed, submission->phase, phase);
}

void submission_resume(struct submission *submission, struct submission_outcome *out) {
    submission->outcome = out;
    out->is_duplicate = false;
}

void submission_report(struct submission *submission) {
    if (submission->phase == SUBMISSION_SETTLED) {
        submission->submitter->events->on_settled(submission, submission->outcome);
    }
}

/* ---- its end ---- */

static void count(const struct submission *submission, const struct submission_outcome *outcome) {
    const struct request_options *options = submission->submitter->options;
    const struct message_metrics_mark account = submission->account;
    switch (outcome->end) {
    case SUBMISSION_STORED:
        message_metrics_stored(options, account, outcome->is_duplicate);
        break;
    case SUBMISSION_HALTED:
        message_metrics_invalid(options, account);
        break;
    case SUBMISSION_FAILED:
        message_metrics_problem(options, account, outcome->failure.problem);
        break;
    case SUBMISSION_UNCOMPARED:
        message_metrics_uncompared(options, account, submission->ack == SUBMISSION_AGAIN);
        break;
    }
}

static void settle(struct submission *submission, struct parley_bytes members) {
    struct submission_outcome *outcome = submission->outcome;
    outcome->stream = submission->stream;
    outcome->sequence = submission->sequence;
    outcome->members = members;
    if (submission->members.has_failed) {
        outcome->end = SUBMISSION_FAILED;
        outcome->failure = failure_of_status(PARLEY_E_MEMORY);
        outcome->members = (struct parley_bytes){0};
    }
    count(submission, outcome);
    submission_enter(submission, SUBMISSION_SETTLED);
    if (submission->deciding != NULL) {
        deciding_settle(submission);
    }
}

static void end_stored(struct submission *submission, bool is_duplicate,
                       struct parley_bytes members) {
    submission->outcome->end = SUBMISSION_STORED;
    submission->outcome->is_duplicate = is_duplicate;
    settle(submission, members);
}

void submission_settle_failed(struct submission *submission, const struct failure *failure) {
    struct parley_buffer *members = &submission->members;
    submission->outcome->end = SUBMISSION_FAILED;
    submission->outcome->failure = *failure;
    failure_write_members(failure->problem, receipt_id(&submission->receipt),
                          submission->sequence > 0 ? submission->stream : NULL,
                          submission->sequence, members);
    settle(submission, parley_buffer_bytes(members));
}

void submission_settle_internal(struct submission *submission, enum parley_status status) {
    const struct failure failure = failure_of_status(status);
    submission_settle_failed(submission, &failure);
}

static void settle_uncompared(struct submission *submission) {
    submission->outcome->end = SUBMISSION_UNCOMPARED;
    settle(submission, (struct parley_bytes){0});
}

enum submission_step submission_refuse(struct submission *submission,
                                       enum jetstream_publish refused) {
    const struct failure failure = failure_of_refusal(submission->submitter->options, refused);
    submission_settle_failed(submission, &failure);
    return SUBMISSION_ENDS;
}

bool submission_close(struct submission *submission, struct submission_outcome *out) {
    if (submission->phase != SUBMISSION_COMPARING) {
        return false;
    }
    duplicate_cancel(submission->duplicate);
    submission->duplicate = NULL;
    submission_resume(submission, out);
    settle_uncompared(submission);
    return true;
}

void submission_end(struct submission *submission) {
    deciding_destroy(submission->deciding);
    checkpoint_ack_destroy(submission->acknowledgement);
    parley_buffer_finish(&submission->members);
    submission->deciding = NULL;
    submission->acknowledgement = NULL;
}

void submission_finish(struct submission *submission) {
    submission_end(submission);
    receipt_finish(&submission->receipt);
}

/* ---- it is stored ---- */

static void on_acknowledged(void *context, const struct failure *failure) {
    struct submission *submission = context;
    struct submission_outcome outcome;
    submission_resume(submission, &outcome);
    if (failure != NULL) {
        submission_settle_failed(submission, failure);
    } else {
        const struct receipt_place *place = checkpoint_ack_place(submission->acknowledgement);
        submission->stream = place->stream;
        end_stored(submission, place->is_duplicate, place->members);
    }
    submission_report(submission);
}

static void acknowledge(struct submission *submission, bool is_duplicate) {
    const struct request_options *options = submission->submitter->options;
    const struct receipt_place place = {.stream = submission->stream,
                                        .sequence = submission->sequence,
                                        .is_duplicate = is_duplicate,
                                        .traceparent = options->publication.traceparent};
    struct failure failure;
    if (checkpoint_ack_send(submission->acknowledgement, options, &submission->receipt,
                            &submission->mark, &place, &failure)) {
        submission_enter(submission, SUBMISSION_ACKNOWLEDGING);
    } else {
        submission_settle_failed(submission, &failure);
    }
}

void submission_settle_stored(struct submission *submission, bool is_duplicate) {
    if (is_duplicate && submission->deciding != NULL) {
        deciding_warn_of_duplicate(submission);
    }
    if (submission->acknowledgement != NULL) {
        acknowledge(submission, is_duplicate);
    } else {
        end_stored(submission, is_duplicate, parley_buffer_bytes(&submission->members));
    }
}

/* ---- what JetStream calls a duplicate ---- */

static void follow_comparison(struct submission *submission,
                              const struct duplicate_answer *answer) {
    submission_note_place(submission, parley_bytes_of(answer->stream), answer->sequence);
    if (submission->deciding != NULL && deciding_follow_comparison(submission, answer)) {
        return;
    }
    if (answer->verdict == DUPLICATE_SAME) {
        receipt_name_stored(&submission->receipt, answer);
        submission_settle_stored(submission, !answer->is_again);
    } else {
        submission_settle_failed(submission, &answer->failure);
    }
}

static void on_compared(void *context, const struct duplicate_answer *answer) {
    struct submission *submission = context;
    struct submission_outcome outcome;
    submission_resume(submission, &outcome);
    submission->duplicate = NULL;
    follow_comparison(submission, answer);
    submission_report(submission);
}

void submission_compare(struct submission *submission) {
    const struct jetstream_ack ack = {.outcome = JETSTREAM_STORED,
                                      .stream = submission->stream,
                                      .sequence = submission->sequence,
                                      .is_duplicate = true,
                                      .is_again = submission->ack == SUBMISSION_AGAIN};
    struct failure failure;
    submission_enter(submission, SUBMISSION_COMPARING);
    submission->duplicate = duplicate_begin(submission->submitter->options, &submission->mark, &ack,
                                            on_compared, submission, &failure);
    if (submission->duplicate == NULL) {
        submission_settle_failed(submission, &failure);
    }
}

/* ---- its ack ---- */

/* The texts of what called do not outlive that. */
void submission_note_place(struct submission *submission, struct parley_bytes stream,
                           uint64_t sequence) {
    struct deciding *deciding = submission->deciding;
    submission->stream = stream.data;
    submission->sequence = sequence;
    if (deciding != NULL) {
        snprintf(deciding->stream, sizeof deciding->stream, "%.*s", (int)stream.length,
                 stream.data);
        submission->stream = deciding->stream;
    }
}

static void follow_ack(struct submission *submission, const struct jetstream_ack *ack) {
    const struct submitter *submitter = submission->submitter;
    if (ack->outcome != JETSTREAM_STORED) {
        const struct failure failure = failure_of_ack(submitter->options, &submission->mark, ack);
        submission_settle_failed(submission, &failure);
        return;
    }
    submission_note_place(submission, parley_bytes_of(ack->stream), ack->sequence);
    submission->ack = !ack->is_duplicate ? SUBMISSION_FRESH
                      : ack->is_again    ? SUBMISSION_AGAIN
                                         : SUBMISSION_DUPLICATE;
    if (submission->deciding != NULL && deciding_follow_ack(submission)) {
        return;
    }
    if (!duplicate_is_open(&submission->mark, ack)) {
        submission_settle_stored(submission, submission->ack == SUBMISSION_DUPLICATE);
    } else if (submission->deciding == NULL && submitter->is_unread) {
        settle_uncompared(submission);
    } else {
        submission_compare(submission);
    }
}

static void on_ack(void *context, const struct jetstream_ack *ack) {
    struct submission *submission = context;
    struct submission_outcome outcome;
    submission_resume(submission, &outcome);
    message_metrics_ack(submission->submitter->options, submission->account, ack);
    follow_ack(submission, ack);
    submission_report(submission);
}

/* ---- publishing ---- */

enum parley_status submission_note_receipt(struct submission *submission,
                                           const struct parley_message *message,
                                           const struct parley_route *route) {
    const enum receipt_form form = submission->submitter->form;
    struct receipt *receipt = &submission->receipt;
    receipt_clear(receipt);
    if (form == RECEIPT_OBJECT) {
        parley_buffer_reserve(&receipt->text, RECEIPT_BYTES_USUAL);
    }
    receipt_note(receipt, form, message, route);
    return parley_buffer_status(&receipt->text);
}

static bool needs_upload(const struct verdict *verdict) {
    return verdict->offload != NULL && verdict->offload->deposit.is_needed;
}

static enum parley_status note_acknowledgement(struct submission *submission,
                                               const struct verdict *verdict,
                                               const struct publication *publication) {
    if (!checkpoint_ack_is_wanted(submission->submitter->options, verdict->message)) {
        return PARLEY_OK;
    }
    const struct parley_bytes stored =
        needs_upload(verdict) ? verdict->offload->deposit.put.bytes : publication->payload;
    submission->acknowledgement =
        checkpoint_ack_create(verdict->message, stored.length, on_acknowledged, submission);
    return submission->acknowledgement != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

/* The payload is the gateway's, or the offload's, which has prepared it.
 * Returns: PARLEY_E_LIMIT when it would be over what NATS takes, without having written more than
 * that: JETSTREAM_TOO_LARGE. */
static enum parley_status describe(const struct submission *submission,
                                   const struct verdict *verdict, struct parley_bytes decided,
                                   struct publication *out) {
    const struct request_options *options = submission->submitter->options;
    if (verdict->offload != NULL && verdict->offload->is_prepared) {
        *out = verdict->offload->publication;
        return verdict->offload->prepared;
    }
    return publication_prepare(verdict->message, &options->publication, verdict->slice->number,
                               decided, gateway_payload(options->gateway), out);
}

/* All that is needed of the message once it is published, when its object may serve others. */
static enum parley_status prepare(struct submission *submission, const struct verdict *verdict,
                                  const struct parley_decision *decision,
                                  struct publication *publication) {
    const struct parley_bytes decided =
        decision != NULL ? decision->message_id : (struct parley_bytes){0};
    PARLEY_TRY(describe(submission, verdict, decided, publication));
    PARLEY_TRY(submission_note_receipt(submission, verdict->message, &publication->route));
    PARLEY_TRY(note_acknowledgement(submission, verdict, publication));
    return decision != NULL ? deciding_prepare(submission, verdict, decision, publication)
                            : PARLEY_OK;
}

static enum submission_step refuse_unprepared(struct submission *submission,
                                              const struct verdict *verdict,
                                              enum parley_status status) {
    const struct request_options *options = submission->submitter->options;
    const enum object_upload_room room =
        verdict->offload != NULL ? verdict->offload->deposit.room : DEPOSIT_HAS_ROOM;
    if (room != DEPOSIT_HAS_ROOM) {
        const struct failure failure =
            room == DEPOSIT_OVERLOADED ? failure_overloaded(options) : failure_ungathered(options);
        submission_settle_failed(submission, &failure);
    } else if (status == PARLEY_E_LIMIT) {
        return submission_refuse(submission, JETSTREAM_TOO_LARGE);
    } else {
        submission_settle_internal(submission, status);
    }
    return SUBMISSION_ENDS;
}

static enum submission_step hand_over(struct submission *submission,
                                      const struct publication *publication) {
    struct submitter *submitter = submission->submitter;
    const struct request_options *options = submitter->options;
    const enum jetstream_publish published = halting_publish(
        options, publication, &submitter->sender, submitter->hold, on_ack, submission);
    if (published == JETSTREAM_FULL && submitter->waits_for_room) {
        submitter->share = window_share(options->protocol, publication->route.priority);
        return SUBMISSION_IS_FULL;
    }
    if (published != JETSTREAM_PUBLISHED) {
        return submission_refuse(submission, published);
    }
    submission_enter(submission, SUBMISSION_PUBLISHED);
    submission->mark = publication->mark;
    return SUBMISSION_GOES;
}

/* A message that leaves a fact may be examined again. */
static void tell_sent(struct submission *submission) {
    const struct submission_events *events = submission->submitter->events;
    const bool is_done =
        submission->deciding == NULL || submission->deciding->key == DECIDING_NO_KEY;
    if (is_done && events->on_sent != NULL) {
        events->on_sent(submission);
    }
}

/* ---- messages with a part in an object store ---- */

static void send_pointer(struct submission *submission) {
    struct offload *offload = submission->offload;
    struct object_upload *deposit = &offload->deposit;
    snprintf(deposit->begun, sizeof deposit->begun, "%" PRIu64,
             submission->submitter->begin->sequence);
    if (hand_over(submission, &offload->publication) == SUBMISSION_GOES) {
        tell_sent(submission);
    }
}

static void on_uploaded(struct object_put *put) {
    struct submission *submission = OWNER_OF(put, struct offload, deposit.put)->context;
    struct submission_outcome outcome;
    submission_resume(submission, &outcome);
    if (put->end == OBJECT_PUT_STORED) {
        send_pointer(submission);
    } else {
        const struct failure failure = failure_of_upload(put);
        submission_settle_failed(submission, &failure);
    }
    submission_report(submission);
}

/* The offload has no other use of its context: its check is done. */
static enum submission_step upload(struct submission *submission) {
    const struct request_options *options = submission->submitter->options;
    struct offload *offload = submission->offload;
    struct object_store *store = gateway_object_store(options->gateway, options->protocol);
    offload->context = submission;
    offload->deposit.put.done = on_uploaded;
    submission_enter(submission, SUBMISSION_UPLOADING);
    object_put_begin(&offload->deposit.put, store);
    return SUBMISSION_GOES;
}

/* Whether NATS is away and is not waited for: a large message is not prepared then. */
static bool is_unpublishable(const struct submission *submission, const struct verdict *verdict) {
    const struct gateway *gateway = submission->submitter->options->gateway;
    return verdict->offload != NULL && !jetstream_is_accepting(gateway->jetstream);
}

enum submission_step submission_publish(struct submission *submission,
                                        const struct verdict *verdict,
                                        const struct parley_decision *decision) {
    const struct submitter *submitter = submission->submitter;
    struct publication publication;
    struct failure halted;
    submission->account = message_metrics_mark(submitter->options, verdict->message);
    if (halting_refuses(submitter->options, verdict->message, &halted)) {
        rejection_keep_failed(submitter->options, verdict, &halted);
        submission_settle_failed(submission, &halted);
        return SUBMISSION_ENDS;
    }
    if (is_unpublishable(submission, verdict)) {
        return submission_refuse(submission, JETSTREAM_AWAY);
    }
    const enum parley_status status = prepare(submission, verdict, decision, &publication);
    if (status != PARLEY_OK) {
        return refuse_unprepared(submission, verdict, status);
    }
    if (needs_upload(verdict)) {
        return upload(submission);
    }
    if (submitter->begin != NULL) {
        object_upload_begin_add(submitter->begin, submitter->options, verdict->message,
                                &publication);
    }
    const enum submission_step step = hand_over(submission, &publication);
    if (step == SUBMISSION_GOES) {
        if (decision != NULL) {
            deciding_note_published(submission, decision);
        }
        tell_sent(submission);
    }
    return step;
}

/* ---- invalid messages that halt ---- */

static void on_latched(void *context, const struct jetstream_ack *ack) {
    struct submission *submission = context;
    struct submission_outcome outcome;
    submission_resume(submission, &outcome);
    if (ack->outcome == JETSTREAM_STORED) {
        outcome.end = SUBMISSION_HALTED;
        settle(submission, (struct parley_bytes){0});
    } else {
        const struct failure failure =
            failure_of_ack(submission->submitter->options, &submission->mark, ack);
        submission_settle_failed(submission, &failure);
    }
    submission_report(submission);
}

static enum submission_step latch(struct submission *submission, struct parley_message *message) {
    struct submitter *submitter = submission->submitter;
    submission->account = message_metrics_mark(submitter->options, message);
    const enum jetstream_publish published = halting_latch(
        submitter->options, message, submitter->hold, on_latched, submission, &submitter->share);
    if (published == JETSTREAM_FULL && submitter->waits_for_room) {
        return SUBMISSION_IS_FULL;
    }
    if (published != JETSTREAM_PUBLISHED) {
        return submission_refuse(submission, published);
    }
    submission_enter(submission, SUBMISSION_PUBLISHED);
    return SUBMISSION_HALTS;
}

/* ---- its way ---- */

enum parley_status submission_begin(struct submission *submission, struct submitter *submitter,
                                    const struct verdict *verdict,
                                    const struct parley_route *route) {
    submission->submitter = submitter;
    submission->phase = SUBMISSION_NONE;
    submission->slice = *verdict->slice;
    submission->offload = verdict->offload;
    submission->kept = verdict->kept;
    submission->mark.repeat = PUBLICATION_REPEAT_ANOTHER;
    submission->ack = SUBMISSION_UNACKED;
    submission->sequence = 0;
    submission->stream = NULL;
    if (route != NULL) {
        submission->account = message_metrics_mark(submitter->options, verdict->message);
        return deciding_begin(submission, route);
    }
    submission_enter(submission, SUBMISSION_READY);
    return PARLEY_OK;
}

enum parley_status submission_check_again(struct submission *submission, struct verdict *verdict) {
    struct request_options *options = submission->submitter->options;
    const struct parley_slice *slice = &submission->slice;
    *verdict =
        (struct verdict){.slice = slice, .offload = submission->offload, .kept = submission->kept};
    if (submission->offload != NULL || submission->kept != NULL) {
        verdict->message = submission->offload != NULL ? &submission->offload->message
                                                       : &submission->kept->message;
        verdict->message->options.now_seconds = clock_now_seconds();
        return PARLEY_OK;
    }
    verdict->message = gateway_message(options->gateway, options->protocol);
    return submission->deciding != NULL ? check_message_again(options, slice->bytes, slice->origin,
                                                              &submission->deciding->stamped)
                                        : check_message(options, slice->bytes, slice->origin);
}

enum submission_step submission_go(struct submission *submission, const struct verdict *verdict,
                                   struct submission_outcome *out) {
    struct verdict *now = &out->verdict;
    submission_resume(submission, out);
    if (verdict != NULL) {
        *now = *verdict;
    } else {
        now->status = submission_check_again(submission, now);
    }
    if (submission->deciding != NULL) {
        return deciding_go(submission, now);
    }
    if (submission->submitter->options->task != INGEST_FORWARD) {
        return SUBMISSION_CHECKED;
    }
    if (now->status != PARLEY_OK) {
        submission_settle_internal(submission, now->status);
        return SUBMISSION_ENDS;
    }
    return parley_message_is_valid(now->message) ? submission_publish(submission, now, NULL)
                                                 : latch(submission, now->message);
}
