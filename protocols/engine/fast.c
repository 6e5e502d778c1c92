/* SPDX-License-Identifier: Apache-2.0 */

/* One pass that drives the table. Where a check fails it only notes for which types of message: the
 * type may come last, and at the end a failure counts if it is one of that type. That is less than
 * the walk does, which must not report what follows from what it has reported: here any failure is
 * the end of certainty.
 *
 * Functions that read return where they stopped; NULL: not sure. */

#include "fast.h"

#include "constraint.h"
#include "json_number.h"
#include "json_string.h"
#include "json_text.h"
#include "walk.h"

enum { KEYS_MAX = 256 }; /* of all open objects, those that no rule names */

/* One open array or object. */
struct level {
    const struct schema_node *node; /* NULL: nobody asks about what is in it */
    uint64_t seen;                  /* members that rules name, by schema_node.index */
    size_t count;                   /* members or items */
    size_t first_key;               /* of its own among the keys */
    bool is_array;
};

struct reader {
    struct parley_message *message;
    const char *end;
    uint32_t failed; /* types of which this message is none that keeps the rules */
    size_t depth, key_count;
    struct level levels[JSON_DEPTH_MAX];
    uint32_t marks[KEYS_MAX]; /* of the keys: most differ in them */
    struct parley_bytes keys[KEYS_MAX];
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

/* ---- what the table says ---- */

/* Returns: false when no type is left. */
static bool ask(struct reader *reader, const struct schema_node *node,
                const struct parley_value *value) {
    for (const struct schema_check *check = node->checks; check != NULL; check = check->next) {
        /* What must rise is compared with other items, which only the walk remembers. */
        if (!constraint_holds(check, value) || check->place->constraint == PARLEY_INCREASING) {
            reader->failed |= schema_types(check);
        }
    }
    if (node->field >= 0) {
        reader->message->values[node->field] = *value;
    }
    return reader->failed != WALK_EVERY_TYPE;
}

static void ask_missing(struct reader *reader, const struct level *object) {
    const uint64_t missing = object->node->required & ~object->seen;
    const struct schema_node *child = missing != 0 ? object->node->children : NULL;
    for (; child != NULL; child = child->next) {
        reader->failed |= (missing >> child->index & 1) != 0 ? child->required_types : 0;
    }
}

static void ask_count(struct reader *reader, const struct level *array) {
    const struct schema_check *check = array->node->checks;
    for (; check != NULL; check = check->next) {
        if (check->place->constraint == PARLEY_MIN_ITEMS &&
            (double)array->count < check->place->minimum) {
            reader->failed |= schema_types(check);
        }
    }
}

/* ---- reading ---- */

static const char *read_string(struct reader *reader, const char *at,
                               const struct schema_node *node, struct parley_value *value) {
    bool has_escapes;
    const char *end = json_string_end(at + 1, reader->end, &has_escapes);
    if (end == NULL) {
        return NULL;
    }
    value->kind = PARLEY_STRING;
    value->text = (struct parley_bytes){at + 1, (size_t)(end - at - 1)};
    const bool is_wanted = node != NULL && (node->asks_text || node->field >= 0);
    if (has_escapes && is_wanted &&
        !json_string_decode(&reader->message->arena, value->text, &value->text)) {
        return NULL;
    }
    return end + 1;
}

static const char *read_word(struct reader *reader, const char *at, struct parley_bytes word) {
    const bool is_there =
        (size_t)(reader->end - at) >= word.length && memcmp(at, word.data, word.length) == 0;
    return is_there ? at + word.length : NULL;
}

static const char *read_scalar(struct reader *reader, const char *at,
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
        value->kind = PARLEY_NUMBER;
        return json_number_read(at, reader->end, node != NULL ? &value->number : NULL);
    }
}

static const char *open_level(struct reader *reader, const char *at, const struct schema_node *node,
                              struct parley_value *value) {
    const bool is_array = *at == '[';
    value->kind = is_array ? PARLEY_ARRAY : PARLEY_OBJECT;
    if (reader->depth == JSON_DEPTH_MAX || (node != NULL && !ask(reader, node, value))) {
        return NULL;
    }
    reader->levels[reader->depth++] =
        (struct level){.node = node, .first_key = reader->key_count, .is_array = is_array};
    return at + 1;
}

static void close_level(struct reader *reader) {
    const struct level *level = &reader->levels[--reader->depth];
    reader->key_count = level->first_key;
    if (level->node == NULL) {
        return;
    }
    if (level->node->field >= 0) {
        reader->message->values[level->node->field].count = level->count;
    }
    if (level->is_array) {
        ask_count(reader, level);
    } else {
        ask_missing(reader, level);
    }
}

/* Keeps a key that no rule names.  Returns: false when it stood in its object before, or there is
 * no room. */
static bool note_key(struct reader *reader, const struct level *level, struct parley_bytes key) {
    const uint32_t mark = schema_mark(key);
    for (size_t i = level->first_key; i < reader->key_count; i++) {
        if (reader->marks[i] == mark && parley_bytes_equal(reader->keys[i], key)) {
            return false;
        }
    }
    if (reader->key_count == KEYS_MAX) {
        return false;
    }
    reader->marks[reader->key_count] = mark;
    reader->keys[reader->key_count++] = key;
    return true;
}

/* Reads a key up to its value, and tells what is asked of that. A key with escapes may be one that
 * a rule names: that is for others to find out. */
static const char *read_key(struct reader *reader, const char *at,
                            const struct schema_node **out_node) {
    struct level *level = &reader->levels[reader->depth - 1];
    bool has_escapes;
    if (at == reader->end || *at != '"') {
        return NULL;
    }
    const char *end = json_string_end(at + 1, reader->end, &has_escapes);
    if (end == NULL || has_escapes) {
        return NULL;
    }
    const struct parley_bytes key = {at + 1, (size_t)(end - at - 1)};
    const struct schema_node *node = level->node != NULL ? schema_member(level->node, key) : NULL;
    *out_node = node;
    if (node == NULL || node == level->node->every) {
        if (!note_key(reader, level, key)) {
            return NULL;
        }
    } else {
        const uint64_t bit = UINT64_C(1) << node->index;
        if ((level->seen & bit) != 0) {
            return NULL;
        }
        level->seen |= bit;
    }
    at = skip_blanks(end + 1, reader->end);
    return at < reader->end && *at == ':' ? skip_blanks(at + 1, reader->end) : NULL;
}

/* Reads a scalar, or the opening of an array or object. */
static const char *read_value(struct reader *reader, const char *at, const struct schema_node *node,
                              bool *out_is_open) {
    if (at == reader->end) {
        return NULL;
    }
    struct parley_value value = {.offset = (size_t)(at - reader->message->text.data)};
    *out_is_open = *at == '{' || *at == '[';
    if (*out_is_open) {
        return open_level(reader, at, node, &value);
    }
    at = read_scalar(reader, at, node, &value);
    return at != NULL && (node == NULL || ask(reader, node, &value)) ? at : NULL;
}

/* Reads the next member or item of the present array or object, or its end; `*is_open`: nothing of
 * it has been read yet. */
static const char *read_next(struct reader *reader, const char *at, bool *is_open) {
    struct level *level = &reader->levels[reader->depth - 1];
    at = skip_blanks(at, reader->end);
    if (at == reader->end) {
        return NULL;
    }
    if (*at == (level->is_array ? ']' : '}')) {
        close_level(reader);
        *is_open = false;
        return at + 1;
    }
    if (!*is_open) {
        if (*at != ',') {
            return NULL;
        }
        at = skip_blanks(at + 1, reader->end);
    }
    level->count++;
    const struct schema_node *node = NULL;
    if (!level->is_array) {
        at = read_key(reader, at, &node);
    } else if (level->node != NULL) {
        node = level->node->every;
    }
    return at != NULL ? read_value(reader, at, node, is_open) : NULL;
}

static bool read_message(struct reader *reader) {
    const struct parley_bytes text = reader->message->text;
    const char *at = skip_blanks(text.data, reader->end);
    bool is_open;
    if (at == reader->end || *at != '{') {
        return false;
    }
    at = read_value(reader, at, &reader->message->schema->root, &is_open);
    while (at != NULL && reader->depth > 0) {
        at = read_next(reader, at, &is_open);
    }
    return at != NULL && skip_blanks(at, reader->end) == reader->end;
}

/* All facts are known. */
static bool keeps_rules(struct reader *reader) {
    struct parley_message *message = reader->message;
    message->type =
        walk_type_of(message->protocol, &message->values[message->protocol->type_field]);
    const uint32_t type = PARLEY_TYPE_BIT(message->type);
    if ((reader->failed & type) != 0) {
        return false;
    }
    const struct parley_facts facts = {
        .values = message->values, .type = message->type, .options = &message->options};
    const struct schema_check *check = message->schema->cross_checks;
    while (check != NULL &&
           ((schema_types(check) & type) == 0 || !check->place->is_broken(&facts))) {
        check = check->next;
    }
    return check == NULL;
}

bool fast_accepts(struct parley_message *message) {
    struct reader reader; /* its arrays are written before they are read */
    reader.message = message;
    reader.end = message->text.data + message->text.length;
    reader.failed = 0;
    reader.depth = reader.key_count = 0;
    if (message->protocol->inspect == NULL && read_message(&reader) && keeps_rules(&reader)) {
        return true;
    }
    memset(message->values, 0, sizeof message->values);
    message->type = PARLEY_TYPE_OTHER;
    return false;
}
