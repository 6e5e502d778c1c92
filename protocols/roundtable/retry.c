/* SPDX-License-Identifier: Apache-2.0 */

/* Looks at the task that a request tries again: the one that its correlationId names. What is tried
 * again has failed or expired; a request that follows a completed task is no retry. The first
 * request that tries a task again takes the key `<id>.retry` before it is published, as a turn is
 * taken: so all gateways name the same one. */

#include <strings.h>

#include "task_decision.h"
#include "text.h"

static void say_unknown(const struct deciding *deciding, struct parley_buffer *out) {
    (void)deciding;
    parley_buffer_text(out, "no task with this id is known, so that this is no retry of it");
}

static void say_open(const struct deciding *deciding, struct parley_buffer *out) {
    (void)deciding;
    parley_buffer_text(out, "the task that this tries again is not over");
}

static void say_final(const struct deciding *deciding, struct parley_buffer *out) {
    (void)deciding;
    parley_buffer_text(out, "the task that this tries again has failed, and is not retryable");
}

static struct parley_bytes first_retry(const struct deciding *deciding,
                                       struct roundtable_fact *fact) {
    const struct parley_bytes value = deciding->known->values[ROUNDTABLE_FACT_RETRIED_RETRY];
    return roundtable_fact_read(value, deciding->arena, fact) == PARLEY_OK
               ? roundtable_fact_text(fact, ROUNDTABLE_MEMBER_RETRIED_BY)
               : (struct parley_bytes){0};
}

static void say_retried(const struct deciding *deciding, struct parley_buffer *out) {
    struct roundtable_fact fact;
    const struct parley_bytes first = first_retry(deciding, &fact);
    parley_buffer_text(out, "the task was tried again before, by ");
    if (first.data != NULL) {
        parley_buffer_json(out, first);
    } else {
        parley_buffer_text(out, "another request");
    }
}

#define OBJECTION(name, say_)                                                                      \
    static const struct objection name = {                                                         \
        .warning = ROUNDTABLE_RT_205, .field = ROUNDTABLE_CORRELATION_ID, .say = (say_)}
OBJECTION(objection_unknown_first, say_unknown);
OBJECTION(objection_open_first, say_open);
OBJECTION(objection_final_first, say_final);
OBJECTION(objection_retried_first, say_retried);

/* The facts of that task, at the places of a task's own. */
static enum parley_status read_first(const struct deciding *deciding, struct roundtable_task *out) {
    const struct parley_bytes *values = deciding->known->values;
    const struct parley_bytes own[PARLEY_FACT_KEYS_MAX] = {
        [ROUNDTABLE_FACT_END] = values[ROUNDTABLE_FACT_RETRIED_END],
        [ROUNDTABLE_FACT_CLAIM] = values[ROUNDTABLE_FACT_RETRIED_CLAIM],
        [ROUNDTABLE_FACT_REQUEST] = values[ROUNDTABLE_FACT_RETRIED_REQUEST]};
    return roundtable_task_read(own, deciding->arena, out);
}

/* The key may come in a moment, where the task ended by what was published straight to NATS. */
static enum parley_status warn_or_ask(struct deciding *deciding,
                                      const struct objection *objection) {
    if (deciding->known->is_final) {
        return deciding_warn(deciding, objection);
    }
    deciding->out->kind = PARLEY_DECISION_ASK_AGAIN;
    return PARLEY_OK;
}

static enum parley_status take_key(struct deciding *deciding, struct parley_bytes first) {
    struct parley_decision *out = deciding->out;
    struct parley_buffer text;
    out->kind = PARLEY_DECISION_PREPARE;
    parley_buffer_init(&text);
    roundtable_fact_write_id(&text, ROUNDTABLE_MEMBER_RETRIED_BY, deciding->id);
    roundtable_fact_write_text(&text, ROUNDTABLE_MEMBER_FROM, deciding->from);
    roundtable_fact_write_text(&text, ROUNDTABLE_MEMBER_AT,
                               parley_message_text(deciding->message, ROUNDTABLE_TIMESTAMP));
    PARLEY_TRY(deciding_keep(deciding, &text, &out->fact_members));
    parley_buffer_init(&text);
    (void)roundtable_tasks.write_key(first, PARLEY_TASK_RETRY_KEY, &text);
    return deciding_keep(deciding, &text, &out->fact_key);
}

static bool is_own(const struct deciding *deciding, struct parley_bytes id) {
    return id.data != NULL && id.length == deciding->id.length &&
           strncasecmp(id.data, deciding->id.data, id.length) == 0;
}

static enum parley_status look_at_failed(struct deciding *deciding, struct parley_bytes first,
                                         const struct roundtable_task *task) {
    const struct parley_value *retryable = &task->end.members[ROUNDTABLE_MEMBER_RETRYABLE];
    struct roundtable_fact fact;
    if (deciding->known->values[ROUNDTABLE_FACT_RETRIED_RETRY].data == NULL) {
        return take_key(deciding, first);
    }
    if (!is_own(deciding, first_retry(deciding, &fact))) {
        return deciding_warn(deciding, &objection_retried_first);
    }
    return retryable->kind == PARLEY_BOOLEAN && retryable->number == 0
               ? deciding_warn(deciding, &objection_final_first)
               : PARLEY_OK;
}

enum parley_status deciding_retry(struct deciding *deciding) {
    const struct parley_bytes first =
        parley_message_text(deciding->message, ROUNDTABLE_CORRELATION_ID);
    struct roundtable_task task;
    if (first.data == NULL || !text_is_uuid(first, false)) {
        return PARLEY_OK;
    }
    PARLEY_TRY(read_first(deciding, &task));
    const struct parley_bytes state = roundtable_task_state(&task, deciding->now_seconds);
    if (!task.request.is_there && !task.claim.is_there && !task.end.is_there) {
        return warn_or_ask(deciding, &objection_unknown_first);
    }
    if (!task.end.is_there && !roundtable_task_has_expired(&task, deciding->now_seconds)) {
        return warn_or_ask(deciding, &objection_open_first);
    }
    return parley_bytes_equal(state, PARLEY_BYTES("completed"))
               ? PARLEY_OK
               : look_at_failed(deciding, first, &task);
}
