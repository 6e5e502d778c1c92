/* SPDX-License-Identifier: Apache-2.0 */

/* The tasks of Round Table as the keys of their bucket say: `<id>` for the first task.request,
 * `<id>.claim` for the first task.claimed, `<id>.end` for the one that ended it. Nothing here
 * trusts a value: one that cannot be read is ignored. */

#include <math.h>

#include "fact.h"
#include "roundtable.h"
#include "text.h"

enum { UUID_LENGTH = 36 };

static const char *const states[] = {"requested", "claimed", "completed",
                                     "failed",    "expired", NULL};
static const char *const suffixes[PARLEY_TASK_FACTS] = {
    [PARLEY_TASK_REQUEST] = "", [PARLEY_TASK_CLAIM] = ".claim", [PARLEY_TASK_END] = ".end"};

/* ---- keys ---- */

static bool is_key(struct parley_bytes key, struct parley_bytes *id, enum parley_task_fact *fact) {
    const struct parley_bytes uuid = {key.data, UUID_LENGTH};
    if (key.length < UUID_LENGTH || !text_is_uuid(uuid, false)) {
        return false;
    }
    const struct parley_bytes suffix = {key.data + UUID_LENGTH, key.length - UUID_LENGTH};
    for (size_t i = 0; i < PARLEY_TASK_FACTS; i++) {
        if (parley_bytes_equal(suffix, parley_bytes_of(suffixes[i]))) {
            *id = uuid;
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
    out->has_priority = priority.data != NULL;
    out->priority = out->has_priority ? (unsigned)text_choice(priority, roundtable_priorities) : 0;
}

static void read_claim(const struct roundtable_fact *fact, struct parley_task *out) {
    read_place(fact, PARLEY_TASK_CLAIM, out);
    out->holder = roundtable_fact_text(fact, ROUNDTABLE_MEMBER_HOLDER);
    out->claim_id = roundtable_fact_text(fact, ROUNDTABLE_MEMBER_CLAIM);
    out->claimed_at = roundtable_fact_text(fact, ROUNDTABLE_MEMBER_AT);
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

static enum parley_status read_work(struct parley_bytes id,
                                    const struct parley_bytes facts[PARLEY_TASK_FACTS],
                                    int64_t now_ms, struct parley_arena *arena,
                                    struct parley_task *out) {
    const struct parley_bytes values[PARLEY_FACT_KEYS_MAX] = {
        [ROUNDTABLE_FACT_END] = facts[PARLEY_TASK_END],
        [ROUNDTABLE_FACT_CLAIM] = facts[PARLEY_TASK_CLAIM],
        [ROUNDTABLE_FACT_REQUEST] = facts[PARLEY_TASK_REQUEST]};
    struct roundtable_task task;
    PARLEY_TRY(roundtable_task_read(values, arena, &task));
    *out = (struct parley_task){.id = id, .state = state_of(&task, now_ms / 1000)};
    read_request(&task.request, out);
    read_claim(&task.claim, out);
    read_end(&task.end, out);
    out->open_until_ms = open_until_ms(out->deadline);
    out->is_open = !task.claim.is_there && !task.end.is_there && is_known_whole(out) &&
                   out->open_until_ms > now_ms;
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

const struct parley_task_kind roundtable_tasks = {.states = states,
                                                  .requests = "tasks.>",
                                                  .lapsed = "expired",
                                                  .key = is_key,
                                                  .write_key = write_key,
                                                  .read = read_work,
                                                  .domain = roundtable_domain_of,
                                                  .write_claim = write_claim,
                                                  .write_report = write_report};
