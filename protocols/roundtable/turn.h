/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The turns of a task: which agent holds it, and until when (docs/tasks.md#turns). Turn 1 is the
 * first claim. Who creates turn N+1 decides what follows turn N: the holder that extends, or gives
 * the task back, and the agent that takes over compete for one key. */

#include "fact.h"

enum roundtable_turn_kind {
    ROUNDTABLE_TURN_CLAIM,
    ROUNDTABLE_TURN_EXTEND,
    ROUNDTABLE_TURN_RELEASE,
    ROUNDTABLE_TURN_FAILED,
};

enum roundtable_holding {
    ROUNDTABLE_NEVER_CLAIMED,
    ROUNDTABLE_HELD,
    ROUNDTABLE_LAPSED, /* its time has passed: another agent may take it, the holder may extend */
    ROUNDTABLE_OPEN_AGAIN, /* its holder gave it back, or failed with it */
};

/* The last turn.  Owns: borrows from the task. */
struct roundtable_turn {
    bool is_there; /* the task was claimed */
    enum roundtable_turn_kind kind;
    uint64_t number, attempt;
    struct parley_bytes holder; /* data NULL: it is not known */
    const struct roundtable_fact *fact;
    bool has_until;    /* else it is held without a limit */
    double until;      /* Unix time */
    double not_before; /* of a task that is open again; 0: at once */
    struct parley_bytes claimed_at;
};

/* `task` is borrowed as long as the turn is used. */
void roundtable_turn_read(const struct roundtable_task *task, struct roundtable_turn *out);
/* `now_seconds`: Unix time; 0 if deadlines are not checked. */
enum roundtable_holding roundtable_turn_holding(const struct roundtable_turn *turn,
                                                int64_t now_seconds);

/* Appends the key of turn `number`, from 2 on. `id` in lower case. */
void roundtable_turn_write_key(struct parley_bytes id, uint64_t number, struct parley_buffer *out);

/* Appends the turn that a value says, as an object; null where that does not say it.  Returns:
 * PARLEY_E_MEMORY. */
enum parley_status roundtable_turn_write(struct parley_bytes value, struct parley_arena *arena,
                                         struct parley_buffer *out) PARLEY_MUST_CHECK;

/* Append the members of the fact that a turn leaves, each with a comma before it. */

/* Of a claim that follows `before`; `number` and `attempt` are its own, `until` 0: it has no limit;
 * `why` NULL: it is the first, or the task was given back. */
struct roundtable_claim {
    uint64_t number, attempt, request; /* request: the request's sequence, 0: not known */
    int64_t until;                     /* Unix time */
    uint64_t lease; /* seconds, where the claim itself says for how long it is; else 0 */
    const char *why;
};
void roundtable_turn_write_claim(const struct parley_message *message,
                                 const struct roundtable_turn *before,
                                 const struct roundtable_claim *claim, struct parley_buffer *out);
/* What follows `turn`: the same agent holds the task until a new time. `now`, `until`: Unix time.
 */
void roundtable_turn_write_extend(const struct roundtable_turn *turn, int64_t now, int64_t until,
                                  const char *why, struct parley_buffer *out);
/* What follows `turn`: the task is open from a time on. `why`: data NULL if none is given. */
void roundtable_turn_write_release(const struct roundtable_turn *turn, int64_t now,
                                   int64_t not_before, struct parley_bytes why,
                                   struct parley_buffer *out);
/* The sequence of the last task.failed that made a turn; 0: none did, or it is not known. */
uint64_t roundtable_turn_failed_sequence(const struct roundtable_turn *turn);

/* What follows `turn`: its holder has failed by this message, and the task is open from a time on.
 */
void roundtable_turn_write_failed(const struct parley_message *message,
                                  const struct roundtable_turn *turn, int64_t now,
                                  int64_t not_before, struct parley_buffer *out);
