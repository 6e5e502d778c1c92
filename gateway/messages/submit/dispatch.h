/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One valid message that earlier ones decide on, on its way: its facts are looked up, its protocol
 * decides, it is published, and once it is stored its own fact is created (ADR 25). A fact is never
 * ahead of its message. */

#include "account.h"
#include "lookup.h"
#include "receipt.h"
#include "verdict.h"

/*   NONE ─▶ ASKING ─▶ READY ── published ─▶ PUBLISHED ── stored ─▶ WRITING ─▶ SETTLED
 *              ▲        │                      │                    │
 *              └────────┴ once more            └──── a duplicate ───┴─▶ RESOLVING ◀─▶ FETCHING
 *                                                                          │             │
 *                                                                          └─▶ SETTLED ◀─┘
 * READY ─▶ SETTLED without publishing; PUBLISHED ─▶ SETTLED when it is not stored.
 */
enum dispatch_phase {
    DISPATCH_NONE,
    DISPATCH_ASKING,    /* for its facts */
    DISPATCH_READY,     /* to be decided on, in its turn */
    DISPATCH_PUBLISHED, /* its ack is still to come */
    DISPATCH_WRITING,   /* its fact, or that of the message that was stored in its place */
    DISPATCH_RESOLVING, /* another fact or message was first: the facts are asked for again */
    DISPATCH_FETCHING,  /* what JetStream calls it a duplicate of */
    DISPATCH_SETTLED,
};

enum dispatch_step {
    DISPATCH_STEP_WAIT,    /* on_ready follows */
    DISPATCH_STEP_FULL,    /* `share` of JetStream's window is full; decide again later */
    DISPATCH_STEP_GO,      /* on_settled follows, in a later turn */
    DISPATCH_STEP_SETTLED, /* `outcome` says how */
    DISPATCH_STEP_CHECKED, /* it was to be checked alone: `verdict` is what there is to say */
};

/* What became of it.  Owns: `members` the dispatch's. */
struct dispatch_outcome {
    bool is_stored; /* else `failure` says why it is not, or why that is not known */
    const char *stream;
    uint64_t sequence;
    bool is_duplicate;
    struct parley_bytes members; /* of the receipt or the problem, each with a comma before it */
    struct failure failure;
};

struct dispatch;
struct dispatch_events {
    void (*on_ready)(struct dispatch *dispatch); /* dispatch_decide is to be called */
    void (*on_settled)(struct dispatch *dispatch);
};

/* Owns: the owner embeds it, zeroed at first, and keeps it, and what `slice` and `offload` say,
 * until it is settled. */
struct dispatch {
    /* What the owner says. */
    const struct dispatch_events *events;
    void *context; /* for the events */
    struct request_options *options;
    struct parley_slice slice;
    struct offload *offload; /* that holds the message; NULL: it is checked again */
    struct receipt *receipt; /* is noted before it is published */
    enum receipt_form form;
    struct jetstream_sender *sender;
    struct log_count *log; /* of the request */
    struct account_mark account;

    /* What it says. */
    enum dispatch_phase phase;
    unsigned share;
    struct dispatch_outcome outcome;
    struct verdict verdict; /* CHECKED; for this turn */

    /* Private. */
    struct lookup lookup;
    struct stamped_values stamped; /* into the message, each time that it is checked */
    struct publication_mark mark;
    struct parley_buffer members;
    struct parley_buffer warnings; /* of the receipt of a duplicate, if they differ; else empty */
    char *fact_key;                /* of its own fact; NULL: it leaves none */
    char *fact_members;
    bool is_expected, has_fetched;
    bool is_counted; /* it continues a log, and was published */
    bool is_unique;  /* only one message can have its Nats-Msg-Id, and that one leaves the fact */
    bool is_duplicate, is_again; /* as its ack says */
    char stream[256];            /* where it is stored, or what it is called a duplicate of … */
    uint64_t sequence;           /* … 0: it was not published */
    struct duplicate *duplicate;
};

/* Begins, with what the owner says set, for the message of the request that was checked last, and
 * of which lookup_is_needed. Afterwards it is READY, or on_ready follows. */
void dispatch_begin(struct dispatch *dispatch, const struct parley_route *route);
/* READY, and not in its turn yet: if something is missing that may come in a moment, asks for it
 * now, together with what others ask for; on_ready follows then. */
void dispatch_foresee(struct dispatch *dispatch);
/* Decides on a message that is READY, in its turn. */
enum dispatch_step dispatch_decide(struct dispatch *dispatch);
/* Whether slice and offload are not needed any more, of a message that was published. */
static inline bool dispatch_has_sent_all(const struct dispatch *dispatch) {
    return dispatch->fact_key == NULL;
}
/* The client is gone: what has to be found out only for its answer is not.
 * Returns: whether it is settled by that; on_settled is not called. */
bool dispatch_close(struct dispatch *dispatch);
/* Frees what it holds. It is NONE, ASKING, READY or SETTLED. NULL is fine. */
void dispatch_finish(struct dispatch *dispatch);

/* Counts what became of it, where nobody waits for it any more. */
void dispatch_account(const struct dispatch *dispatch);
