/* SPDX-License-Identifier: Apache-2.0 */

#include "fact_value.h"

#include <math.h>

#include "json_reader.h"
#include "text.h"

enum { BEFORE_ROOT = -2, OTHER = -1 };

struct reading {
    const char *const *names;
    struct parley_value *values;
    int current; /* the member whose value comes next */
};

static bool on_value(void *context, const struct parley_value *value) {
    struct reading *reading = context;
    if (reading->current == BEFORE_ROOT) {
        reading->current = OTHER;
        return value->kind == PARLEY_OBJECT;
    }
    if (reading->current != OTHER) {
        reading->values[reading->current] = *value;
    }
    return false;
}

static bool on_key(void *context, struct parley_bytes key) {
    struct reading *reading = context;
    const size_t index = text_choice(key, reading->names);
    reading->current = reading->names[index] != NULL ? (int)index : OTHER;
    return reading->current != OTHER;
}

static void on_leave(void *context, size_t count) {
    (void)context;
    (void)count;
}

enum parley_status fact_value_read(struct parley_bytes text, const char *const *names,
                                   struct parley_arena *arena, struct parley_value *values) {
    size_t count = 0;
    while (names[count] != NULL) {
        values[count++] = (struct parley_value){.kind = PARLEY_ABSENT};
    }
    if (text.data == NULL) {
        return PARLEY_OK;
    }
    struct reading reading = {.names = names, .values = values, .current = BEFORE_ROOT};
    const struct json_events events = {
        .context = &reading, .value = on_value, .key = on_key, .leave = on_leave};
    struct json_fault fault;
    const enum json_reader_result result = json_reader_read(text, &events, arena, NULL, &fault);
    for (size_t i = 0; i < count && result != JSON_READER_READ; i++) {
        values[i] = (struct parley_value){.kind = PARLEY_ABSENT};
    }
    return result == JSON_READER_MEMORY ? PARLEY_E_MEMORY : PARLEY_OK;
}

uint64_t fact_value_number(const struct parley_value *value) {
    const bool is_number =
        value->kind == PARLEY_NUMBER && value->number >= 1 && value->number <= 9007199254740992.0;
    return is_number && floor(value->number) == value->number ? (uint64_t)value->number : 0;
}
