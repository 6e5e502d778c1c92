/* SPDX-License-Identifier: Apache-2.0 */

#include "task_wish.h"

#include <math.h>

#include "json_reader.h"
#include "text.h"

enum { LEASE_SECONDS_MIN = 60, LEASE_SECONDS_MAX = 86400 };

/* What is read next: a member of the object, or an item of its list. */
enum place {
    PLACE_ROOT,
    PLACE_NONE,
    PLACE_AGENT,
    PLACE_DOMAINS,
    PLACE_TASKS,
    PLACE_MAX,
    PLACE_LEASE
};

struct reading {
    struct task_wish *out;
    enum place place;
    unsigned seen; /* a bit for each place */
    bool is_in_list;
    const char *fault;
};

static bool fail(struct reading *reading, const char *fault) {
    reading->fault = reading->fault != NULL ? reading->fault : fault;
    return false;
}

static bool add_word(struct reading *reading, const struct parley_value *value) {
    struct board_wish *wish = &reading->out->wish;
    const bool is_domain = reading->place == PLACE_DOMAINS;
    size_t *count = is_domain ? &wish->domain_count : &wish->task_count;
    if (value->kind != PARLEY_STRING || value->text.length == 0) {
        return fail(reading, "`domains` and `tasks` are lists of strings that are not empty.");
    }
    if (is_domain != text_is_domain(value->text)) { /* the name of a task has a dot */
        return fail(reading,
                    is_domain ? "A domain, in `domains`, is 1 to 128 of A-Z a-z 0-9 _ -: what a "
                                "task's name has before its first dot. Whole names go to `tasks`."
                              : "The name of a task, in `tasks`, has a domain, a dot and more. "
                                "Domains go to `domains`.");
    }
    if (*count == WORK_WORDS_MAX) {
        return fail(reading, "`domains` and `tasks` have at most 64 items each.");
    }
    (is_domain ? reading->out->domains : reading->out->tasks)[(*count)++] = value->text;
    return false;
}

/* Returns: 0: it is no whole number in that range. */
static uint64_t read_number(const struct parley_value *value, double minimum, double maximum) {
    const bool is_fine = value->kind == PARLEY_NUMBER && value->number >= minimum &&
                         value->number <= maximum && floor(value->number) == value->number;
    return is_fine ? (uint64_t)value->number : 0;
}

static bool read_max(struct reading *reading, const struct parley_value *value) {
    reading->out->max = read_number(value, 1, WORK_ITEMS_MAX);
    if (reading->out->max == 0) {
        fail(reading, "`max` is a whole number from 1 to 64.");
    }
    return false;
}

static bool read_lease(struct reading *reading, const struct parley_value *value) {
    reading->out->lease = read_number(value, LEASE_SECONDS_MIN, LEASE_SECONDS_MAX);
    if (reading->out->lease == 0) {
        fail(reading, "`lease` is a whole number of seconds from 60 to 86400.");
    }
    return false;
}

static bool on_value(void *context, const struct parley_value *value) {
    struct reading *reading = context;
    if (reading->is_in_list) {
        return add_word(reading, value);
    }
    switch (reading->place) {
    case PLACE_ROOT:
        reading->place = PLACE_NONE;
        return value->kind == PARLEY_OBJECT || fail(reading, "The body is not an object.");
    case PLACE_NONE:
        return false;
    case PLACE_AGENT:
        reading->out->wish.agent = parley_value_text(value);
        return false;
    case PLACE_MAX:
        return read_max(reading, value);
    case PLACE_LEASE:
        return read_lease(reading, value);
    case PLACE_DOMAINS:
    case PLACE_TASKS:
        reading->is_in_list = value->kind == PARLEY_ARRAY;
        return reading->is_in_list || fail(reading, "`domains` and `tasks` are lists.");
    }
    return false;
}

static bool on_key(void *context, struct parley_bytes key) {
    struct reading *reading = context;
    reading->place = parley_bytes_equal(key, PARLEY_BYTES("agent"))     ? PLACE_AGENT
                     : parley_bytes_equal(key, PARLEY_BYTES("domains")) ? PLACE_DOMAINS
                     : parley_bytes_equal(key, PARLEY_BYTES("tasks"))   ? PLACE_TASKS
                     : parley_bytes_equal(key, PARLEY_BYTES("max"))     ? PLACE_MAX
                     : parley_bytes_equal(key, PARLEY_BYTES("lease"))   ? PLACE_LEASE
                                                                        : PLACE_NONE;
    if (reading->place == PLACE_NONE) {
        return fail(reading, "The members of the body are `agent`, `domains`, `tasks`, `max` and "
                             "`lease`. To wait for a task, send the header `Prefer: wait=30`.");
    }
    const bool is_repeated = (reading->seen >> reading->place & 1) != 0;
    reading->seen |= 1u << reading->place;
    return !is_repeated || fail(reading, "A member of the body is there twice.");
}

static void on_leave(void *context, size_t count) {
    (void)count;
    ((struct reading *)context)->is_in_list = false;
}

const char *task_wish_read(struct parley_bytes body, struct parley_arena *arena,
                           struct task_wish *out) {
    struct reading reading = {.out = out, .place = PLACE_ROOT};
    const struct json_events events = {
        .context = &reading, .value = on_value, .key = on_key, .leave = on_leave};
    struct json_fault fault;
    *out = (struct task_wish){0};
    out->wish.domains = out->domains;
    out->wish.tasks = out->tasks;
    if (json_reader_read(body, &events, arena, NULL, &fault) != JSON_READER_READ) {
        return "The body is not JSON: send {\"agent\":\"NAME\"}.";
    }
    if (reading.fault == NULL && out->wish.agent.data == NULL) {
        return "`agent`, the name of who asks, is missing or no string.";
    }
    return reading.fault;
}
