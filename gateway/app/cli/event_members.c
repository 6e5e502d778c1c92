/* SPDX-License-Identifier: Apache-2.0 */

#include "event_members.h"

#include <assert.h>
#include <string.h>

#include <sodium.h>

struct reading {
    const char *const *names;
    struct parley_value *values;
    size_t count;
    size_t present; /* the member whose key was read; `count`: none of those */
    bool is_inside, is_object;
};

static bool on_value(void *context, const struct parley_value *value) {
    struct reading *reading = context;
    if (!reading->is_inside) {
        reading->is_inside = true;
        reading->is_object = value->kind == PARLEY_OBJECT;
        return reading->is_object;
    }
    reading->values[reading->present] = *value;
    return false;
}

static bool on_key(void *context, struct parley_bytes key) {
    struct reading *reading = context;
    for (size_t i = 0; i < reading->count; i++) {
        if (parley_bytes_equal(key, parley_bytes_of(reading->names[i]))) {
            reading->present = i;
            return true;
        }
    }
    return false;
}

static void on_leave(void *context, size_t count) {
    (void)context;
    (void)count;
}

enum json_reader_result event_members_read(struct parley_bytes line, const char *const *names,
                                           size_t count, struct parley_value *values,
                                           struct parley_arena *arena) {
    assert(count <= EVENT_MEMBERS_MAX);
    struct reading reading = {.names = names, .values = values, .count = count};
    const struct json_events events = {
        .context = &reading, .value = on_value, .key = on_key, .leave = on_leave};
    struct json_fault fault;
    memset(values, 0, count * sizeof *values);
    const enum json_reader_result result = json_reader_read(line, &events, arena, NULL, &fault);
    return result == JSON_READER_READ && !reading.is_object ? JSON_READER_FAULT : result;
}

enum parley_status event_base64_read(struct parley_bytes base64, struct parley_arena *arena,
                                     struct parley_bytes *out) {
    if (base64.data == NULL) {
        return PARLEY_E_UNSUPPORTED;
    }
    size_t length;
    unsigned char *bytes = parley_arena_allocate(arena, base64.length + 1);
    if (bytes == NULL) {
        return PARLEY_E_MEMORY;
    }
    if (sodium_base642bin(bytes, base64.length + 1, base64.data, base64.length, NULL, &length, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0) {
        return PARLEY_E_UNSUPPORTED;
    }
    *out = (struct parley_bytes){(const char *)bytes, length};
    return PARLEY_OK;
}
