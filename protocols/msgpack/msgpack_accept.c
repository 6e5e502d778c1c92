/* SPDX-License-Identifier: Apache-2.0 */

/* One pass over MessagePack, which asks the rules by accept.h. Counts come first here. It
 * reads on after a broken rule, so that the reader that explains need not look for faults again.
 *
 * Functions that read return where they stopped; NULL: not sure. */

#include "accept.h"
#include "key_set.h"
#include "text.h"
#include "msgpack_read.h"

_Static_assert((int)ACCEPT_DEPTH_MAX == KEY_SET_DEPTH_MAX, "GW-004");

struct reader {
    struct accept accept; /* a level's count: of members or items still to come */
    const char *start, *end;
    bool is_inside;      /* reads a value inside the message: no captures */
    struct key_set *set; /* the keys, once they are too many for `accept`; else NULL */
    struct key_set spare;
};

/* ---- rows of the table ---- */

/* Whether more than the kind of a value is needed: some row checks it, or it is a capture. */
static bool ask_value(struct reader *reader, const struct schema_node *node, unsigned kind,
                      struct msgpack_value *decoded, size_t offset) {
    struct parley_message *message = reader->accept.message;
    if (decoded->is_binary) { /* rules see its base64 text */
        decoded->value.text = msgpack_base64(&message->arena, decoded->value.text);
        if (decoded->value.text.data == NULL) {
            return false;
        }
    }
    const bool is_capture = node->field >= 0 && !reader->is_inside;
    struct parley_value other, *value = is_capture ? &message->values[node->field] : &other;
    *value = msgpack_value_of(decoded, offset);
    if (accept_depends(node, kind, value)) {
        accept_ask_rows(&reader->accept, node, kind, value);
    }
    return true;
}

/* Returns: false when there is no memory. */
static inline bool ask(struct reader *reader, const struct schema_node *node,
                       struct msgpack_value *value, size_t offset) {
    const unsigned kind = value->is_integer ? PARLEY_INTEGER : value->value.kind;
    accept_ask_kind(&reader->accept, node, kind);
    return (node->field < 0 && (node->asked_kinds & kind) == 0) ||
           ask_value(reader, node, kind, value, offset);
}

/* ---- keys ---- */

/* From now on all keys are kept in a set that grows.  Returns: false when there is no memory. */
static bool use_set(struct reader *reader) {
    const struct accept *accept = &reader->accept;
    reader->set = &reader->spare;
    key_set_init(reader->set,
                 (struct parley_bytes){reader->start, (size_t)(reader->end - reader->start)});
    for (const struct accept_level *level = accept->levels + 1; level <= accept->level; level++) {
        const size_t end = level == accept->level ? accept->key_count : level[1].first_key;
        if (level->closing == ']') {
            continue;
        }
        key_set_enter(reader->set);
        for (size_t k = level->first_key; k < end; k++) {
            if (key_set_add(reader->set, accept->keys[k]) != KEY_SET_NEW) {
                return false;
            }
        }
    }
    return true;
}

/* Keeps a key that no rule names.  Returns: false when the map had it already. */
static bool note_key(struct reader *reader, struct parley_bytes key, struct schema_mark mark) {
    if (reader->set == NULL) {
        if (accept_has_key(&reader->accept, key, mark)) {
            return false;
        }
        if (accept_keep_key(&reader->accept, key, mark)) {
            return true;
        }
    }
    return (reader->set != NULL || use_set(reader)) && key_set_add(reader->set, key) == KEY_SET_NEW;
}

/* ---- reading ---- */

#define HIGH_BITS UINT64_C(0x8080808080808080)

/* The mark of a short text holds all its bytes. */
static inline bool is_ascii(struct parley_bytes text) {
    if (text.length <= SCHEMA_MARK_BYTES) {
        const struct schema_mark mark = schema_mark(text);
        return ((mark.head | mark.tail) & HIGH_BITS) == 0;
    }
    uint64_t bits = schema_word(text.data + text.length - sizeof bits);
    for (size_t i = 0; i < text.length - sizeof bits; i += sizeof bits) {
        bits |= schema_word(text.data + i);
    }
    return (bits & HIGH_BITS) == 0;
}

static inline bool is_utf8(struct parley_bytes text) {
    return is_ascii(text) || text_utf8_prefix(text) == text.length;
}

/* Checks a key that no rule names; others are known to be valid. */
static bool is_new_key(struct reader *reader, struct parley_bytes key, struct schema_mark mark) {
    return memchr(key.data, '\0', key.length) == NULL && is_utf8(key) &&
           note_key(reader, key, mark);
}

/* Most keys have a head of one byte. */
static inline const char *take_key(const char *at, const char *end, struct parley_bytes *out) {
    if (at < end && ((unsigned char)*at & 0xe0) == 0xa0) {
        *out = (struct parley_bytes){at + 1, (unsigned char)*at & 31};
        return out->length < (size_t)(end - at) ? out->data + out->length : NULL;
    }
    struct msgpack_value value;
    at = msgpack_take(at, end, &value);
    if (at == NULL || value.value.kind != PARLEY_STRING || value.is_binary) {
        return NULL;
    }
    *out = value.value.text;
    return at;
}

/* Reads a key, and finds the node of its value. */
static inline const char *read_key(struct reader *reader, const char *at,
                                   const struct schema_node **out_node) {
    struct accept_level *level = reader->accept.level;
    struct parley_bytes key;
    at = take_key(at, reader->end, &key);
    if (at == NULL) {
        return NULL;
    }
    const struct schema_mark mark = schema_mark(key);
    const struct schema_node *node = schema_marked_member(level->node, key, mark);
    *out_node = node;
    const bool is_new = node->bit == 0 ? is_new_key(reader, key, mark) : accept_member(level, node);
    return is_new ? at : NULL;
}

static const char *open_level(struct reader *reader, const char *at, const struct schema_node *node,
                              bool is_map, size_t count) {
    if (!accept_open(&reader->accept, node, is_map ? '}' : ']', count)) {
        return NULL;
    }
    if (is_map && reader->set != NULL) {
        key_set_enter(reader->set);
    }
    return at;
}

static void close_level(struct reader *reader) {
    const struct accept_level *level = accept_close(&reader->accept);
    if (level->closing == '}' && reader->set != NULL) {
        key_set_leave(reader->set);
    }
}

/* Reads a scalar, or the head of an array or map. */
static inline const char *read_value(struct reader *reader, const char *at,
                                     const struct schema_node *node) {
    struct msgpack_value value = {.is_integer = false};
    const char *after = msgpack_take(at, reader->end, &value);
    if (after == NULL ||
        (value.value.kind == PARLEY_STRING && !value.is_binary && !is_utf8(value.value.text))) {
        return NULL;
    }
    if (!ask(reader, node, &value, (size_t)(at - reader->start))) {
        return NULL;
    }
    const bool is_open = value.value.kind == PARLEY_OBJECT || value.value.kind == PARLEY_ARRAY;
    return is_open ? open_level(reader, after, node, value.value.kind == PARLEY_OBJECT,
                                value.value.count)
                   : after;
}

/* Reads the next member or item of the innermost map or array, or ends it. */
static inline const char *read_next(struct reader *reader, const char *at) {
    struct accept_level *level = reader->accept.level;
    const struct schema_node *node = level->node->rest;
    if (level->count == 0) {
        close_level(reader);
        return at;
    }
    if (level->closing == '}') {
        at = read_key(reader, at, &node);
    } else if (node == &schema_unasked) {
        const size_t left = (size_t)(reader->end - at);
        const size_t count = msgpack_small_values(at, level->count < left ? level->count : left);
        level->count -= count;
        at += count;
        if (count > 0) {
            return at;
        }
    }
    level->count--;
    return at != NULL ? read_value(reader, at, node) : NULL;
}

static bool read_all(struct reader *reader, const struct schema_node *root) {
    const struct accept *accept = &reader->accept;
    const char *at = read_value(reader, reader->start, root);
    if (accept->level == accept->levels || accept->level->closing != '}') {
        return false;
    }
    while (at != NULL && accept->level > accept->levels) {
        at = read_next(reader, at);
    }
    return at == reader->end;
}

static bool read_bytes(struct reader *reader, struct parley_bytes bytes,
                       const struct schema_node *root) {
    reader->start = bytes.data;
    reader->end = bytes.data + bytes.length;
    reader->set = NULL;
    const bool is_read = read_all(reader, root);
    if (reader->set != NULL) {
        key_set_finish(reader->set);
    }
    return is_read;
}

enum accept_certainty msgpack_accept(struct parley_message *message) {
    struct reader reader;
    accept_begin(&reader.accept, message);
    reader.is_inside = false;
    if (!read_bytes(&reader, message->text, &message->schema->root)) {
        walk_forget_captures(message);
        return ACCEPT_UNSURE;
    }
    return accept_judge(&reader.accept);
}

enum accept_certainty msgpack_accept_inside(struct parley_message *message,
                                            struct parley_bytes bytes, const char *path) {
    struct reader reader;
    accept_begin(&reader.accept, message);
    reader.is_inside = reader.accept.is_type_known = true;
    if (!read_bytes(&reader, bytes, schema_at(message->schema, path))) {
        return ACCEPT_UNSURE;
    }
    const bool has_failed = (reader.accept.failed & PARLEY_TYPE_BIT(message->type)) != 0;
    return has_failed ? ACCEPT_WHOLE : ACCEPT_RIGHT;
}
