/* SPDX-License-Identifier: Apache-2.0 */

/* MessagePack in one pass that drives the table: as json/fast.c does it with JSON, from which
 * this differs in that counts stand in front. Where a row is broken it only notes for which types
 * of message, and reads on: whoever explains need not look for faults again.
 *
 * Functions that read return where they stopped; NULL: not sure. */

#include "constraint.h"
#include "fast.h"
#include "key_set.h"
#include "text.h"
#include "msgpack_read.h"

enum {
    DEPTH_MAX = KEY_SET_DEPTH_MAX,
    KEYS_MAX = 128, /* of all open maps, those that no rule names; more need an allocation */
};

/* One open array or map. */
struct level {
    const struct schema_node *node;
    uint64_t seen;    /* members that rules name, by schema_node.bit */
    size_t left;      /* items or members that are yet to come */
    size_t first_key; /* of its own among the keys */
    bool is_map;
    struct fast_rising rising;
};

struct reader {
    struct parley_message *message;
    const char *start, *end;
    bool is_inside;     /* another value than the message: no facts */
    bool is_type_known; /* message->type is what it says */
    uint32_t failed;    /* types of which this message is none that keeps the rules */
    size_t depth, key_count;
    struct level levels[DEPTH_MAX];
    struct schema_mark marks[KEYS_MAX];
    struct parley_bytes keys[KEYS_MAX];
    struct key_set *set; /* all keys that no rule names, once they are too many; else NULL */
    struct key_set spare;
};

/* ---- what the table says ---- */

static bool rises(struct reader *reader, const struct schema_check *check, double number) {
    size_t depth = reader->depth;
    while (depth > 0 && reader->levels[depth - 1].is_map) {
        depth--;
    }
    return depth > 0 && fast_rises(&reader->levels[depth - 1].rising, check, number);
}

static bool holds(struct reader *reader, const struct schema_check *check,
                  const struct parley_value *value) {
    const struct parley_place *place = check->place;
    const struct parley_protocol *protocol = reader->message->protocol;
    if (place->constraint == PARLEY_MIN_ITEMS && value->kind == PARLEY_ARRAY &&
        (double)value->count < place->minimum) {
        return false;
    }
    if (place->constraint == PARLEY_INCREASING && value->kind == PARLEY_NUMBER &&
        !rises(reader, check, value->number)) {
        return false;
    }
    /* The list of types has been searched for it already. */
    if (place->constraint == PARLEY_ONE_OF && place->choices == protocol->types &&
        value == &reader->message->values[protocol->type_field]) {
        return value->kind == PARLEY_STRING && reader->message->type != PARLEY_TYPE_OTHER;
    }
    return constraint_holds(check, value);
}

static void ask_rows(struct reader *reader, const struct schema_node *node,
                     const struct parley_value *value) {
    for (const struct schema_check *check = node->checks; check != NULL; check = check->next) {
        const bool is_sure =
            (check->sure_kinds & value->kind) != 0 && check->place->constraint != PARLEY_MIN_ITEMS;
        if (!is_sure && !holds(reader, check, value)) {
            reader->failed |= schema_types(check);
        }
    }
}

static void note_type(struct reader *reader) {
    struct parley_message *message = reader->message;
    const struct parley_value *type = &message->values[message->protocol->type_field];
    message->type = type->kind == PARLEY_STRING ? schema_type_of(message->schema, type->text)
                                                : PARLEY_TYPE_OTHER;
    reader->is_type_known = true;
}

/* What is more than the kind of a value: some row asks for it, or it is a fact. */
static bool ask_value(struct reader *reader, const struct schema_node *node, unsigned kind,
                      struct msgpack_value *told, size_t offset) {
    struct parley_message *message = reader->message;
    if (told->is_binary) { /* which is its base64 text to whoever looks at it */
        told->value.text = msgpack_base64(&message->arena, told->value.text);
        if (told->value.text.data == NULL) {
            return false;
        }
    }
    const bool is_fact = node->field >= 0 && !reader->is_inside;
    struct parley_value other, *value = is_fact ? &message->values[node->field] : &other;
    *value = msgpack_value_of(told, offset);
    if (is_fact && (unsigned)node->field == message->protocol->type_field) {
        note_type(reader);
    }
    if ((node->asked_kinds & kind) != 0) {
        ask_rows(reader, node, value);
    }
    return true;
}

/* Returns: false when there is no memory. */
static inline bool ask(struct reader *reader, const struct schema_node *node,
                       struct msgpack_value *value, size_t offset) {
    const unsigned kind = value->is_integer ? PARLEY_INTEGER : value->value.kind;
    reader->failed |= node->wrong_types[schema_kind(kind)];
    return (node->field < 0 && (node->asked_kinds & kind) == 0) ||
           ask_value(reader, node, kind, value, offset);
}

static inline void ask_missing(struct reader *reader, const struct level *map) {
    if (reader->is_type_known) {
        const unsigned type = reader->message->type;
        const bool is_missing = (map->node->required_for[type] & ~map->seen) != 0;
        reader->failed |= is_missing ? PARLEY_TYPE_BIT(type) : 0;
        return;
    }
    const uint64_t missing = map->node->required & ~map->seen;
    const struct schema_node *child = missing != 0 ? map->node->children : NULL;
    for (; child != NULL; child = child->next) {
        reader->failed |= (missing & child->bit) != 0 ? child->required_types : 0;
    }
}

/* ---- keys ---- */

/* From now on all keys go into a set that grows.  Returns: false when there is no memory. */
static bool use_set(struct reader *reader) {
    reader->set = &reader->spare;
    key_set_init(reader->set,
                 (struct parley_bytes){reader->start, (size_t)(reader->end - reader->start)});
    for (size_t i = 0; i < reader->depth; i++) {
        const bool is_last = i + 1 == reader->depth;
        const size_t end = is_last ? reader->key_count : reader->levels[i + 1].first_key;
        if (!reader->levels[i].is_map) {
            continue;
        }
        key_set_enter(reader->set);
        for (size_t k = reader->levels[i].first_key; k < end; k++) {
            if (key_set_add(reader->set, reader->keys[k]) != KEY_SET_NEW) {
                return false;
            }
        }
    }
    return true;
}

/* Keeps a key that no rule names.  Returns: false when it stood in its map before. */
static bool note_key(struct reader *reader, const struct level *level, struct parley_bytes key,
                     struct schema_mark mark) {
    if (reader->set == NULL) {
        for (size_t i = level->first_key; i < reader->key_count; i++) {
            if (schema_same_mark(reader->marks[i], mark) &&
                parley_bytes_equal(reader->keys[i], key)) {
                return false;
            }
        }
        if (reader->key_count < KEYS_MAX) {
            reader->marks[reader->key_count] = mark;
            reader->keys[reader->key_count++] = key;
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

/* A key that no rule names; those that some rule does are known to be right. */
static bool is_new_key(struct reader *reader, const struct level *level, struct parley_bytes key,
                       struct schema_mark mark) {
    return memchr(key.data, '\0', key.length) == NULL && is_utf8(key) &&
           note_key(reader, level, key, mark);
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

/* Reads a key, and tells what is asked of its value. */
static inline const char *read_key(struct reader *reader, struct level *level, const char *at,
                                   const struct schema_node **out_node) {
    struct parley_bytes key;
    at = take_key(at, reader->end, &key);
    if (at == NULL) {
        return NULL;
    }
    const struct schema_mark mark = schema_mark(key);
    const struct schema_node *node = schema_marked_member(level->node, key, mark);
    *out_node = node;
    if (node->bit == 0) {
        return is_new_key(reader, level, key, mark) ? at : NULL;
    }
    const bool is_new = (level->seen & node->bit) == 0;
    level->seen |= node->bit;
    return is_new ? at : NULL;
}

static const char *open_level(struct reader *reader, const char *at, const struct schema_node *node,
                              bool is_map, size_t count) {
    if (reader->depth == DEPTH_MAX) {
        return NULL;
    }
    if (is_map && reader->set != NULL) {
        key_set_enter(reader->set);
    }
    reader->levels[reader->depth++] = (struct level){
        .node = node, .left = count, .first_key = reader->key_count, .is_map = is_map};
    return at;
}

static void close_level(struct reader *reader) {
    const struct level *level = &reader->levels[--reader->depth];
    reader->key_count = level->first_key;
    if (!level->is_map) {
        return;
    }
    if (reader->set != NULL) {
        key_set_leave(reader->set);
    }
    if (level->node->required_for != NULL) {
        ask_missing(reader, level);
    }
}

/* Reads a scalar, or the head of an array or map. */
static inline const char *read_value(struct reader *reader, const char *at,
                                     const struct schema_node *node) {
    struct msgpack_value value = {.is_integer = false};
    const char *behind = msgpack_take(at, reader->end, &value);
    if (behind == NULL ||
        (value.value.kind == PARLEY_STRING && !value.is_binary && !is_utf8(value.value.text))) {
        return NULL;
    }
    if (!ask(reader, node, &value, (size_t)(at - reader->start))) {
        return NULL;
    }
    const bool is_open = value.value.kind == PARLEY_OBJECT || value.value.kind == PARLEY_ARRAY;
    return is_open ? open_level(reader, behind, node, value.value.kind == PARLEY_OBJECT,
                                value.value.count)
                   : behind;
}

/* Reads the next member or item of the present map or array, or ends it. */
static inline const char *read_next(struct reader *reader, const char *at) {
    struct level *level = &reader->levels[reader->depth - 1];
    const struct schema_node *node = level->node->rest;
    if (level->left == 0) {
        close_level(reader);
        return at;
    }
    if (level->is_map) {
        at = read_key(reader, level, at, &node);
    } else if (node == &schema_unasked) {
        const size_t behind = (size_t)(reader->end - at);
        const size_t count = msgpack_small_values(at, level->left < behind ? level->left : behind);
        level->left -= count;
        at += count;
        if (count > 0) {
            return at;
        }
    }
    level->left--;
    return at != NULL ? read_value(reader, at, node) : NULL;
}

static bool read_all(struct reader *reader, const struct schema_node *root) {
    const char *at = read_value(reader, reader->start, root);
    if (reader->depth == 0 || !reader->levels[0].is_map) {
        return false;
    }
    while (at != NULL && reader->depth > 0) {
        at = read_next(reader, at);
    }
    return at == reader->end;
}

static bool read_bytes(struct reader *reader, struct parley_bytes bytes,
                       const struct schema_node *root) {
    reader->start = bytes.data;
    reader->end = bytes.data + bytes.length;
    reader->failed = 0;
    reader->depth = reader->key_count = 0;
    reader->set = NULL;
    const bool is_read = read_all(reader, root);
    if (reader->set != NULL) {
        key_set_finish(reader->set);
    }
    return is_read;
}

enum msgpack_certainty msgpack_fast_read(struct parley_message *message) {
    struct reader reader; /* its arrays are written before they are read */
    reader.message = message;
    reader.is_inside = reader.is_type_known = false;
    if (!read_bytes(&reader, message->text, &message->schema->root)) {
        walk_forget_facts(message);
        return MSGPACK_UNSURE;
    }
    if (!reader.is_type_known) {
        note_type(&reader);
    }
    return fast_keeps_rules(message, reader.failed) ? MSGPACK_RIGHT : MSGPACK_WHOLE;
}

enum msgpack_certainty msgpack_fast_read_inside(struct parley_message *message,
                                                struct parley_bytes bytes, const char *path) {
    struct reader reader;
    reader.message = message;
    reader.is_inside = reader.is_type_known = true;
    if (!read_bytes(&reader, bytes, schema_at(message->schema, path))) {
        return MSGPACK_UNSURE;
    }
    const bool has_failed = (reader.failed & PARLEY_TYPE_BIT(message->type)) != 0;
    return has_failed ? MSGPACK_WHOLE : MSGPACK_RIGHT;
}
