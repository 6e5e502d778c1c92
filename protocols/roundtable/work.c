/* SPDX-License-Identifier: Apache-2.0 */

/* The tasks of Round Table as the keys of their bucket say: `<id>` for the first task.request,
 * `<id>.claim` for the first task.claimed, `<id>.end` for the one that ended it. Nothing here
 * trusts a value: one that cannot be read is ignored. */

#include "roundtable.h"

#include "fact_value.h"
#include "text.h"

enum { UUID_LENGTH = 36 };

static const char *const states[] = {"requested", "claimed", "completed",
                                     "failed",    "expired", NULL};
static const char *const suffixes[PARLEY_WORK_FACTS] = {
    [PARLEY_WORK_REQUEST] = "", [PARLEY_WORK_CLAIM] = ".claim", [PARLEY_WORK_END] = ".end"};

/* ---- keys ---- */

static bool is_key(struct parley_bytes key, struct parley_bytes *id, enum parley_work_fact *fact) {
    const struct parley_bytes uuid = {key.data, UUID_LENGTH};
    if (key.length < UUID_LENGTH || !text_is_uuid(uuid, false)) {
        return false;
    }
    const struct parley_bytes suffix = {key.data + UUID_LENGTH, key.length - UUID_LENGTH};
    for (size_t i = 0; i < PARLEY_WORK_FACTS; i++) {
        if (parley_bytes_equal(suffix, parley_bytes_of(suffixes[i]))) {
            *id = uuid;
            *fact = (enum parley_work_fact)i;
            return true;
        }
    }
    return false;
}

static bool write_key(struct parley_bytes id, enum parley_work_fact fact,
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

static void read_time(const struct parley_value *value, struct parley_bytes *out) {
    const struct parley_bytes text = parley_value_text(value);
    if (text.data != NULL && text_is_time(text)) {
        *out = text;
    }
}

static void read_place(const struct parley_value *stream, const struct parley_value *sequence,
                       enum parley_work_fact fact, struct parley_work *out) {
    out->streams[fact] = parley_value_text(stream);
    out->sequences[fact] = fact_value_number(sequence);
}

/* What older gateways wrote: the domain alone. */
static bool is_bare_domain(struct parley_bytes value) {
    return value.length > 0 && value.data[0] != '{' && text_is_domain(value);
}

static enum parley_status read_request(struct parley_bytes value, struct parley_arena *arena,
                                       struct parley_work *out) {
    enum { STREAM, SEQ, TASK, FROM, TO, PRIORITY, DEADLINE, AT, RETRY_OF, COUNT };
    static const char *const names[] = {"stream",   "seq",      "task", "from",     "to",
                                        "priority", "deadline", "at",   "retry_of", NULL};
    struct parley_value values[COUNT];
    if (is_bare_domain(value)) {
        out->domain = value;
        return PARLEY_OK;
    }
    PARLEY_TRY(fact_value_read(value, names, arena, values));
    read_place(&values[STREAM], &values[SEQ], PARLEY_WORK_REQUEST, out);
    out->task = parley_value_text(&values[TASK]);
    out->domain = roundtable_domain_of(out->task);
    out->from = parley_value_text(&values[FROM]);
    out->to = parley_value_text(&values[TO]);
    out->retry_of = parley_value_text(&values[RETRY_OF]);
    const size_t priority =
        text_choice(parley_value_text(&values[PRIORITY]), roundtable_priorities);
    out->has_priority = roundtable_priorities[priority] != NULL;
    out->priority = out->has_priority ? (unsigned)priority : 0;
    read_time(&values[DEADLINE], &out->deadline);
    read_time(&values[AT], &out->requested_at);
    return PARLEY_OK;
}

static enum parley_status read_claim(struct parley_bytes value, struct parley_arena *arena,
                                     struct parley_work *out) {
    enum { STREAM, SEQ, HOLDER, CLAIM, AT, COUNT };
    static const char *const names[] = {"stream", "seq", "holder", "claim", "at", NULL};
    struct parley_value values[COUNT];
    PARLEY_TRY(fact_value_read(value, names, arena, values));
    read_place(&values[STREAM], &values[SEQ], PARLEY_WORK_CLAIM, out);
    out->holder = parley_value_text(&values[HOLDER]);
    out->claim_id = parley_value_text(&values[CLAIM]);
    read_time(&values[AT], &out->claimed_at);
    return PARLEY_OK;
}

static enum parley_status read_end(struct parley_bytes value, struct parley_arena *arena,
                                   struct parley_work *out) {
    enum { STREAM, SEQ, STATE, AT, RETRYABLE, ERROR, COUNT };
    static const char *const names[] = {"stream", "seq", "state", "at", "retryable", "error", NULL};
    struct parley_value values[COUNT];
    PARLEY_TRY(fact_value_read(value, names, arena, values));
    read_place(&values[STREAM], &values[SEQ], PARLEY_WORK_END, out);
    out->state = parley_value_is(&values[STATE], "completed") ? "completed" : "failed";
    out->has_retryable = values[RETRYABLE].kind == PARLEY_BOOLEAN;
    out->is_retryable = out->has_retryable && values[RETRYABLE].number != 0;
    out->error = parley_value_text(&values[ERROR]);
    read_time(&values[AT], &out->ended_at);
    return PARLEY_OK;
}

/* Without its message it cannot be given to anybody: it was asked for through an older gateway. */
static bool is_known_whole(const struct parley_work *work) {
    return work->task.data != NULL && work->streams[PARLEY_WORK_REQUEST].data != NULL &&
           work->sequences[PARLEY_WORK_REQUEST] != 0;
}

static int64_t deadline_ms(struct parley_bytes deadline) {
    double seconds;
    return deadline.data != NULL && text_unix_time(deadline, &seconds) ? (int64_t)(seconds * 1000)
                                                                       : INT64_MAX;
}

static enum parley_status read_work(struct parley_bytes id,
                                    const struct parley_bytes facts[PARLEY_WORK_FACTS],
                                    int64_t now_ms, struct parley_arena *arena,
                                    struct parley_work *out) {
    *out = (struct parley_work){.id = id, .state = "requested"};
    if (facts[PARLEY_WORK_REQUEST].data != NULL) {
        PARLEY_TRY(read_request(facts[PARLEY_WORK_REQUEST], arena, out));
    }
    if (facts[PARLEY_WORK_CLAIM].data != NULL) {
        out->state = "claimed";
        PARLEY_TRY(read_claim(facts[PARLEY_WORK_CLAIM], arena, out));
    }
    if (facts[PARLEY_WORK_END].data != NULL) {
        PARLEY_TRY(read_end(facts[PARLEY_WORK_END], arena, out));
    }
    out->open_until_ms = deadline_ms(out->deadline);
    const bool is_unclaimed =
        facts[PARLEY_WORK_CLAIM].data == NULL && facts[PARLEY_WORK_END].data == NULL;
    if (is_unclaimed && out->open_until_ms <= now_ms) {
        out->state = "expired";
    } else {
        out->is_open = is_unclaimed && is_known_whole(out);
    }
    return PARLEY_OK;
}

/* ---- the claim ---- */

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

const struct parley_work_kind roundtable_work = {.states = states,
                                                 .requests = "tasks.>",
                                                 .lapsed = "expired",
                                                 .key = is_key,
                                                 .write_key = write_key,
                                                 .read = read_work,
                                                 .domain = roundtable_domain_of,
                                                 .write_claim = write_claim};
