/* SPDX-License-Identifier: Apache-2.0 */

/* See api_fields.h. The event reader of protocols/json goes over the answer once. */

#include "api_fields.h"

#include "json_reader.h"

struct reading {
    struct answer_member *members;
    size_t count;
    size_t depth;               /* of the object that is being read; the answer's is 1 */
    struct parley_bytes object; /* the member of the answer that is being read */
    struct parley_bytes name;   /* the current member */
};

static bool is_named(const char *name, struct parley_bytes key) {
    return name != NULL && parley_bytes_equal(parley_bytes_of(name), key);
}

static bool is_current(const struct reading *reading, const struct answer_member *member) {
    return is_named(member->name, reading->name) &&
           (reading->depth == 1 ? member->object == NULL
                                : is_named(member->object, reading->object));
}

/* Whether a member of the current member is asked for. */
static bool is_parent(const struct reading *reading) {
    for (size_t i = 0; i < reading->count; i++) {
        if (is_named(reading->members[i].object, reading->name)) {
            return reading->depth == 1;
        }
    }
    return false;
}

static bool on_value(void *context, const struct parley_value *value) {
    struct reading *reading = context;
    if (reading->depth == 0) {
        reading->depth = value->kind == PARLEY_OBJECT;
        return value->kind == PARLEY_OBJECT;
    }
    for (size_t i = 0; i < reading->count; i++) {
        if (is_current(reading, &reading->members[i])) {
            reading->members[i].value = *value;
        }
    }
    if (value->kind != PARLEY_OBJECT || !is_parent(reading)) {
        return false;
    }
    reading->object = reading->name;
    reading->depth++;
    return true;
}

static bool on_key(void *context, struct parley_bytes key) {
    struct reading *reading = context;
    reading->name = key;
    bool is_asked_for = is_parent(reading);
    for (size_t i = 0; i < reading->count; i++) {
        is_asked_for |= is_current(reading, &reading->members[i]);
    }
    return is_asked_for;
}

static void on_leave(void *context, size_t count) {
    (void)count;
    struct reading *reading = context;
    reading->depth--;
}

static void clear(struct answer_member *members, size_t count) {
    for (size_t i = 0; i < count; i++) {
        members[i].value = (struct parley_value){.kind = PARLEY_ABSENT};
    }
}

enum parley_status api_fields_read(struct parley_bytes answer, struct answer_member *members,
                                   size_t count, struct parley_arena *arena) {
    struct reading reading = {.members = members, .count = count};
    const struct json_events events = {
        .context = &reading, .value = on_value, .key = on_key, .leave = on_leave};
    struct json_fault fault;
    clear(members, count);
    switch (json_reader_read(answer, &events, arena, NULL, &fault)) {
    case JSON_READER_READ:
        break;
    case JSON_READER_FAULT:
        clear(members, count);
        break;
    case JSON_READER_MEMORY:
        return PARLEY_E_MEMORY;
    }
    return PARLEY_OK;
}

/* By its digits, since a double does not have all integers of 64 bits. */
uint64_t answer_member_number(struct parley_bytes answer, const struct answer_member *member) {
    uint64_t number = 0;
    if (member->value.kind == PARLEY_NUMBER) {
        for (size_t at = member->value.offset;
             at < answer.length && answer.data[at] >= '0' && answer.data[at] <= '9'; at++) {
            number = number * 10 + (uint64_t)(answer.data[at] - '0');
        }
    }
    return number;
}

int answer_error(struct parley_bytes answer,
                 const struct answer_member members[ANSWER_ERROR_COUNT]) {
    if (members[ANSWER_ERROR].value.kind == PARLEY_ABSENT) {
        return 0;
    }
    uint64_t code = answer_member_number(answer, &members[ANSWER_ERR_CODE]);
    if (code == 0) {
        code = answer_member_number(answer, &members[ANSWER_CODE]);
    }
    return code > 0 && code < 100000 ? (int)code : -1;
}
