/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One message in one request: the state shared by the files of single.c. single.c receives, checks
 * and submits it, single_answer.c answers. */

#include "awaited_reply.h"
#include "budget.h"
#include "submission.h"

enum { ANSWER_BYTES_USUAL = 480 }; /* with malloc's header one of its classes */

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
    struct parley_buffer answer; /* other than a receipt; of an invalid message that halts, the
                                    detail, NUL, and the members of the problem */
    struct budget_share held;    /* taken for the body */
    struct offload *offload;     /* that checks the message or did; NULL: this reactor does … */
    struct kept_message *kept;   /* … in this object; NULL: in gateway_message() */
    struct submitter submitter;
    struct submission submission;
    struct awaited_reply *reply;      /* NULL if no request waits for one */
    struct object_upload_begin begin; /* where the stream was when the request began */
};

void single_enter(struct single *single, enum single_phase phase);
void single_drop_body(struct single *single);
void single_drop_message(struct single *single);
void single_destroy(struct single *single);
/* Destroys it if the client is gone, and nothing is under way. */
void single_destroy_if_over(struct single *single);

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
/* The outcome of the submission. */
void single_answer_outcome(struct single *single, const struct submission_outcome *outcome);
/* Nothing was published. */
void single_answer_refused(struct single *single, enum jetstream_publish refused);
