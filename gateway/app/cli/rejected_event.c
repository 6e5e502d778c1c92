/* SPDX-License-Identifier: Apache-2.0 */

/* See rejected_event.h. Read without a tree, so that the payload keeps the spelling of its numbers
 * and strings. */

#include "rejected_event.h"

#include "event_members.h"
#include "json_canonical.h"

enum {
    SPECVERSION,
    TYPE,
    ID,
    SUBJECT,
    CONTENT_TYPE,
    RULES,
    PROBLEM,
    DATA,
    DATA_BASE64,
    MEMBER_COUNT
};

static const char *const names[MEMBER_COUNT] = {"specversion",     "type",  "id",      "subject",
                                                "datacontenttype", "rules", "problem", "data",
                                                "data_base64"};

/* A string with its NUL; NULL: it is none, or there is no memory. */
static const char *text_of(const struct parley_value *value, struct parley_arena *arena) {
    const struct parley_bytes text = parley_value_text(value);
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
    switch (event_base64_read(base64, &out->arena, &out->payload)) {
    case PARLEY_OK:
        return REJECTED_EVENT_READ;
    case PARLEY_E_MEMORY:
        return REJECTED_EVENT_MEMORY;
    default:
        return REJECTED_EVENT_WRONG;
    }
}

static enum rejected_event_result take_payload(struct parley_bytes line,
                                               const struct parley_value *values,
                                               struct rejected_event *out) {
    const struct parley_value *object = &values[DATA];
    return object->kind == PARLEY_OBJECT
               ? take_object(line, object->offset, out)
               : take_base64(parley_value_text(&values[DATA_BASE64]), out);
}

/* ---- the event ---- */

/* rejected.PROTOCOL */
static struct parley_bytes protocol_of(struct parley_bytes subject) {
    const char *dot = subject.length > 0 ? memchr(subject.data, '.', subject.length) : NULL;
    const char *start = dot != NULL ? dot + 1 : subject.data;
    return (struct parley_bytes){start, subject.length - (size_t)(start - subject.data)};
}

static enum rejected_event_result take_event(struct parley_bytes line,
                                             const struct parley_value *values,
                                             struct rejected_event *out) {
    if (values[SPECVERSION].kind != PARLEY_STRING || values[TYPE].kind != PARLEY_STRING ||
        values[ID].kind != PARLEY_STRING) { /* a message may have the last two */
        return REJECTED_EVENT_WRONG;
    }
    const bool is_valid = values[PROBLEM].kind == PARLEY_STRING; /* it breaks no rule */
    if (!parley_value_is(&values[TYPE], "parley.rejected") || is_valid) {
        return REJECTED_EVENT_OTHER;
    }
    out->protocol = protocol_of(parley_value_text(&values[SUBJECT]));
    out->id = text_of(&values[ID], &out->arena);
    out->rules = text_of(&values[RULES], &out->arena);
    out->rules = out->rules != NULL ? out->rules : "";
    out->content_type = text_of(&values[CONTENT_TYPE], &out->arena);
    return out->id != NULL ? take_payload(line, values, out) : REJECTED_EVENT_MEMORY;
}

enum rejected_event_result rejected_event_read(struct parley_bytes line,
                                               struct rejected_event *out) {
    struct parley_value values[MEMBER_COUNT];
    *out = (struct rejected_event){.rules = ""};
    parley_arena_init(&out->arena, 0);
    switch (event_members_read(line, names, MEMBER_COUNT, values, &out->arena)) {
    case JSON_READER_MEMORY:
        return REJECTED_EVENT_MEMORY;
    case JSON_READER_FAULT:
        return REJECTED_EVENT_WRONG;
    case JSON_READER_READ:
        break;
    }
    return take_event(line, values, out);
}

void rejected_event_finish(struct rejected_event *event) {
    parley_arena_finish(&event->arena);
}
