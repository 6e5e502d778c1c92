/* SPDX-License-Identifier: Apache-2.0 */

#include "json_fields.h"

#include <string.h>

#include "json_reader.h"
#include "json_skip.h"

struct reading {
    struct parley_bytes text;
    struct json_object *object; /* the innermost that is read; NULL: before the text and after it */
    struct json_object *whole;
    bool is_object; /* the text is */
};

static bool enter(struct reading *reading, struct json_object *object) {
    object->around = reading->object;
    reading->object = object;
    return true;
}

static bool on_value(void *context, const struct parley_value *value) {
    struct reading *reading = context;
    const bool is_object = value->kind == PARLEY_OBJECT;
    if (reading->object == NULL) {
        reading->is_object = is_object;
        return is_object && enter(reading, reading->whole);
    }
    struct json_field *field = reading->object->current;
    field->kind = value->kind;
    field->text = parley_value_text(value);
    field->number = value->number;
    field->raw.data = reading->text.data + value->offset;
    return is_object && field->inside != NULL && enter(reading, field->inside);
}

static bool on_leaves(void *context) {
    struct json_object *object = ((struct reading *)context)->object;
    if (object == NULL || !object->is_unread) {
        return false;
    }
    object->has_unread = true;
    return true;
}

static void on_leave(void *context, size_t count) {
    struct reading *reading = context;
    (void)count;
    reading->object = reading->object->around;
}

static void on_end(void *context, size_t offset) {
    struct reading *reading = context;
    if (reading->object != NULL) {
        struct parley_bytes *raw = &reading->object->current->raw;
        raw->length = offset - (size_t)(raw->data - reading->text.data);
    }
}

/* Returns: NULL: there is no more room. */
static struct json_field *next_of_list(struct json_object *list, struct parley_bytes key) {
    struct json_field *field =
        list->item_count < list->count ? &list->fields[list->item_count] : NULL;
    list->item_count++;
    if (field != NULL) {
        *field = (struct json_field){.key = key};
    }
    return field;
}

/* A key has no NUL. */
static bool is_named(const struct json_field *field, struct parley_bytes key) {
    return strncmp(field->name, key.data, key.length) == 0 && field->name[key.length] == '\0';
}

/* Returns: NULL: no field looks for the member. */
static struct json_field *find_field(struct json_object *object, struct parley_bytes key) {
    for (size_t i = 0; i < object->count; i++) {
        struct json_field *field = &object->fields[i];
        if (is_named(field, key)) {
            object->is_repeated |= field->kind != PARLEY_ABSENT;
            return field;
        }
    }
    if (object->unknown.data == NULL) {
        object->unknown = key.data != NULL ? key : PARLEY_BYTES("");
    }
    return NULL;
}

static bool on_key(void *context, struct parley_bytes key) {
    struct json_object *object = ((struct reading *)context)->object;
    object->current = object->is_list ? next_of_list(object, key) : find_field(object, key);
    return object->current != NULL;
}

static enum json_fields_result read_events(struct parley_bytes text,
                                           const struct json_events *events,
                                           struct parley_arena *arena) {
    struct json_fault fault;
    switch (json_reader_read(text, events, arena, NULL, &fault)) {
    case JSON_READER_FAULT:
        return JSON_FIELDS_NOT_JSON;
    case JSON_READER_MEMORY:
        return JSON_FIELDS_MEMORY;
    case JSON_READER_READ:
        break;
    }
    return JSON_FIELDS_READ;
}

enum json_fields_result json_object_read(struct parley_bytes text, struct json_object *object,
                                         struct parley_arena *arena) {
    struct reading reading = {.text = text, .whole = object};
    const struct json_events events = {.context = &reading,
                                       .value = on_value,
                                       .leaves = on_leaves,
                                       .key = on_key,
                                       .leave = on_leave,
                                       .end = on_end};
    const enum json_fields_result result = read_events(text, &events, arena);
    return result == JSON_FIELDS_READ && !reading.is_object ? JSON_FIELDS_NO_OBJECT : result;
}

enum json_fields_result json_fields_check(struct parley_bytes text, struct parley_arena *arena) {
    return read_events(text, NULL, arena);
}

enum json_fields_result json_fields_read(struct parley_bytes text, struct json_field *fields,
                                         size_t count, struct parley_arena *arena,
                                         struct parley_bytes *out_unknown) {
    struct json_object object = {.fields = fields, .count = count};
    for (size_t i = 0; i < count; i++) {
        fields[i] = (struct json_field){.name = fields[i].name};
    }
    const enum json_fields_result result = json_object_read(text, &object, arena);
    if (out_unknown != NULL) {
        *out_unknown = object.unknown;
    }
    return result == JSON_FIELDS_READ && object.is_repeated ? JSON_FIELDS_REPEATED : result;
}

/* ---- lists ---- */

bool json_fields_next_object(struct parley_bytes array, size_t *at, struct parley_bytes *out) {
    const char *begin =
        *at < array.length ? memchr(array.data + *at, '{', array.length - *at) : NULL;
    if (begin == NULL) {
        return false;
    }
    const size_t start = (size_t)(begin - array.data);
    *at = json_skip_value(array, start);
    *out = (struct parley_bytes){begin, *at - start};
    return true;
}

struct listing {
    bool (*member)(void *context, struct parley_bytes name, const struct parley_value *value);
    bool (*item)(void *context, const struct parley_value *value);
    void *context;
    struct parley_bytes name;
    bool is_inside, is_wrong;
};

static bool on_listed(void *context, const struct parley_value *value) {
    struct listing *listing = context;
    if (!listing->is_inside) {
        listing->is_inside = true;
        listing->is_wrong = value->kind != (listing->item != NULL ? PARLEY_ARRAY : PARLEY_OBJECT);
        return !listing->is_wrong;
    }
    listing->is_wrong =
        listing->is_wrong ||
        !(listing->item != NULL ? listing->item(listing->context, value)
                                : listing->member(listing->context, listing->name, value));
    return false;
}

static void on_listed_leave(void *context, size_t count) {
    (void)context;
    (void)count;
}

static bool on_listed_key(void *context, struct parley_bytes key) {
    ((struct listing *)context)->name = key;
    return true;
}

static bool list(struct parley_bytes text, struct parley_arena *arena, struct listing *listing) {
    const struct json_events events = {
        .context = listing, .value = on_listed, .key = on_listed_key, .leave = on_listed_leave};
    struct json_fault fault;
    return json_reader_read(text, &events, arena, NULL, &fault) == JSON_READER_READ &&
           !listing->is_wrong;
}

bool json_fields_each_member(struct parley_bytes text, struct parley_arena *arena,
                             bool (*each)(void *context, struct parley_bytes name,
                                          const struct parley_value *value),
                             void *context) {
    return list(text, arena, &(struct listing){.member = each, .context = context});
}

bool json_fields_each_item(struct parley_bytes text, struct parley_arena *arena,
                           bool (*each)(void *context, const struct parley_value *value),
                           void *context) {
    return list(text, arena, &(struct listing){.item = each, .context = context});
}
