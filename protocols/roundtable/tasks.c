/* SPDX-License-Identifier: Apache-2.0 */

/* The tasks of Round Table as the keys of their bucket say: `<id>` for the first task.request,
 * `<id>.claim` for the first task.claimed, `<id>.turn.N` for the turns after it, `<id>.end` for the
 * one that ended it, `<id>.retry` for the first one that tries it again. Nothing here
 * trusts a value: one that cannot be read is ignored. */

#include <math.h>

#include "fact.h"
#include "progress.h"
#include "roundtable.h"
#include "text.h"
#include "turn.h"

enum { UUID_LENGTH = 36 };

enum { STATE_REQUESTED, STATE_CLAIMED, STATE_COMPLETED, STATE_FAILED, STATE_EXPIRED };
#define STATE_BIT(state) (1u << (state))
static const char *const states[] = {
    [STATE_REQUESTED] = "requested", [STATE_CLAIMED] = "claimed", [STATE_COMPLETED] = "completed",
    [STATE_FAILED] = "failed",       [STATE_EXPIRED] = "expired", NULL};
static const char *const suffixes[PARLEY_TASK_FACTS] = {[PARLEY_TASK_REQUEST] = "",
                                                        [PARLEY_TASK_CLAIM] = ".claim",
                                                        [PARLEY_TASK_TURN] =
                                                            (".turn" PARLEY_FACT_SERIES),
                                                        [PARLEY_TASK_END] = ".end",
                                                        [PARLEY_TASK_RETRY_KEY] = ".retry"};

/* ---- keys ---- */

/* Whether it is ".turn.N", with N from 2 on. */
static bool is_turn(struct parley_bytes suffix) {
    const struct parley_bytes start = PARLEY_BYTES(".turn.");
    bool is_number = suffix.length > start.length && suffix.length < start.length + 16 &&
                     parley_bytes_equal((struct parley_bytes){suffix.data, start.length}, start) &&
                     suffix.data[start.length] != '0';
    for (size_t i = start.length; i < suffix.length; i++) {
        is_number = is_number && suffix.data[i] >= '0' && suffix.data[i] <= '9';
    }
    return is_number;
}

static bool is_key(struct parley_bytes key, struct parley_bytes *id, enum parley_task_fact *fact) {
    const struct parley_bytes uuid = {key.data, UUID_LENGTH};
    if (key.length < UUID_LENGTH || !text_is_uuid(uuid, false)) {
        return false;
    }
    const struct parley_bytes suffix = {key.data + UUID_LENGTH, key.length - UUID_LENGTH};
    *id = uuid;
    if (is_turn(suffix)) {
        *fact = PARLEY_TASK_TURN;
        return true;
    }
    for (size_t i = 0; i < PARLEY_TASK_FACTS; i++) {
        if (parley_bytes_equal(suffix, parley_bytes_of(suffixes[i]))) {
            *fact = (enum parley_task_fact)i;
            return true;
        }
    }
    return false;
}

static bool write_key(struct parley_bytes id, enum parley_task_fact fact,
                      struct parley_buffer *out) {
    if (!text_is_uuid(id, false)) {
        return false;
    }
    for (size_t i = 0; i < id.length; i++) {
        const char c = id.data[i];
        parley_buffer_char(out, (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c));
    }
    parley_buffer_text(out, suffixes[fact]);
    return true;
}

/* ---- values ---- */

static void read_place(const struct roundtable_fact *fact, enum parley_task_fact place,
                       struct parley_task *out) {
    out->streams[place] = roundtable_fact_text(fact, ROUNDTABLE_MEMBER_STREAM);
    out->sequences[place] = roundtable_fact_sequence(fact, ROUNDTABLE_MEMBER_SEQ);
}

static void read_request(const struct roundtable_fact *fact, struct parley_task *out) {
    const struct parley_bytes priority = roundtable_fact_text(fact, ROUNDTABLE_MEMBER_PRIORITY);
    read_place(fact, PARLEY_TASK_REQUEST, out);
    out->task = roundtable_fact_text(fact, ROUNDTABLE_MEMBER_TASK);
    out->domain = fact->domain;
    out->from = roundtable_fact_text(fact, ROUNDTABLE_MEMBER_FROM);
    out->to = roundtable_fact_text(fact, ROUNDTABLE_MEMBER_TO);
    out->retry_of = roundtable_fact_text(fact, ROUNDTABLE_MEMBER_RETRY_OF);
    out->deadline = roundtable_fact_text(fact, ROUNDTABLE_MEMBER_DEADLINE);
    out->requested_at = roundtable_fact_text(fact, ROUNDTABLE_MEMBER_AT);
    out->attempts_max =
        roundtable_fact_option(fact, ROUNDTABLE_MEMBER_ATTEMPTS, ROUNDTABLE_OPTION_ATTEMPTS);
    out->has_priority = priority.data != NULL;
    out->priority = out->has_priority ? (unsigned)text_choice(priority, roundtable_priorities) : 0;
}

/* Of a task that was given back no agent is the holder. */
static void read_turn(const struct roundtable_turn *turn, int64_t now_seconds,
                      struct parley_task *out) {
    const enum roundtable_holding holding = roundtable_turn_holding(turn, now_seconds);
    if (!turn->is_there) {
        return;
    }
    if (turn->kind != ROUNDTABLE_TURN_FAILED) { /* it is the place of that message */
        read_place(turn->fact, PARLEY_TASK_CLAIM, out);
    }
    out->turn = turn->number;
    out->attempt = turn->attempt;
    out->claimed_at = turn->claimed_at;
    out->claim_id = roundtable_fact_text(turn->fact, ROUNDTABLE_MEMBER_CLAIM);
    out->has_lapsed = holding == ROUNDTABLE_LAPSED;
    if (holding == ROUNDTABLE_OPEN_AGAIN) {
        out->not_before = roundtable_fact_text(turn->fact, ROUNDTABLE_MEMBER_NOT_BEFORE);
        out->opens_at_ms = (int64_t)(turn->not_before * 1000);
    } else {
        out->holder = turn->holder;
        out->until = roundtable_fact_text(turn->fact, ROUNDTABLE_MEMBER_UNTIL);
        out->opens_at_ms = turn->has_until ? (int64_t)(turn->until * 1000) : 0;
    }
}

/* A request that was never claimed may say when it is due. Agents claim it from the next whole
 * second on. */
static void read_due(const struct roundtable_task *task, struct parley_task *out) {
    double seconds;
    const struct parley_bytes due =
        roundtable_fact_text(&task->request, ROUNDTABLE_MEMBER_NOT_BEFORE);
    if (!task->claim.is_there && due.data != NULL && text_unix_time(due, &seconds)) {
        out->not_before = due;
        out->opens_at_ms = (int64_t)ceil(seconds) * 1000;
    }
}

/* The first whole millisecond from it on; 0: there is none. */
static int64_t unix_time_ms(struct parley_bytes time) {
    double seconds;
    return time.data != NULL && text_unix_time(time, &seconds) ? (int64_t)ceil(seconds * 1000) : 0;
}

static void read_end(const struct roundtable_fact *fact, struct parley_task *out) {
    const struct parley_value *retryable = &fact->members[ROUNDTABLE_MEMBER_RETRYABLE];
    read_place(fact, PARLEY_TASK_END, out);
    out->has_retryable = retryable->kind == PARLEY_BOOLEAN;
    out->is_retryable = out->has_retryable && retryable->number != 0;
    out->error = roundtable_fact_text(fact, ROUNDTABLE_MEMBER_ERROR);
    out->ended_at = roundtable_fact_text(fact, ROUNDTABLE_MEMBER_AT);
    out->retry_at = roundtable_fact_text(fact, ROUNDTABLE_MEMBER_RETRY_AT);
    out->retry_at_ms = unix_time_ms(out->retry_at);
}

static const char *state_of(const struct roundtable_task *task, int64_t now_seconds) {
    const size_t state = text_choice(roundtable_task_state(task, now_seconds), states);
    return states[state] != NULL ? states[state] : "failed"; /* it has ended somehow */
}

/* Without its message it cannot be given to an agent: it was requested through an older gateway. */
static bool is_known_whole(const struct parley_task *work) {
    return work->task.data != NULL && work->streams[PARLEY_TASK_REQUEST].data != NULL &&
           work->sequences[PARLEY_TASK_REQUEST] != 0;
}

/* The first whole second after it, from which on roundtable_task_has_expired says so. */
static int64_t open_until_ms(struct parley_bytes deadline) {
    double seconds;
    return deadline.data != NULL && text_unix_time(deadline, &seconds)
               ? ((int64_t)seconds + 1) * 1000
               : INT64_MAX;
}

/* It is held without a limit. */
static bool is_held_for_good(const struct parley_task *work) {
    return work->opens_at_ms == 0 && work->not_before.data == NULL;
}

/* When an agent may claim it. Only one that was never claimed expires. */
static void settle_opening(const struct roundtable_task *task, int64_t now_ms,
                           struct parley_task *out) {
    const bool was_claimed = task->claim.is_there;
    const bool can_open =
        !task->end.is_there && is_known_whole(out) && (!was_claimed || !is_held_for_good(out));
    out->open_until_ms = was_claimed ? INT64_MAX : open_until_ms(out->deadline);
    out->is_open = can_open && out->open_until_ms > now_ms && out->opens_at_ms <= now_ms;
    out->opens_at_ms = can_open && out->opens_at_ms > now_ms ? out->opens_at_ms : 0;
}

/* Before settle_opening, which forgets when it opened. */
static void read_moment(const struct roundtable_task *task, struct parley_task *out) {
    const int64_t expires_ms = open_until_ms(out->deadline);
    if (task->end.is_there) {
        return;
    }
    if (!task->claim.is_there && expires_ms != INT64_MAX) {
        out->moment = PARLEY_TASK_EXPIRES;
        out->moment_ms = expires_ms;
    } else if (task->claim.is_there && out->holder.data != NULL && out->opens_at_ms > 0) {
        out->moment = PARLEY_TASK_LAPSES;
        out->moment_ms = out->opens_at_ms;
    }
}

static enum parley_status read_work(struct parley_bytes id,
                                    const struct parley_bytes facts[PARLEY_TASK_FACTS],
                                    int64_t now_ms, struct parley_arena *arena,
                                    struct parley_task *out) {
    const struct parley_bytes values[PARLEY_FACT_KEYS_MAX] = {
        [ROUNDTABLE_FACT_END] = facts[PARLEY_TASK_END],
        [ROUNDTABLE_FACT_CLAIM] = facts[PARLEY_TASK_CLAIM],
        [ROUNDTABLE_FACT_TURN] = facts[PARLEY_TASK_TURN],
        [ROUNDTABLE_FACT_REQUEST] = facts[PARLEY_TASK_REQUEST]};
    struct roundtable_task task;
    struct roundtable_turn turn;
    struct roundtable_fact retry;
    PARLEY_TRY(roundtable_task_read(values, arena, &task));
    PARLEY_TRY(roundtable_fact_read(facts[PARLEY_TASK_RETRY_KEY], arena, &retry));
    *out = (struct parley_task){.id = id, .state = state_of(&task, now_ms / 1000)};
    read_request(&task.request, out);
    read_due(&task, out);
    roundtable_turn_read(&task, &turn);
    read_turn(&turn, now_ms / 1000, out);
    read_end(&task.end, out);
    out->has_lapsed = out->has_lapsed && !task.end.is_there;
    out->retried_by = roundtable_fact_text(&retry, ROUNDTABLE_MEMBER_RETRIED_BY);
    read_moment(&task, out);
    settle_opening(&task, now_ms, out);
    return PARLEY_OK;
}

/* ---- messages ---- */

static void write_claim(struct parley_bytes agent, struct parley_bytes id, const char *message_id,
                        const char *now, struct parley_buffer *out) {
    parley_buffer_format(out,
                         "{\"id\":\"%s\",\"version\":\"1.0\",\"type\":\"task.claimed\","
                         "\"timestamp\":\"%s\",\"from\":",
                         message_id, now);
    parley_buffer_json(out, agent);
    parley_buffer_text(out, ",\"correlationId\":");
    parley_buffer_json(out, id);
    parley_buffer_text(out, ",\"payload\":{}}");
}

static void write_report(enum parley_task_report report, struct parley_bytes agent,
                         struct parley_bytes id, struct parley_bytes payload,
                         struct parley_buffer *out) {
    static const char *const types[] = {[PARLEY_TASK_PROGRESS] = "task.progress",
                                        [PARLEY_TASK_RESULT] = "task.result",
                                        [PARLEY_TASK_FAILED] = "task.failed"};
    parley_buffer_format(out, "{\"type\":\"%s\",\"from\":", types[report]);
    parley_buffer_json(out, agent);
    parley_buffer_text(out, ",\"correlationId\":");
    parley_buffer_json(out, id);
    parley_buffer_text(out, ",\"payload\":");
    parley_buffer_append(out, payload);
    parley_buffer_char(out, '}');
}

static void write_end(struct parley_bytes id, struct parley_bytes to, const char *message_id,
                      const char *now, struct parley_buffer *out) {
    parley_buffer_format(out,
                         "{\"id\":\"%s\",\"version\":\"1.0\",\"type\":\"task.failed\","
                         "\"timestamp\":\"%s\",\"from\":\"" ROUNDTABLE_GATEWAY "\",",
                         message_id, now);
    if (to.data != NULL) {
        parley_buffer_text(out, "\"to\":");
        parley_buffer_json(out, to);
        parley_buffer_char(out, ',');
    }
    parley_buffer_text(out, "\"correlationId\":");
    parley_buffer_json(out, id);
    parley_buffer_text(out, ",\"payload\":{\"error\":\"timeout\",\"retryable\":true}}");
}

/* An agent that follows what is addressed to it learns that it is to stop. */
static void write_cancel(const struct parley_task *task, struct parley_bytes why, const char *now,
                         struct parley_buffer *out) {
    char id[ROUNDTABLE_ID_SIZE];
    roundtable_make_id("cancel:", task->id, id);
    parley_buffer_format(out,
                         "{\"id\":\"%s\",\"version\":\"1.0\",\"type\":\"task.failed\","
                         "\"timestamp\":\"%s\",\"from\":",
                         id, now);
    parley_buffer_json(out, task->from);
    if (task->holder.data != NULL) {
        parley_buffer_text(out, ",\"to\":");
        parley_buffer_json(out, task->holder);
    }
    parley_buffer_text(out, ",\"correlationId\":");
    parley_buffer_json(out, task->id);
    parley_buffer_text(out, ",\"payload\":{\"error\":\"internal_error\",\"message\":");
    parley_buffer_json(out, why.data != NULL ? why : PARLEY_BYTES("The task was cancelled."));
    parley_buffer_text(out, ",\"retryable\":false}}");
}

static void write_retry(struct parley_bytes id, struct parley_bytes agent,
                        struct parley_bytes members, const char *now, struct parley_buffer *out) {
    char own[ROUNDTABLE_ID_SIZE];
    roundtable_make_id(ROUNDTABLE_RETRY, id, own);
    parley_buffer_format(out,
                         "{\"id\":\"%s\",\"version\":\"1.0\",\"type\":\"task.request\","
                         "\"timestamp\":\"%s\",\"from\":",
                         own, now);
    parley_buffer_json(out, agent);
    parley_buffer_text(out, ",\"correlationId\":");
    parley_buffer_json(out, id);
    parley_buffer_append(out, members);
    parley_buffer_char(out, '}');
}

const struct parley_task_kind roundtable_tasks = {
    .states = states,
    .requests = "tasks.>",
    .open_states = STATE_BIT(STATE_REQUESTED) | STATE_BIT(STATE_CLAIMED),
    .retried_states = STATE_BIT(STATE_FAILED) | STATE_BIT(STATE_EXPIRED),
    .expired = "expired",
    .key = is_key,
    .write_key = write_key,
    .read = read_work,
    .domain = roundtable_domain_of,
    .change = roundtable_change,
    .write_turn = roundtable_turn_write,
    .note_suffix = ROUNDTABLE_PROGRESS_SUFFIX,
    .write_note = roundtable_progress_write,
    .places = {[PARLEY_TASK_REQUEST] = ROUNDTABLE_FACT_REQUEST,
               [PARLEY_TASK_CLAIM] = ROUNDTABLE_FACT_CLAIM,
               [PARLEY_TASK_TURN] = ROUNDTABLE_FACT_TURN,
               [PARLEY_TASK_END] = ROUNDTABLE_FACT_END,
               [PARLEY_TASK_RETRY_KEY] = ROUNDTABLE_FACT_RETRY},
    .lease = &roundtable_options[ROUNDTABLE_OPTION_TASK_LEASE],
    .attempts = &roundtable_options[ROUNDTABLE_OPTION_TASK_ATTEMPTS],
    .claim_lease = &roundtable_options[ROUNDTABLE_OPTION_LEASE],
    .write_end = write_end,
    .write_cancel = write_cancel,
    .repeated = (const char *const[]){"to", "priority", "ttl", "payload", NULL},
    .write_retry = write_retry,
    .write_claim = write_claim,
    .write_report = write_report};
