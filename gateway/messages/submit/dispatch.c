/* SPDX-License-Identifier: Apache-2.0 */

/* See dispatch.h. The message object serves others while an answer is awaited, so the message is
 * checked again each time that something is to be decided. */

#include "dispatch.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "admission.h"
#include "phase.h"

static void enter(struct dispatch *dispatch, enum dispatch_phase phase) {
    static const unsigned allowed[] = {
        [DISPATCH_NONE] = PHASE(DISPATCH_ASKING) | PHASE(DISPATCH_READY),
        [DISPATCH_ASKING] = PHASE(DISPATCH_READY),
        [DISPATCH_READY] =
            PHASE(DISPATCH_ASKING) | PHASE(DISPATCH_PUBLISHED) | PHASE(DISPATCH_SETTLED),
        [DISPATCH_PUBLISHED] = PHASE(DISPATCH_WRITING) | PHASE(DISPATCH_RESOLVING) |
                               PHASE(DISPATCH_FETCHING) | PHASE(DISPATCH_SETTLED),
        [DISPATCH_WRITING] = PHASE(DISPATCH_RESOLVING) | PHASE(DISPATCH_SETTLED),
        [DISPATCH_RESOLVING] =
            PHASE(DISPATCH_RESOLVING) | PHASE(DISPATCH_FETCHING) | PHASE(DISPATCH_SETTLED),
        [DISPATCH_FETCHING] =
            PHASE(DISPATCH_RESOLVING) | PHASE(DISPATCH_WRITING) | PHASE(DISPATCH_SETTLED),
        [DISPATCH_SETTLED] = 0,
    };
    dispatch->phase = (enum dispatch_phase)phase_after(allowed, dispatch->phase, phase);
}

static struct fact_store *store_of(const struct dispatch *dispatch) {
    return gateway_fact_store(dispatch->options->gateway, dispatch->options->protocol);
}

/* ---- its end ---- */

static void forget_expected(struct dispatch *dispatch) {
    if (dispatch->is_expected) {
        dispatch->is_expected = false;
        fact_store_expect_end(store_of(dispatch), parley_bytes_of(dispatch->fact_key));
    }
}

static void settle(struct dispatch *dispatch) {
    dispatch->outcome.members = parley_buffer_bytes(&dispatch->members);
    if (dispatch->members.has_failed) {
        dispatch->outcome.is_stored = false;
        dispatch->outcome.failure = failure_of_status(PARLEY_E_MEMORY);
        dispatch->outcome.members = (struct parley_bytes){0};
    }
    enter(dispatch, DISPATCH_SETTLED);
    forget_expected(dispatch);
    if (dispatch->is_counted) {
        lookup_count_end(&dispatch->lookup, dispatch->outcome.is_stored);
    }
}

static void settle_stored(struct dispatch *dispatch, const char *stream, uint64_t sequence,
                          bool is_duplicate) {
    if (is_duplicate && dispatch->warnings.length > 0) {
        receipt_change_warnings(dispatch->receipt, parley_buffer_bytes(&dispatch->warnings));
    }
    dispatch->outcome = (struct dispatch_outcome){
        .is_stored = true, .stream = stream, .sequence = sequence, .is_duplicate = is_duplicate};
    settle(dispatch);
}

static void settle_failed(struct dispatch *dispatch, const struct failure *failure) {
    dispatch->outcome = (struct dispatch_outcome){.failure = *failure};
    failure_write_members(failure->problem, receipt_id(dispatch->receipt),
                          dispatch->sequence > 0 ? dispatch->stream : NULL, dispatch->sequence,
                          &dispatch->members);
    settle(dispatch);
}

static void settle_internal(struct dispatch *dispatch, enum parley_status status) {
    const struct failure failure = failure_of_status(status);
    settle_failed(dispatch, &failure);
}

/* As `settle…`, in a callback. */
static void report(struct dispatch *dispatch) {
    if (dispatch->phase == DISPATCH_SETTLED) {
        dispatch->events->on_settled(dispatch);
    }
}

void dispatch_account(const struct dispatch *dispatch) {
    const struct dispatch_outcome *outcome = &dispatch->outcome;
    if (outcome->is_stored) {
        account_stored(dispatch->options, dispatch->account, outcome->is_duplicate);
    } else {
        account_problem(dispatch->options, dispatch->account, outcome->failure.problem);
    }
}

bool dispatch_close(struct dispatch *dispatch) {
    if (dispatch->phase == DISPATCH_FETCHING) {
        const struct failure failure = {.problem = PROBLEM_BUS_TIMEOUT};
        duplicate_cancel(dispatch->duplicate);
        dispatch->duplicate = NULL;
        settle_failed(dispatch, &failure);
        return true;
    }
    return false;
}

void dispatch_finish(struct dispatch *dispatch) {
    if (dispatch == NULL) {
        return;
    }
    lookup_finish(&dispatch->lookup);
    parley_buffer_finish(&dispatch->members);
    parley_buffer_finish(&dispatch->warnings);
    free(dispatch->fact_key);
    free(dispatch->fact_members);
    dispatch->fact_key = dispatch->fact_members = NULL;
}

/* ---- what was decided ---- */

/* The message as it was, unless the offload holds it. */
static enum parley_status check_again(struct dispatch *dispatch, struct verdict *out) {
    struct request_options *options = dispatch->options;
    *out = (struct verdict){.slice = &dispatch->slice, .offload = dispatch->offload};
    if (dispatch->offload != NULL) {
        out->message = &dispatch->offload->message;
        return PARLEY_OK;
    }
    out->message = gateway_message(options->gateway, options->protocol);
    return check_message_again(options, dispatch->slice.bytes, dispatch->slice.origin,
                               &dispatch->stamped);
}

static void copy_place(struct dispatch *dispatch, struct parley_bytes stream, uint64_t sequence) {
    snprintf(dispatch->stream, sizeof dispatch->stream, "%.*s", (int)stream.length, stream.data);
    dispatch->sequence = sequence;
}

static enum parley_status note_receipt(struct dispatch *dispatch, const struct verdict *verdict) {
    struct parley_route route;
    PARLEY_TRY(parley_message_route(verdict->message, &route));
    receipt_clear(dispatch->receipt);
    receipt_note(dispatch->receipt, dispatch->form, verdict->message, &route);
    return parley_buffer_status(&dispatch->receipt->text);
}

/* By the time at which JetStream calls it a duplicate the message is gone. */
static enum parley_status note_duplicate(struct dispatch *dispatch, const struct verdict *verdict,
                                         const struct parley_decision *decision) {
    parley_buffer_clear(&dispatch->warnings);
    if (!decision->is_repeat) {
        return PARLEY_OK;
    }
    PARLEY_TRY(lookup_decide_alone(&dispatch->lookup, verdict->message));
    parley_findings_write(&verdict->message->findings, &dispatch->warnings);
    return parley_buffer_status(&dispatch->warnings);
}

/* A message that was stored before, or is against what is stored. */
static void settle_decided(struct dispatch *dispatch, const struct verdict *verdict,
                           const struct parley_decision *decision) {
    const bool is_own = dispatch->is_again && decision->sequence == dispatch->sequence;
    const enum parley_status status = note_receipt(dispatch, verdict);
    if (status != PARLEY_OK) {
        settle_internal(dispatch, status);
        return;
    }
    if (decision->has_count) {
        lookup_count(&dispatch->lookup, decision);
    }
    parley_buffer_append(&dispatch->members, decision->members);
    if (decision->kind == PARLEY_DECISION_REPEATED) {
        copy_place(dispatch, decision->stream, decision->sequence);
        settle_stored(dispatch, dispatch->stream, dispatch->sequence, !is_own);
        return;
    }
    struct failure failure = {.problem = problem_of_name(decision->problem)};
    snprintf(failure.detail, sizeof failure.detail, "%.*s", (int)decision->detail.length,
             decision->detail.data);
    copy_place(dispatch, decision->stream, decision->sequence);
    settle_failed(dispatch, &failure);
}

/* The texts of the decision do not outlive the message. */
static enum parley_status keep_fact(struct dispatch *dispatch,
                                    const struct parley_decision *decision) {
    dispatch->is_unique = decision->message_id.data != NULL && decision->fact_key.data != NULL;
    free(dispatch->fact_key);
    free(dispatch->fact_members);
    dispatch->fact_key = dispatch->fact_members = NULL;
    if (decision->fact_key.data == NULL) {
        return PARLEY_OK;
    }
    const struct parley_bytes members = decision->fact_members;
    dispatch->fact_key = parley_bytes_copy(decision->fact_key);
    dispatch->fact_members = parley_bytes_copy(members.data != NULL ? members : PARLEY_BYTES(""));
    return dispatch->fact_key != NULL && dispatch->fact_members != NULL ? PARLEY_OK
                                                                        : PARLEY_E_MEMORY;
}

/* ---- resolving ---- */

static void fetch(struct dispatch *dispatch);
static void on_resolved(struct dispatch *dispatch);

static struct failure unsettled(void) {
    struct failure failure = {.problem = PROBLEM_BUS_UNAVAILABLE};
    snprintf(failure.detail, sizeof failure.detail,
             "Another message about the same is being stored, and its key does not say yet which "
             "was first. Send this one again in a moment: it is stored once at most.");
    return failure;
}

/* The fact is there, or was written, or is another's: what does it say? */
static void resolve(struct dispatch *dispatch, int64_t delay_ms) {
    enter(dispatch, DISPATCH_RESOLVING);
    forget_expected(dispatch);
    dispatch->lookup.is_patient = false;
    lookup_again(&dispatch->lookup, delay_ms);
    if (dispatch->lookup.state == LOOKUP_FAILED) {
        on_resolved(dispatch);
    }
}

/* The fact says that this message is the one that counts. */
static bool is_own_fact(const struct dispatch *dispatch, const char *value) {
    struct parley_buffer own;
    parley_buffer_init(&own);
    const struct parley_decision decision = {.fact_members =
                                                 parley_bytes_of(dispatch->fact_members)};
    parley_decision_write_fact(&decision, parley_bytes_of(dispatch->stream), dispatch->sequence,
                               &own);
    /* Up to the members: another gateway may have written them. */
    const size_t length = own.length - strlen(dispatch->fact_members) - 1;
    const bool is_own = !own.has_failed && strncmp(own.data, value, length) == 0;
    parley_buffer_finish(&own);
    return is_own;
}

/* Its key has a value that says nothing of it, as a gateway of an older version writes one that has
 * seen the message before this one has written its key: the Nats-Msg-Id alone decides. */
static void settle_without_fact(struct dispatch *dispatch, const struct verdict *verdict) {
    const enum parley_status status = note_receipt(dispatch, verdict);
    dispatch->is_unique = false;
    if (status != PARLEY_OK) {
        settle_internal(dispatch, status);
    } else if (dispatch->is_duplicate && !dispatch->has_fetched) {
        fetch(dispatch);
    } else {
        settle_stored(dispatch, dispatch->stream, dispatch->sequence, dispatch->is_duplicate);
    }
}

static void decide_resolved(struct dispatch *dispatch) {
    struct verdict verdict;
    struct parley_decision decision = {.kind = PARLEY_DECISION_PUBLISH};
    int64_t delay_ms;
    dispatch->lookup.is_final = true;
    enum parley_status status = check_again(dispatch, &verdict);
    if (status == PARLEY_OK) {
        status = lookup_decide(&dispatch->lookup, verdict.message, &decision, &delay_ms);
    }
    if (status != PARLEY_OK) {
        settle_internal(dispatch, status);
    } else if (decision.kind == PARLEY_DECISION_REPEATED ||
               decision.kind == PARLEY_DECISION_REFUSED) {
        settle_decided(dispatch, &verdict, &decision);
    } else if (!dispatch->is_unique && note_receipt(dispatch, &verdict) == PARLEY_OK) {
        /* It is stored, and now there is something to warn of. */
        settle_stored(dispatch, dispatch->stream, dispatch->sequence, false);
    } else if (dispatch->is_unique && decision.fact_key.data == NULL) {
        settle_without_fact(dispatch, &verdict);
    } else {
        const struct failure failure = unsettled();
        settle_failed(dispatch, &failure);
    }
}

static void on_resolved(struct dispatch *dispatch) {
    const struct lookup *lookup = &dispatch->lookup;
    const char *value = lookup_value(lookup, dispatch->fact_key);
    if (lookup->state == LOOKUP_FAILED) {
        const struct failure failure = lookup_failure(lookup);
        settle_failed(dispatch, &failure);
    } else if (value != NULL && !dispatch->is_duplicate && is_own_fact(dispatch, value)) {
        settle_stored(dispatch, dispatch->stream, dispatch->sequence, false);
    } else if (value != NULL) {
        decide_resolved(dispatch);
    } else if (!dispatch->has_fetched) {
        fetch(dispatch);
    } else {
        const struct failure failure = unsettled();
        settle_failed(dispatch, &failure);
    }
}

/* ---- its fact ---- */

static void settle_unwritten(struct dispatch *dispatch, const char *error) {
    struct failure failure = {.problem = PROBLEM_BUS_TIMEOUT};
    snprintf(failure.detail, sizeof failure.detail,
             "The message was stored, but the key `%.80s`, which records that, was not (%.200s). "
             "Send the same message again: it is not stored twice.",
             dispatch->fact_key, error != NULL ? error : "no acknowledgement came in time");
    settle_failed(dispatch, &failure);
}

static void on_written(void *context, enum fact_written written, const struct jetstream_ack *ack) {
    struct dispatch *dispatch = context;
    const bool is_known = dispatch->has_fetched ? !dispatch->is_unique : written == FACT_WRITTEN;
    if (written == FACT_FAILED) {
        settle_unwritten(dispatch, ack->error);
    } else if (is_known) {
        settle_stored(dispatch, dispatch->stream, dispatch->sequence,
                      dispatch->is_duplicate && !dispatch->is_again);
    } else {
        resolve(dispatch, 0);
    }
    report(dispatch);
}

static void write_fact(struct dispatch *dispatch, struct parley_bytes key,
                       struct parley_bytes members) {
    const struct parley_decision decision = {.fact_members = members};
    struct parley_buffer value;
    parley_buffer_init(&value);
    parley_decision_write_fact(&decision, parley_bytes_of(dispatch->stream), dispatch->sequence,
                               &value);
    enter(dispatch, DISPATCH_WRITING);
    const enum jetstream_publish published =
        value.has_failed ? JETSTREAM_FAILED
                         : fact_store_write(store_of(dispatch), key, parley_buffer_bytes(&value),
                                            on_written, dispatch);
    parley_buffer_finish(&value);
    if (published != JETSTREAM_PUBLISHED) {
        const struct failure refusal = failure_of_refusal(dispatch->options, published);
        settle_unwritten(dispatch, refusal.detail);
    }
}

static void write_own_fact(struct dispatch *dispatch) {
    write_fact(dispatch, parley_bytes_of(dispatch->fact_key),
               parley_bytes_of(dispatch->fact_members));
}

/* ---- what JetStream calls a duplicate ---- */

/* Another message with the same Nats-Msg-Id is stored, and its gateway has not written its fact:
 * decides on that message as a shared consumer would, and writes its fact.
 * Returns: false: it leaves none. */
static bool complete_stored(struct dispatch *dispatch, const struct duplicate_answer *stored) {
    struct request_options options = *dispatch->options;
    struct parley_message *message = gateway_message(options.gateway, options.protocol);
    struct parley_decision decision;
    int64_t delay_ms;
    options.check.stored_subject = stored->subject;
    options.check.stamp = false;
    options.check.only_sender = NULL;
    options.codec = &parley_codec_json;
    if (check_message(&options, stored->payload, (struct parley_position){1, 1}) != PARLEY_OK ||
        !parley_message_is_valid(message) ||
        lookup_decide(&dispatch->lookup, message, &decision, &delay_ms) != PARLEY_OK ||
        decision.kind != PARLEY_DECISION_PUBLISH || decision.fact_key.data == NULL ||
        !parley_bytes_equal(decision.fact_key, parley_bytes_of(dispatch->fact_key))) {
        return false;
    }
    write_fact(dispatch, decision.fact_key, decision.fact_members);
    return true;
}

static void on_compared(struct dispatch *dispatch, const struct duplicate_answer *answer) {
    if (answer->verdict != DUPLICATE_SAME) {
        settle_failed(dispatch, &answer->failure);
        return;
    }
    receipt_name_stored(dispatch->receipt, answer);
    if (dispatch->fact_key != NULL && !dispatch->is_unique) {
        write_own_fact(dispatch);
    } else {
        settle_stored(dispatch, dispatch->stream, dispatch->sequence, !answer->is_again);
    }
}

static void on_fetched(void *context, const struct duplicate_answer *answer) {
    struct dispatch *dispatch = context;
    const bool is_there = answer->payload.data != NULL;
    dispatch->duplicate = NULL;
    dispatch->has_fetched = true;
    if (!dispatch->is_unique || !is_there || !complete_stored(dispatch, answer)) {
        on_compared(dispatch, answer);
    }
    report(dispatch);
}

/* By its sequence, and compares it. */
static void fetch(struct dispatch *dispatch) {
    const struct jetstream_ack ack = {.outcome = JETSTREAM_STORED,
                                      .stream = dispatch->stream,
                                      .sequence = dispatch->sequence,
                                      .is_duplicate = true,
                                      .is_again = dispatch->is_again};
    struct failure failure;
    enter(dispatch, DISPATCH_FETCHING);
    dispatch->duplicate =
        duplicate_begin(dispatch->options, &dispatch->mark, &ack, on_fetched, dispatch, &failure);
    if (dispatch->duplicate == NULL) {
        settle_failed(dispatch, &failure);
    }
}

/* ---- publishing ---- */

static void on_ack(void *context, const struct jetstream_ack *ack) {
    struct dispatch *dispatch = context;
    account_ack(dispatch->options, dispatch->account, ack);
    if (ack->outcome != JETSTREAM_STORED) {
        const struct failure failure = failure_of_ack(dispatch->options, &dispatch->mark, ack);
        settle_failed(dispatch, &failure);
        report(dispatch);
        return;
    }
    copy_place(dispatch, parley_bytes_of(ack->stream), ack->sequence);
    dispatch->is_duplicate = ack->is_duplicate;
    dispatch->is_again = ack->is_again;
    if (!ack->is_duplicate && dispatch->fact_key != NULL) {
        write_own_fact(dispatch);
    } else if (ack->is_duplicate && dispatch->is_unique) {
        resolve(dispatch, 0);
    } else if (duplicate_is_open(&dispatch->mark, ack)) {
        fetch(dispatch);
    } else {
        settle_stored(dispatch, dispatch->stream, dispatch->sequence,
                      ack->is_duplicate && !ack->is_again);
    }
    report(dispatch);
}

static enum dispatch_step refuse(struct dispatch *dispatch, enum jetstream_publish refused) {
    const struct failure failure = failure_of_refusal(dispatch->options, refused);
    settle_failed(dispatch, &failure);
    return DISPATCH_STEP_SETTLED;
}

/* A message that steps back does not say how far its log goes, and is the last one all the same. */
static enum parley_status say_count(const struct verdict *verdict,
                                    const struct parley_decision *decision,
                                    struct publication *publication) {
    char text[24];
    if (!decision->is_repeat) {
        return PARLEY_OK;
    }
    snprintf(text, sizeof text, "%" PRIu64, decision->count);
    const char *copy = parley_arena_copy(&verdict->message->arena, parley_bytes_of(text));
    assert(publication->header_count < PUBLICATION_HEADERS_MAX);
    publication->headers[publication->header_count++] =
        (struct bus_header){JETSTREAM_COUNT_HEADER, copy};
    return copy != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

static enum dispatch_step publish(struct dispatch *dispatch, const struct verdict *verdict,
                                  const struct parley_decision *decision) {
    struct publication publication;
    struct request_options *options = dispatch->options;
    dispatch->account = account_mark(options, verdict->message);
    if (verdict_is_unpublishable(options, verdict)) {
        return refuse(dispatch, JETSTREAM_AWAY);
    }
    enum parley_status status =
        verdict_prepare(options, verdict, decision->message_id, &publication);
    if (status == PARLEY_E_LIMIT) {
        return refuse(dispatch, JETSTREAM_TOO_LARGE);
    }
    status = status == PARLEY_OK ? say_count(verdict, decision, &publication) : status;
    status = status == PARLEY_OK ? keep_fact(dispatch, decision) : status;
    status = status == PARLEY_OK ? note_receipt(dispatch, verdict) : status;
    status = status == PARLEY_OK ? note_duplicate(dispatch, verdict, decision) : status;
    if (status != PARLEY_OK) {
        settle_internal(dispatch, status);
        return DISPATCH_STEP_SETTLED;
    }
    const enum jetstream_publish published =
        verdict_publish(options, verdict, &publication, dispatch->sender, NULL, on_ack, dispatch);
    if (published == JETSTREAM_FULL) {
        dispatch->share = admission_share(options->protocol, publication.route.priority);
        return DISPATCH_STEP_FULL;
    }
    if (published != JETSTREAM_PUBLISHED) {
        return refuse(dispatch, published);
    }
    enter(dispatch, DISPATCH_PUBLISHED);
    dispatch->mark = publication.mark;
    dispatch->is_expected =
        dispatch->fact_key != NULL && fact_store_expect(store_of(dispatch), decision->fact_key);
    dispatch->is_counted = decision->has_count;
    if (dispatch->is_counted) {
        lookup_count(&dispatch->lookup, decision);
        lookup_count_begin(&dispatch->lookup);
    }
    return DISPATCH_STEP_GO;
}

/* ---- deciding ---- */

static enum dispatch_step ask_again(struct dispatch *dispatch, int64_t delay_ms) {
    enter(dispatch, DISPATCH_ASKING);
    lookup_again(&dispatch->lookup, delay_ms);
    if (dispatch->lookup.state == LOOKUP_ASKING) {
        return DISPATCH_STEP_WAIT;
    }
    enter(dispatch, DISPATCH_READY);
    return dispatch_decide(dispatch);
}

static void on_lookup(struct lookup *lookup) {
    struct dispatch *dispatch = OWNER_OF(lookup, struct dispatch, lookup);
    if (dispatch->phase == DISPATCH_ASKING) {
        enter(dispatch, DISPATCH_READY);
        dispatch->events->on_ready(dispatch);
        return;
    }
    const bool is_missing = lookup->state == LOOKUP_DONE && !lookup->is_final &&
                            lookup_value(lookup, dispatch->fact_key) == NULL;
    if (is_missing) {
        resolve(dispatch, FACT_RETRY_MS);
    } else {
        on_resolved(dispatch);
    }
    report(dispatch);
}

void dispatch_begin(struct dispatch *dispatch, const struct parley_route *route) {
    dispatch->lookup.on_ready = on_lookup;
    dispatch->lookup.log = dispatch->log;
    dispatch->stamped = dispatch->options->stamped;
    parley_buffer_init(&dispatch->members);
    parley_buffer_init(&dispatch->warnings);
    lookup_begin(&dispatch->lookup, dispatch->options, route);
    enter(dispatch, dispatch->lookup.state == LOOKUP_ASKING ? DISPATCH_ASKING : DISPATCH_READY);
}

enum dispatch_step dispatch_decide(struct dispatch *dispatch) {
    struct verdict verdict;
    struct parley_decision decision = {.kind = PARLEY_DECISION_PUBLISH};
    int64_t delay_ms = 0;
    const bool is_forwarded = dispatch->options->task == INGEST_FORWARD;
    if (dispatch->lookup.state == LOOKUP_FAILED && is_forwarded) {
        const struct failure failure = lookup_failure(&dispatch->lookup);
        settle_failed(dispatch, &failure);
        return DISPATCH_STEP_SETTLED;
    }
    enum parley_status status = check_again(dispatch, &verdict);
    if (is_forwarded && verdict_is_too_large(&verdict)) {
        return refuse(dispatch, JETSTREAM_TOO_LARGE);
    }
    if (status == PARLEY_OK) {
        status = lookup_decide(&dispatch->lookup, verdict.message, &decision, &delay_ms);
    }
    if (!is_forwarded) {
        verdict.status = status;
        dispatch->verdict = verdict;
        return DISPATCH_STEP_CHECKED;
    }
    if (status != PARLEY_OK) {
        settle_internal(dispatch, status);
        return DISPATCH_STEP_SETTLED;
    }
    switch (decision.kind) {
    case PARLEY_DECISION_PUBLISH:
        return publish(dispatch, &verdict, &decision);
    case PARLEY_DECISION_ASK_AGAIN:
        return ask_again(dispatch, delay_ms);
    case PARLEY_DECISION_REPEATED:
    case PARLEY_DECISION_REFUSED:
        break;
    }
    settle_decided(dispatch, &verdict, &decision);
    return DISPATCH_STEP_SETTLED;
}

void dispatch_foresee(struct dispatch *dispatch) {
    const struct lookup *lookup = &dispatch->lookup;
    struct verdict verdict;
    struct parley_decision decision = {.kind = PARLEY_DECISION_PUBLISH};
    int64_t delay_ms = 0;
    if (lookup->state != LOOKUP_DONE || lookup->is_final ||
        fact_query_is_complete(&lookup->query) || check_again(dispatch, &verdict) != PARLEY_OK ||
        lookup_decide(&dispatch->lookup, verdict.message, &decision, &delay_ms) != PARLEY_OK) {
        return; /* what is wrong shows in its turn */
    }
    if (decision.kind == PARLEY_DECISION_ASK_AGAIN && delay_ms > 0) {
        enter(dispatch, DISPATCH_ASKING);
        lookup_again(&dispatch->lookup, delay_ms);
        if (lookup->state == LOOKUP_FAILED) {
            enter(dispatch, DISPATCH_READY);
        }
    }
}
