/* SPDX-License-Identifier: Apache-2.0 */

/* See task_decision.h. */

#include "task_decision.h"

#include "findings.h"
#include "text.h"

/* ---- texts ---- */

enum parley_status deciding_keep(struct deciding *deciding, struct parley_buffer *text,
                                 struct parley_bytes *out) {
    enum parley_status status = parley_buffer_status(text);
    if (status == PARLEY_OK) {
        out->data = parley_arena_copy(deciding->arena, parley_buffer_bytes(text));
        out->length = text->length;
        status = out->data != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
    }
    parley_buffer_finish(text);
    return status;
}

/* Writes "NAME" as JSON, or the word for an unknown one. */
static void write_or(struct parley_buffer *out, struct parley_bytes text, const char *otherwise) {
    if (text.data != NULL) {
        parley_buffer_json(out, text);
    } else {
        parley_buffer_text(out, otherwise);
    }
}

static void write_member(struct parley_buffer *out, const char *name, struct parley_bytes text) {
    parley_buffer_format(out, ",\"%s\":", name);
    write_or(out, text, "null");
}

struct parley_bytes deciding_addressee(const struct deciding *deciding) {
    return roundtable_fact_text(&deciding->task.request, ROUNDTABLE_MEMBER_TO);
}

static struct parley_bytes state_of(const struct deciding *deciding) {
    return roundtable_task_state(&deciding->task, deciding->now_seconds);
}

static struct parley_bytes requester_of(const struct deciding *deciding) {
    return roundtable_fact_text(&deciding->task.request, ROUNDTABLE_MEMBER_FROM);
}

static void say_held(const struct deciding *deciding, struct parley_buffer *out) {
    parley_buffer_text(out, "the task is held by ");
    write_or(out, deciding->turn.holder, "an agent that is not known");
}

static void say_over(const struct deciding *deciding, struct parley_buffer *out) {
    const struct parley_bytes state = state_of(deciding);
    parley_buffer_text(out, "the task is over");
    if (state.data != NULL) {
        parley_buffer_text(out, ": it has ");
        parley_buffer_append(out, state);
    }
}

static void say_given(const struct deciding *deciding, struct parley_buffer *out) {
    parley_buffer_text(out, "the task was given to ");
    parley_buffer_json(out, deciding_addressee(deciding));
}

static void say_early(const struct deciding *deciding, struct parley_buffer *out) {
    parley_buffer_text(out, "the task may be claimed from ");
    write_or(out, deciding_not_before(deciding), "later");
    parley_buffer_text(out, " on");
}

static void say_used_up(const struct deciding *deciding, struct parley_buffer *out) {
    parley_buffer_text(out, "the task was given out ");
    parley_buffer_uint(out, deciding->turn.attempt);
    parley_buffer_text(out, deciding->turn.attempt == 1 ? " time" : " times");
    parley_buffer_text(out, ", which are all its attempts");
}

static void say_not_held(const struct deciding *deciding, struct parley_buffer *out) {
    if (deciding_has_holder(deciding)) {
        say_held(deciding, out);
    } else {
        parley_buffer_text(out, "the task is held by no agent");
    }
}

static void say_foreign(const struct deciding *deciding, struct parley_buffer *out) {
    parley_buffer_text(out, "the task was requested by ");
    write_or(out, requester_of(deciding), "an agent that is not known");
}

static void say_open(const struct deciding *deciding, struct parley_buffer *out) {
    parley_buffer_text(out, "the task is not over: it is ");
    parley_buffer_append(out, state_of(deciding));
}

static void say_unknown(const struct deciding *deciding, struct parley_buffer *out) {
    (void)deciding;
    parley_buffer_text(out, "no task.request with this id is known");
}

/* ---- violations of the lifecycle ---- */

void deciding_write_turn(const struct deciding *deciding, struct parley_buffer *out) {
    const struct roundtable_turn *turn = &deciding->turn;
    const bool is_open = deciding->holding == ROUNDTABLE_OPEN_AGAIN;
    const struct parley_bytes time = roundtable_fact_text(
        turn->fact, is_open ? ROUNDTABLE_MEMBER_NOT_BEFORE : ROUNDTABLE_MEMBER_UNTIL);
    if (time.data != NULL) {
        write_member(out, is_open ? "not_before" : "until", time);
    }
    parley_buffer_text(out, ",\"attempt\":");
    parley_buffer_uint(out, turn->attempt);
}

static void write_not_before(const struct deciding *deciding, struct parley_buffer *out) {
    write_member(out, "not_before", deciding_not_before(deciding));
    if (deciding->turn.is_there) {
        parley_buffer_text(out, ",\"attempt\":");
        parley_buffer_uint(out, deciding->turn.attempt);
    }
}

static void write_holder(const struct deciding *deciding, struct parley_buffer *out) {
    write_member(out, "holder",
                 deciding_has_holder(deciding) ? deciding->turn.holder : (struct parley_bytes){0});
    write_member(out, "claimed_at", deciding->turn.claimed_at);
    if (deciding->turn.is_there) {
        deciding_write_turn(deciding, out);
    }
}

void deciding_write_state(const struct deciding *deciding, struct parley_buffer *out) {
    write_member(out, "state", state_of(deciding));
}

static void write_end(const struct deciding *deciding, struct parley_buffer *out) {
    deciding_write_state(deciding, out);
    write_member(out, "from", roundtable_fact_text(&deciding->task.end, ROUNDTABLE_MEMBER_FROM));
}

static void write_requester(const struct deciding *deciding, struct parley_buffer *out) {
    write_member(out, "from", requester_of(deciding));
}

static void write_addressee(const struct deciding *deciding, struct parley_buffer *out) {
    write_member(out, "to", deciding_addressee(deciding));
}

const struct objection objection_claimed = {
    .problem = "already-claimed",
    .advice = "The claim was not stored: take another task.",
    .say = say_held,
    .write_members = write_holder,
    .fact = ROUNDTABLE_FACT_CLAIM,
};
const struct objection objection_unknown = {
    .warning = ROUNDTABLE_RT_201,
    .field = ROUNDTABLE_CORRELATION_ID,
    .say = say_unknown,
};
const struct objection objection_held = {
    .warning = ROUNDTABLE_RT_202,
    .field = ROUNDTABLE_FROM,
    .problem = "not-holder",
    .advice = "The message was not stored: only the holder and the requester can report on the "
              "task.",
    .say = say_held,
    .write_members = write_holder,
    .fact = ROUNDTABLE_FACT_CLAIM,
};
const struct objection objection_over = {
    .warning = ROUNDTABLE_RT_203,
    .field = ROUNDTABLE_CORRELATION_ID,
    .problem = "task-over",
    .advice = "The message was not stored. To try the task again, request it with a new id and "
              "this one as its correlationId.",
    .say = say_over,
    .write_members = deciding_write_state,
    .fact = ROUNDTABLE_FACT_END,
};
const struct objection objection_given = {
    .problem = "not-addressee",
    .advice = "The claim was not stored: take another task.",
    .say = say_given,
    .write_members = write_addressee,
    .fact = ROUNDTABLE_FACT_REQUEST,
};

void deciding_name_place(struct parley_decision *out, const struct roundtable_fact *fact) {
    const uint64_t sequence = roundtable_fact_sequence(fact, ROUNDTABLE_MEMBER_SEQ);
    const struct parley_bytes stream = roundtable_fact_text(fact, ROUNDTABLE_MEMBER_STREAM);
    if (stream.data != NULL && sequence != 0) {
        out->stream = stream;
        out->sequence = sequence;
    }
}

static const struct roundtable_fact *fact_at(const struct deciding *deciding,
                                             enum roundtable_fact_place place) {
    const struct roundtable_task *task = &deciding->task;
    return place == ROUNDTABLE_FACT_END     ? &task->end
           : place == ROUNDTABLE_FACT_CLAIM ? deciding->turn.fact
                                            : &task->request;
}

enum parley_status deciding_refuse(struct deciding *deciding, const struct objection *objection) {
    struct parley_decision *out = deciding->out;
    struct parley_buffer text;
    out->kind = PARLEY_DECISION_REFUSED;
    out->problem = objection->problem;
    deciding_name_place(out, fact_at(deciding, objection->fact));
    parley_buffer_init(&text);
    objection->say(deciding, &text);
    if (text.length > 0) {
        text.data[0] = 'T'; /* a sentence: all of them begin with "the" */
    }
    parley_buffer_text(&text, ". ");
    parley_buffer_text(&text, objection->advice);
    PARLEY_TRY(deciding_keep(deciding, &text, &out->detail));
    parley_buffer_init(&text);
    objection->write_members(deciding, &text);
    return deciding_keep(deciding, &text, &out->members);
}

enum parley_status deciding_warn(struct deciding *deciding, const struct objection *objection) {
    struct parley_message *message = deciding->message;
    struct parley_buffer text;
    struct parley_bytes said = {0};
    parley_buffer_init(&text);
    objection->say(deciding, &text);
    PARLEY_TRY(deciding_keep(deciding, &text, &said));
    const struct parley_finding finding = {.path = message->protocol->fields[objection->field],
                                           .message = said.data,
                                           .offset = message->values[objection->field].offset};
    return findings_report(message, objection->warning, finding);
}

const struct objection objection_early = {
    .problem = "not-due",
    .advice = "The claim was not stored: claim it then, or take another task.",
    .say = say_early,
    .write_members = write_not_before,
    .fact = ROUNDTABLE_FACT_CLAIM,
};
const struct objection objection_used_up = {
    .problem = "attempts-used-up",
    .advice = "The claim was not stored: take another task.",
    .say = say_used_up,
    .write_members = write_holder,
    .fact = ROUNDTABLE_FACT_CLAIM,
};
/* Of what an agent asks for without a message. */
const struct objection objection_not_held = {
    .problem = "not-holder",
    .advice = "Stop working on it.",
    .say = say_not_held,
    .write_members = write_holder,
    .fact = ROUNDTABLE_FACT_CLAIM,
};
const struct objection objection_ended = {
    .problem = "task-over",
    .advice = "Stop working on it.",
    .say = say_over,
    .write_members = write_end,
    .fact = ROUNDTABLE_FACT_END,
};

/* Of what its requester asks for. */
const struct objection objection_foreign = {
    .problem = "forbidden",
    .advice = "Only that agent may do this, or a token with the scope `admin`.",
    .say = say_foreign,
    .write_members = write_requester,
    .fact = ROUNDTABLE_FACT_REQUEST,
};
const struct objection objection_not_over = {
    .problem = "task-open",
    .advice = "Cancel it first, or wait until it has ended.",
    .say = say_open,
    .write_members = deciding_write_state,
    .fact = ROUNDTABLE_FACT_REQUEST,
};
const struct objection objection_completed = {
    .problem = "task-over",
    .advice = "There is nothing to try again.",
    .say = say_over,
    .write_members = write_end,
    .fact = ROUNDTABLE_FACT_END,
};
const struct objection objection_too_late = {
    .problem = "task-over",
    .advice = "There is nothing to cancel.",
    .say = say_over,
    .write_members = write_end,
    .fact = ROUNDTABLE_FACT_END,
};

/* ---- the task ---- */

bool deciding_is_over(const struct deciding *deciding) {
    return deciding->task.end.is_there ||
           roundtable_task_has_expired(&deciding->task, deciding->now_seconds);
}

enum parley_status deciding_read(struct deciding *deciding) {
    PARLEY_TRY(roundtable_task_read(deciding->known->values, deciding->arena, &deciding->task));
    roundtable_turn_read(&deciding->task, &deciding->turn);
    deciding->holding = roundtable_turn_holding(&deciding->turn, deciding->now_seconds);
    return PARLEY_OK;
}

bool deciding_has_holder(const struct deciding *deciding) {
    return deciding->holding == ROUNDTABLE_HELD || deciding->holding == ROUNDTABLE_LAPSED;
}

bool deciding_is_holder(const struct deciding *deciding) {
    return deciding_has_holder(deciding) &&
           parley_bytes_equal(deciding->turn.holder, deciding->from);
}

/* What the request says, else the operator. */
static int64_t lease_of_task(const struct deciding *deciding) {
    const uint64_t own = roundtable_fact_option(&deciding->task.request, ROUNDTABLE_MEMBER_LEASE,
                                                ROUNDTABLE_OPTION_LEASE);
    return (int64_t)(own != 0 ? own
                              : deciding->options[ROUNDTABLE_OPTION_TASK_LEASE].number / 1000);
}

int64_t deciding_lease(const struct deciding *deciding) {
    const uint64_t own = roundtable_fact_option(deciding->turn.fact, ROUNDTABLE_MEMBER_LEASE,
                                                ROUNDTABLE_OPTION_LEASE);
    return own != 0 ? (int64_t)own : lease_of_task(deciding);
}

int64_t deciding_claim_lease(const struct deciding *deciding) {
    const uint64_t own = deciding->options[ROUNDTABLE_OPTION_LEASE].number;
    return own != 0 ? (int64_t)own : lease_of_task(deciding);
}

struct parley_bytes deciding_not_before(const struct deciding *deciding) {
    return roundtable_fact_text(deciding->turn.is_there ? deciding->turn.fact
                                                        : &deciding->task.request,
                                ROUNDTABLE_MEMBER_NOT_BEFORE);
}

uint64_t deciding_attempts(const struct deciding *deciding) {
    const uint64_t own = roundtable_fact_option(&deciding->task.request, ROUNDTABLE_MEMBER_ATTEMPTS,
                                                ROUNDTABLE_OPTION_ATTEMPTS);
    return own != 0 ? own : deciding->options[ROUNDTABLE_OPTION_TASK_ATTEMPTS].number;
}

/* ---- turns ---- */

enum parley_status deciding_prepare_turn(struct deciding *deciding, struct parley_buffer *members) {
    struct parley_decision *out = deciding->out;
    struct parley_buffer key;
    out->kind = PARLEY_DECISION_PREPARE;
    PARLEY_TRY(deciding_keep(deciding, members, &out->fact_members));
    parley_buffer_init(&key);
    roundtable_turn_write_key(deciding->id, deciding->turn.number + 1, &key);
    return deciding_keep(deciding, &key, &out->fact_key);
}

enum parley_status deciding_extend(struct deciding *deciding, int64_t until, const char *why) {
    struct parley_buffer members;
    parley_buffer_init(&members);
    roundtable_turn_write_extend(&deciding->turn, deciding->now_seconds, until, why, &members);
    return deciding_prepare_turn(deciding, &members);
}
