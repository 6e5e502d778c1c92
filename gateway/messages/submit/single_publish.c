/* SPDX-License-Identifier: Apache-2.0 */

/* Publishes one message, and answers when JetStream has stored it. The receipt is noted before
 * publishing, since the message object belongs to the next request by the time of the ack. */

#include "single_state.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- its acknowledgement, if the request asks for it ---- */

static void on_acknowledged(void *context, const struct failure *failure) {
    struct single *single = context;
    single_enter(single, SINGLE_IDLE);
    if (single->request == NULL) {
        single_destroy(single);
    } else if (failure != NULL) {
        single_answer_failed(single, failure, NULL, 0);
    } else {
        single_answer_stored(single, acknowledgement_place(single->acknowledgement));
    }
}

/* It is stored; its client may wait for more. */
static void finish_stored(struct single *single, const struct receipt_place *place) {
    struct failure failure;
    if (single->acknowledgement == NULL) {
        single_answer_stored(single, place);
    } else if (acknowledgement_send(single->acknowledgement, &single->options, &single->receipt,
                                    &single->mark, place, &failure)) {
        single_enter(single, SINGLE_ACKNOWLEDGING);
    } else if (single->request != NULL) {
        single_answer_failed(single, &failure, NULL, 0);
    }
}

static enum parley_status note_acknowledgement(struct single *single,
                                               const struct verdict *verdict) {
    if (!acknowledgement_is_wanted(&single->options, verdict->message)) {
        return PARLEY_OK;
    }
    single->acknowledgement = acknowledgement_create(
        verdict->message, verdict_stored_bytes(&single->options, verdict), on_acknowledged, single);
    return single->acknowledgement != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

/* ---- its ack ---- */

static void on_compared(void *context, const struct duplicate_answer *answer) {
    struct single *single = context;
    single_enter(single, SINGLE_IDLE);
    single->duplicate = NULL;
    if (answer->verdict != DUPLICATE_SAME) {
        single_answer_failed(single, &answer->failure, answer->stream, answer->sequence);
        return;
    }
    receipt_name_stored(&single->receipt, answer);
    finish_stored(single,
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
        single_enter(single, SINGLE_COMPARING);
    } else {
        single_answer_failed(single, &failure, ack->stream, ack->sequence);
    }
}

static void finish_acked(struct single *single, const struct jetstream_ack *ack) {
    finish_stored(single,
                  &(struct receipt_place){.stream = ack->stream,
                                          .sequence = ack->sequence,
                                          .is_duplicate = ack->is_duplicate && !ack->is_again,
                                          .traceparent = single->options.publication.traceparent});
}

/* The client is gone; others may wait for the acknowledgement. */
static void finish_unread(struct single *single, const struct jetstream_ack *ack, bool is_open) {
    if (single->acknowledgement != NULL && ack->outcome == JETSTREAM_STORED && !is_open) {
        finish_acked(single, ack);
    }
    single_destroy_if_over(single);
}

static void on_ack(void *context, const struct jetstream_ack *ack) {
    struct single *single = context;
    const bool is_open = duplicate_is_open(&single->mark, ack);
    single_enter(single, SINGLE_IDLE);
    account_ack(&single->options, single->account, ack);
    if (single->request == NULL) {
        account_unread(&single->options, single->account, ack, is_open);
        finish_unread(single, ack, is_open);
    } else if (is_open) {
        compare(single, ack);
    } else if (ack->outcome == JETSTREAM_STORED) {
        finish_acked(single, ack);
    } else {
        const struct failure failure = failure_of_ack(&single->options, &single->mark, ack);
        single_answer_failed(single, &failure, NULL, 0);
    }
}

static enum parley_status note_receipt(struct single *single, const struct parley_message *message,
                                       const struct parley_route *route) {
    parley_buffer_reserve(&single->receipt.text, ANSWER_BYTES_USUAL);
    receipt_note(&single->receipt, RECEIPT_OBJECT, message, route);
    return parley_buffer_status(&single->receipt.text);
}

/* Publishes what is prepared. */
static void send_prepared(struct single *single, const struct verdict *verdict,
                          const struct publication *publication) {
    const enum jetstream_publish published = verdict_publish(&single->options, verdict, publication,
                                                             &single->sender, NULL, on_ack, single);
    if (published != JETSTREAM_PUBLISHED) {
        single_answer_refused(single, published);
        return;
    }
    single_enter(single, SINGLE_PUBLISHED);
    single->mark = publication->mark;
    single_drop_body(single); /* blanks in it count for nothing in the window */
    single_drop_offload(single);
}

/* ---- invalid messages that halt ---- */

static void on_latched(void *context, const struct jetstream_ack *ack) {
    struct single *single = context;
    single_enter(single, SINGLE_IDLE);
    if (ack->outcome == JETSTREAM_STORED) {
        single_answer_halting(single);
    } else {
        const struct failure failure = failure_of_ack(&single->options, &single->mark, ack);
        single_answer_failure(single, &failure);
    }
    single_destroy_if_over(single);
}

void single_halt(struct single *single, struct parley_message *message) {
    unsigned share;
    const enum jetstream_publish published =
        halting_latch(&single->options, message, NULL, on_latched, single, &share);
    if (published == JETSTREAM_PUBLISHED) {
        single_enter(single, SINGLE_PUBLISHED);
        single_note_halting(single, message);
    } else {
        single_answer_refused(single, published);
    }
}

/* ---- what lies in an object store ---- */

static void send_pointer(struct single *single) {
    struct offload *offload = single->offload;
    struct deposit *deposit = &offload->deposit;
    const struct verdict verdict = {
        .message = &offload->message, .slice = &offload->slice, .offload = offload};
    snprintf(deposit->begun, sizeof deposit->begun, "%" PRIu64, single->begin.sequence);
    send_prepared(single, &verdict, &offload->publication);
}

static void on_uploaded(struct object_put *put) {
    struct offload *offload = OWNER_OF(put, struct offload, deposit.put);
    struct single *single = offload->context;
    single_enter(single, SINGLE_IDLE);
    if (put->end == OBJECT_PUT_STORED) {
        send_pointer(single);
    } else {
        const struct failure failure = failure_of_upload(put);
        single_answer_failure(single, &failure);
    }
    if (single->phase == SINGLE_IDLE) {
        single_drop_body(single);
        single_drop_offload(single);
    }
    single_destroy_if_over(single);
}

static void upload(struct single *single) {
    struct offload *offload = single->offload;
    struct object_store *store =
        gateway_object_store(single->options.gateway, single->options.protocol);
    if (offload->payload.length > 0) { /* it was converted, and the receipt is noted */
        single_drop_body(single);
    }
    offload->deposit.put.done = on_uploaded;
    single_enter(single, SINGLE_UPLOADING);
    object_put_begin(&offload->deposit.put, store);
}

/* ---- */

static bool needs_upload(const struct verdict *verdict) {
    return verdict->offload != NULL && verdict->offload->deposit.is_needed;
}

static void answer_unprepared(struct single *single, const struct verdict *verdict,
                              enum parley_status status) {
    const enum deposit_room room =
        verdict->offload != NULL ? verdict->offload->deposit.room : DEPOSIT_HAS_ROOM;
    if (room != DEPOSIT_HAS_ROOM) {
        const struct failure failure = room == DEPOSIT_OVERLOADED
                                           ? failure_overloaded(&single->options)
                                           : failure_ungathered(&single->options);
        single_answer_failure(single, &failure);
    } else if (status == PARLEY_E_LIMIT) {
        single_answer_refused(single, JETSTREAM_TOO_LARGE);
    } else {
        single_fail(single, status);
    }
}

void single_publish(struct single *single, const struct verdict *verdict) {
    struct publication publication;
    single->account = account_mark(&single->options, verdict->message);
    struct failure halted;
    if (halting_refuses(&single->options, verdict->message, &halted)) {
        single_answer_failure(single, &halted);
        return;
    }
    if (verdict_is_unpublishable(&single->options, verdict)) {
        single_answer_refused(single, JETSTREAM_AWAY);
        return;
    }
    enum parley_status status =
        verdict_prepare(&single->options, verdict, (struct parley_bytes){0}, &publication);
    if (status == PARLEY_OK) {
        status = note_receipt(single, verdict->message, &publication.route);
    }
    if (status == PARLEY_OK) {
        status = note_acknowledgement(single, verdict);
    }
    if (status != PARLEY_OK) {
        answer_unprepared(single, verdict, status);
    } else if (needs_upload(verdict)) {
        upload(single);
    } else {
        deposit_begin_add(&single->begin, &single->options, verdict->message, &publication);
        send_prepared(single, verdict, &publication);
    }
}
