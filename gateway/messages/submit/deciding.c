/* SPDX-License-Identifier: Apache-2.0 */

/* See deciding.h. A message that has waited is there as it was checked (submission_check_again)
 * when something is to be decided. */

#include "deciding.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "stored_headers.h"

static struct fact_store *store_of(const struct submission *submission) {
    const struct request_options *options = submission->submitter->options;
    return gateway_fact_store(options->gateway, options->protocol);
}

/* ---- its end ---- */

static void forget_expected(struct submission *submission) {
    struct deciding *deciding = submission->deciding;
    if (deciding->is_expected) {
        deciding->is_expected = false;
        fact_store_expect_end(store_of(submission), parley_bytes_of(deciding->fact_key));
    }
}

void deciding_settle(struct submission *submission) {
    struct deciding *deciding = submission->deciding;
    forget_expected(submission);
    if (deciding->is_counted) {
        fact_lookup_count_end(&deciding->lookup, submission->outcome->end == SUBMISSION_STORED);
    }
}

void deciding_warn_of_duplicate(struct submission *submission) {
    const struct parley_buffer *warnings = &submission->deciding->warnings;
    if (warnings->length > 0) {
        receipt_change_warnings(&submission->receipt, parley_buffer_bytes(warnings));
    }
}

void deciding_destroy(struct deciding *deciding) {
    if (deciding == NULL) {
        return;
    }
    fact_lookup_finish(&deciding->lookup);
    parley_buffer_finish(&deciding->warnings);
    free(deciding->fact_key);
    free(deciding->fact_members);
    free(deciding->note_key);
    free(deciding->note_members);
    free(deciding);
}

/* ---- decisions ---- */

/* By the time at which JetStream calls it a duplicate the message is gone. */
static enum parley_status note_duplicate(struct deciding *deciding, const struct verdict *verdict,
                                         const struct parley_decision *decision) {
    parley_buffer_clear(&deciding->warnings);
    if (!decision->is_repeat) {
        return PARLEY_OK;
    }
    PARLEY_TRY(fact_lookup_decide_alone(&deciding->lookup, verdict->message));
    parley_findings_write(&verdict->message->findings, &deciding->warnings);
    return parley_buffer_status(&deciding->warnings);
}

/* Writes the result of a message that is not published now. */
static enum parley_status note_receipt(struct submission *submission,
                                       const struct verdict *verdict) {
    struct parley_route route;
    PARLEY_TRY(parley_message_route(verdict->message, &route));
    return submission_note_receipt(submission, verdict->message, &route);
}

static void note_members(struct submission *submission, const struct parley_decision *decision) {
    parley_buffer_clear(&submission->members);
    parley_buffer_append(&submission->members, decision->members);
}

/* Settles a message that was stored before, or that contradicts stored ones. */
static void settle_decided(struct submission *submission, const struct verdict *verdict,
                           const struct parley_decision *decision) {
    const bool is_own =
        submission->ack == SUBMISSION_AGAIN && decision->sequence == submission->sequence;
    const enum parley_status status = note_receipt(submission, verdict);
    if (status != PARLEY_OK) {
        submission_settle_internal(submission, status);
        return;
    }
    if (decision->has_count) {
        fact_lookup_count(&submission->deciding->lookup, decision);
    }
    note_members(submission, decision);
    submission_note_place(submission, decision->stream, decision->sequence);
    if (decision->kind == PARLEY_DECISION_REPEATED) {
        submission_settle_stored(submission, !is_own);
        return;
    }
    struct failure failure = {.problem = problem_of_name(decision->problem)};
    const struct parley_bytes detail =
        submission->deciding->late_count > 0
            ? PARLEY_BYTES("The message was stored too late, when another one had been quicker: it "
                           "is in the stream, and does not count.")
            : decision->detail;
    snprintf(failure.detail, sizeof failure.detail, "%.*s", (int)detail.length, detail.data);
    submission_settle_failed(submission, &failure);
}

static enum parley_status keep_note(struct deciding *deciding,
                                    const struct parley_decision *decision) {
    free(deciding->note_key);
    free(deciding->note_members);
    deciding->note_key = deciding->note_members = NULL;
    if (decision->note_key.data == NULL) {
        return PARLEY_OK;
    }
    deciding->note_key = parley_bytes_copy(decision->note_key);
    deciding->note_members = parley_bytes_copy(decision->note_members);
    return deciding->note_key != NULL && deciding->note_members != NULL ? PARLEY_OK
                                                                        : PARLEY_E_MEMORY;
}

/* The texts of the decision do not outlive the message. */
static enum parley_status keep_fact(struct deciding *deciding,
                                    const struct parley_decision *decision) {
    free(deciding->fact_key);
    free(deciding->fact_members);
    deciding->fact_key = deciding->fact_members = NULL;
    deciding->key = DECIDING_NO_KEY;
    deciding->fact_until_ms =
        decision->within_seconds > 0
            ? reactor_now_ms(deciding->lookup.reactor) + decision->within_seconds * 1000
            : 0;
    if (decision->fact_key.data == NULL) {
        return PARLEY_OK;
    }
    const struct parley_bytes members = decision->fact_members;
    deciding->key = decision->message_id.data != NULL ? DECIDING_UNIQUE_KEY : DECIDING_SHARED_KEY;
    deciding->fact_key = parley_bytes_copy(decision->fact_key);
    deciding->fact_members = parley_bytes_copy(members.data != NULL ? members : PARLEY_BYTES(""));
    return deciding->fact_key != NULL && deciding->fact_members != NULL ? PARLEY_OK
                                                                        : PARLEY_E_MEMORY;
}

/* ---- resolving ---- */

static void on_resolved(struct submission *submission);

static struct failure unsettled(void) {
    struct failure failure = {.problem = PROBLEM_BUS_UNAVAILABLE};
    snprintf(failure.detail, sizeof failure.detail,
             "Another message about the same is being stored, and its key does not say yet which "
             "was first. Send this one again in a moment: it is stored once at most.");
    return failure;
}

/* The fact is there, or was written, or is another's: what does it say? */
static void resolve(struct submission *submission, int64_t delay_ms) {
    struct fact_lookup *lookup = &submission->deciding->lookup;
    submission_enter(submission, SUBMISSION_RESOLVING);
    forget_expected(submission);
    lookup->is_patient = false;
    fact_lookup_again(lookup, delay_ms);
    if (lookup->state == FACT_LOOKUP_FAILED) {
        on_resolved(submission);
    }
}

/* The fact says that this message is the one that counts. */
static bool is_own_fact(const struct submission *submission, const char *value) {
    return parley_fact_is_of(parley_bytes_of(value), parley_bytes_of(submission->stream),
                             submission->sequence);
}

/* Its key has a value that says nothing of it, as a gateway of an older version writes one that has
 * seen the message before this one has written its key: the Nats-Msg-Id alone decides. */
static void settle_without_fact(struct submission *submission, const struct verdict *verdict) {
    struct deciding *deciding = submission->deciding;
    const bool is_duplicate = submission->ack != SUBMISSION_FRESH;
    const enum parley_status status = note_receipt(submission, verdict);
    deciding->key = DECIDING_SHARED_KEY;
    if (status != PARLEY_OK) {
        submission_settle_internal(submission, status);
    } else if (is_duplicate && !deciding->has_compared) {
        submission_compare(submission);
    } else {
        submission_settle_stored(submission, is_duplicate);
    }
}

static void decide_resolved(struct submission *submission) {
    struct deciding *deciding = submission->deciding;
    const bool is_unique = deciding->key == DECIDING_UNIQUE_KEY;
    struct verdict verdict;
    struct parley_decision decision = {.kind = PARLEY_DECISION_PUBLISH};
    int64_t delay_ms;
    deciding->lookup.is_final = true;
    enum parley_status status = submission_check_again(submission, &verdict);
    if (status == PARLEY_OK) {
        status = fact_lookup_decide(&deciding->lookup, verdict.message, &decision, &delay_ms);
    }
    if (status != PARLEY_OK) {
        submission_settle_internal(submission, status);
    } else if (decision.kind == PARLEY_DECISION_REPEATED ||
               decision.kind == PARLEY_DECISION_REFUSED) {
        settle_decided(submission, &verdict, &decision);
    } else if (!is_unique && note_receipt(submission, &verdict) == PARLEY_OK) {
        /* It is stored, and now there is something to warn of, or it means something else. */
        note_members(submission, &decision);
        submission_settle_stored(submission, false);
    } else if (is_unique && decision.fact_key.data == NULL) {
        settle_without_fact(submission, &verdict);
    } else {
        const struct failure failure = unsettled();
        submission_settle_failed(submission, &failure);
    }
}

/* ---- a fact that was not written in time ---- */

static void write_own_fact(struct submission *submission);

static int64_t time_left_ms(const struct deciding *deciding) {
    return deciding->fact_until_ms - reactor_now_ms(deciding->lookup.reactor);
}

static bool is_too_late(const struct deciding *deciding) {
    return deciding->fact_until_ms != 0 && time_left_ms(deciding) <= 0;
}

/* Another message may have been quicker meanwhile.  Returns: false: it is not late. */
static bool begin_late(struct submission *submission) {
    enum { LATE_MAX = 8 };
    struct deciding *deciding = submission->deciding;
    deciding->is_late = is_too_late(deciding);
    if (!deciding->is_late) {
        return false;
    }
    if (deciding->late_count++ < LATE_MAX) {
        resolve(submission, 0);
    } else {
        const struct failure failure = unsettled();
        submission_settle_failed(submission, &failure);
    }
    return true;
}

/* It is stored, and its key is not: what it means now. */
static void decide_late(struct submission *submission) {
    struct deciding *deciding = submission->deciding;
    struct fact_lookup *lookup = &deciding->lookup;
    struct verdict verdict;
    struct parley_decision decision = {.kind = PARLEY_DECISION_PUBLISH};
    int64_t delay_ms;
    lookup->is_final = true;
    enum parley_status status = submission_check_again(submission, &verdict);
    if (status == PARLEY_OK) {
        status = fact_lookup_decide(lookup, verdict.message, &decision, &delay_ms);
    }
    if (status == PARLEY_OK && decision.kind == PARLEY_DECISION_PREPARE &&
        fact_lookup_prepare(lookup, &decision) == JETSTREAM_PUBLISHED) {
        return; /* and it is decided on once more */
    }
    deciding->is_late = false;
    if (status == PARLEY_OK && decision.kind == PARLEY_DECISION_PUBLISH) {
        note_members(submission, &decision);
        status = note_receipt(submission, &verdict);
    }
    if (status == PARLEY_OK && decision.kind == PARLEY_DECISION_PUBLISH) {
        status = keep_fact(deciding, &decision);
    }
    if (status != PARLEY_OK) {
        submission_settle_internal(submission, status);
    } else if (decision.kind == PARLEY_DECISION_REPEATED ||
               decision.kind == PARLEY_DECISION_REFUSED) {
        settle_decided(submission, &verdict, &decision);
    } else if (decision.kind != PARLEY_DECISION_PUBLISH) {
        const struct failure failure = unsettled();
        submission_settle_failed(submission, &failure);
    } else if (deciding->key == DECIDING_NO_KEY) {
        submission_settle_stored(submission, submission->ack == SUBMISSION_DUPLICATE);
    } else {
        write_own_fact(submission);
    }
}

static void on_resolved(struct submission *submission) {
    const struct deciding *deciding = submission->deciding;
    const char *value = fact_lookup_value(&deciding->lookup, deciding->fact_key);
    if (deciding->lookup.state == FACT_LOOKUP_FAILED) {
        const struct failure failure = fact_lookup_failure(&deciding->lookup);
        submission_settle_failed(submission, &failure);
    } else if (value != NULL && submission->ack == SUBMISSION_FRESH &&
               is_own_fact(submission, value)) {
        submission_settle_stored(submission, false);
    } else if (value != NULL) {
        decide_resolved(submission);
    } else if (deciding->is_late) {
        decide_late(submission);
    } else if (!deciding->has_compared) {
        submission_compare(submission);
    } else {
        const struct failure failure = unsettled();
        submission_settle_failed(submission, &failure);
    }
}

/* ---- its fact ---- */

static void settle_unwritten(struct submission *submission, const char *error) {
    struct failure failure = {.problem = PROBLEM_BUS_TIMEOUT};
    snprintf(failure.detail, sizeof failure.detail,
             "The message was stored, but the key `%.80s`, which records that, was not (%.200s). "
             "Send the same message again: it is not stored twice.",
             submission->deciding->fact_key,
             error != NULL ? error : "no acknowledgement came in time");
    submission_settle_failed(submission, &failure);
}

static void on_written(void *context, enum fact_written written, const struct jetstream_ack *ack) {
    struct submission *submission = context;
    const struct deciding *deciding = submission->deciding;
    const bool is_known =
        deciding->has_compared ? deciding->key != DECIDING_UNIQUE_KEY : written == FACT_WRITTEN;
    struct submission_outcome outcome;
    submission_resume(submission, &outcome);
    if (written == FACT_FAILED && begin_late(submission)) {
        /* Its key may be there all the same. */
    } else if (written == FACT_FAILED) {
        settle_unwritten(submission, ack->error);
    } else if (is_known) {
        submission_settle_stored(submission, submission->ack == SUBMISSION_DUPLICATE);
    } else {
        resolve(submission, 0);
    }
    submission_report(submission);
}

static void write_fact(struct submission *submission, struct parley_bytes key,
                       struct parley_bytes members, int64_t within_ms) {
    const struct parley_decision decision = {.fact_members = members};
    struct parley_buffer value;
    parley_buffer_init(&value);
    parley_decision_write_fact(&decision, parley_bytes_of(submission->stream), submission->sequence,
                               &value);
    submission_enter(submission, SUBMISSION_WRITING);
    const enum jetstream_publish published =
        value.has_failed ? JETSTREAM_FAILED
                         : fact_store_write(store_of(submission), key, parley_buffer_bytes(&value),
                                            within_ms, on_written, submission);
    parley_buffer_finish(&value);
    if (published != JETSTREAM_PUBLISHED) {
        const struct failure refusal =
            failure_of_refusal(submission->submitter->options, published);
        settle_unwritten(submission, refusal.detail);
    }
}

static void write_own_fact(struct submission *submission) {
    const struct deciding *deciding = submission->deciding;
    if (!begin_late(submission)) {
        write_fact(submission, parley_bytes_of(deciding->fact_key),
                   parley_bytes_of(deciding->fact_members),
                   deciding->fact_until_ms != 0 ? time_left_ms(deciding) : 0);
    }
}

/* ---- it is stored, or repeats a stored one ---- */

/* Another message with the same Nats-Msg-Id is stored, and its gateway has not written its fact:
 * decides on that message as a shared consumer would, and writes its fact.
 * Returns: false: it leaves none. */
static bool complete_stored(struct submission *submission, const struct duplicate_answer *stored) {
    struct deciding *deciding = submission->deciding;
    struct request_options options = *submission->submitter->options;
    struct parley_message *message = gateway_message(options.gateway, options.protocol);
    struct parley_decision decision;
    int64_t delay_ms;
    request_options_of_server(&options);
    held_options(stored->headers, options.protocol, &options.check);
    options.check.stored_subject = stored->subject;
    options.check.stamp = false;
    options.check.only_sender = NULL;
    options.codec = &parley_codec_json;
    if (check_message(&options, stored->payload, (struct parley_position){1, 1}) != PARLEY_OK ||
        !parley_message_is_valid(message) ||
        fact_lookup_decide(&deciding->lookup, message, &decision, &delay_ms) != PARLEY_OK ||
        decision.kind != PARLEY_DECISION_PUBLISH || decision.fact_key.data == NULL ||
        !parley_bytes_equal(decision.fact_key, parley_bytes_of(deciding->fact_key))) {
        return false;
    }
    write_fact(submission, decision.fact_key, decision.fact_members,
               decision.within_seconds * 1000);
    return true;
}

static void tell_note(const struct submission *submission) {
    const struct deciding *deciding = submission->deciding;
    const struct parley_decision decision = {.note_key = parley_bytes_of(deciding->note_key),
                                             .note_members =
                                                 parley_bytes_of(deciding->note_members)};
    fact_store_note(store_of(submission), &decision, parley_bytes_of(submission->stream),
                    submission->sequence);
}

bool deciding_follow_ack(struct submission *submission) {
    const enum deciding_key key = submission->deciding->key;
    if (submission->ack == SUBMISSION_FRESH && submission->deciding->note_key != NULL) {
        tell_note(submission);
    }
    if (submission->ack == SUBMISSION_FRESH && key != DECIDING_NO_KEY) {
        write_own_fact(submission);
        return true;
    }
    if (submission->ack != SUBMISSION_FRESH && key == DECIDING_UNIQUE_KEY) {
        resolve(submission, 0);
        return true;
    }
    return false;
}

bool deciding_follow_comparison(struct submission *submission,
                                const struct duplicate_answer *answer) {
    struct deciding *deciding = submission->deciding;
    const bool is_there = answer->payload.data != NULL;
    deciding->has_compared = true;
    if (deciding->key == DECIDING_UNIQUE_KEY) {
        return is_there && complete_stored(submission, answer);
    }
    if (deciding->key == DECIDING_SHARED_KEY && answer->verdict == DUPLICATE_SAME) {
        receipt_name_stored(&submission->receipt, answer);
        write_own_fact(submission);
        return true;
    }
    return false;
}

/* ---- publishing ---- */

/* A message that steps back does not say how far its log goes, and is the last one all the same. */
static enum parley_status say_count(const struct verdict *verdict,
                                    const struct parley_decision *decision,
                                    struct publication *publication) {
    char text[24];
    if (!decision->is_repeat || decision->count == 0) {
        return PARLEY_OK;
    }
    snprintf(text, sizeof text, "%" PRIu64, decision->count);
    const char *copy = parley_arena_copy(&verdict->message->arena, parley_bytes_of(text));
    assert(publication->header_count < PUBLICATION_HEADERS_MAX);
    publication->headers[publication->header_count++] =
        (struct bus_header){JETSTREAM_COUNT_HEADER, copy};
    return copy != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

enum parley_status deciding_prepare(struct submission *submission, const struct verdict *verdict,
                                    const struct parley_decision *decision,
                                    struct publication *publication) {
    struct deciding *deciding = submission->deciding;
    PARLEY_TRY(say_count(verdict, decision, publication));
    PARLEY_TRY(keep_fact(deciding, decision));
    PARLEY_TRY(keep_note(deciding, decision));
    note_members(submission, decision);
    return note_duplicate(deciding, verdict, decision);
}

void deciding_note_published(struct submission *submission,
                             const struct parley_decision *decision) {
    struct deciding *deciding = submission->deciding;
    deciding->is_expected = deciding->key != DECIDING_NO_KEY &&
                            fact_store_expect(store_of(submission), decision->fact_key);
    deciding->is_counted = fact_lookup_is_log(&deciding->lookup);
    if (decision->has_count) {
        fact_lookup_count(&deciding->lookup, decision);
    }
    if (deciding->is_counted) {
        fact_lookup_count_begin(&deciding->lookup);
    }
}

/* ---- deciding ---- */

static enum submission_step ask_again(struct submission *submission, struct verdict *verdict,
                                      int64_t delay_ms) {
    struct fact_lookup *lookup = &submission->deciding->lookup;
    submission_enter(submission, SUBMISSION_ASKING);
    fact_lookup_again(lookup, delay_ms);
    if (lookup->state == FACT_LOOKUP_ASKING) {
        return SUBMISSION_WAITS;
    }
    submission_enter(submission, SUBMISSION_READY);
    return deciding_go(submission, verdict);
}

/* It depends on another message besides. */
static enum submission_step ask_last(struct submission *submission, struct verdict *verdict,
                                     const struct parley_decision *decision) {
    struct fact_lookup *lookup = &submission->deciding->lookup;
    fact_lookup_ask_last(lookup, decision);
    if (lookup->state != FACT_LOOKUP_ASKING) {
        return deciding_go(submission, verdict);
    }
    submission_enter(submission, SUBMISSION_ASKING);
    return SUBMISSION_WAITS;
}

/* Something is to be written first: then it is decided on once more. */
static enum submission_step prepare(struct submission *submission,
                                    const struct parley_decision *decision) {
    enum { WHOLE_WINDOW = 100 };
    const enum jetstream_publish published =
        fact_lookup_prepare(&submission->deciding->lookup, decision);
    if (published == JETSTREAM_FULL) {
        submission->submitter->share = WHOLE_WINDOW;
        return SUBMISSION_IS_FULL;
    }
    if (published != JETSTREAM_PUBLISHED) {
        return submission_refuse(submission, published);
    }
    submission_enter(submission, SUBMISSION_ASKING);
    return SUBMISSION_WAITS;
}

static void on_lookup(struct fact_lookup *lookup) {
    struct deciding *deciding = OWNER_OF(lookup, struct deciding, lookup);
    struct submission *submission = deciding->submission;
    struct submission_outcome outcome;
    if (submission->phase == SUBMISSION_ASKING) {
        submission_enter(submission, SUBMISSION_READY);
        submission->submitter->events->on_ready(submission);
        return;
    }
    submission_resume(submission, &outcome);
    const bool is_missing = lookup->state == FACT_LOOKUP_DONE && !lookup->is_final &&
                            fact_lookup_value(lookup, deciding->fact_key) == NULL;
    if (is_missing) {
        resolve(submission, FACT_RETRY_MS);
    } else {
        on_resolved(submission);
    }
    submission_report(submission);
}

enum parley_status deciding_begin(struct submission *submission, const struct parley_route *route) {
    struct submitter *submitter = submission->submitter;
    struct deciding *deciding = malloc(sizeof *deciding);
    if (deciding == NULL) {
        return PARLEY_E_MEMORY;
    }
    *deciding = (struct deciding){.submission = submission, .stamped = submitter->options->stamped};
    submission->deciding = deciding;
    deciding->lookup.on_ready = on_lookup;
    deciding->lookup.log = &submitter->log;
    parley_buffer_init(&deciding->warnings);
    fact_lookup_begin(&deciding->lookup, submitter->options, route);
    submission_enter(submission, deciding->lookup.state == FACT_LOOKUP_ASKING ? SUBMISSION_ASKING
                                                                              : SUBMISSION_READY);
    return PARLEY_OK;
}

/* The worker pool found that NATS does not take it. */
static bool is_too_large(const struct verdict *verdict) {
    const struct offload *offload = verdict->offload;
    return offload != NULL && offload->is_prepared && offload->prepared == PARLEY_E_LIMIT;
}

enum submission_step deciding_go(struct submission *submission, struct verdict *verdict) {
    struct fact_lookup *lookup = &submission->deciding->lookup;
    struct parley_decision decision = {.kind = PARLEY_DECISION_PUBLISH};
    int64_t delay_ms = 0;
    const bool is_forwarded = submission->submitter->options->task == INGEST_FORWARD;
    if (lookup->state == FACT_LOOKUP_FAILED && is_forwarded) {
        const struct failure failure = fact_lookup_failure(lookup);
        submission_settle_failed(submission, &failure);
        return SUBMISSION_ENDS;
    }
    if (is_forwarded && is_too_large(verdict)) {
        return submission_refuse(submission, JETSTREAM_TOO_LARGE);
    }
    if (verdict->status == PARLEY_OK) {
        verdict->status = fact_lookup_decide(lookup, verdict->message, &decision, &delay_ms);
    }
    if (!is_forwarded) {
        return SUBMISSION_CHECKED;
    }
    if (verdict->status != PARLEY_OK) {
        submission_settle_internal(submission, verdict->status);
        return SUBMISSION_ENDS;
    }
    switch (decision.kind) {
    case PARLEY_DECISION_PUBLISH:
        return submission_publish(submission, verdict, &decision);
    case PARLEY_DECISION_ASK_AGAIN:
        return ask_again(submission, verdict, delay_ms);
    case PARLEY_DECISION_ASK_LAST:
        return ask_last(submission, verdict, &decision);
    case PARLEY_DECISION_PREPARE:
        return prepare(submission, &decision);
    case PARLEY_DECISION_REPEATED:
    case PARLEY_DECISION_REFUSED:
        break;
    }
    settle_decided(submission, verdict, &decision);
    return SUBMISSION_ENDS;
}

void submission_foresee(struct submission *submission) {
    struct fact_lookup *lookup = &submission->deciding->lookup;
    struct verdict verdict;
    struct parley_decision decision = {.kind = PARLEY_DECISION_PUBLISH};
    int64_t delay_ms = 0;
    if (lookup->state != FACT_LOOKUP_DONE || lookup->is_final ||
        fact_query_is_complete(&lookup->query) ||
        submission_check_again(submission, &verdict) != PARLEY_OK ||
        fact_lookup_decide(lookup, verdict.message, &decision, &delay_ms) != PARLEY_OK) {
        return; /* an error shows in its turn */
    }
    if (decision.kind == PARLEY_DECISION_ASK_AGAIN && delay_ms > 0) {
        submission_enter(submission, SUBMISSION_ASKING);
        fact_lookup_again(lookup, delay_ms);
        if (lookup->state == FACT_LOOKUP_FAILED) {
            submission_enter(submission, SUBMISSION_READY);
        }
    }
}
