/* SPDX-License-Identifier: Apache-2.0 */

/* The dialect `o`: what the agent and the supervisor of kosmoli/o send
 * (docs/protocols/supervisor.md#o): times that are floats or milliseconds, operations of their own
 * in the log, and errors of another type. */

#include <math.h>

#include <parley/dialect.h>

#include "json_pick.h"
#include "supervisor.h"

enum said {
    TYPE,
    TIMESTAMP,
    DATA,
    OPERATION,
    OPERATION_DATA,
    PARAMS,
    FAULT,
    SAID_COUNT,
};

static const struct json_pick names[SAID_COUNT] = {
    [TYPE] = {.name = "type"},
    [TIMESTAMP] = {.name = "timestamp"},
    [DATA] = {.name = "data"},
    [OPERATION] = {.parent = "data", .name = "operation"},
    [OPERATION_DATA] = {.parent = "data", .name = "data"},
    [PARAMS] = {.parent = "data", .name = "params"},
    [FAULT] = {.parent = "data", .name = "error"},
};

/* The operations of O's log, and what they are in the contract's. Of others (what was removed, what
 * was said) that has none. */
static const struct {
    const char *name, *operation;
} operations[] = {
    {"memory-add-short-term", "memory_add"}, {"memory-add-long-term", "memory_add"},
    {"tool-register", "tool_register"},      {"register-tool", "tool_register"},
    {"state-set", "state_update"},           {"state-delete", "state_update"},
    {"state-clear", "state_update"},
};

static const char *operation_of(const struct parley_value *name) {
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        if (parley_value_is(name, operations[i].name)) {
            return operations[i].operation;
        }
    }
    return NULL;
}

/* ---- times ---- */

/* A Unix time that is not a whole number of seconds, and is one of this age: in seconds with a
 * fraction, or, as the supervisor's requests have it, in milliseconds.
 * Returns: false: it is left as it is. */
static bool is_other_time(const struct json_pick *timestamp, uint64_t *out_seconds) {
    const double seconds_max = 1e11, ms_max = 1e14, ms_a_second = 1000;
    const double number = timestamp->value.number;
    if (timestamp->value.kind != PARLEY_NUMBER || number < 0 || number >= ms_max) {
        return false;
    }
    const size_t length = strcspn(timestamp->raw.data, ",}] \t\r\n");
    const bool is_float = memchr(timestamp->raw.data, '.', length) != NULL ||
                          memchr(timestamp->raw.data, 'e', length) != NULL ||
                          memchr(timestamp->raw.data, 'E', length) != NULL;
    const bool is_ms = number >= seconds_max;
    *out_seconds = (uint64_t)floor(is_ms ? number / ms_a_second : number);
    return is_float || is_ms;
}

static void write_time(const struct json_pick *timestamp, struct parley_buffer *out) {
    uint64_t seconds;
    if (timestamp->value.kind == PARLEY_ABSENT) {
        return;
    }
    parley_buffer_text(out, ",\"timestamp\":");
    if (is_other_time(timestamp, &seconds)) {
        parley_buffer_uint(out, seconds);
    } else {
        json_pick_append(timestamp->raw, out);
    }
}

/* ---- messages ---- */

/* An object that begins at `raw`, as a text of its own.  Returns: data NULL: no memory. */
static struct parley_bytes object_at(struct parley_bytes raw, struct parley_buffer *memory) {
    parley_buffer_clear(memory);
    json_pick_append(raw, memory);
    return memory->has_failed ? (struct parley_bytes){0} : parley_buffer_bytes(memory);
}

/* {"operation":"state-set","data":{…}} as {"operation":"state_update","params":{…}}. The name that
 * it had goes along, for more than one becomes the same. */
static enum parley_status write_entry(const struct json_pick *said, struct parley_arena *arena,
                                      struct parley_buffer *out) {
    static const char *const apart[] = {"operation", "data", "params", NULL};
    const struct json_pick *params =
        &said[said[PARAMS].value.kind != PARLEY_ABSENT ? PARAMS : OPERATION_DATA];
    const char *operation = operation_of(&said[OPERATION].value);
    struct parley_buffer memory;
    parley_buffer_init(&memory);
    const struct parley_bytes data = object_at(said[DATA].raw, &memory);
    parley_buffer_text(out, ",\"data\":{\"operation\":");
    parley_buffer_json(out, parley_bytes_of(operation));
    parley_buffer_text(out, ",\"o_operation\":");
    parley_buffer_json(out, said[OPERATION].value.text);
    if (params->value.kind != PARLEY_ABSENT) {
        parley_buffer_text(out, ",\"params\":");
        json_pick_append(params->raw, out);
    }
    const enum parley_status status =
        data.data != NULL ? json_pick_others(data, arena, apart, out) : PARLEY_E_MEMORY;
    parley_buffer_char(out, '}');
    parley_buffer_finish(&memory);
    return status;
}

/* {"error":"…","agent_id":"…"} as the error of that code, with all that was said as its context. */
static void write_error(const struct json_pick *said, struct parley_buffer *out) {
    parley_buffer_text(out, ",\"error\":{\"code\":\"agent_error\",\"message\":");
    json_pick_append(said[FAULT].raw, out);
    parley_buffer_text(out, ",\"context\":");
    json_pick_append(said[DATA].raw, out);
    parley_buffer_char(out, '}');
}

/* `json`: of the message that was sent. */
static enum parley_status translate(const struct json_pick *said, struct parley_bytes json,
                                    struct parley_arena *arena, struct parley_buffer *out) {
    static const char *const but_data[] = {"type", "timestamp", "data", NULL};
    static const char *const but_time[] = {"type", "timestamp", NULL};
    const bool is_entry = parley_value_is(&said[TYPE].value, "wal_entry") &&
                          operation_of(&said[OPERATION].value) != NULL;
    const bool is_error = parley_value_is(&said[TYPE].value, "agent_error") &&
                          said[FAULT].value.kind == PARLEY_STRING;
    uint64_t seconds;
    if (said[TYPE].value.kind != PARLEY_STRING ||
        !(is_entry || is_error || is_other_time(&said[TIMESTAMP], &seconds))) {
        return PARLEY_OK;
    }
    parley_buffer_text(out, "{\"type\":");
    parley_buffer_json(out, is_error ? PARLEY_BYTES("error") : said[TYPE].value.text);
    write_time(&said[TIMESTAMP], out);
    if (is_entry) {
        PARLEY_TRY(write_entry(said, arena, out));
    } else if (is_error) {
        write_error(said, out);
    }
    PARLEY_TRY(json_pick_others(json, arena, is_entry || is_error ? but_data : but_time, out));
    parley_buffer_char(out, '}');
    return PARLEY_OK;
}

static enum parley_status to_contract(struct parley_message *message, struct parley_buffer *out) {
    struct json_pick said[SAID_COUNT];
    struct parley_buffer json;
    memcpy(said, names, sizeof said);
    parley_buffer_init(&json);
    enum parley_status status = message->protocol->encode(message, &json);
    const struct parley_bytes text = parley_buffer_bytes(&json);
    if (status == PARLEY_OK) {
        status = json_pick(text, &message->arena, said, SAID_COUNT);
    }
    if (status == PARLEY_OK) {
        status = translate(said, text, &message->arena, out);
    }
    parley_buffer_finish(&json);
    return status;
}

const struct parley_dialect supervisor_dialects[] = {
    {.name = "o",
     .summary = "What the agent and the supervisor of kosmoli/o send: float timestamps, operations "
                "of their own in the log, `agent_error`.",
     .to_contract = to_contract},
    {.name = NULL},
};
