/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One message on its way from its verdict to its result, from any sender: what earlier messages
 * say of it is looked up and decides (deciding.h), its object goes to the store, it is published,
 * and once it is stored its own fact is created (ADR 25), or its acknowledgement published. What
 * JetStream calls a duplicate is compared. A fact is never ahead of its message. */

#include "message_metrics.h"
#include "checkpoint_ack.h"
#include "object_upload.h"
#include "log_count.h"
#include "receipt.h"
#include "verdict.h"

/*   NONE ─▶ ASKING ◀─▶ READY ── published ─▶ PUBLISHED ── stored ─▶ WRITING ─▶ SETTLED
 *   NONE ────────────▶ READY                   │                      │
 *                        │                     └──── a duplicate ─────┴─▶ RESOLVING ◀─▶ COMPARING
 *                        └─▶ UPLOADING ─▶ PUBLISHED                         │             │
 *                                                                           └─▶ SETTLED ◀─┘
 *   any that is stored ─▶ ACKNOWLEDGING ─▶ SETTLED
 * READY ─▶ SETTLED without publishing; UPLOADING, PUBLISHED ─▶ SETTLED when it is not stored. Only
 * a message that earlier ones decide on is ASKING, WRITING or RESOLVING.
 */
enum submission_phase {
    SUBMISSION_NONE,
    SUBMISSION_ASKING,        /* for its facts */
    SUBMISSION_READY,         /* submission_go is to be called, in its turn */
    SUBMISSION_UPLOADING,     /* the object store has a part of it */
    SUBMISSION_PUBLISHED,     /* its ack is still to come, or that of its halt */
    SUBMISSION_WRITING,       /* its fact, or that of the message that was stored in its place */
    SUBMISSION_RESOLVING,     /* another fact or message was first: the facts are asked for again */
    SUBMISSION_COMPARING,     /* JetStream calls it a duplicate: of what? */
    SUBMISSION_ACKNOWLEDGING, /* it is stored, and the message that says so is published */
    SUBMISSION_SETTLED,
};

enum submission_step {
    SUBMISSION_WAITS,   /* on_ready follows */
    SUBMISSION_IS_FULL, /* `submitter->share` of JetStream's window is full; continue later, if the
                           submitter waits for room */
    SUBMISSION_GOES,    /* on_settled follows, in a later turn */
    SUBMISSION_HALTS,   /* the same, of an invalid message */
    SUBMISSION_ENDS,    /* the outcome says how */
    SUBMISSION_CHECKED, /* it was to be checked alone: the verdict is what there is to say */
};

/* Its outcome, which is counted.  Owns: texts are borrowed; `members` until submission_finish. */
struct submission_outcome {
    enum {
        SUBMISSION_STORED,
        SUBMISSION_HALTED,     /* an invalid message: its halt is stored */
        SUBMISSION_FAILED,     /* `failure` says why it is not stored, or why that is not known */
        SUBMISSION_UNCOMPARED, /* a duplicate of any message: no one reads it */
    } end;
    const char *stream;
    uint64_t sequence;
    bool is_duplicate;           /* uncompared: `submission->ack` */
    struct parley_bytes members; /* of the receipt or the problem, each with a comma before it */
    struct failure failure;
    struct verdict verdict; /* of submission_go: on the message as it was handed over */
};

struct submission;
struct submission_events {
    /* Only for messages that earlier ones decide on: submission_go is to be called. */
    void (*on_ready)(struct submission *submission);
    /* Called once it was published: its slice and what holds it are no longer needed.  May be NULL.
     */
    void (*on_sent)(struct submission *submission);
    /* The owner may destroy it.  Owns: the outcome is borrowed for the call. */
    void (*on_settled)(struct submission *submission, const struct submission_outcome *outcome);
};

/* Shared by the submissions of one request.  Owns: it embeds one, zeroed at first. */
struct submitter {
    const struct submission_events *events;
    struct request_options *options;
    struct halt_hold *hold; /* as of halt_post */
    struct object_upload_begin
        *begin; /* where the stream was when the request began; NULL: no matter */
    enum receipt_form form;
    bool waits_for_room; /* false: a message for which there is none has failed */
    bool is_unread;      /* the client is gone: what only its answer says is not found out */
    struct jetstream_sender sender;
    struct log_count log;
    unsigned share; /* of the window, for the last one that found none of it free */
};

enum submission_ack {
    SUBMISSION_UNACKED,
    SUBMISSION_FRESH, /* this message was stored */
    SUBMISSION_DUPLICATE,
    SUBMISSION_AGAIN, /* a duplicate of what this submission itself has stored before */
};

/* Owns: the owner embeds it, zeroed at first, keeps it until it is settled, and can use it again
 * then. */
struct submission {
    struct submitter *submitter;
    enum submission_phase phase;
    struct message_metrics_mark account;
    struct receipt receipt; /* is noted before it is published */
    /* The data needed until it is sent.  Owns: the objects pointed to are the owner's. */
    struct parley_slice slice;
    struct offload *offload;   /* that holds the message; NULL: none does … */
    struct kept_message *kept; /* … or this; NULL, too: it is checked again when it waited */

    /* Private. */
    struct publication_mark mark;
    enum submission_ack ack;
    uint64_t sequence;  /* 0: it was not published */
    const char *stream; /* the place of the message, or of the one that it repeats */
    struct parley_buffer members;
    struct duplicate *duplicate;
    struct checkpoint_ack *acknowledgement; /* NULL if none is asked for */
    struct deciding *deciding;              /* NULL: earlier messages do not decide on it */
    struct submission_outcome *outcome;     /* for this call */
};

/* Begins with the message of this verdict, of this turn.  `route`: of one that earlier messages
 * decide on (fact_lookup_is_needed), else NULL.  Afterwards it is READY, or ASKING and on_ready
 * follows. Returns: PARLEY_E_MEMORY: it has not begun. */
enum parley_status submission_begin(struct submission *submission, struct submitter *submitter,
                                    const struct verdict *verdict,
                                    const struct parley_route *route) PARLEY_MUST_CHECK;
/* While it is READY and not in its turn yet: if something is missing that may come in a moment,
 * asks for it now, together with what others ask for; on_ready follows then. */
void submission_foresee(struct submission *submission);
/* Continues with a message that is READY, in its turn: it is valid, or it halts (HALTING_HALTS).
 * `verdict`: of this turn; NULL: the message has waited.  `out`: its `verdict` in any case; what
 * else it says where the step is SUBMISSION_ENDS. */
enum submission_step submission_go(struct submission *submission, const struct verdict *verdict,
                                   struct submission_outcome *out);
/* Tells it that the client is gone, as the submitter says: questions needed only for its answer are
 * dropped. Returns: whether it is settled by that; on_settled is not called. */
bool submission_close(struct submission *submission, struct submission_outcome *out);
/* Frees all that it holds but the receipt. It is NONE, ASKING, READY or SETTLED. */
void submission_end(struct submission *submission);
/* The same with the receipt. */
void submission_finish(struct submission *submission);
