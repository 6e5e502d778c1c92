/* SPDX-License-Identifier: Apache-2.0 */

/* See stream_rejected.h. A JSON object is put in as data, without the whitespace between its
 * tokens, if it is one that every reader of JSON takes for the same: no key twice, valid UTF-8.
 * Anything else is the very bytes in base64. */

#include "stream_rejected.h"

#include "json_canonical.h"
#include "json_reader.h"
#include "stream_envelope.h"

/* ---- the payload ---- */

static bool on_value(void *context, const struct parley_value *value) {
    enum parley_kind *kind = context;
    *kind = value->kind;
    return false; /* so that this is the only one */
}

static bool on_key(void *context, struct parley_bytes key) {
    (void)context;
    (void)key;
    return false;
}

static void on_leave(void *context, size_t count) {
    (void)context;
    (void)count;
}

static enum parley_status read_kind(struct parley_bytes text, enum parley_kind *out) {
    const struct json_events events = {
        .context = out, .value = on_value, .key = on_key, .leave = on_leave, .is_brief = true};
    struct parley_arena arena;
    struct key_set keys;
    struct json_fault fault;
    parley_arena_init(&arena, 0);
    key_set_init(&keys, text);
    const enum json_reader_result result = json_reader_read(text, &events, &arena, &keys, &fault);
    key_set_finish(&keys);
    parley_arena_finish(&arena);
    if (result != JSON_READER_READ) {
        *out = PARLEY_ABSENT;
    }
    return result == JSON_READER_MEMORY ? PARLEY_E_MEMORY : PARLEY_OK;
}

/* As the quarantine names encodings. */
static bool is_json(const char *content_type) {
    return content_type != NULL && (strcmp(content_type, parley_codec_json.media_types[0]) == 0 ||
                                    strcmp(content_type, parley_codec_ndjson.media_types[0]) == 0);
}

static void write_object(struct parley_buffer *out, struct parley_bytes text,
                         struct stream_layout *layout) {
    const char *start = memchr(text.data, '{', text.length); /* after blanks alone */
    const char *end = text.data + text.length;
    parley_buffer_text(out, ",\"data\":");
    layout->bare_offset = out->length;
    if (parley_buffer_reserve(out, text.length)) {
        char *at = out->data + out->length;
        out->length += (size_t)(json_canonical_copy(start, end, at) - at);
    }
    layout->bare_length = out->length - layout->bare_offset;
}

/* ---- the headers ---- */

/* Attributes of a CloudEvent are strings, and their names lower-case letters. */
static const struct {
    const char *header, *member;
} notes[] = {
    {"Parley-Rules", ",\"rules\":"},
    {"Parley-Violations", ",\"violations\":"},
    {"Parley-Violations-Omitted", ",\"omitted\":"},
    {"Parley-Problem", ",\"problem\":"},
    {"Parley-Detail", ",\"detail\":"},
    {"Parley-Request", ",\"request\":"},
    {"Parley-Principal", ",\"principal\":"},
    {"Parley-Line", ",\"line\":"},
    {"Parley-Dropped", ",\"dropped\":"},
};

/* The value of a hexadecimal digit, in upper case as they are written; -1 if it is none. */
static int value_of(char c) {
    static const char digits[] = "0123456789ABCDEF";
    const char *digit = c != '\0' ? strchr(digits, c) : NULL;
    return digit != NULL ? (int)(digit - digits) : -1;
}

static void decode_percent(const char *text, struct parley_buffer *out) {
    for (; *text != '\0'; text++) {
        const int high = *text == '%' ? value_of(text[1]) : -1;
        const int low = high >= 0 ? value_of(text[2]) : -1;
        parley_buffer_char(out, low >= 0 ? (char)(high * 16 + low) : *text);
        text += low >= 0 ? 2 : 0;
    }
}

static void write_notes(struct parley_buffer *out, const struct jetstream_stored *stored) {
    struct parley_buffer value;
    parley_buffer_init(&value);
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        const char *header = jetstream_stored_header(stored, notes[i].header);
        if (header != NULL) {
            parley_buffer_clear(&value);
            decode_percent(header, &value);
            stream_blank_controls(&value);
            stream_write_member(out, notes[i].member, parley_buffer_bytes(&value));
            out->has_failed |= value.has_failed;
        }
    }
    parley_buffer_finish(&value);
}

/* When it was refused; data NULL: it is not known. */
static struct parley_bytes time_of(const struct jetstream_stored *stored) {
    const char *header = jetstream_stored_header(stored, "Parley-Time");
    int64_t ignored_ns;
    const bool is_time = header != NULL && stream_time_parse(parley_bytes_of(header), &ignored_ns);
    return is_time ? parley_bytes_of(header) : (struct parley_bytes){0};
}

/* ---- all of it ---- */

struct stream_event *stream_rejected_render(const struct channel *channel, const char *created,
                                            const struct jetstream_stored *stored,
                                            struct parley_buffer *text) {
    const char *content_type = jetstream_stored_header(stored, "Content-Type");
    enum parley_kind kind = PARLEY_ABSENT;
    if (is_json(content_type) && read_kind(stored->payload, &kind) != PARLEY_OK) {
        return NULL;
    }
    const bool is_object = kind == PARLEY_OBJECT;
    const struct stream_envelope envelope = {
        .type = PARLEY_BYTES("parley.rejected"),
        .time = time_of(stored),
        .content_type = is_object ? parley_codec_json.media_types[0] : content_type};
    struct stream_layout layout = {0};
    stream_write_stored(text, channel, created, stored, &envelope, &layout);
    write_notes(text, stored);
    if (is_object) {
        write_object(text, stored->payload, &layout);
    } else {
        stream_write_base64(text, stored->payload);
    }
    parley_buffer_char(text, '}');
    return stream_event_make(text, &layout, envelope.type, NULL);
}
