/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Cuts a body of many into messages while it is received, and checks each: a small one here and
 * now, a large one in the worker pool. While the worker pool has a message, and until its verdict
 * is handled, nothing after it is cut: its bytes stay in the splitter. The bytes of an incomplete
 * message are charged to the budget. */

#include "body_handler.h"
#include "budget.h"
#include "verdict.h"

/*   READING ── no room in the budget ──▶ SHEDDING ── the message has gone by ──▶ READING
 *
 *   READING ── a large message ──▶ CHECKING ── verdict ──▶ HANDLING ── done ──▶ READING
 *   HANDLING ── body_splitter_hold ──▶ HOLDING ── body_splitter_release ──▶ READING
 */
enum body_splitter_phase {
    BODY_SPLITTER_READING,
    BODY_SPLITTER_SHEDDING, /* the message being received found no room in the budget, and is passed
                               by */
    BODY_SPLITTER_CHECKING, /* the worker pool has a large message */
    BODY_SPLITTER_HANDLING, /* its verdict is there, and on_verdict is being called */
    BODY_SPLITTER_HOLDING,  /* the next step must wait; the message is kept for it */
};

struct body_splitter;

/* Receivers of the messages. Only the last of them may destroy the intake. */
struct body_splitter_events {
    void (*on_verdict)(struct body_splitter *intake, const struct verdict *verdict);
    /* A message found no room in the budget, and was passed by; or what reads the body did not. */
    void (*on_overloaded)(struct body_splitter *intake, const struct parley_slice *slice);
    /* After on_verdict for a message that was offloaded: the body can continue. */
    void (*on_offload_done)(struct body_splitter *intake);
};

/* The owner embeds it. */
struct body_splitter {
    struct request_options *options;
    const struct body_splitter_events *events;
    struct parley_splitter splitter;
    struct budget_share held;  /* taken for the bytes in the splitter */
    struct offload *offload;   /* the large message; NULL if there is none */
    struct kept_message *kept; /* within on_verdict: holds the message, if it may wait */
    enum body_splitter_phase phase;
};

/* Owns: `options` and `events` are borrowed, as long as the intake lives. */
void body_splitter_init(struct body_splitter *intake, struct request_options *options,
                        enum parley_framing framing, const struct body_splitter_events *events);
/* Not while the worker pool has a message (body_splitter_is_checking). */
void body_splitter_finish(struct body_splitter *intake);

/* Takes bytes from the front of *input up to the end of a message, and handles it. Returns:
 * PARLEY_SPLIT_MORE: *input is used up; PARLEY_SPLIT_MEMORY: no more can be cut; else the kind of
 * the piece: continue while body_splitter_is_open. */
enum parley_split body_splitter_next(struct body_splitter *intake, struct parley_bytes *input);
/* The same at the end of the body.  Returns: PARLEY_SPLIT_END when nothing is left. */
enum parley_split body_splitter_end(struct body_splitter *intake);

/* In its place: the body cannot be read any further. Nothing is left after it.
 * Returns: as body_splitter_next. */
enum parley_split body_splitter_break(struct body_splitter *intake, const struct body_fault *fault);

/* Takes room in the budget for the bytes of an incomplete message.  Returns: false: there is none.
 */
bool body_splitter_cover(struct body_splitter *intake);
/* Frees the bytes of that message, and skips it: on_overloaded follows. */
void body_splitter_shed(struct body_splitter *intake);

/* Whether messages can be cut: no large one is in hand. */
static inline bool body_splitter_is_open(const struct body_splitter *intake) {
    return intake->offload == NULL;
}
static inline bool body_splitter_is_checking(const struct body_splitter *intake) {
    return intake->phase == BODY_SPLITTER_CHECKING;
}

/* Within on_verdict for a message that was offloaded: keeps it until body_splitter_release. */
void body_splitter_hold(struct body_splitter *intake);
/* The same for one that has an object of its own.  Owns: the caller releases it. */
struct kept_message *body_splitter_take(struct body_splitter *intake);
/* Gives back the large message, and all that the splitter holds. */
void body_splitter_release(struct body_splitter *intake);
