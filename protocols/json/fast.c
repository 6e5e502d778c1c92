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
#include "text.h"
#include "walk.h"

enum { KEYS_MAX = 256 }; /* of all open objects, those that no rule names */

/* One open array or object. */
struct level {
    const struct schema_node *node;
    uint64_t seen;      /* members that rules name, by schema_node.bit */
    size_t count;       /* members or items */
    uint32_t first_key; /* of its own among the keys */
    unsigned last;      /* schema_node.number of the last member */
    char closing;       /* bracket */
    struct fast_rising rising;
};

struct reader {
    struct parley_message *message;
    const char *end;
    struct level *level; /* the innermost that is open */
    uint32_t failed;     /* types of which this message is none that keeps the rules */
    uint32_t key_count;
    struct parley_value other;               /* the present value, where it is no fact */
    struct level levels[1 + JSON_DEPTH_MAX]; /* the first is around the message */
    struct schema_mark marks[KEYS_MAX];
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

static bool rises(struct reader *reader, const struct schema_check *check,
                  const struct parley_value *value) {
    struct level *level = reader->level;
    while (level > reader->levels && level->closing != ']') {
        level--;
    }
    return value->kind != PARLEY_NUMBER ||
           (level > reader->levels && fast_rises(&level->rising, check, value->number));
}

/* `is_time`: a row before it has found that the value is one. */
static bool holds(struct reader *reader, const struct schema_check *check,
                  const struct parley_value *value, bool is_time) {
    switch (check->place->constraint) {
    case PARLEY_INCREASING:
        return constraint_holds(check, value) && rises(reader, check, value);
    case PARLEY_TIME_UTC:
        return is_time ? text_time_is_utc(value->text) : constraint_holds(check, value);
    default:
        return constraint_holds(check, value);
    }
}

/* Returns: false when no type is left. */
static bool ask_rows(struct reader *reader, const struct schema_node *node,
                     const struct parley_value *value) {
    bool is_time = false;
    for (const struct schema_check *check = node->checks; check != NULL; check = check->next) {
        if ((check->sure_kinds & value->kind) != 0) {
            continue;
        }
        if (!holds(reader, check, value, is_time)) {
            reader->failed |= schema_types(check);
        } else if (check->place->constraint == PARLEY_TIME) {
            is_time = value->kind == PARLEY_STRING;
        }
    }
    return reader->failed != WALK_EVERY_TYPE;
}

/* The same; most rows ask only of what kind a value is. */
static inline bool ask(struct reader *reader, const struct schema_node *node,
                       const struct parley_value *value) {
    return (node->sure_kinds & value->kind) != 0 || ask_rows(reader, node, value);
}

static void ask_missing(struct reader *reader, const struct level *object) {
    const uint64_t missing = object->node->required & ~object->seen;
    const struct schema_node *child = missing != 0 ? object->node->children : NULL;
    for (; child != NULL; child = child->next) {
        reader->failed |= (missing & child->bit) != 0 ? child->required_types : 0;
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

static inline const char *read_string(struct reader *reader, const char *at,
                                      const struct schema_node *node, struct parley_value *value) {
    bool has_escapes;
    const char *end = json_string_end(at + 1, reader->end, &has_escapes);
    if (end == NULL) {
        return NULL;
    }
    value->kind = PARLEY_STRING;
    value->text = (struct parley_bytes){at + 1, (size_t)(end - at - 1)};
    if (has_escapes && ((node->sure_kinds & PARLEY_STRING) == 0 || node->field >= 0) &&
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
        value->kind = PARLEY_NUMBER;
        return json_number_read(at, reader->end, node != &schema_unasked ? &value->number : NULL);
    }
}

static inline const char *open_level(struct reader *reader, const char *at,
                                     const struct schema_node *node, struct parley_value *value) {
    const bool is_array = *at == '[';
    value->kind = is_array ? PARLEY_ARRAY : PARLEY_OBJECT;
    if (reader->level == &reader->levels[JSON_DEPTH_MAX] || !ask(reader, node, value)) {
        return NULL;
    }
    *++reader->level = (struct level){
        .node = node, .first_key = reader->key_count, .closing = is_array ? ']' : '}'};
    return at + 1;
}

static inline void close_level(struct reader *reader) {
    const struct level *level = reader->level--;
    reader->key_count = level->first_key;
    if (level->node->field >= 0) {
        reader->message->values[level->node->field].count = level->count;
    }
    if (level->closing == ']') {
        ask_count(reader, level);
    } else {
        ask_missing(reader, level);
    }
}

/* Keeps a key that no rule names.  Returns: false when it stood in its object before, or there is
 * no room. */
static bool note_key(struct reader *reader, struct parley_bytes key, struct schema_mark mark) {
    for (size_t i = reader->level->first_key; i < reader->key_count; i++) {
        if (schema_same_mark(reader->marks[i], mark) && parley_bytes_equal(reader->keys[i], key)) {
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

/* The place of the member that followed the one before it in the last message like this. */
static inline const struct schema_node *expected(const struct reader *reader) {
    const struct level *level = reader->level;
    const struct parley_member_order *order = &reader->message->order;
    const unsigned number =
        level->count == 1 ? order->first[level->node->number] : order->next[level->last];
    return reader->message->schema->numbered[number];
}

/* Keeps in mind that the present member is `node`. Behind one that has no number (next[0]) nothing
 * is ever expected: it may be in any object. */
static void expect(struct reader *reader, const struct schema_node *node) {
    const struct level *level = reader->level;
    struct parley_member_order *order = &reader->message->order;
    if (level->count == 1) {
        order->first[level->node->number] = (unsigned char)node->number;
    } else if (level->last != 0) {
        order->next[level->last] = (unsigned char)node->number;
    }
}

/* Reads the key at `at`, whatever it is, up to behind its colon. One with escapes may be one that
 * a rule names: that is for others to find out. */
static const char *read_any_key(struct reader *reader, const char *at,
                                const struct schema_node **out_node) {
    bool has_escapes;
    const char *end = json_string_end(at + 1, reader->end, &has_escapes);
    if (end == NULL || has_escapes) {
        return NULL;
    }
    const struct parley_bytes key = {at + 1, (size_t)(end - at - 1)};
    const struct schema_mark mark = schema_mark(key);
    *out_node = schema_marked_member(reader->level->node, key, mark);
    if ((*out_node)->bit == 0 && !note_key(reader, key, mark)) {
        return NULL;
    }
    expect(reader, *out_node);
    at = skip_blanks(end + 1, reader->end);
    return at < reader->end && *at == ':' ? at + 1 : NULL;
}

/* Reads a key up to its value, and tells what is asked of that. */
static inline const char *read_key(struct reader *reader, const char *at,
                                   const struct schema_node **out_node) {
    struct level *level = reader->level;
    const struct schema_node *node = expected(reader);
    if (at == reader->end || *at != '"') {
        return NULL;
    }
    if (schema_is_spelled(&node->spelling, at, (size_t)(reader->end - at))) {
        at += node->spelling.length;
    } else {
        at = read_any_key(reader, at, &node);
    }
    if (at == NULL || (level->seen & node->bit) != 0) {
        return NULL;
    }
    level->seen |= node->bit;
    level->last = node->number;
    *out_node = node;
    return skip_blanks(at, reader->end);
}

/* Reads a scalar, or the opening of an array or object. A fact is read in its place. */
static inline const char *read_value(struct reader *reader, const char *at,
                                     const struct schema_node *node) {
    if (at == reader->end) {
        return NULL;
    }
    struct parley_message *message = reader->message;
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
    struct level *level = reader->level;
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

/* Takes a member of the message's object, which is open, that does not stand in the text. */
static bool take_member(struct reader *reader, struct parley_bytes key,
                        const struct parley_value *value) {
    struct level *object = reader->level;
    const struct schema_node *node = schema_member(object->node, key);
    if (node == NULL || node->bit == 0) {
        return false;
    }
    object->seen |= node->bit;
    if (node->field >= 0) {
        reader->message->values[node->field] = *value;
    }
    return ask(reader, node, value);
}

/* `key` data NULL: all members stand in the text. */
static bool read_message(struct reader *reader, struct parley_bytes key,
                         const struct parley_value *member) {
    const struct parley_bytes text = reader->message->text;
    const char *at = skip_blanks(text.data, reader->end);
    if (at == reader->end || *at != '{') {
        return false;
    }
    reader->level = reader->levels;
    at = open_level(reader, at, &reader->message->schema->root, &reader->other);
    if (at != NULL && key.data != NULL && !take_member(reader, key, member)) {
        return false;
    }
    while (at != NULL && reader->level > reader->levels) {
        at = read_next(reader, at);
    }
    return at != NULL && skip_blanks(at, reader->end) == reader->end;
}

/* What stands in other encodings is asked here, too, and must have nothing to say. */
static bool passes_inspection(struct parley_message *message) {
    struct walk walk; /* it only bears what is reported */
    walk.message = message;
    walk.frames[0].offset = 0;
    walk.status = PARLEY_OK;
    const enum parley_status status = message->protocol->inspect(message, &walk);
    const bool has_findings = message->findings.count > 0 || message->findings.omitted_count > 0;
    message->findings = (struct parley_findings){0};
    return status == PARLEY_OK && walk.status == PARLEY_OK && !has_findings;
}

bool fast_keeps_rules(struct parley_message *message, uint32_t failed) {
    const struct parley_protocol *protocol = message->protocol;
    const uint32_t type = PARLEY_TYPE_BIT(message->type);
    if ((failed & type) != 0) {
        return false;
    }
    const struct parley_facts facts = {
        .values = message->values, .type = message->type, .options = &message->options};
    const struct schema_check *check = message->schema->cross_checks;
    while (check != NULL &&
           ((schema_types(check) & type) == 0 || !place_is_broken(check->place, &facts))) {
        check = check->next;
    }
    return check == NULL && (protocol->inspect == NULL || passes_inspection(message));
}

bool fast_accepts_with(struct parley_message *message, struct parley_bytes key,
                       const struct parley_value *member) {
    const struct parley_protocol *protocol = message->protocol;
    struct reader reader; /* its arrays are written before they are read */
    reader.message = message;
    reader.end = message->text.data + message->text.length;
    reader.failed = 0;
    reader.key_count = 0;
    if ((protocol->inspect == NULL || protocol->inspects_facts) &&
        read_message(&reader, key, member)) {
        message->type = walk_type_of(protocol, &message->values[protocol->type_field]);
        if (fast_keeps_rules(message, reader.failed)) {
            return true;
        }
    }
    walk_forget_facts(message);
    return false;
}

bool fast_accepts(struct parley_message *message) {
    return fast_accepts_with(message, (struct parley_bytes){0}, NULL);
}
