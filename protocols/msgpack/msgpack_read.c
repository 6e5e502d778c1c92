/* SPDX-License-Identifier: Apache-2.0 */

/* Finds the fault in MessagePack that has one, and explains it: msgpack-c's unpack template with
 * callbacks that build nothing. The template reads the bytes and reports each value; its place, its
 * container and the end of that are tracked here, since the template does not provide them. A fault
 * points at the wrong byte, or, for truncated bytes, at the end. No memory is allocated for what a
 * head claims, and the bytes that are there are read first. */

#include "msgpack_read.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "key_set.h"
#include "text.h"

enum { DEPTH_MAX = KEY_SET_DEPTH_MAX };

/* One open array or map. */
struct level {
    const char *name; /* "map 16" */
    bool is_map;
    size_t offset;
    size_t claimed;          /* items or members */
    size_t done;             /* its complete values, keys included */
    struct parley_bytes key; /* of the current member */
};

struct reader {
    struct parley_bytes bytes;
    size_t next; /* where the next value, or the current one, begins */
    struct key_set *keys;
    struct parley_arena *arena;
    struct level levels[DEPTH_MAX];
    size_t depth;
    struct msgpack_fault *fault;
    bool is_out_of_memory;
};

/* ---- faults ---- */

static bool out_of_memory(struct reader *reader) {
    reader->is_out_of_memory = true;
    return false;
}

/* Returns: false. */
static bool fail(struct reader *reader, struct msgpack_fault fault, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool fail(struct reader *reader, struct msgpack_fault fault, const char *format, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fault.message = parley_arena_copy(reader->arena, parley_bytes_of(text));
    fault.path = fault.path != NULL ? fault.path : "";
    *reader->fault = fault;
    return fault.message != NULL ? false : out_of_memory(reader);
}

/* The JSON Pointer of the current member or item.  Returns: NULL without memory. */
static const char *present_path(struct reader *reader) {
    struct parley_buffer path;
    parley_buffer_init(&path);
    for (size_t i = 0; i < reader->depth; i++) {
        const struct level *level = &reader->levels[i];
        if (level->is_map) {
            text_append_token(&path, level->key);
        } else {
            parley_buffer_format(&path, "/%zu", level->done);
        }
    }
    const char *copy =
        path.has_failed ? NULL : parley_arena_copy(reader->arena, parley_buffer_bytes(&path));
    parley_buffer_finish(&path);
    return copy;
}

static bool fail_at_path(struct reader *reader, enum parley_gateway_rule rule, size_t offset,
                         const char *message) {
    const char *path = present_path(reader);
    return path == NULL
               ? out_of_memory(reader)
               : fail(reader, (struct msgpack_fault){.rule = rule, .offset = offset, .path = path},
                      "%s", message);
}

static const char *plural(size_t count) {
    return count == 1 ? "" : "s";
}

static size_t bytes_left(const struct reader *reader, size_t offset) {
    return reader->bytes.length - offset;
}

static unsigned char first_byte(const struct reader *reader, size_t offset) {
    return (unsigned char)reader->bytes.data[offset];
}

/* ---- the place of a value ---- */

static bool is_at_key(const struct reader *reader) {
    const struct level *level = reader->depth > 0 ? &reader->levels[reader->depth - 1] : NULL;
    return level != NULL && level->is_map && level->done % 2 == 0;
}

/* Whether a value whose first byte is at `offset` is allowed there at all. */
static bool may_begin(struct reader *reader, size_t offset) {
    const unsigned char first = first_byte(reader, offset);
    const struct msgpack_fault fault = {.rule = PARLEY_GW_PARSE, .offset = offset};
    if (first == 0xc1) {
        struct msgpack_fault unused_fault = fault;
        unused_fault.hint =
            "Encode the message with a MessagePack library; none of them writes this byte.";
        return fail(reader, unused_fault, "0xc1 is not a type of MessagePack");
    }
    if (is_at_key(reader) && !msgpack_is_string(first)) {
        struct msgpack_fault key_fault = fault;
        key_fault.hint = "Write each key of a map as a string: the message is forwarded as JSON, "
                         "which has no other keys.";
        return fail(reader, key_fault, "a key must be a string, not a %s (0x%02x)",
                    msgpack_family_of(first).name, first);
    }
    if (msgpack_is_extension(first)) {
        struct msgpack_fault extension_fault = fault;
        extension_fault.hint = "Send a time as an integer of Unix seconds or as text, and other "
                               "types as maps, strings or bin.";
        return fail(reader, extension_fault,
                    "extension types (%s, 0x%02x) are not allowed: JSON has no equivalent",
                    msgpack_family_of(first).name, first);
    }
    if (msgpack_is_container(first) && reader->depth == DEPTH_MAX) {
        return fail_at_path(reader, PARLEY_GW_DEPTH, offset, "nested deeper than 64 levels");
    }
    return true;
}

/* Moves past the head of the next value, which begins at `*out_offset`. */
static bool begin_value(struct reader *reader, size_t *out_offset) {
    *out_offset = reader->next;
    if (!may_begin(reader, reader->next)) {
        return false;
    }
    reader->next += msgpack_family_of(first_byte(reader, reader->next)).head_bytes;
    return true;
}

static void close_level(struct reader *reader) {
    if (reader->levels[--reader->depth].is_map) {
        key_set_leave(reader->keys);
    }
}

/* A value is complete, and so are the containers that end with it. */
static void end_value(struct reader *reader) {
    while (reader->depth > 0) {
        struct level *level = &reader->levels[reader->depth - 1];
        level->done++;
        if (level->done < (level->is_map ? 2 : 1) * level->claimed) {
            return;
        }
        close_level(reader);
    }
}

static bool add_scalar(struct reader *reader) {
    size_t offset;
    if (!begin_value(reader, &offset)) {
        return false;
    }
    end_value(reader);
    return true;
}

static bool add_integer(struct reader *reader, int64_t integer) {
    (void)integer;
    return add_scalar(reader);
}

static bool add_unsigned(struct reader *reader, uint64_t integer) {
    if (integer <= INT64_MAX) {
        return add_scalar(reader);
    }
    return may_begin(reader, reader->next) &&
           fail(reader,
                (struct msgpack_fault){
                    .rule = PARLEY_GW_PARSE,
                    .offset = reader->next,
                    .hint = "Send a number that fits into a signed 64-bit integer, or a string."},
                "the integer %" PRIu64 " is above %" PRId64 ", the largest signed 64-bit integer",
                integer, INT64_MAX);
}

static bool add_float(struct reader *reader, double number) {
    size_t offset;
    if (!begin_value(reader, &offset)) {
        return false;
    }
    if (!isfinite(number)) {
        return fail(reader,
                    (struct msgpack_fault){.rule = PARLEY_GW_PARSE,
                                           .offset = offset,
                                           .hint = "Send a finite number, or nil."},
                    "this %s is %s, which JSON does not have",
                    msgpack_family_of(first_byte(reader, offset)).name,
                    isnan(number) ? "NaN" : (number < 0 ? "-Infinity" : "Infinity"));
    }
    end_value(reader);
    return true;
}

/* ---- strings and keys ---- */

static bool add_key(struct reader *reader, struct parley_bytes key, size_t offset) {
    struct level *level = &reader->levels[reader->depth - 1];
    level->key = key;
    switch (key_set_add(reader->keys, key)) {
    case KEY_SET_NEW:
        level->done++;
        return true;
    case KEY_SET_REPEATED:
        return fail_at_path(reader, PARLEY_GW_DUPLICATE_KEY, offset, "duplicate key");
    case KEY_SET_MEMORY:
        break;
    }
    return out_of_memory(reader);
}

/* Whether these last bytes of a truncated text could be the beginning of a character. */
static bool may_go_on(struct parley_bytes cut) {
    char character[4] = {0};
    const size_t most = sizeof character - 1;
    if (cut.length == 0 || cut.length > most) {
        return false;
    }
    for (unsigned second = 0x80; second < 0xC0; second += 0x10) {
        memset(character, 0x80, sizeof character);
        character[1] = (char)second;
        memcpy(character, cut.data, cut.length);
        if (text_utf8_sequence(character, sizeof character) > cut.length) {
            return true;
        }
    }
    return false;
}

/* Checks the text that begins at `offset`, as far as it is there. */
static bool check_text(struct reader *reader, size_t offset, size_t length,
                       struct msgpack_head head, bool is_key) {
    const struct parley_bytes text = {reader->bytes.data + offset, length};
    const size_t valid = text_utf8_prefix(text);
    const char *nul = is_key ? memchr(text.data, '\0', valid) : NULL;
    if (nul != NULL) {
        return fail(reader,
                    (struct msgpack_fault){.rule = PARLEY_GW_PARSE,
                                           .offset = offset + (size_t)(nul - text.data),
                                           .hint = "Remove the NUL from the key."},
                    "a key cannot contain a NUL character");
    }
    const struct parley_bytes rest = {text.data + valid, length - valid};
    if (valid == length || (length < head.claim && may_go_on(rest))) {
        return true;
    }
    return fail(reader,
                (struct msgpack_fault){
                    .rule = PARLEY_GW_UTF8,
                    .offset = offset + valid,
                    .hint = "Encode text as UTF-8; send bytes that are not text as bin."},
                "byte 0x%02x, number %zu of the %zu in this %s, is not valid UTF-8",
                (unsigned char)text.data[valid], valid + 1, head.claim, head.name);
}

static bool add_string(struct reader *reader, size_t length, bool is_binary) {
    const bool is_key = is_at_key(reader);
    size_t offset;
    if (!begin_value(reader, &offset)) {
        return false;
    }
    const struct parley_bytes text = {reader->bytes.data + reader->next, length};
    if (!is_binary &&
        !check_text(reader, reader->next, length, msgpack_head_of(reader->bytes, offset), is_key)) {
        return false;
    }
    reader->next += length;
    if (is_key) {
        return add_key(reader, text, offset);
    }
    end_value(reader);
    return true;
}

static bool add_str(struct reader *reader, size_t length) {
    return add_string(reader, length, false);
}

static bool add_bin(struct reader *reader, size_t length) {
    return add_string(reader, length, true);
}

/* Returns: false, since it is not allowed anywhere. */
static bool add_extension(struct reader *reader, size_t length) {
    (void)length;
    return may_begin(reader, reader->next);
}

/* ---- arrays and maps ---- */

static bool add_container(struct reader *reader, bool is_map_begun, size_t count) {
    size_t offset;
    if (!begin_value(reader, &offset)) {
        return false;
    }
    const struct msgpack_family family = msgpack_family_of(first_byte(reader, offset));
    reader->levels[reader->depth++] = (struct level){
        .name = family.name, .is_map = is_map_begun, .offset = offset, .claimed = count};
    if (is_map_begun) {
        key_set_enter(reader->keys);
    }
    if (count == 0) {
        close_level(reader);
        end_value(reader);
    }
    return true;
}

static bool add_array(struct reader *reader, size_t count) {
    return add_container(reader, false, count);
}

static bool add_map(struct reader *reader, size_t count) {
    return add_container(reader, true, count);
}

/* ---- the template ---- */

#define MSGPACK_EMBED_STACK_SIZE (DEPTH_MAX + 1) /* so that it is add_container that refuses */
#include <msgpack/unpack.h>
#include <msgpack/unpack_define.h>

#define msgpack_unpack_struct(name) struct template##name
#define msgpack_unpack_func(type, name) static inline type template##name
#define msgpack_unpack_callback(name) on##name
#define msgpack_unpack_object char /* the object that it would build for each value */
#define msgpack_unpack_user struct reader *

/* The template's return values for continuing and stopping. */
static int going_on(bool is_fine) {
    return is_fine ? 0 : MSGPACK_UNPACK_PARSE_ERROR;
}

#define ON(name, type, add)                                                                        \
    static int on_##name(struct reader **reader, type value, const char *object) {                 \
        (void)object;                                                                              \
        return going_on(add(*reader, value));                                                      \
    }
ON(uint8, uint8_t, add_unsigned)
ON(uint16, uint16_t, add_unsigned)
ON(uint32, uint32_t, add_unsigned)
ON(uint64, uint64_t, add_unsigned)
ON(int8, int8_t, add_integer)
ON(int16, int16_t, add_integer)
ON(int32, int32_t, add_integer)
ON(int64, int64_t, add_integer)
ON(float, float, add_float)
ON(double, double, add_float)
ON(array, unsigned, add_array)
ON(map, unsigned, add_map)

#define ON_WORD(name)                                                                              \
    static int on_##name(struct reader **reader, const char *object) {                             \
        (void)object;                                                                              \
        return going_on(add_scalar(*reader));                                                      \
    }
ON_WORD(nil)
ON_WORD(false)
ON_WORD(true)

/* The template's pointer is wrong for an empty text; the reader knows the place. */
#define ON_TEXT(name, add)                                                                         \
    static int on_##name(struct reader **reader, const char *data, const char *text,               \
                         unsigned length, const char *object) {                                    \
        (void)data;                                                                                \
        (void)text;                                                                                \
        (void)object;                                                                              \
        return going_on(add(*reader, length));                                                     \
    }
ON_TEXT(str, add_str)
ON_TEXT(bin, add_bin)
ON_TEXT(ext, add_extension)

static int on_array_item(struct reader **reader, const char *array, char item) {
    (void)reader;
    (void)array;
    (void)item;
    return 0;
}

static int on_map_item(struct reader **reader, const char *map, char key, char value) {
    (void)reader;
    (void)map;
    (void)key;
    (void)value;
    return 0;
}

static char on_root(struct reader **reader) {
    (void)reader;
    return 0;
}

/* The template passes an object that these callbacks neither set nor read. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <msgpack/unpack_template.h>
#if defined __GNUC__ && !defined __clang__
#pragma GCC diagnostic pop
#endif

/* ---- the whole message ---- */

static const char hint_cut_short[] = "Send the whole message: its end is missing.";

/* The bytes ended within a value, or where one is expected. Checks the part that is there. */
static bool fail_at_end(struct reader *reader) {
    const size_t offset = reader->next, left = bytes_left(reader, offset);
    const struct msgpack_fault fault = {
        .rule = PARLEY_GW_PARSE, .offset = reader->bytes.length, .hint = hint_cut_short};
    if (left == 0) {
        const struct level *level = &reader->levels[reader->depth - 1];
        return fail(reader, fault,
                    "the message ends inside the %s at byte %zu: %zu of its %zu %s%s %s complete",
                    level->name, level->offset, level->done / (level->is_map ? 2 : 1),
                    level->claimed, level->is_map ? "member" : "item", plural(level->claimed),
                    level->claimed == 1 ? "is" : "are");
    }
    if (!may_begin(reader, offset)) {
        return false;
    }
    const struct msgpack_head head = msgpack_head_of(reader->bytes, offset);
    const bool has_head = left >= head.bytes;
    const size_t there = has_head ? left - head.bytes : left;
    if (has_head && msgpack_is_string(first_byte(reader, offset)) &&
        !check_text(reader, offset + head.bytes, there, head, is_at_key(reader))) {
        return false;
    }
    const size_t whole = has_head ? head.claim : head.bytes;
    return fail(reader, fault,
                "the message ends inside the %s%s at byte %zu: %zu of its %zu byte%s %s present",
                has_head ? "" : "head of the ", head.name, offset, there, whole, plural(whole),
                whole == 1 ? "is" : "are");
}

static bool fail_behind(struct reader *reader) {
    const size_t left = bytes_left(reader, reader->next);
    return fail(reader,
                (struct msgpack_fault){
                    .rule = PARLEY_GW_PARSE,
                    .offset = reader->next,
                    .hint = "Send one map and nothing after it; send several messages as frames "
                            "(application/vnd.parley.frames)."},
                "unexpected data after the message: %zu byte%s", left, plural(left));
}

/* Other formats that are sent by mistake. */
static bool is_something_else(struct reader *reader) {
    const struct parley_bytes bytes = reader->bytes;
    struct msgpack_fault fault = {.rule = PARLEY_GW_PARSE};
    if (bytes.length == 0) {
        fault.hint = "Send the message as one MessagePack map.";
        fail(reader, fault, "the message is empty");
        return true;
    }
    if (bytes.data[0] == '{') {
        fault.hint = "Send JSON with Content-Type: application/json (application/x-ndjson for one "
                     "message per line), or encode the message as MessagePack.";
        fail(reader, fault, "this is JSON; expected a MessagePack map");
        return true;
    }
    return false;
}

static bool read_all(struct reader *reader) {
    if (is_something_else(reader)) {
        return false;
    }
    struct template_context context;
    context.user = reader;
    template_init(&context);
    size_t offset = 0;
    const int result =
        template_execute(&context, reader->bytes.data, reader->bytes.length, &offset);
    if (result == 0) {
        return fail_at_end(reader);
    }
    if (result < 0) {
        /* The template itself stops only at 0xc1. */
        return reader->fault->message != NULL || reader->is_out_of_memory
                   ? false
                   : may_begin(reader, reader->next);
    }
    if (reader->next < reader->bytes.length) {
        return fail_behind(reader);
    }
    const unsigned char first = first_byte(reader, 0);
    return msgpack_is_map(first) ||
           fail(reader,
                (struct msgpack_fault){.rule = PARLEY_GW_TOP_LEVEL,
                                       .hint = "Send the message as one map."},
                "the message is a %s, not a map", msgpack_family_of(first).name);
}

enum msgpack_result msgpack_find_fault(struct parley_bytes bytes, struct parley_arena *arena,
                                       struct msgpack_fault *out_fault) {
    struct key_set keys;
    struct reader reader = {.bytes = bytes, .keys = &keys, .arena = arena, .fault = out_fault};
    *out_fault = (struct msgpack_fault){0};
    key_set_init(&keys, bytes);
    const bool is_read = read_all(&reader);
    key_set_finish(&keys);
    if (is_read) {
        return MSGPACK_READ;
    }
    return reader.is_out_of_memory ? MSGPACK_MEMORY : MSGPACK_FAULT;
}
