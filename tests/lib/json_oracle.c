/* SPDX-License-Identifier: Apache-2.0 */

/* No code of the readers under test is used here: only the rule engine, which they share. */

#include "json_oracle.h"

#include "base/text.h"
#include "json/json_reader.h"
#include "rules/walk.h"

#define LOAD_FLAGS                                                                                 \
    (JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL)

/* Whether text that jansson has read is deeper than we allow, or has a NUL byte, which jansson
 * takes behind a number. */
static bool is_beyond_jansson(struct parley_bytes text) {
    size_t depth = 0;
    bool is_in_string = false;
    for (size_t i = 0; i < text.length; i++) {
        switch (text.data[i]) {
        case '\0':
            return true;
        case '"':
            is_in_string = !is_in_string;
            break;
        case '\\':
            i += is_in_string;
            break;
        case '{':
        case '[':
            depth += !is_in_string;
            if (depth > JSON_DEPTH_MAX) {
                return true;
            }
            break;
        case '}':
        case ']':
            depth -= !is_in_string && depth > 0;
            break;
        default:
            break;
        }
    }
    return false;
}

json_t *json_oracle_read(struct parley_bytes text) {
    json_t *tree = json_loadb(text.data, text.length, LOAD_FLAGS, NULL);
    if (tree != NULL && is_beyond_jansson(text)) {
        json_decref(tree);
        return NULL;
    }
    return tree;
}

void json_oracle_prepare(struct parley_message *message, struct parley_bytes text,
                         const struct parley_options *options) {
    parley_message_reset(message);
    message->sent = message->text = text;
    message->codec = &parley_codec_json;
    message->options = *options;
    message->arena.limit_bytes = 0;
}

static struct parley_value value_of(const json_t *node) {
    struct parley_value value = {.kind = PARLEY_NULL};
    switch (json_typeof(node)) {
    case JSON_OBJECT:
        value.kind = PARLEY_OBJECT;
        value.count = json_object_size(node);
        break;
    case JSON_ARRAY:
        value.kind = PARLEY_ARRAY;
        value.count = json_array_size(node);
        break;
    case JSON_STRING:
        value.kind = PARLEY_STRING;
        value.text = (struct parley_bytes){json_string_value(node), json_string_length(node)};
        break;
    case JSON_INTEGER:
    case JSON_REAL:
        value.kind = PARLEY_NUMBER;
        value.number = json_number_value(node);
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        value.kind = PARLEY_BOOLEAN;
        value.number = json_is_true(node);
        break;
    case JSON_NULL:
        break;
    }
    return value;
}

/* Recurses no deeper than the rules' paths: walk_value says where to go. */
static void walk_tree(struct walk *walk, json_t *node) {
    const struct parley_value value = value_of(node);
    if (!walk_value(walk, &value)) {
        return;
    }
    if (value.kind == PARLEY_ARRAY) {
        for (size_t i = 0; i < value.count; i++) {
            walk_tree(walk, json_array_get(node, i));
        }
    } else {
        for (void *at = json_object_iter(node); at != NULL; at = json_object_iter_next(node, at)) {
            const struct parley_bytes key = {json_object_iter_key(at),
                                             json_object_iter_key_len(at)};
            if (walk_key(walk, key)) {
                walk_tree(walk, json_object_iter_value(at));
            }
        }
    }
    walk_leave(walk, value.count);
}

/* By comparison with each type, unlike schema_type_of(). */
static unsigned type_of(const struct parley_protocol *protocol, const struct parley_value *value) {
    if (value->kind != PARLEY_STRING) {
        return PARLEY_TYPE_OTHER;
    }
    if (protocol->type_of != NULL) {
        return protocol->type_of(value->text);
    }
    const size_t type = text_choice(value->text, protocol->types);
    return protocol->types[type] != NULL ? (unsigned)type : PARLEY_TYPE_OTHER;
}

/* The type is in a top-level member, so that it can be read before the walk. */
static uint32_t types_of(const struct parley_protocol *protocol, const json_t *tree) {
    const json_t *type = json_object_get(tree, protocol->fields[protocol->type_field] + 1);
    const struct parley_value value = type != NULL ? value_of(type) : (struct parley_value){0};
    return PARLEY_TYPE_BIT(type_of(protocol, &value));
}

enum parley_status json_oracle_walk(struct parley_message *message, json_t *tree) {
    struct walk walk;
    message->is_decoded = true;
    walk_begin(&walk, message, types_of(message->protocol, tree));
    walk_tree(&walk, tree);
    return walk_end(&walk);
}
