/* SPDX-License-Identifier: Apache-2.0 */

/* One pass over the text of JSON, which asks the rules by accept.h, and, for a protocol that
 * inspects sizes, adds up the message's size as MessagePack.
 *
 * Functions that read return where they stopped; NULL: not sure. */

#include "json_accept.h"

#include "accept.h"
#include "json_number.h"
#include "json_string.h"
#include "json_reader.h"
#include "packed_size.h"

_Static_assert((int)ACCEPT_DEPTH_MAX == JSON_DEPTH_MAX, "GW-004");

struct reader {
    struct accept accept;
    const char *end;
    struct parley_value other; /* the current value, if it is not a capture */
    bool is_measuring;
    size_t packed_bytes; /* of the text read, if it is measured */
};

/* Most texts have none. */
static inline const char *skip_blanks(const char *at, const char *end) {
    if (at < end && (unsigned char)*at > ' ') {
        return at;
    }
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) {
        at++;
    }
    return at;
}

/* ---- measuring ---- */

static inline void measure_text(struct reader *reader, size_t length) {
    if (reader->is_measuring) {
        reader->packed_bytes += packed_text_bytes(length);
    }
}

static inline void measure_head(struct reader *reader, size_t count) {
    if (reader->is_measuring) {
        reader->packed_bytes += packed_head_bytes(count);
    }
}

/* ---- reading ---- */

/* Whether a rule or an inspection reads the value of a string there. */
static inline bool wants_text(const struct schema_node *node) {
    return (node->asked_kinds & PARLEY_STRING) != 0 || node->field >= 0;
}

static inline const char *read_string(struct reader *reader, const char *at,
                                      const struct schema_node *node, struct parley_value *value) {
    bool has_escapes;
    const char *end = json_string_end(at + 1, reader->end, &has_escapes);
    if (end == NULL) {
        return NULL;
    }
    value->kind = PARLEY_STRING;
    value->text = (struct parley_bytes){at + 1, (size_t)(end - at - 1)};
    const bool is_decoded = has_escapes && wants_text(node);
    if (is_decoded &&
        !json_string_decode(&reader->accept.message->arena, value->text, &value->text)) {
        return NULL;
    }
    const bool is_raw = has_escapes && !is_decoded;
    measure_text(reader, is_raw && reader->is_measuring ? json_string_bytes(value->text)
                                                        : value->text.length);
    return end + 1;
}

static const char *read_word(struct reader *reader, const char *at, struct parley_bytes word) {
    reader->packed_bytes += PACKED_WORD_BYTES;
    const bool is_there =
        (size_t)(reader->end - at) >= word.length && memcmp(at, word.data, word.length) == 0;
    return is_there ? at + word.length : NULL;
}

static inline const char *read_number(struct reader *reader, const char *at,
                                      const struct schema_node *node, struct parley_value *value) {
    size_t bytes;
    value->kind = PARLEY_NUMBER;
    if (!reader->is_measuring) {
        return json_number_read(at, reader->end, node != &schema_unasked ? &value->number : NULL);
    }
    at = json_number_measure(at, reader->end, &value->number, &bytes);
    reader->packed_bytes += at != NULL ? bytes : 0;
    return at;
}

static inline const char *read_scalar(struct reader *reader, const char *at,
                                      const struct schema_node *node, struct parley_value *value) {
    switch (*at) {
    case '"':
        return read_string(reader, at, node, value);
    case 't':
        value->kind = PARLEY_BOOLEAN;
        value->number = 1;
        return read_word(reader, at, PARLEY_BYTES("true"));
    case 'f':
        value->kind = PARLEY_BOOLEAN;
        return read_word(reader, at, PARLEY_BYTES("false"));
    case 'n':
        value->kind = PARLEY_NULL;
        return read_word(reader, at, PARLEY_BYTES("null"));
    default:
        return read_number(reader, at, node, value);
    }
}

/* Returns: false when no type is left of which the message can be. */
static inline bool ask_kind(struct reader *reader, const struct schema_node *node,
                            enum parley_kind kind) {
    if ((node->free_kinds & kind) != 0) {
        return true;
    }
    accept_ask_kind(&reader->accept, node, kind);
    return reader->accept.failed != WALK_EVERY_TYPE;
}

static inline const char *open_level(struct reader *reader, const char *at,
                                     const struct schema_node *node, struct parley_value *value) {
    const bool is_array = *at == '[';
    value->kind = is_array ? PARLEY_ARRAY : PARLEY_OBJECT;
    return ask_kind(reader, node, value->kind) &&
                   accept_open(&reader->accept, node, is_array ? ']' : '}', 0)
               ? at + 1
               : NULL;
}

/* The number of items is known only now. */
static inline void close_level(struct reader *reader) {
    const struct accept_level *level = accept_close(&reader->accept);
    const struct schema_node *node = level->node;
    measure_head(reader, level->count);
    if (node->field >= 0) {
        reader->accept.message->values[node->field].count = level->count;
    }
    if (level->closing == ']' && (node->asked_kinds & PARLEY_ARRAY) != 0) {
        const struct parley_value array = {.kind = PARLEY_ARRAY, .count = level->count};
        accept_ask_rows(&reader->accept, node, PARLEY_ARRAY, &array);
    }
}

/* In which order the last messages had their members, by the numbers of their places. Messages of
 * one sender are alike, and a key that is expected is found at once. */
struct member_order {
    unsigned char first[SCHEMA_PLACES_NUMBERED]; /* of an object */
    unsigned char next[SCHEMA_PLACES_NUMBERED];  /* after a member; 0: not known */
};

_Static_assert(sizeof(struct member_order) == PARLEY_READER_MEMORY_BYTES, "its place in a message");

static inline struct member_order *order_of(struct parley_message *message) {
    return (struct member_order *)message->reader_memory;
}

/* The node of the member that followed the last one in the previous message. */
static inline const struct schema_node *expected(const struct reader *reader) {
    const struct accept_level *level = reader->accept.level;
    const struct member_order *order = order_of(reader->accept.message);
    const unsigned number =
        level->count == 1 ? order->first[level->node->number] : order->next[level->last];
    return reader->accept.message->schema->numbered[number];
}

/* Remembers that the current member is `node`. After one that has no number (next[0]) no member is
 * expected: it may be in any object. */
static void expect(struct reader *reader, const struct schema_node *node) {
    const struct accept_level *level = reader->accept.level;
    struct member_order *order = order_of(reader->accept.message);
    if (level->count == 1) {
        order->first[level->node->number] = (unsigned char)node->number;
    } else if (level->last != 0) {
        order->next[level->last] = (unsigned char)node->number;
    }
}

/* Reads any key at `at`, to the end of its colon. One with escapes is left to other readers: a rule
 * may name it. */
static const char *read_any_key(struct reader *reader, const char *at,
                                const struct schema_node **out_node) {
    bool has_escapes;
    const char *end = json_string_end(at + 1, reader->end, &has_escapes);
    if (end == NULL || has_escapes) {
        return NULL;
    }
    const struct parley_bytes key = {at + 1, (size_t)(end - at - 1)};
    const struct schema_mark mark = schema_mark(key);
    *out_node = schema_marked_member(reader->accept.level->node, key, mark);
    if ((*out_node)->bit == 0 && (accept_has_key(&reader->accept, key, mark) ||
                                  !accept_keep_key(&reader->accept, key, mark))) {
        return NULL;
    }
    expect(reader, *out_node);
    measure_text(reader, key.length);
    at = skip_blanks(end + 1, reader->end);
    return at < reader->end && *at == ':' ? at + 1 : NULL;
}

/* Reads a key up to its value, and finds the node of that. */
static inline const char *read_key(struct reader *reader, const char *at,
                                   const struct schema_node **out_node) {
    struct accept_level *level = reader->accept.level;
    const struct schema_node *node = expected(reader);
    if (at == reader->end || *at != '"') {
        return NULL;
    }
    if (schema_is_spelled(&node->spelling, at, (size_t)(reader->end - at))) {
        at += node->spelling.length;
        measure_text(reader, node->token.length);
    } else {
        at = read_any_key(reader, at, &node);
    }
    if (at == NULL || !accept_member(level, node)) {
        return NULL;
    }
    level->last = node->number;
    *out_node = node;
    return skip_blanks(at, reader->end);
}

/* The same of a scalar. */
static inline bool ask(struct reader *reader, const struct schema_node *node,
                       const struct parley_value *value) {
    if ((node->free_kinds & value->kind) != 0) {
        return true;
    }
    if (accept_depends(node, value->kind, value)) {
        accept_ask_rows(&reader->accept, node, value->kind, value);
    }
    accept_ask_kind(&reader->accept, node, value->kind);
    return reader->accept.failed != WALK_EVERY_TYPE;
}

/* Reads a scalar, or the opening of an array or object. A capture is read in its place. */
static inline const char *read_value(struct reader *reader, const char *at,
                                     const struct schema_node *node) {
    if (at == reader->end) {
        return NULL;
    }
    struct parley_message *message = reader->accept.message;
    struct parley_value *value = node->field >= 0 ? &message->values[node->field] : &reader->other;
    value->offset = (size_t)(at - message->text.data);
    if (*at == '{' || *at == '[') {
        return open_level(reader, at, node, value);
    }
    at = read_scalar(reader, at, node, value);
    return at != NULL && ask(reader, node, value) ? at : NULL;
}

/* Reads the next member or item of the innermost array or object, or its end. */
static inline const char *read_next(struct reader *reader, const char *at) {
    struct accept_level *level = reader->accept.level;
    at = skip_blanks(at, reader->end);
    if (at == reader->end) {
        return NULL;
    }
    if (*at == level->closing) {
        close_level(reader);
        return at + 1;
    }
    if (level->count > 0) {
        if (*at != ',') {
            return NULL;
        }
        at = skip_blanks(at + 1, reader->end);
    }
    level->count++;
    const struct schema_node *node = level->node->rest;
    if (level->closing == '}') {
        at = read_key(reader, at, &node);
    }
    return at != NULL ? read_value(reader, at, node) : NULL;
}

/* Adds a member to the message's object, which is open and has just begun; it is not in the
 * text. */
static bool take_member(struct reader *reader, struct parley_bytes key,
                        const struct parley_value *value) {
    struct accept_level *object = reader->accept.level;
    const struct schema_node *node = schema_member(object->node, key);
    if (node == NULL || node->bit == 0 || !accept_member(object, node)) {
        return false;
    }
    if (node->field >= 0) {
        reader->accept.message->values[node->field] = *value;
    }
    return ask(reader, node, value);
}

/* `key` data NULL: all members are in the text. */
static bool read_message(struct reader *reader, struct parley_bytes key,
                         const struct parley_value *member) {
    const struct parley_message *message = reader->accept.message;
    const char *at = skip_blanks(message->text.data, reader->end);
    if (at == reader->end || *at != '{') {
        return false;
    }
    at = open_level(reader, at, &message->schema->root, &reader->other);
    if (at != NULL && key.data != NULL && !take_member(reader, key, member)) {
        return false;
    }
    while (at != NULL && reader->accept.level > reader->accept.levels) {
        at = read_next(reader, at);
    }
    return at != NULL && skip_blanks(at, reader->end) == reader->end;
}

static enum accept_certainty accept_message(struct parley_message *message, struct parley_bytes key,
                                            const struct parley_value *member) {
    const struct parley_protocol *protocol = message->protocol;
    struct reader reader;
    accept_begin(&reader.accept, message);
    reader.end = message->text.data + message->text.length;
    reader.is_measuring = protocol->inspects_size && key.data == NULL;
    reader.packed_bytes = 0;
    const bool is_read = (protocol->inspect == NULL || protocol->inspects_captures) &&
                         read_message(&reader, key, member);
    message->packed_bytes = is_read && reader.is_measuring ? reader.packed_bytes : 0;
    return is_read ? accept_judge(&reader.accept) : ACCEPT_UNSURE;
}

bool json_accept_with(struct parley_message *message, struct parley_bytes key,
                      const struct parley_value *member) {
    if (accept_message(message, key, member) == ACCEPT_RIGHT) {
        return true;
    }
    walk_forget_captures(message);
    message->findings = (struct parley_findings){0};
    return false;
}

enum accept_certainty json_accept(struct parley_message *message) {
    const enum accept_certainty certainty = accept_message(message, (struct parley_bytes){0}, NULL);
    if (certainty <= ACCEPT_WHOLE) {
        const unsigned type = message->type;
        walk_forget_captures(message);
        message->type = certainty == ACCEPT_WHOLE ? type : message->type;
    }
    return certainty;
}
