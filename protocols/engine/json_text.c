/* SPDX-License-Identifier: Apache-2.0 */

/* A JSON reader that recurses nowhere, allocates only for strings with escapes, and stops at the
 * first fault (RFC 8259 to the letter, and the limits of the GW rules). It builds no values. */

#include "json_text.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "json_number.h"
#include "json_string.h"
#include "text.h"

/* One open array or object. */
struct level {
    bool is_array;
    bool is_told;
    size_t count;
    struct parley_bytes key; /* of the present member, as it is written between its quotes */
    bool has_escapes;        /* in the key */
};

struct reader {
    const char *start, *at, *end;
    const struct json_events *events;
    struct parley_arena *arena;
    struct key_set *keys;
    struct parley_buffer decoded; /* a text that has escapes, until the next one */
    struct level levels[JSON_DEPTH_MAX];
    size_t depth;
    bool is_told; /* the value that comes next is */
    struct json_fault *fault;
    bool is_out_of_memory;
};

static bool fail(struct reader *reader, enum parley_gateway_rule rule, const char *at,
                 const char *message) {
    *reader->fault = (struct json_fault){
        .rule = rule, .offset = (size_t)(at - reader->start), .message = message, .path = ""};
    return false;
}

/* Where the byte is no UTF-8 either, that is the better thing to say. */
static bool fail_syntax(struct reader *reader, const char *at, const char *message) {
    if (at < reader->end && text_utf8_sequence(at, (size_t)(reader->end - at)) == 0) {
        return fail(reader, PARLEY_GW_UTF8, at, "these bytes are not UTF-8");
    }
    return fail(reader, PARLEY_GW_PARSE, at, message);
}

static bool out_of_memory(struct reader *reader) {
    reader->is_out_of_memory = true;
    return false;
}

/* What a text with escapes means.  Owns: *out is valid until the next call. */
static bool decode_briefly(struct reader *reader, struct parley_bytes raw,
                           struct parley_bytes *out) {
    parley_buffer_clear(&reader->decoded);
    if (!parley_buffer_reserve(&reader->decoded, raw.length)) {
        return out_of_memory(reader);
    }
    reader->decoded.length = json_string_write(raw, reader->decoded.data);
    *out = parley_buffer_bytes(&reader->decoded);
    return true;
}

/* The same, for somebody who listens. */
static bool decode_told(struct reader *reader, struct parley_bytes raw, struct parley_bytes *out) {
    return reader->events->is_brief
               ? decode_briefly(reader, raw, out)
               : json_string_decode(reader->arena, raw, out) || out_of_memory(reader);
}

/* What the key of a level means.  Owns: as decode_briefly.  Returns: data NULL when there is no
 * memory. */
static struct parley_bytes key_of(struct reader *reader, const struct level *level) {
    struct parley_bytes key = level->key;
    const bool is_known = !level->has_escapes || decode_briefly(reader, level->key, &key);
    return is_known ? key : (struct parley_bytes){0};
}

/* The JSON Pointer of the present member or item. */
static bool write_path(struct reader *reader) {
    struct parley_buffer path;
    parley_buffer_init(&path);
    for (size_t i = 0; i < reader->depth; i++) {
        const struct level *level = &reader->levels[i];
        if (level->is_array) {
            parley_buffer_char(&path, '/');
            parley_buffer_uint(&path, level->count - 1);
            continue;
        }
        text_append_token(&path, key_of(reader, level));
    }
    reader->fault->path = path.has_failed || reader->decoded.has_failed
                              ? NULL
                              : parley_arena_copy(reader->arena, parley_buffer_bytes(&path));
    parley_buffer_finish(&path);
    return reader->fault->path != NULL || out_of_memory(reader);
}

static void skip_blanks(struct reader *reader) {
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\n' ||
                                        *reader->at == '\r' || *reader->at == '\t')) {
        reader->at++;
    }
}

/* Checks the escape at reader->at and steps over it. */
static bool skip_escape(struct reader *reader) {
    const char *at = reader->at;
    if (reader->end - at < 2) {
        return fail_syntax(reader, reader->end, "the text ends inside a string");
    }
    if (at[1] != 'u') {
        reader->at += 2;
        return strchr("\"\\/bfnrt", at[1]) != NULL && at[1] != '\0'
                   ? true
                   : fail_syntax(reader, at, "there is no such escape in JSON");
    }
    const long unit = json_string_unit(at, reader->end);
    if (unit < 0) {
        return fail_syntax(reader, at, "\\u takes four hexadecimal digits");
    }
    reader->at += 6;
    if (unit >= 0xDC00 && unit <= 0xDFFF) {
        return fail_syntax(reader, at, "this is the second half of a surrogate pair, alone");
    }
    if (unit >= 0xD800 && unit <= 0xDBFF) {
        const long second = json_string_unit(reader->at, reader->end);
        if (second < 0xDC00 || second > 0xDFFF) {
            return fail_syntax(reader, at, "this is the first half of a surrogate pair, alone");
        }
        reader->at += 6;
    }
    return true;
}

/* Finds what is wrong with the string whose text begins at reader->at. */
static bool fail_string(struct reader *reader) {
    for (;;) {
        reader->at = json_string_plain(reader->at, reader->end);
        if (reader->at == reader->end) {
            return fail_syntax(reader, reader->end, "the text ends inside a string");
        }
        const unsigned char c = (unsigned char)*reader->at;
        if (c == '\\') {
            if (!skip_escape(reader)) {
                return false;
            }
        } else if (c < 0x20) {
            return fail_syntax(reader, reader->at,
                               "a control character in a string must be written as an escape");
        } else {
            const char *behind = text_utf8_run(reader->at, reader->end);
            if (behind == reader->at) {
                return fail(reader, PARLEY_GW_UTF8, reader->at, "these bytes are not UTF-8");
            }
            reader->at = behind;
        }
    }
}

/* Reads the string at its opening quote, as it is written between its quotes. */
static bool read_string(struct reader *reader, struct parley_bytes *out, bool *out_has_escapes) {
    const char *content = ++reader->at;
    const char *end = json_string_end(content, reader->end, out_has_escapes);
    if (end == NULL) {
        return fail_string(reader);
    }
    *out = (struct parley_bytes){content, (size_t)(end - content)};
    reader->at = end + 1;
    return true;
}

/* Owns: out is in the text, or in the arena where it was decoded for somebody to hear. */
static bool read_text(struct reader *reader, struct parley_bytes *out) {
    bool has_escapes;
    return read_string(reader, out, &has_escapes) &&
           (!has_escapes || !reader->is_told || decode_told(reader, *out, out));
}

static void skip_digits(struct reader *reader) {
    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9') {
        reader->at++;
    }
}

static bool read_digits(struct reader *reader) {
    const char *first = reader->at;
    skip_digits(reader);
    return reader->at > first || fail_syntax(reader, reader->at, "a digit is wanted here");
}

/* The value of a number whose form is right. strtod reads it as jansson does; it needs a NUL. */
static bool number_value(struct reader *reader, const char *first, double *out) {
    enum { FINITE_DIGITS = 300 };
    char few[64];
    const size_t length = (size_t)(reader->at - first);
    if (!reader->is_told && length < FINITE_DIGITS && memchr(first, 'e', length) == NULL &&
        memchr(first, 'E', length) == NULL) {
        return true; /* nobody asks, and it is none that is too large */
    }
    char *copy = length < sizeof few ? few : parley_arena_allocate(reader->arena, length + 1);
    if (copy == NULL) {
        return out_of_memory(reader);
    }
    memcpy(copy, first, length);
    copy[length] = '\0';
    *out = strtod(copy, NULL);
    return isfinite(*out) || fail_syntax(reader, first, "this number is too large for a double");
}

/* A number that is not read at a glance: it is long, too large, or none. */
static bool read_any_number(struct reader *reader, double *out) {
    const char *first = reader->at;
    if (*reader->at == '-') {
        reader->at++;
    }
    if (reader->at < reader->end && *reader->at == '0') {
        reader->at++;
    } else if (!read_digits(reader)) {
        return false;
    }
    if (reader->at < reader->end && *reader->at == '.') {
        reader->at++;
        if (!read_digits(reader)) {
            return false;
        }
    }
    if (reader->at < reader->end && (*reader->at | 32) == 'e') {
        reader->at++;
        if (reader->at < reader->end && (*reader->at == '+' || *reader->at == '-')) {
            reader->at++;
        }
        if (!read_digits(reader)) {
            return false;
        }
    }
    return number_value(reader, first, out);
}

static bool read_number(struct reader *reader, double *out) {
    const char *end = json_number_read(reader->at, reader->end, reader->is_told ? out : NULL);
    if (end == NULL) {
        return read_any_number(reader, out);
    }
    reader->at = end;
    return true;
}

static bool read_word(struct reader *reader, struct parley_bytes word) {
    const size_t left = (size_t)(reader->end - reader->at);
    if (left < word.length || memcmp(reader->at, word.data, word.length) != 0) {
        return fail_syntax(reader, reader->at, "a JSON value is wanted here");
    }
    reader->at += word.length;
    return true;
}

static bool read_scalar(struct reader *reader, struct parley_value *value) {
    switch (*reader->at) {
    case '"':
        value->kind = PARLEY_STRING;
        return read_text(reader, &value->text);
    case 't':
        *value = (struct parley_value){PARLEY_BOOLEAN, .number = 1, .offset = value->offset};
        return read_word(reader, PARLEY_BYTES("true"));
    case 'f':
        value->kind = PARLEY_BOOLEAN;
        return read_word(reader, PARLEY_BYTES("false"));
    case 'n':
        value->kind = PARLEY_NULL;
        return read_word(reader, PARLEY_BYTES("null"));
    default:
        value->kind = PARLEY_NUMBER;
        if (*reader->at != '-' && (*reader->at < '0' || *reader->at > '9')) {
            return fail_syntax(reader, reader->at, "a JSON value is wanted here");
        }
        return read_number(reader, &value->number);
    }
}

static bool open_level(struct reader *reader, struct parley_value *value) {
    if (reader->depth == JSON_DEPTH_MAX) {
        fail(reader, PARLEY_GW_DEPTH, reader->at, "this is nested deeper than 64");
        write_path(reader);
        return false;
    }
    const bool is_array = *reader->at == '[';
    value->kind = is_array ? PARLEY_ARRAY : PARLEY_OBJECT;
    const bool is_told = reader->is_told && reader->events->value(reader->events->context, value);
    reader->levels[reader->depth++] = (struct level){.is_array = is_array, .is_told = is_told};
    if (!is_array && reader->keys != NULL) {
        key_set_enter(reader->keys);
    }
    reader->at++;
    return true;
}

static void close_level(struct reader *reader) {
    const struct level *level = &reader->levels[--reader->depth];
    if (level->is_told) {
        reader->events->leave(reader->events->context, level->count);
    }
    if (!level->is_array && reader->keys != NULL) {
        key_set_leave(reader->keys);
    }
    reader->at++;
}

/* Keeps the present key, which began at `first`, unless its object has one like it. */
static bool note_key(struct reader *reader, const char *first, struct parley_bytes key) {
    switch (key_set_add(reader->keys, key)) {
    case KEY_SET_NEW:
        return true;
    case KEY_SET_REPEATED:
        fail(reader, PARLEY_GW_DUPLICATE_KEY, first, "this key stood in the object before");
        write_path(reader);
        return false;
    case KEY_SET_MEMORY:
        break;
    }
    return out_of_memory(reader);
}

/* Who listens may keep a key. */
static bool tell_key(struct reader *reader, const struct level *level, struct parley_bytes key) {
    if (level->has_escapes && !decode_told(reader, level->key, &key)) {
        return false;
    }
    reader->is_told = reader->events->key(reader->events->context, key);
    return true;
}

/* From behind an opening brace or a comma to the value of the next member. */
static bool read_key(struct reader *reader) {
    struct level *level = &reader->levels[reader->depth - 1];
    const char *first = reader->at;
    if (first == reader->end || *first != '"') {
        return fail_syntax(reader, first, "a key in double quotes is wanted here");
    }
    if (!read_string(reader, &level->key, &level->has_escapes)) {
        return false;
    }
    const struct parley_bytes key = key_of(reader, level);
    if (key.data == NULL) {
        return false;
    }
    if (level->has_escapes && memchr(key.data, '\0', key.length) != NULL) {
        return fail_syntax(reader, first, "a key cannot hold a NUL");
    }
    if (reader->keys != NULL && !note_key(reader, first, key)) {
        return false;
    }
    skip_blanks(reader);
    if (reader->at == reader->end || *reader->at != ':') {
        return fail_syntax(reader, reader->at, "a colon is wanted behind the key");
    }
    reader->at++;
    skip_blanks(reader);
    reader->is_told = false;
    return !level->is_told || tell_key(reader, level, key);
}

/* Reads the opening of an array or object, or a whole scalar. */
static bool read_value(struct reader *reader, bool *out_is_open) {
    if (reader->at == reader->end) {
        return fail_syntax(reader, reader->end,
                           reader->depth == 0 ? "there is nothing to read"
                                              : "the text ends too early");
    }
    struct parley_value value = {.offset = (size_t)(reader->at - reader->start)};
    *out_is_open = *reader->at == '{' || *reader->at == '[';
    if (*out_is_open) {
        return open_level(reader, &value);
    }
    if (!read_scalar(reader, &value)) {
        return false;
    }
    if (reader->is_told) {
        reader->events->value(reader->events->context, &value);
    }
    return true;
}

/* Behind a value: closes what ends here, and stands before the next value, or at the end. */
static bool step(struct reader *reader, bool is_open) {
    while (reader->depth > 0) {
        struct level *level = &reader->levels[reader->depth - 1];
        const char closing = level->is_array ? ']' : '}';
        skip_blanks(reader);
        if (reader->at == reader->end) {
            return fail_syntax(reader, reader->end, "the text ends too early");
        }
        if (*reader->at == closing) {
            close_level(reader);
            is_open = false;
            continue;
        }
        if (!is_open && *reader->at != ',') {
            return fail_syntax(reader, reader->at,
                               level->is_array ? "a comma or ] is wanted here"
                                               : "a comma or } is wanted here");
        }
        reader->at += is_open ? 0 : 1;
        skip_blanks(reader);
        level->count++;
        reader->is_told = level->is_told;
        return level->is_array || read_key(reader);
    }
    return true;
}

static bool read_all(struct reader *reader) {
    bool is_open = false;
    skip_blanks(reader);
    reader->is_told = reader->events != NULL;
    do {
        if (!read_value(reader, &is_open) || !step(reader, is_open)) {
            return false;
        }
    } while (reader->depth > 0);
    skip_blanks(reader);
    return reader->at == reader->end ||
           fail_syntax(reader, reader->at, "something follows behind the message");
}

static bool walk_on_value(void *context, const struct parley_value *value) {
    return walk_value(context, value);
}

static bool walk_on_key(void *context, struct parley_bytes key) {
    return walk_key(context, key);
}

static void walk_on_leave(void *context, size_t count) {
    walk_leave(context, count);
}

struct json_events json_events_of_walk(struct walk *walk) {
    return (struct json_events){
        .context = walk, .value = walk_on_value, .key = walk_on_key, .leave = walk_on_leave};
}

enum json_text_result json_text_read(struct parley_bytes text, const struct json_events *events,
                                     struct parley_arena *arena, struct key_set *keys,
                                     struct json_fault *out_fault) {
    struct reader reader = {.start = text.data,
                            .at = text.data,
                            .end = text.data + text.length,
                            .events = events,
                            .arena = arena,
                            .keys = keys,
                            .fault = out_fault};
    *out_fault = (struct json_fault){.path = ""};
    const bool is_read = read_all(&reader);
    parley_buffer_finish(&reader.decoded);
    if (is_read) {
        return JSON_TEXT_READ;
    }
    return reader.is_out_of_memory ? JSON_TEXT_MEMORY : JSON_TEXT_FAULT;
}
