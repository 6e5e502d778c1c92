/* SPDX-License-Identifier: Apache-2.0 */

/* See text_object.h. Only the top level is read: what is in other values is passed over. */

#include "text_object.h"

#include "json_reader.h"

struct reading {
    struct text_object *object;
    struct parley_bytes *next; /* where the value of the last key goes */
    uint64_t seen;             /* bit I: rows[I] */
    bool is_begun, is_object;
};

static bool on_value(void *context, const struct parley_value *value) {
    struct reading *reading = context;
    if (!reading->is_begun) {
        reading->is_begun = true;
        reading->is_object = value->kind == PARLEY_OBJECT;
        return reading->is_object;
    }
    *reading->next = parley_value_text(value);
    return false;
}

static struct parley_bytes *place_of(struct reading *reading, struct parley_bytes key) {
    struct text_object *object = reading->object;
    for (size_t i = 0; object->rows[i].name != NULL; i++) {
        if (parley_bytes_equal(key, parley_bytes_of(object->rows[i].name))) {
            object->has_repeated = object->has_repeated || (reading->seen >> i & 1) != 0;
            reading->seen |= UINT64_C(1) << i;
            return object->rows[i].out;
        }
    }
    return NULL;
}

static bool on_key(void *context, struct parley_bytes key) {
    struct reading *reading = context;
    struct text_object *object = reading->object;
    reading->next = place_of(reading, key);
    if (reading->next == NULL && !object->has_other) {
        object->has_other = true;
        reading->next = object->other;
        if (object->other_name != NULL) {
            *object->other_name = key;
        }
    }
    return reading->next != NULL;
}

static void on_leave(void *context, size_t count) {
    (void)context;
    (void)count;
}

enum parley_status text_object_read(struct text_object *object, struct parley_bytes text,
                                    struct parley_arena *arena) {
    struct reading reading = {.object = object};
    struct json_fault fault;
    const struct json_events events = {
        .context = &reading, .value = on_value, .key = on_key, .leave = on_leave};
    switch (json_reader_read(text, &events, arena, NULL, &fault)) {
    case JSON_READER_MEMORY:
        return PARLEY_E_MEMORY;
    case JSON_READER_FAULT:
        return PARLEY_E_UNSUPPORTED;
    case JSON_READER_READ:
        break;
    }
    return reading.is_object ? PARLEY_OK : PARLEY_E_UNSUPPORTED;
}
