/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One message in one request: what the files of single.c share. single.c receives and checks it,
 * single_publish.c publishes it, single_answer.c answers. */

#include "account.h"
#include "acknowledgement.h"
#include "awaited.h"
#include "budget.h"
#include "dispatch.h"
#include "verdict.h"

enum { ANSWER_BYTES_USUAL = 480 }; /* with malloc's header one of its classes */

/*   RECEIVING ── the body has ended ──▶ CHECKING ── verdict ──▶ IDLE
 *
 *   IDLE ── earlier messages decide on it ──▶ DISPATCHED ── settled ──▶ IDLE
 *   IDLE ── a part goes to the object store ──▶ UPLOADING ── done ──▶ IDLE
 *   IDLE ── publish ──▶ PUBLISHED ── ack ──▶ IDLE
 *   IDLE ── it is a duplicate ──▶ COMPARING ── answer ──▶ IDLE
 *   IDLE ── stored, and is to be acknowledged ──▶ ACKNOWLEDGING ── ack ──▶ IDLE
 *   IDLE ── stored, and its client waits for the reply ──▶ AWAITING ── reply, time up ──▶ IDLE
 */
enum single_phase {
    SINGLE_RECEIVING,
    SINGLE_CHECKING,      /* by the worker pool, or right now */
    SINGLE_IDLE,          /* it waits for nothing: it is answered, or about to be */
    SINGLE_DISPATCHED,    /* the dispatch has it */
    SINGLE_UPLOADING,     /* the object store has a part of it */
    SINGLE_PUBLISHED,     /* its ack is still to come */
    SINGLE_COMPARING,     /* JetStream calls it a duplicate */
    SINGLE_ACKNOWLEDGING, /* it is stored, and the message that says so is published */
    SINGLE_AWAITING,      /* the reply to it */
};

struct single {
    struct request_options options;
    struct http_request *request; /* NULL once it is gone */
    enum single_phase phase;
    struct parley_buffer body;   /* up to a byte over the limit: enough to refuse it */
    struct parley_buffer answer; /* other than a receipt; of an invalid message that halts, the
                                    detail, NUL, and the members of the problem */
    struct receipt receipt;
    struct dispatch *dispatch;    /* NULL: it needs none */
    struct budget_share held;     /* taken for the body */
    struct offload *offload;      /* that checks the message or did; NULL: this reactor does */
    struct publication_mark mark; /* of what was published */
    struct account_mark account;  /* of the message */
    struct jetstream_sender sender;
    struct log_count log;
    struct duplicate *duplicate;             /* COMPARING */
    struct acknowledgement *acknowledgement; /* NULL: none is asked for */
    struct awaited *reply;                   /* NULL: nobody waits for one */
    struct deposit_begin begin;              /* where the stream was when the request began */
};

void single_enter(struct single *single, enum single_phase phase);
void single_drop_body(struct single *single);
void single_drop_offload(struct single *single);
void single_destroy(struct single *single);
/* Destroys it if the client is gone, and nothing is under way. */
void single_destroy_if_over(struct single *single);

/* ---- single_publish.c ---- */

/* Publishes a valid message, and answers when it is stored, or is not. */
void single_publish(struct single *single, const struct verdict *verdict);
/* Stores the halt of an invalid message (HALTING_HALTS), and answers then. */
void single_halt(struct single *single, struct parley_message *message);

/* ---- single_answer.c ---- */

void single_answer_internal(struct single *single, enum parley_status status);
/* The message ends with an error of ours. */
void single_fail(struct single *single, enum parley_status status);
void single_answer_converted(struct single *single, const struct verdict *verdict);
void single_answer_verdict(struct single *single, const struct verdict *verdict);
/* Broken rules: the problem names the first error, its violations are all findings. */
void single_answer_invalid(struct single *single, struct parley_message *message);
/* Those of a message that halts its conversation all the same: notes them, and answers with what
 * was noted. */
void single_note_halting(struct single *single, const struct parley_message *message);
void single_answer_halting(struct single *single);
void single_answer_stored(struct single *single, const struct receipt_place *place);
void single_answer_problem(struct single *single, const struct failure *failure,
                           struct parley_bytes members);
/* `stream` NULL: none. */
void single_answer_failed(struct single *single, const struct failure *failure, const char *stream,
                          uint64_t sequence);
/* Nothing was published. */
void single_answer_failure(struct single *single, const struct failure *failure);
void single_answer_refused(struct single *single, enum jetstream_publish refused);
