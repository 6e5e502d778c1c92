/* SPDX-License-Identifier: Apache-2.0 */

/* See stored_event.h. Read without a tree, so that findings of a message have their place in the
 * line. */

#include "stored_event.h"

#include <parley/splitter.h>

#include "event_members.h"

enum { SPECVERSION, TYPE, ID, SOURCE, DATA, DATA_BASE64, MEMBER_COUNT };

static const char *const names[MEMBER_COUNT] = {"specversion", "type", "id",
                                                "source",      "data", "data_base64"};

/* The value that `text` begins with, an object that is known to be valid: the first item of an
 * array. */
static struct parley_bytes first_value(struct parley_bytes text) {
    struct parley_splitter splitter;
    struct parley_slice slice = {0};
    struct parley_bytes opening = PARLEY_BYTES("[");
    parley_splitter_init(&splitter, PARLEY_FRAMING_JSON, text.length);
    (void)parley_splitter_next(&splitter, &opening, &slice);
    const enum parley_split split = parley_splitter_next(&splitter, &text, &slice);
    parley_splitter_finish(&splitter);
    return split == PARLEY_SPLIT_MESSAGE ? slice.bytes : (struct parley_bytes){0};
}

/* /PROTOCOL/SENDER, or /PROTOCOL */
static struct parley_bytes protocol_of(struct parley_bytes source) {
    if (source.length == 0 || source.data[0] != '/') {
        return (struct parley_bytes){0};
    }
    const struct parley_bytes rest = {source.data + 1, source.length - 1};
    const char *slash = memchr(rest.data, '/', rest.length);
    return (struct parley_bytes){rest.data,
                                 slash != NULL ? (size_t)(slash - rest.data) : rest.length};
}

/* One whose payload cannot be read is no event: as a message it is invalid. */
static enum stored_event_result take_foreign(const struct parley_value *base64,
                                             struct stored_event *out) {
    out->is_foreign = true;
    out->offset = base64->offset;
    switch (event_base64_read(parley_value_text(base64), &out->arena, &out->payload)) {
    case PARLEY_OK:
        return STORED_EVENT_READ;
    case PARLEY_E_MEMORY:
        return STORED_EVENT_MEMORY;
    default:
        return STORED_EVENT_NONE;
    }
}

static bool is_of_parley(struct parley_bytes type) {
    static const struct parley_bytes own = {"parley.", 7};
    return type.length > own.length && memcmp(type.data, own.data, own.length) == 0;
}

static enum stored_event_result
take_event(struct parley_bytes line, const struct parley_value *values, struct stored_event *out) {
    for (unsigned i = SPECVERSION; i <= SOURCE; i++) {
        if (values[i].kind != PARLEY_STRING) { /* a message may have some of them */
            return STORED_EVENT_NONE;
        }
    }
    out->protocol = protocol_of(parley_value_text(&values[SOURCE]));
    if (parley_value_is(&values[TYPE], "parley.foreign")) {
        return take_foreign(&values[DATA_BASE64], out);
    }
    if (is_of_parley(parley_value_text(&values[TYPE])) || values[DATA].kind != PARLEY_OBJECT) {
        return STORED_EVENT_OTHER;
    }
    out->offset = values[DATA].offset;
    out->payload =
        first_value((struct parley_bytes){line.data + out->offset, line.length - out->offset});
    return STORED_EVENT_READ;
}

enum stored_event_result stored_event_read(struct parley_bytes line, struct stored_event *out) {
    struct parley_value values[MEMBER_COUNT];
    *out = (struct stored_event){.is_foreign = false};
    parley_arena_init(&out->arena, 0);
    switch (event_members_read(line, names, MEMBER_COUNT, values, &out->arena)) {
    case JSON_READER_MEMORY:
        return STORED_EVENT_MEMORY;
    case JSON_READER_FAULT:
        return STORED_EVENT_NONE;
    case JSON_READER_READ:
        break;
    }
    return take_event(line, values, out);
}

void stored_event_finish(struct stored_event *event) {
    parley_arena_finish(&event->arena);
}
