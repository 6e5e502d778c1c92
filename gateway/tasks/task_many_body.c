/* SPDX-License-Identifier: Apache-2.0 */

#include "task_many_body.h"

#include "json_fields.h"
#include "text.h"

enum member {
    MEMBER_AGENT,
    MEMBER_IDS,
    MEMBER_STATE,
    MEMBER_DOMAIN,
    MEMBER_CODE,
    MEMBER_BEFORE,
    MEMBER_ALL,
    MEMBERS,
};

struct reading {
    struct task_many_body *out;
    const char *const *states;
    struct parley_arena *arena;
};

static const char wants[] =
    "The members of the body are `agent`, a string, and either `ids`, 1 to 500 strings, or a "
    "filter: `state`, `domain` and `code`, each a string or a list of at most 64 of them, "
    "`before`, "
    "an RFC 3339 time, and `all`, a boolean.";

/* ---- items ---- */

static bool add_id(void *context, const struct parley_value *value) {
    struct task_many_body *out = ((struct reading *)context)->out;
    if (out->id_count == TASK_MANY_MAX || value->kind != PARLEY_STRING) {
        return false;
    }
    out->ids[out->id_count++] = value->text;
    return true;
}

static bool add_state(void *context, const struct parley_value *value) {
    const struct reading *reading = context;
    const size_t number =
        value->kind == PARLEY_STRING ? text_choice(value->text, reading->states) : 0;
    const bool is_state = value->kind == PARLEY_STRING && reading->states[number] != NULL;
    reading->out->filter.states |= is_state ? 1u << number : 0;
    return is_state;
}

static bool add_name(struct board_names *names, struct parley_bytes *items,
                     const struct parley_value *value) {
    if (names->count == TASK_MANY_NAMES_MAX || value->kind != PARLEY_STRING ||
        value->text.length == 0) {
        return false;
    }
    items[names->count++] = value->text;
    names->items = items;
    return true;
}

static bool add_domain(void *context, const struct parley_value *value) {
    struct task_many_body *out = ((struct reading *)context)->out;
    return add_name(&out->filter.domains, out->domains, value) && text_is_domain(value->text);
}

static bool add_error(void *context, const struct parley_value *value) {
    struct task_many_body *out = ((struct reading *)context)->out;
    return add_name(&out->filter.errors, out->errors, value);
}

/* ---- members ---- */

typedef bool add_fn(void *context, const struct parley_value *value);

/* Returns: whether it is absent, one item, or a list of them that is not empty. */
static bool read_items(struct reading *reading, const struct json_field *field, add_fn *add) {
    const struct parley_value one = {.kind = PARLEY_STRING, .text = field->text};
    const bool is_empty = field->kind == PARLEY_ARRAY && field->raw.length == 2;
    switch (field->kind) {
    case PARLEY_ABSENT:
        return true;
    case PARLEY_STRING:
        return add(reading, &one);
    case PARLEY_ARRAY:
        return !is_empty && json_fields_each_item(field->raw, reading->arena, add, reading);
    default:
        return false;
    }
}

static bool read_ids(struct reading *reading, const struct json_field *field) {
    reading->out->has_ids = field->kind != PARLEY_ABSENT;
    return !reading->out->has_ids ||
           (field->kind == PARLEY_ARRAY &&
            json_fields_each_item(field->raw, reading->arena, add_id, reading) &&
            reading->out->id_count > 0);
}

static bool read_before(struct task_many_body *out, const struct json_field *field) {
    return field->kind == PARLEY_ABSENT ||
           (field->kind == PARLEY_STRING && text_unix_time(field->text, &out->filter.before));
}

static bool read_members(struct reading *reading, const struct json_field *fields) {
    struct task_many_body *out = reading->out;
    out->agent = fields[MEMBER_AGENT].text;
    return fields[MEMBER_AGENT].kind == PARLEY_STRING && read_ids(reading, &fields[MEMBER_IDS]) &&
           read_items(reading, &fields[MEMBER_STATE], add_state) &&
           read_items(reading, &fields[MEMBER_DOMAIN], add_domain) &&
           read_items(reading, &fields[MEMBER_CODE], add_error) &&
           read_before(out, &fields[MEMBER_BEFORE]) &&
           (fields[MEMBER_ALL].kind == PARLEY_ABSENT || fields[MEMBER_ALL].kind == PARLEY_BOOLEAN);
}

static bool has_filter(const struct json_field *fields) {
    bool has_one = false;
    for (size_t i = MEMBER_STATE; i < MEMBER_ALL; i++) {
        has_one = has_one || fields[i].kind != PARLEY_ABSENT;
    }
    return has_one;
}

const char *task_many_read(struct parley_bytes body, const char *const *states,
                           struct parley_arena *arena, struct task_many_body *out) {
    struct json_field fields[MEMBERS] = {
        [MEMBER_AGENT] = {.name = "agent"}, [MEMBER_IDS] = {.name = "ids"},
        [MEMBER_STATE] = {.name = "state"}, [MEMBER_DOMAIN] = {.name = "domain"},
        [MEMBER_CODE] = {.name = "code"},   [MEMBER_BEFORE] = {.name = "before"},
        [MEMBER_ALL] = {.name = "all"},
    };
    struct reading reading = {.out = out, .states = states, .arena = arena};
    struct parley_bytes unknown;
    const enum json_fields_result result = json_fields_read(body, fields, MEMBERS, arena, &unknown);
    if (result != JSON_FIELDS_READ || unknown.data != NULL || !read_members(&reading, fields)) {
        return wants;
    }
    const bool is_for_all = fields[MEMBER_ALL].number != 0;
    if (out->has_ids) {
        return has_filter(fields) || is_for_all ? "`ids` and a filter are there: send one of them."
                                                : NULL;
    }
    return has_filter(fields) || is_for_all
               ? NULL
               : "Nothing chooses the tasks: send `ids`, a filter, or `\"all\":true`, which means "
                 "every task that can be.";
}
