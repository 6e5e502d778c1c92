/* SPDX-License-Identifier: Apache-2.0 */

/* See rejected_event.h. Read without a tree, so that the payload keeps the spelling of its numbers
 * and strings. */

#include "rejected_event.h"

#include <sodium.h>

#include "json_canonical.h"
#include "json_reader.h"

enum { SPECVERSION, TYPE, ID, SUBJECT, CONTENT_TYPE, RULES, DATA, DATA_BASE64, MEMBER_COUNT };

static const char *const names[MEMBER_COUNT] = {"specversion",     "type",  "id",   "subject",
                                                "datacontenttype", "rules", "data", "data_base64"};

struct reading {
    struct parley_value values[MEMBER_COUNT];
    size_t present; /* the member whose key was read; MEMBER_COUNT: none of those */
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
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        if (parley_bytes_equal(key, parley_bytes_of(names[i]))) {
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

/* A string with its NUL; NULL: it is none, or there is no memory. */
static const char *text_of(const struct reading *reading, unsigned member,
                           struct parley_arena *arena) {
    const struct parley_bytes text = parley_value_text(&reading->values[member]);
    return text.data != NULL ? parley_arena_copy(arena, text) : NULL;
}

/* ---- the payload ---- */

static enum rejected_event_result take_object(struct parley_bytes line, size_t offset,
                                              struct rejected_event *out) {
    char *text = parley_arena_allocate(&out->arena, line.length);
    if (text == NULL) {
        return REJECTED_EVENT_MEMORY;
    }
    const char *end = json_canonical_copy(line.data + offset, line.data + line.length, text);
    out->payload = (struct parley_bytes){text, (size_t)(end - text)};
    return REJECTED_EVENT_READ;
}

static enum rejected_event_result take_base64(struct parley_bytes base64,
                                              struct rejected_event *out) {
    size_t length;
    unsigned char *bytes = parley_arena_allocate(&out->arena, base64.length + 1);
    if (bytes == NULL) {
        return REJECTED_EVENT_MEMORY;
    }
    if (sodium_base642bin(bytes, base64.length + 1, base64.data, base64.length, NULL, &length, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0) {
        return REJECTED_EVENT_WRONG;
    }
    out->payload = (struct parley_bytes){(const char *)bytes, length};
    return REJECTED_EVENT_READ;
}

static enum rejected_event_result
take_payload(struct parley_bytes line, const struct reading *reading, struct rejected_event *out) {
    const struct parley_value *object = &reading->values[DATA];
    const struct parley_bytes base64 = parley_value_text(&reading->values[DATA_BASE64]);
    if (object->kind == PARLEY_OBJECT) {
        return take_object(line, object->offset, out);
    }
    return base64.data != NULL ? take_base64(base64, out) : REJECTED_EVENT_WRONG;
}

/* ---- the event ---- */

/* rejected.PROTOCOL */
static struct parley_bytes protocol_of(struct parley_bytes subject) {
    const char *dot = subject.length > 0 ? memchr(subject.data, '.', subject.length) : NULL;
    const char *start = dot != NULL ? dot + 1 : subject.data;
    return (struct parley_bytes){start, subject.length - (size_t)(start - subject.data)};
}

static enum rejected_event_result
take_event(struct parley_bytes line, const struct reading *reading, struct rejected_event *out) {
    const struct parley_value *values = reading->values;
    if (values[SPECVERSION].kind != PARLEY_STRING || values[TYPE].kind != PARLEY_STRING ||
        values[ID].kind != PARLEY_STRING) { /* a message may have the last two */
        return REJECTED_EVENT_WRONG;
    }
    if (!parley_value_is(&values[TYPE], "parley.rejected")) {
        return REJECTED_EVENT_OTHER;
    }
    out->protocol = protocol_of(parley_value_text(&values[SUBJECT]));
    out->id = text_of(reading, ID, &out->arena);
    out->rules = text_of(reading, RULES, &out->arena);
    out->rules = out->rules != NULL ? out->rules : "";
    out->content_type = text_of(reading, CONTENT_TYPE, &out->arena);
    return out->id != NULL ? take_payload(line, reading, out) : REJECTED_EVENT_MEMORY;
}

enum rejected_event_result rejected_event_read(struct parley_bytes line,
                                               struct rejected_event *out) {
    struct reading reading = {.present = MEMBER_COUNT};
    const struct json_events events = {
        .context = &reading, .value = on_value, .key = on_key, .leave = on_leave};
    struct json_fault fault;
    *out = (struct rejected_event){.rules = ""};
    parley_arena_init(&out->arena, 0);
    switch (json_reader_read(line, &events, &out->arena, NULL, &fault)) {
    case JSON_READER_MEMORY:
        return REJECTED_EVENT_MEMORY;
    case JSON_READER_FAULT:
        return REJECTED_EVENT_WRONG;
    case JSON_READER_READ:
        break;
    }
    return reading.is_object ? take_event(line, &reading, out) : REJECTED_EVENT_WRONG;
}

void rejected_event_finish(struct rejected_event *event) {
    parley_arena_finish(&event->arena);
}
