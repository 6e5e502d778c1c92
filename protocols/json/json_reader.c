/* SPDX-License-Identifier: Apache-2.0 */

/* A JSON reader that recurses nowhere, allocates only for strings with escapes, and reports the
 * first fault (RFC 8259 to the letter, and the limits of the GW rules). It builds no values.
 *
 * It stops at that fault, unless the fault leaves the text's structure intact: then it reads on, in
 * silence, to say whether the rest is intact as well. */

#include "json_reader.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "json_fault.h"
#include "json_number.h"
#include "json_pass.h"
#include "json_skip.h"
#include "json_string.h"
#include "text.h"

/* One open array or object. */
struct level {
    bool is_array;
    bool is_told;     /* `value` was called for it … */
    bool is_reported; /* … and is called for its content */
    size_t count;
    struct parley_bytes key; /* of the current member, as it is written between its quotes */
    bool has_escapes;        /* in the key */
};

struct reader {
    const char *start, *at, *end;
    const struct json_events *events;
    struct parley_arena *arena;
    struct key_set *keys;
    struct parley_buffer decoded; /* a text that has escapes, until the next one */
    struct level *levels;         /* JSON_DEPTH_MAX */
    size_t depth;
    bool is_reported;         /* the value that comes next is */
    bool is_careful;          /* no value is passed over: there may be a fault */
    struct json_fault *fault; /* the first … */
    bool has_fault;           /* … if there is one */
    bool is_out_of_memory;
};

static void keep_fault(struct reader *reader, enum json_flaw flaw, const char *at) {
    *reader->fault = (struct json_fault){.rule = json_flaws[flaw].rule,
                                         .offset = (size_t)(at - reader->start),
                                         .message = json_flaws[flaw].message,
                                         .hint = json_flaws[flaw].hint,
                                         .path = ""};
    reader->has_fault = true;
}

/* Ends the reading with a fault.  Returns: false. */
static bool fail(struct reader *reader, enum json_flaw flaw, const char *at) {
    if (reader->has_fault) {
        reader->fault->is_contained &= json_flaws[flaw].rule != PARLEY_GW_PARSE;
    } else {
        keep_fault(reader, flaw, at);
    }
    return false;
}

/* Where the byte is not UTF-8 either, that is the better thing to say. */
static bool fail_syntax(struct reader *reader, enum json_flaw flaw, const char *at) {
    const bool is_utf8 =
        at == reader->end || text_utf8_sequence(at, (size_t)(reader->end - at)) > 0;
    return fail(reader, is_utf8 ? flaw : JSON_FLAW_UTF8, at);
}

/* Notes a fault that leaves the structure intact: no further events are reported. */
static void contain(struct reader *reader, enum json_flaw flaw, const char *at) {
    if (reader->has_fault) {
        return;
    }
    keep_fault(reader, flaw, at);
    reader->fault->is_contained = true;
    reader->is_reported = false;
    reader->keys = NULL;
    for (size_t i = 0; i < reader->depth; i++) {
        reader->levels[i].is_told = reader->levels[i].is_reported = false;
    }
}

static bool out_of_memory(struct reader *reader) {
    reader->is_out_of_memory = true;
    return false;
}

/* Decodes a text with escapes.  Owns: *out is valid until the next call. */
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

/* The same, for a listener. */
static bool decode_told(struct reader *reader, struct parley_bytes raw, struct parley_bytes *out) {
    return reader->events->is_brief
               ? decode_briefly(reader, raw, out)
               : json_string_decode(reader->arena, raw, out) || out_of_memory(reader);
}

/* The decoded key of a level.  Owns: as decode_briefly.  Returns: data NULL when there is no
 * memory. */
static struct parley_bytes key_of(struct reader *reader, const struct level *level) {
    struct parley_bytes key = level->key;
    const bool is_known = !level->has_escapes || decode_briefly(reader, level->key, &key);
    return is_known ? key : (struct parley_bytes){0};
}

/* The JSON Pointer of the current member or item. */
static void write_path(struct reader *reader) {
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
    reader->is_out_of_memory |= reader->fault->path == NULL;
}

static bool fail_at_path(struct reader *reader, enum json_flaw flaw, const char *at) {
    const bool is_first = !reader->has_fault;
    fail(reader, flaw, at);
    if (is_first) {
        write_path(reader);
    }
    return false;
}

static void skip_some_blanks(struct reader *reader) {
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\n' ||
                                        *reader->at == '\r' || *reader->at == '\t')) {
        reader->at++;
    }
}

/* Most texts have none. */
static inline void skip_blanks(struct reader *reader) {
    if (reader->at < reader->end && (unsigned char)*reader->at <= ' ') {
        skip_some_blanks(reader);
    }
}

/* The first byte after `\u` at `at` that is not a hexadecimal digit, of four; or NULL. */
static const char *find_bad_digit(const char *at, const char *end) {
    for (const char *digit = at + 2; digit < at + 6; digit++) {
        if (digit == end || strchr("0123456789abcdefABCDEF", *digit) == NULL || *digit == '\0') {
            return digit;
        }
    }
    return NULL;
}

static bool fail_in_escape(struct reader *reader, enum json_flaw flaw, const char *at) {
    return fail_syntax(reader, at == reader->end ? JSON_FLAW_END_OF_STRING : flaw, at);
}

/* Checks the escape at reader->at and steps over it. */
static bool skip_escape(struct reader *reader, bool is_in_key) {
    const char *at = reader->at;
    if (at + 1 == reader->end ||
        (at[1] != 'u' && (at[1] == '\0' || strchr("\"\\/bfnrt", at[1]) == NULL))) {
        return fail_in_escape(reader, JSON_FLAW_ESCAPE, at + 1);
    }
    if (at[1] != 'u') {
        reader->at += 2;
        return true;
    }
    const char *bad_digit = find_bad_digit(at, reader->end);
    if (bad_digit != NULL) {
        return fail_in_escape(reader, JSON_FLAW_HEX, bad_digit);
    }
    const long unit = json_string_unit(at, reader->end);
    if (unit == 0 && is_in_key) {
        return fail(reader, JSON_FLAW_KEY_NUL, at);
    }
    reader->at += 6;
    if (unit >= 0xDC00 && unit <= 0xDFFF) {
        contain(reader, JSON_FLAW_SECOND_SURROGATE, at);
    } else if (unit >= 0xD800 && unit <= 0xDBFF) {
        const long second = json_string_unit(reader->at, reader->end);
        if (second >= 0xDC00 && second <= 0xDFFF) {
            reader->at += 6;
        } else {
            contain(reader, JSON_FLAW_FIRST_SURROGATE, at);
        }
    }
    return true;
}

/* Goes to the closing quote of the string whose text begins at reader->at, and looks at everything
 * on the way. Apart, so that what most strings need is inlined. */
static __attribute__((noinline)) bool read_carefully(struct reader *reader, bool is_in_key) {
    for (;;) {
        reader->at = json_string_plain(reader->at, reader->end);
        if (reader->at == reader->end) {
            return fail(reader, JSON_FLAW_END_OF_STRING, reader->end);
        }
        const unsigned char c = (unsigned char)*reader->at;
        if (c == '"') {
            return true;
        }
        if (c == '\\') {
            if (!skip_escape(reader, is_in_key)) {
                return false;
            }
        } else if (c < 0x20) {
            return fail(reader, json_flaw_of_control(*reader->at), reader->at);
        } else {
            const char *after = text_utf8_run(reader->at, reader->end);
            if (after == reader->at) {
                return fail(reader, JSON_FLAW_UTF8, reader->at);
            }
            reader->at = after;
        }
    }
}

/* Reads the string at its opening quote, as it is written between its quotes. */
static inline bool read_string(struct reader *reader, bool is_key, struct parley_bytes *out,
                               bool *out_has_escapes) {
    const char *content = ++reader->at;
    const char *end = json_string_end(content, reader->end, out_has_escapes);
    if (end == NULL || (is_key && *out_has_escapes)) {
        if (!read_carefully(reader, is_key)) {
            return false;
        }
        end = reader->at;
    }
    *out = (struct parley_bytes){content, (size_t)(end - content)};
    reader->at = end + 1;
    return true;
}

/* Owns: `out` is in the text, or in the arena if it was decoded for a listener. */
static bool read_text(struct reader *reader, struct parley_bytes *out) {
    bool has_escapes;
    return read_string(reader, false, out, &has_escapes) &&
           (!has_escapes || !reader->is_reported || decode_told(reader, *out, out));
}

static void skip_digits(struct reader *reader) {
    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9') {
        reader->at++;
    }
}

static bool read_digits(struct reader *reader) {
    const char *first = reader->at;
    skip_digits(reader);
    return reader->at > first ||
           fail_syntax(reader, json_flaw_at_digit(reader->at, reader->end), reader->at);
}

/* The value of a number whose form is right. strtod reads it as jansson does; it needs a NUL. */
static bool number_value(struct reader *reader, const char *first, double *out) {
    enum { FINITE_DIGITS = 300 };
    char few[64];
    const size_t length = (size_t)(reader->at - first);
    if (!reader->is_reported && length < FINITE_DIGITS && memchr(first, 'e', length) == NULL &&
        memchr(first, 'E', length) == NULL) {
        return true; /* not asked for, and certainly not too large */
    }
    char *copy = length < sizeof few ? few : parley_arena_allocate(reader->arena, length + 1);
    if (copy == NULL) {
        return out_of_memory(reader);
    }
    memcpy(copy, first, length);
    copy[length] = '\0';
    *out = strtod(copy, NULL);
    if (!isfinite(*out)) {
        contain(reader, JSON_FLAW_TOO_LARGE, first);
    }
    return true;
}

/* A number that is not read at a glance: it is long, too large, or not one. */
static bool read_any_number(struct reader *reader, double *out) {
    const char *first = reader->at;
    if (*reader->at == '-') {
        reader->at++;
    }
    if (reader->at < reader->end && *reader->at == '0') {
        reader->at++;
        if (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9') {
            return fail(reader, JSON_FLAW_LEADING_ZERO, reader->at);
        }
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
    const char *end = json_number_read(reader->at, reader->end, reader->is_reported ? out : NULL);
    if (end == NULL) {
        return read_any_number(reader, out);
    }
    reader->at = end;
    return true;
}

static bool read_word(struct reader *reader, struct parley_bytes word) {
    const char *start = reader->at;
    for (size_t i = 0; i < word.length; i++, reader->at++) {
        if (reader->at == reader->end || *reader->at != word.data[i]) {
            return fail_syntax(reader, json_flaw_in_word(start, reader->at, reader->end),
                               reader->at);
        }
    }
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
            return fail_syntax(reader, json_flaw_at_value(reader->start, reader->at, reader->end),
                               reader->at);
        }
        return read_number(reader, &value->number);
    }
}

static void tell_end(const struct reader *reader) {
    if (reader->events->end != NULL) {
        reader->events->end(reader->events->context, (size_t)(reader->at - reader->start));
    }
}

/* Steps over a value whose content is not reported.  Returns: false: it has to be read, for a fault
 * perhaps; then those in it are, too, and all after it. */
static bool pass_over(struct reader *reader, bool is_told) {
    if (reader->is_careful || reader->keys != NULL) {
        return false;
    }
    const struct json_events *events = reader->events;
    const bool is_left = is_told && events->leaves != NULL && events->leaves(events->context);
    const char *after = is_left
                            ? json_skip_unread(reader->at, reader->end)
                            : json_pass(reader->at, reader->end, JSON_DEPTH_MAX - reader->depth);
    reader->is_careful = after == NULL;
    reader->at = after != NULL ? after : reader->at;
    return after != NULL;
}

/* An array or object.  *out_is_open: false: it was passed over. */
static bool open_level(struct reader *reader, struct parley_value *value, bool *out_is_open) {
    if (reader->depth == JSON_DEPTH_MAX) {
        return fail_at_path(reader, JSON_FLAW_DEPTH, reader->at);
    }
    const bool is_array = *reader->at == '[';
    value->kind = is_array ? PARLEY_ARRAY : PARLEY_OBJECT;
    const bool is_told = reader->is_reported;
    const bool is_reported = is_told && reader->events->value(reader->events->context, value);
    *out_is_open = is_reported || !pass_over(reader, is_told);
    if (!*out_is_open) {
        if (is_told) {
            tell_end(reader);
        }
        return true;
    }
    reader->levels[reader->depth++] =
        (struct level){.is_array = is_array, .is_told = is_told, .is_reported = is_reported};
    if (!is_array && reader->keys != NULL) {
        key_set_enter(reader->keys);
    }
    reader->at++;
    return true;
}

static void close_level(struct reader *reader) {
    const struct level *level = &reader->levels[--reader->depth];
    if (level->is_reported) {
        reader->events->leave(reader->events->context, level->count);
    }
    if (!level->is_array && reader->keys != NULL) {
        key_set_leave(reader->keys);
    }
    reader->at++;
    if (level->is_told) {
        tell_end(reader);
    }
}

/* Keeps the current key, which began at `first`, unless its object has it already. */
static bool note_key(struct reader *reader, const char *first, const struct level *level) {
    const struct parley_bytes key = key_of(reader, level);
    if (key.data == NULL) {
        return false;
    }
    switch (key_set_add(reader->keys, key)) {
    case KEY_SET_NEW:
        return true;
    case KEY_SET_REPEATED:
        return fail_at_path(reader, JSON_FLAW_DUPLICATE_KEY, first);
    case KEY_SET_MEMORY:
        break;
    }
    return out_of_memory(reader);
}

/* Who listens may keep a key. */
static bool report_key(struct reader *reader, const struct level *level) {
    struct parley_bytes key = level->key;
    if (level->has_escapes && !decode_told(reader, level->key, &key)) {
        return false;
    }
    reader->is_reported = reader->events->key(reader->events->context, key);
    return true;
}

/* From after an opening brace or a comma to the value of the next member. */
static bool read_key(struct reader *reader) {
    struct level *level = &reader->levels[reader->depth - 1];
    const char *first = reader->at;
    if (first == reader->end || *first != '"') {
        return fail_syntax(reader, json_flaw_at_key(reader->start, first, reader->end), first);
    }
    if (!read_string(reader, true, &level->key, &level->has_escapes)) {
        return false;
    }
    if (reader->keys != NULL && !note_key(reader, first, level)) {
        return false;
    }
    skip_blanks(reader);
    if (reader->at == reader->end || *reader->at != ':') {
        return fail_syntax(reader, json_flaw_at_colon(reader->at, reader->end), reader->at);
    }
    reader->at++;
    skip_blanks(reader);
    reader->is_reported = false;
    return !level->is_reported || report_key(reader, level);
}

/* Reads the opening of an array or object, or a whole scalar. */
static bool read_value(struct reader *reader, bool *out_is_open) {
    if (reader->at == reader->end) {
        return fail(reader, json_flaw_at_value(reader->start, reader->at, reader->end),
                    reader->end);
    }
    struct parley_value value = {.offset = (size_t)(reader->at - reader->start)};
    *out_is_open = *reader->at == '{' || *reader->at == '[';
    if (*out_is_open) {
        return open_level(reader, &value, out_is_open);
    }
    if (!read_scalar(reader, &value)) {
        return false;
    }
    if (reader->is_reported) {
        reader->events->value(reader->events->context, &value);
        tell_end(reader);
    }
    return true;
}

/* After a value: closes what ends here, and moves to the next value, or to the end. */
static bool step(struct reader *reader, bool is_open) {
    while (reader->depth > 0) {
        struct level *level = &reader->levels[reader->depth - 1];
        const char closing = level->is_array ? ']' : '}';
        skip_blanks(reader);
        if (reader->at == reader->end) {
            return fail(reader, json_flaw_after_value(reader->at, reader->end, level->is_array),
                        reader->end);
        }
        if (*reader->at == closing) {
            close_level(reader);
            is_open = false;
            continue;
        }
        if (!is_open && *reader->at != ',') {
            return fail_syntax(reader,
                               json_flaw_after_value(reader->at, reader->end, level->is_array),
                               reader->at);
        }
        reader->at += is_open ? 0 : 1;
        skip_blanks(reader);
        level->count++;
        reader->is_reported = level->is_reported;
        return level->is_array || read_key(reader);
    }
    return true;
}

static bool read_all(struct reader *reader) {
    bool is_open = false;
    skip_blanks(reader);
    reader->is_reported = reader->events != NULL;
    do {
        if (!read_value(reader, &is_open) || !step(reader, is_open)) {
            return false;
        }
    } while (reader->depth > 0);
    skip_blanks(reader);
    return reader->at == reader->end ||
           fail_syntax(reader, json_flaw_after_message(reader->at), reader->at);
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

enum json_reader_result json_reader_read(struct parley_bytes text, const struct json_events *events,
                                         struct parley_arena *arena, struct key_set *keys,
                                         struct json_fault *out_fault) {
    struct level levels[JSON_DEPTH_MAX];
    struct reader reader = {.start = text.data,
                            .at = text.data,
                            .end = text.data + text.length,
                            .events = events,
                            .arena = arena,
                            .keys = keys,
                            .levels = levels,
                            .fault = out_fault};
    *out_fault = (struct json_fault){.path = ""};
    const bool is_read = read_all(&reader);
    parley_buffer_finish(&reader.decoded);
    if (is_read && !reader.has_fault) {
        return JSON_READER_READ;
    }
    return reader.is_out_of_memory ? JSON_READER_MEMORY : JSON_READER_FAULT;
}

enum parley_status json_reader_read_again(struct parley_bytes text,
                                          const struct json_events *events,
                                          struct parley_arena *arena) {
    struct json_fault fault;
    const enum json_reader_result result = json_reader_read(text, events, arena, NULL, &fault);
    return result == JSON_READER_READ     ? PARLEY_OK
           : result == JSON_READER_MEMORY ? PARLEY_E_MEMORY
                                          : PARLEY_E_UNSUPPORTED;
}
