/* SPDX-License-Identifier: Apache-2.0 */

/* Reads and writes the facts of a task. A value is JSON of a single level; nested and unknown
 * members are skipped. */

#include "fact.h"

#include <inttypes.h>
#include <math.h>

#include "fact_value.h"
#include "roundtable.h"
#include "text.h"
#include "turn.h"

enum {
    VALUE_BYTES_MAX = 8192, /* a larger value is not one that parley wrote */
    AGENT_POINTS_MAX = 128,
    TASK_BYTES_MAX = 128,
    SHORT_BYTES_MAX = 128,
    REASON_BYTES_MAX = 256,
};

/* ---- what members can be ---- */

static bool is_short(struct parley_bytes text) {
    return text.length > 0 && text.length <= SHORT_BYTES_MAX;
}

static bool is_reason(struct parley_bytes text) {
    return text.length <= REASON_BYTES_MAX;
}

static bool is_stream(struct parley_bytes text) {
    return is_short(text) && text_is_token(text);
}

static bool is_agent(struct parley_bytes text) {
    return text_is_token(text) && text_code_points(text) <= AGENT_POINTS_MAX;
}

static bool is_uuid(struct parley_bytes text) {
    return text_is_uuid(text, false);
}

static bool is_priority(struct parley_bytes text) {
    return text_is_one_of(text, roundtable_priorities);
}

static bool is_type(struct parley_bytes text) {
    return text_is_one_of(text, roundtable_types);
}

static bool is_retry(struct parley_bytes text) {
    return parley_bytes_equal(text, PARLEY_BYTES("failed"));
}

static bool is_end_state(struct parley_bytes text) {
    return text_is_one_of(text, (const char *const[]){"completed", "failed", NULL});
}

static bool is_task(struct parley_bytes text) {
    return text.length <= TASK_BYTES_MAX && text_is_domain(roundtable_domain_of(text));
}

static const struct {
    const char *name;
    enum parley_kind kind;
    bool (*is_as_written)(struct parley_bytes text);
} table[ROUNDTABLE_MEMBER_COUNT] = {
    [ROUNDTABLE_MEMBER_STREAM] = {"stream", PARLEY_STRING, is_stream},
    [ROUNDTABLE_MEMBER_SEQ] = {"seq", PARLEY_NUMBER, NULL},
    [ROUNDTABLE_MEMBER_AT] = {"at", PARLEY_STRING, text_is_time},
    [ROUNDTABLE_MEMBER_TASK] = {"task", PARLEY_STRING, is_task},
    [ROUNDTABLE_MEMBER_FROM] = {"from", PARLEY_STRING, is_agent},
    [ROUNDTABLE_MEMBER_TO] = {"to", PARLEY_STRING, is_agent},
    [ROUNDTABLE_MEMBER_PRIORITY] = {"priority", PARLEY_STRING, is_priority},
    [ROUNDTABLE_MEMBER_DEADLINE] = {"deadline", PARLEY_STRING, text_is_time},
    [ROUNDTABLE_MEMBER_RETRY_OF] = {"retry_of", PARLEY_STRING, is_uuid},
    [ROUNDTABLE_MEMBER_DIGEST] = {"digest", PARLEY_STRING, is_short},
    [ROUNDTABLE_MEMBER_LEASE] = {"lease", PARLEY_NUMBER, NULL},
    [ROUNDTABLE_MEMBER_ATTEMPTS] = {"attempts", PARLEY_NUMBER, NULL},
    [ROUNDTABLE_MEMBER_RETRY] = {"retry", PARLEY_STRING, is_retry},
    [ROUNDTABLE_MEMBER_HOLDER] = {"holder", PARLEY_STRING, is_agent},
    [ROUNDTABLE_MEMBER_CLAIM] = {"claim", PARLEY_STRING, is_uuid},
    [ROUNDTABLE_MEMBER_N] = {"n", PARLEY_NUMBER, NULL},
    [ROUNDTABLE_MEMBER_KIND] = {"kind", PARLEY_STRING, is_short},
    [ROUNDTABLE_MEMBER_ATTEMPT] = {"attempt", PARLEY_NUMBER, NULL},
    [ROUNDTABLE_MEMBER_UNTIL] = {"until", PARLEY_STRING, text_is_time},
    [ROUNDTABLE_MEMBER_NOT_BEFORE] = {"not_before", PARLEY_STRING, text_is_time},
    [ROUNDTABLE_MEMBER_WHY] = {"why", PARLEY_STRING, is_reason},
    [ROUNDTABLE_MEMBER_FAILURE] = {"failure", PARLEY_STRING, is_uuid},
    [ROUNDTABLE_MEMBER_FAILED_SEQ] = {"failed_seq", PARLEY_NUMBER, NULL},
    [ROUNDTABLE_MEMBER_CLAIMED_AT] = {"claimed_at", PARLEY_STRING, text_is_time},
    [ROUNDTABLE_MEMBER_STATE] = {"state", PARLEY_STRING, is_end_state},
    [ROUNDTABLE_MEMBER_TYPE] = {"type", PARLEY_STRING, is_type},
    [ROUNDTABLE_MEMBER_END] = {"end", PARLEY_STRING, is_uuid},
    [ROUNDTABLE_MEMBER_ERROR] = {"error", PARLEY_STRING, is_short},
    [ROUNDTABLE_MEMBER_RETRYABLE] = {"retryable", PARLEY_BOOLEAN, NULL},
    [ROUNDTABLE_MEMBER_RETRY_AT] = {"retry_at", PARLEY_STRING, text_is_time},
    [ROUNDTABLE_MEMBER_RETRIED_BY] = {"retried_by", PARLEY_STRING, is_uuid},
    [ROUNDTABLE_MEMBER_REQUEST] = {"request", PARLEY_NUMBER, NULL},
};

static bool is_as_written(enum roundtable_member member, const struct parley_value *value) {
    if (value->kind != table[member].kind) {
        return false;
    }
    if (value->kind == PARLEY_NUMBER) { /* a sequence */
        return fact_value_number(value) != 0;
    }
    return table[member].is_as_written == NULL || table[member].is_as_written(value->text);
}

/* ---- reading ---- */

static enum parley_status read_object(struct parley_bytes value, struct parley_arena *arena,
                                      struct roundtable_fact *out) {
    const char *names[ROUNDTABLE_MEMBER_COUNT + 1] = {NULL};
    for (size_t i = 0; i < ROUNDTABLE_MEMBER_COUNT; i++) {
        names[i] = table[i].name;
    }
    PARLEY_TRY(fact_value_read(value, names, arena, out->members));
    for (size_t i = 0; i < ROUNDTABLE_MEMBER_COUNT; i++) {
        if (!is_as_written((enum roundtable_member)i, &out->members[i])) {
            out->members[i] = (struct parley_value){.kind = PARLEY_ABSENT};
        }
    }
    const struct parley_bytes task = roundtable_fact_text(out, ROUNDTABLE_MEMBER_TASK);
    out->domain = task.data != NULL ? roundtable_domain_of(task) : task;
    return PARLEY_OK;
}

enum parley_status roundtable_fact_read(struct parley_bytes value, struct parley_arena *arena,
                                        struct roundtable_fact *out) {
    *out = (struct roundtable_fact){.is_there = value.data != NULL};
    if (value.data == NULL) {
        return PARLEY_OK;
    }
    if (value.length > 0 && value.length <= VALUE_BYTES_MAX && value.data[0] == '{') {
        return read_object(value, arena, out);
    }
    if (text_is_domain(value)) {
        out->domain = value;
    }
    return PARLEY_OK;
}

enum parley_status roundtable_task_read(const struct parley_bytes values[PARLEY_FACT_KEYS_MAX],
                                        struct parley_arena *arena, struct roundtable_task *out) {
    PARLEY_TRY(roundtable_fact_read(values[ROUNDTABLE_FACT_END], arena, &out->end));
    PARLEY_TRY(roundtable_fact_read(values[ROUNDTABLE_FACT_CLAIM], arena, &out->claim));
    PARLEY_TRY(roundtable_fact_read(values[ROUNDTABLE_FACT_TURN], arena, &out->turn));
    return roundtable_fact_read(values[ROUNDTABLE_FACT_REQUEST], arena, &out->request);
}

struct parley_bytes roundtable_fact_text(const struct roundtable_fact *fact,
                                         enum roundtable_member member) {
    return parley_value_text(&fact->members[member]);
}

uint64_t roundtable_fact_sequence(const struct roundtable_fact *fact,
                                  enum roundtable_member member) {
    return fact_value_number(&fact->members[member]);
}

uint64_t roundtable_fact_option(const struct roundtable_fact *fact, enum roundtable_member member,
                                enum roundtable_option option) {
    const struct parley_option *row = &roundtable_options[option];
    const uint64_t number = fact_value_number(&fact->members[member]);
    return number >= row->minimum && number <= row->maximum ? number : 0;
}

/* ---- the state of a task ---- */

bool roundtable_task_has_expired(const struct roundtable_task *task, int64_t now_seconds) {
    double deadline;
    return now_seconds != 0 && !task->end.is_there && !task->claim.is_there &&
           text_unix_time(roundtable_fact_text(&task->request, ROUNDTABLE_MEMBER_DEADLINE),
                          &deadline) &&
           deadline < (double)now_seconds;
}

struct parley_bytes roundtable_task_state(const struct roundtable_task *task, int64_t now_seconds) {
    struct roundtable_turn turn;
    if (task->end.is_there) {
        return roundtable_fact_text(&task->end, ROUNDTABLE_MEMBER_STATE);
    }
    roundtable_turn_read(task, &turn);
    if (roundtable_turn_holding(&turn, now_seconds) == ROUNDTABLE_HELD) {
        return PARLEY_BYTES("claimed");
    }
    return roundtable_task_has_expired(task, now_seconds) ? PARLEY_BYTES("expired")
                                                          : PARLEY_BYTES("requested");
}

/* ---- writing ---- */

/* `text` as a JSON string, or null where it is missing. */
void roundtable_fact_write_text(struct parley_buffer *out, enum roundtable_member member,
                                struct parley_bytes text) {
    parley_buffer_text(out, ",\"");
    parley_buffer_text(out, table[member].name);
    parley_buffer_text(out, "\":");
    if (text.data != NULL) {
        parley_buffer_json(out, text);
    } else {
        parley_buffer_text(out, "null");
    }
}

/* Ids are compared as texts. */
void roundtable_fact_write_id(struct parley_buffer *out, enum roundtable_member member,
                              struct parley_bytes id) {
    char lower[64];
    for (size_t i = 0; i < id.length && i < sizeof lower; i++) {
        const bool is_capital = id.data[i] >= 'A' && id.data[i] <= 'F';
        lower[i] = (char)(is_capital ? id.data[i] + ('a' - 'A') : id.data[i]);
    }
    roundtable_fact_write_text(
        out, member,
        (struct parley_bytes){id.data != NULL ? lower : NULL,
                              id.length < sizeof lower ? id.length : sizeof lower});
}

void roundtable_fact_write_number(struct parley_buffer *out, enum roundtable_member member,
                                  uint64_t number) {
    if (number != 0) {
        parley_buffer_format(out, ",\"%s\":%" PRIu64, table[member].name, number);
    }
}

void roundtable_fact_copy(struct parley_buffer *out, const struct roundtable_fact *from,
                          enum roundtable_member member) {
    const uint64_t sequence = roundtable_fact_sequence(from, member);
    if (table[member].kind == PARLEY_NUMBER && sequence != 0) {
        roundtable_fact_write_number(out, member, sequence);
    } else {
        roundtable_fact_write_text(out, member, roundtable_fact_text(from, member));
    }
}

static void write_field(struct parley_buffer *out, enum roundtable_member member,
                        const struct parley_message *message, enum roundtable_field field) {
    roundtable_fact_write_text(out, member, parley_message_text(message, field));
}

static void write_option(struct parley_buffer *out, enum roundtable_member member,
                         const struct parley_message *message, enum roundtable_option option) {
    roundtable_fact_write_number(out, member, message->options.values[option].number);
}

static void write_time(struct parley_buffer *out, enum roundtable_member member, bool is_known,
                       double seconds) {
    char text[TEXT_TIME_SIZE];
    text_write_unix_time(seconds, text);
    roundtable_fact_write_text(out, member, parley_bytes_of(is_known ? text : NULL));
}

void roundtable_fact_write_request_place(struct parley_buffer *out, uint64_t request) {
    parley_buffer_text(out, ",\"request\":");
    if (request != 0) {
        parley_buffer_uint(out, request);
    } else {
        parley_buffer_text(out, "null");
    }
}

void roundtable_fact_write_request(const struct parley_message *message, const char *digest,
                                   struct parley_buffer *out) {
    const uint64_t due = message->options.values[ROUNDTABLE_OPTION_NOT_BEFORE].number;
    double deadline = 0;
    const bool has_deadline = roundtable_deadline(message->values, &message->options, &deadline);
    struct parley_bytes priority = parley_message_text(message, ROUNDTABLE_PRIORITY);
    if (priority.data == NULL) {
        priority = PARLEY_BYTES("normal"); /* contract, Priority Levels */
    }
    write_field(out, ROUNDTABLE_MEMBER_TASK, message, ROUNDTABLE_TASK);
    write_field(out, ROUNDTABLE_MEMBER_FROM, message, ROUNDTABLE_FROM);
    write_field(out, ROUNDTABLE_MEMBER_TO, message, ROUNDTABLE_TO);
    roundtable_fact_write_text(out, ROUNDTABLE_MEMBER_PRIORITY, priority);
    write_field(out, ROUNDTABLE_MEMBER_AT, message, ROUNDTABLE_TIMESTAMP);
    write_time(out, ROUNDTABLE_MEMBER_DEADLINE, has_deadline, deadline);
    roundtable_fact_write_id(out, ROUNDTABLE_MEMBER_RETRY_OF,
                             parley_message_text(message, ROUNDTABLE_CORRELATION_ID));
    roundtable_fact_write_text(out, ROUNDTABLE_MEMBER_DIGEST, parley_bytes_of(digest));
    write_option(out, ROUNDTABLE_MEMBER_LEASE, message, ROUNDTABLE_OPTION_LEASE);
    write_option(out, ROUNDTABLE_MEMBER_ATTEMPTS, message, ROUNDTABLE_OPTION_ATTEMPTS);
    if (message->options.values[ROUNDTABLE_OPTION_RETRY].number == ROUNDTABLE_RETRY_FAILED) {
        roundtable_fact_write_text(out, ROUNDTABLE_MEMBER_RETRY, PARLEY_BYTES("failed"));
    }
    if (due != 0) {
        write_time(out, ROUNDTABLE_MEMBER_NOT_BEFORE, true, (double)due);
    }
}

/* "retryable", "retryAfterSeconds" (contract, task.failed). */
static void write_retry(const struct parley_message *message, struct parley_buffer *out) {
    const struct parley_value *retryable = &message->values[ROUNDTABLE_RETRYABLE];
    const struct parley_value *after = &message->values[ROUNDTABLE_RETRY_AFTER];
    const bool is_said = message->type == ROUNDTABLE_FAILED && retryable->kind == PARLEY_BOOLEAN;
    const bool is_retryable = is_said && retryable->number != 0;
    double at = 0;
    const bool has_time = is_retryable && after->kind == PARLEY_NUMBER &&
                          text_unix_time(parley_message_text(message, ROUNDTABLE_TIMESTAMP), &at);
    parley_buffer_text(out, ",\"retryable\":");
    parley_buffer_text(out, is_retryable ? "true" : is_said ? "false" : "null");
    /* In whole seconds, and not before the time that was asked for. */
    write_time(out, ROUNDTABLE_MEMBER_RETRY_AT, has_time, has_time ? ceil(at + after->number) : 0);
}

void roundtable_fact_write_end(const struct parley_message *message, uint64_t request,
                               struct parley_buffer *out) {
    const bool is_failure = message->type == ROUNDTABLE_FAILED;
    const struct parley_bytes none = {0};
    const struct parley_bytes error = parley_message_text(message, ROUNDTABLE_ERROR);
    roundtable_fact_write_text(out, ROUNDTABLE_MEMBER_STATE,
                               is_failure ? PARLEY_BYTES("failed")
                                          : parley_message_text(message, ROUNDTABLE_STATUS));
    write_field(out, ROUNDTABLE_MEMBER_TYPE, message, ROUNDTABLE_TYPE);
    roundtable_fact_write_id(out, ROUNDTABLE_MEMBER_END,
                             parley_message_text(message, ROUNDTABLE_ID));
    write_field(out, ROUNDTABLE_MEMBER_FROM, message, ROUNDTABLE_FROM);
    write_field(out, ROUNDTABLE_MEMBER_AT, message, ROUNDTABLE_TIMESTAMP);
    roundtable_fact_write_text(out, ROUNDTABLE_MEMBER_ERROR,
                               is_failure && error.length > 0 ? text_prefix(error, SHORT_BYTES_MAX)
                                                              : none);
    write_retry(message, out);
    roundtable_fact_write_request_place(out, request);
}
