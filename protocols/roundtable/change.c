/* SPDX-License-Identifier: Apache-2.0 */

/* Decides on what agents ask for without a message: the holder of a task to hold it for longer, or
 * to give it back (docs/tasks.md#turns); its requester to end it, or to have it tried again
 * (docs/tasks.md#cancel). */

#include "task_decision.h"
#include "text.h"

static enum parley_status write_time(struct deciding *deciding, const char *name, int64_t seconds,
                                     uint64_t attempt) {
    char time[TEXT_TIME_SIZE];
    struct parley_buffer text;
    parley_buffer_init(&text);
    text_write_unix_time((double)seconds, time);
    parley_buffer_format(&text, ",\"%s\":\"%s\",\"attempt\":", name, time);
    parley_buffer_uint(&text, attempt);
    return deciding_keep(deciding, &text, &deciding->out->members);
}

/* Without a lease the agent holds the task permanently. */
static enum parley_status keep_until(struct deciding *deciding) {
    struct parley_buffer text;
    deciding->out->kind = PARLEY_DECISION_REPEATED;
    parley_buffer_init(&text);
    deciding_write_turn(deciding, &text);
    return deciding_keep(deciding, &text, &deciding->out->members);
}

static enum parley_status extend(struct deciding *deciding, int64_t seconds) {
    const struct roundtable_turn *turn = &deciding->turn;
    const int64_t lease = seconds >= 0 ? seconds : deciding_lease(deciding);
    const int64_t until = deciding->now_seconds + lease;
    const bool is_plain = seconds < 0;
    if (is_plain && deciding->holding == ROUNDTABLE_HELD &&
        (!turn->has_until || turn->until >= (double)until)) {
        return keep_until(deciding);
    }
    PARLEY_TRY(write_time(deciding, "until", until, turn->attempt));
    return deciding_extend(deciding, lease > 0 ? until : 0, "extend");
}

static enum parley_status release(struct deciding *deciding, int64_t seconds,
                                  struct parley_bytes why) {
    const int64_t not_before = deciding->now_seconds + (seconds > 0 ? seconds : 0);
    struct parley_buffer members;
    PARLEY_TRY(write_time(deciding, "not_before", not_before, deciding->turn.attempt));
    parley_buffer_init(&members);
    roundtable_turn_write_release(&deciding->turn, deciding->now_seconds, not_before, why,
                                  &members);
    return deciding_prepare_turn(deciding, &members);
}

/* What was released already is released; the answer to the first request may have been lost. */
static bool has_released(const struct deciding *deciding) {
    return deciding->holding == ROUNDTABLE_OPEN_AGAIN &&
           parley_bytes_equal(deciding->turn.holder, deciding->from);
}

/* Whose task it is may be unknown: then only who may do so for all can. */
static bool may_decide(const struct deciding *deciding, bool may_any) {
    const struct parley_bytes from =
        roundtable_fact_text(&deciding->task.request, ROUNDTABLE_MEMBER_FROM);
    return may_any || (from.data != NULL && parley_bytes_equal(from, deciding->from));
}

static enum parley_status publish(struct deciding *deciding) {
    deciding->out->kind = PARLEY_DECISION_PUBLISH;
    return PARLEY_OK;
}

static enum parley_status retry(struct deciding *deciding) {
    const struct parley_bytes state = roundtable_task_state(&deciding->task, deciding->now_seconds);
    if (!deciding_is_over(deciding)) {
        return deciding_refuse(deciding, &objection_not_over);
    }
    return parley_bytes_equal(state, PARLEY_BYTES("completed"))
               ? deciding_refuse(deciding, &objection_completed)
               : publish(deciding);
}

static enum parley_status decide_of_requester(struct deciding *deciding,
                                              const struct parley_task_change *change) {
    if (!may_decide(deciding, change->may_any)) {
        return deciding_refuse(deciding, &objection_foreign);
    }
    if (change->kind == PARLEY_TASK_RETRY) {
        return retry(deciding);
    }
    return deciding_is_over(deciding) ? deciding_refuse(deciding, &objection_too_late)
                                      : publish(deciding);
}

enum parley_status roundtable_change(const struct parley_task_change *change,
                                     struct parley_arena *arena, struct parley_decision *out) {
    struct deciding deciding = {.arena = arena,
                                .options = change->options,
                                .now_seconds = change->now_seconds,
                                .known = change->known,
                                .id = change->id,
                                .from = change->agent,
                                .out = out};
    *out = (struct parley_decision){.kind = PARLEY_DECISION_REPEATED};
    PARLEY_TRY(deciding_read(&deciding));
    if (change->kind == PARLEY_TASK_CANCEL || change->kind == PARLEY_TASK_RETRY) {
        return decide_of_requester(&deciding, change);
    }
    if (deciding.task.end.is_there) {
        return deciding_refuse(&deciding, &objection_ended);
    }
    if (change->kind == PARLEY_TASK_RELEASE && has_released(&deciding)) {
        return keep_until(&deciding);
    }
    if (!deciding_is_holder(&deciding)) {
        return deciding_refuse(&deciding, &objection_not_held);
    }
    return change->kind == PARLEY_TASK_EXTEND ? extend(&deciding, change->seconds)
                                              : release(&deciding, change->seconds, change->why);
}
