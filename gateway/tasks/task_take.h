/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One piece of work on its way from the board to an agent: its request's message is fetched, and it
 * is claimed by a message in the agent's name. Work that cannot be handed over is not claimed: what
 * decides on the claim is asked for while the message is fetched, and the claim is published once
 * that has come. Each end tells the board what became of it. */

#include "board.h"
#include "failure.h"
#include "internal_submit.h"
#include "request_options.h"

enum task_take_end {
    TASK_TAKE_CLAIMED,  /* `item` is what the agent gets */
    TASK_TAKE_REPEATED, /* the agent has claimed it before, perhaps by another Idempotency-Key */
    TASK_TAKE_LOST,     /* it is another agent's, or over */
    TASK_TAKE_GONE,     /* its request is not stored any more */
    TASK_TAKE_LEFT,     /* the answer had no room for its message: it is on the board again */
    TASK_TAKE_FAILED,   /* `failure` says why, `item` has further members of the problem */
};

/*   FETCHING ── the message came ──▶ CLAIMING ──▶ OVER
 *   FETCHING ── it is gone, cannot be read, or has no room ──▶ OVER
 */
enum task_take_phase { TASK_TAKE_FETCHING, TASK_TAKE_CLAIMING, TASK_TAKE_OVER };

/* What those of one request share.  Owns: everything is borrowed until the last one has ended. */
struct task_taking {
    struct request_options *options;
    struct board *board;
    struct parley_bytes agent;
    const char *claim_id;        /* "": a fresh one for each */
    size_t room;                 /* bytes that their messages may have still; one may exceed them */
    void (*done)(void *context); /* called once for each, in a later turn than task_take_begin */
    void *context;
};

/* Owns: the owner embeds it, zeroed at first, and calls task_take_finish once it has ended. */
struct task_take {
    struct task_taking *taking;
    struct board_find find;
    enum task_take_phase phase;
    enum task_take_end end;    /* valid in the phase OVER */
    struct parley_buffer item; /* the message; at the end as `end` says */
    struct failure failure;
    struct jetstream_request *asked;
    struct internal_submit *prepared; /* the claim, while it is FETCHING; NULL: there is none … */
    int64_t prepared_ms;              /* … which is too old after a while */
};

/* Begins with `take->find`, which was taken from the board.
 * Returns: false: it has failed and ended, and `done` is not called. */
bool task_take_begin(struct task_take *take, struct task_taking *taking);
/* Ends one that is FETCHING, without `done`: it is on the board again. A claim that is under way
 * continues: whether it was made is not known.  Returns: whether it has ended. */
bool task_take_cancel(struct task_take *take);
/* Frees what it holds. It must have ended. */
void task_take_finish(struct task_take *take);

/* `what`: a sentence without its full stop; what is known to be wrong with NATS is added. */
struct failure task_take_away(const struct gateway *gateway, const char *what);
