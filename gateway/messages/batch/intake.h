/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Cuts a body of many into messages while it is received, and has each checked: a small one here
 * and now, a large one by the worker pool. While the worker pool has a message, and until what
 * follows from its verdict is done, nothing after it is cut: its bytes stay where they are, in the
 * splitter. What is held of a message that is not whole yet comes out of the budget. */

#include "body_handler.h"
#include "budget.h"
#include "verdict.h"

/*   READING ── no room in the budget ──▶ SHEDDING ── the message has gone by ──▶ READING
 *
 *   READING ── a large message ──▶ CHECKING ── verdict ──▶ HANDLING ── done ──▶ READING
 *   HANDLING ── intake_hold ──▶ HOLDING ── intake_release ──▶ READING
 */
enum intake_phase {
    INTAKE_READING,
    INTAKE_SHEDDING, /* the message being received found no room in the budget, and is passed by */
    INTAKE_CHECKING, /* the worker pool has a large message */
    INTAKE_HANDLING, /* its verdict is there, and on_verdict is being called */
    INTAKE_HOLDING,  /* what follows from the verdict has to wait; the message is kept for it */
};

struct intake;

/* What is done with what comes out. None of them may destroy the intake but the last. */
struct intake_events {
    void (*on_verdict)(struct intake *intake, const struct verdict *verdict);
    /* A message found no room in the budget, and was passed by; or what reads the body did not. */
    void (*on_overloaded)(struct intake *intake, const struct parley_slice *slice);
    /* After on_verdict for a message that was offloaded: what waited for it can go on. */
    void (*on_offload_done)(struct intake *intake);
};

/* The owner embeds it. */
struct intake {
    struct request_options *options;
    const struct intake_events *events;
    struct parley_splitter splitter;
    struct budget_share held; /* taken for what the splitter holds */
    struct offload *offload;  /* the large message; NULL: none */
    enum intake_phase phase;
};

/* Owns: `options` and `events` are borrowed, as long as the intake lives. */
void intake_init(struct intake *intake, struct request_options *options,
                 enum parley_framing framing, const struct intake_events *events);
/* Not while the worker pool has a message (intake_is_checking). */
void intake_finish(struct intake *intake);

/* Takes bytes from the front of *input up to the end of a message, and handles it.
 * Returns: what was cut: PARLEY_SPLIT_MORE: *input is used up; PARLEY_SPLIT_MEMORY: nothing more
 * can be; else go on while intake_is_open. */
enum parley_split intake_next(struct intake *intake, struct parley_bytes *input);
/* The same at the end of the body.  Returns: PARLEY_SPLIT_END when nothing is left. */
enum parley_split intake_end(struct intake *intake);

/* In its place: the body cannot be read any further. Nothing is left after it.
 * Returns: as intake_next. */
enum parley_split intake_break(struct intake *intake, const struct body_fault *fault);

/* Takes room in the budget for what is held of a message that is not whole yet.  Returns: false:
 * there is none. */
bool intake_cover(struct intake *intake);
/* Gives back what is held of that message, and passes it by: on_overloaded follows. */
void intake_shed(struct intake *intake);

/* Whether messages can be cut: no large one is in hand. */
static inline bool intake_is_open(const struct intake *intake) {
    return intake->offload == NULL;
}
static inline bool intake_is_checking(const struct intake *intake) {
    return intake->phase == INTAKE_CHECKING;
}

/* Within on_verdict for a message that was offloaded: keeps it until intake_release. */
void intake_hold(struct intake *intake);
/* Gives back the large message, and all that the splitter holds. */
void intake_release(struct intake *intake);
