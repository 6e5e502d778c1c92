/* SPDX-License-Identifier: Apache-2.0 */

#include "json_fields.h"

#include <stddef.h>
#include <string.h>

#include "json_reader.h"

struct reading {
    struct parley_bytes text;
    struct json_field *fields;
    size_t count, present; /* the field whose key was read; count: none of them */
    struct parley_bytes *unknown;
    bool is_inside, is_repeated, is_object;
};

/* The end of the string whose opening quote is at `at`, in a text that has no fault. */
static size_t end_of_string(struct parley_bytes text, size_t at) {
    const char *const begin = text.data + at + 1, *const end = text.data + text.length;
    const char *from = begin, *quote;
    while ((quote = memchr(from, '"', (size_t)(end - from))) != NULL) {
        size_t slashes = 0;
        while (quote - slashes > begin && quote[-1 - (ptrdiff_t)slashes] == '\\') {
            slashes++;
        }
        if (slashes % 2 == 0) {
            return (size_t)(quote - text.data) + 1;
        }
        from = quote + 1;
    }
    return text.length;
}

/* The end of the value that begins at `at`, likewise. */
static size_t end_of(struct parley_bytes text, size_t at) {
    size_t depth = 0;
    for (size_t i = at; i < text.length; i++) {
        const char c = text.data[i];
        if (c == '"') {
            i = end_of_string(text, i) - 1;
        } else if (c == '{' || c == '[') {
            depth++;
            continue;
        } else if (c == '}' || c == ']') {
            if (depth == 0) {
                return i;
            }
            depth--;
        } else if (depth == 0 && strchr(", \t\r\n", c) != NULL) {
            return i;
        } else {
            continue;
        }
        if (depth == 0) {
            return i + 1;
        }
    }
    return text.length;
}

static bool on_value(void *context, const struct parley_value *value) {
    struct reading *reading = context;
    if (!reading->is_inside) {
        reading->is_inside = true;
        reading->is_object = value->kind == PARLEY_OBJECT;
        return reading->is_object;
    }
    struct json_field *field = &reading->fields[reading->present];
    field->kind = value->kind;
    field->text = parley_value_text(value);
    field->number = value->number;
    field->raw = (struct parley_bytes){reading->text.data + value->offset,
                                       end_of(reading->text, value->offset) - value->offset};
    return false;
}

static bool on_key(void *context, struct parley_bytes key) {
    struct reading *reading = context;
    for (size_t i = 0; i < reading->count; i++) {
        if (parley_bytes_equal(key, parley_bytes_of(reading->fields[i].name))) {
            reading->is_repeated |= reading->fields[i].kind != PARLEY_ABSENT;
            reading->present = i;
            return true;
        }
    }
    if (reading->unknown != NULL && reading->unknown->data == NULL) {
        *reading->unknown = key.data != NULL ? key : PARLEY_BYTES("");
    }
    return false;
}

static void on_leave(void *context, size_t count) {
    (void)context;
    (void)count;
}

enum json_fields_result json_fields_read(struct parley_bytes text, struct json_field *fields,
                                         size_t count, struct parley_arena *arena,
                                         struct parley_bytes *out_unknown) {
    struct reading reading = {
        .text = text, .fields = fields, .count = count, .unknown = out_unknown};
    const struct json_events events = {
        .context = &reading, .value = on_value, .key = on_key, .leave = on_leave};
    struct json_fault fault;
    if (out_unknown != NULL) {
        *out_unknown = (struct parley_bytes){0};
    }
    for (size_t i = 0; i < count; i++) {
        fields[i] = (struct json_field){.name = fields[i].name};
    }
    switch (json_reader_read(text, &events, arena, NULL, &fault)) {
    case JSON_READER_FAULT:
        return JSON_FIELDS_NOT_JSON;
    case JSON_READER_MEMORY:
        return JSON_FIELDS_MEMORY;
    case JSON_READER_READ:
        break;
    }
    return !reading.is_object    ? JSON_FIELDS_NO_OBJECT
           : reading.is_repeated ? JSON_FIELDS_REPEATED
                                 : JSON_FIELDS_READ;
}

/* ---- lists ---- */

bool json_fields_next_object(struct parley_bytes array, size_t *at, struct parley_bytes *out) {
    const char *begin =
        *at < array.length ? memchr(array.data + *at, '{', array.length - *at) : NULL;
    if (begin == NULL) {
        return false;
    }
    const size_t start = (size_t)(begin - array.data);
    *at = end_of(array, start);
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

static bool on_listed_key(void *context, struct parley_bytes key) {
    ((struct listing *)context)->name = key;
    return true;
}

static bool list(struct parley_bytes text, struct parley_arena *arena, struct listing *listing) {
    const struct json_events events = {
        .context = listing, .value = on_listed, .key = on_listed_key, .leave = on_leave};
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
