/* SPDX-License-Identifier: Apache-2.0 */

/* The fast reader of MessagePack against those that it stands in for. The tree is made of
 * msgpack-c's objects, so that no code of ours says what the bytes mean. */

#include "msgpack_pair.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>
#include <msgpack.h>
#include <sodium.h>

#include "json_oracle.h"
#include "same_findings.h"

void msgpack_pair_init(struct msgpack_pair *pair, const struct parley_schema *schema) {
    parley_message_init(&pair->fast, schema);
    parley_message_init(&pair->slow, schema);
    parley_message_init(&pair->json, schema);
    pair->difference[0] = '\0';
}

void msgpack_pair_finish(struct msgpack_pair *pair) {
    parley_message_finish(&pair->fast);
    parley_message_finish(&pair->slow);
    parley_message_finish(&pair->json);
}

static bool differ(struct msgpack_pair *pair, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool differ(struct msgpack_pair *pair, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(pair->difference, sizeof pair->difference, format, arguments);
    va_end(arguments);
    return false;
}

/* Sets up a message as parley_message_check does, without reading it. */
static void prepare(struct parley_message *message, struct parley_bytes bytes,
                    const struct parley_codec *codec, const struct parley_options *options) {
    parley_message_reset(message);
    message->sent = message->text = bytes;
    message->codec = codec;
    message->options = *options;
    message->origin = (struct parley_position){PARLEY_IN_BYTES, 0};
    message->arena.limit_bytes = 0;
}

static bool same_facts(struct msgpack_pair *pair, const struct parley_message *a,
                       const struct parley_message *b, bool has_offsets) {
    for (size_t i = 0; a->protocol->fields[i] != NULL; i++) {
        const struct parley_value *x = &a->values[i], *y = &b->values[i];
        if (x->kind != y->kind || !parley_bytes_equal(x->text, y->text) || x->count != y->count ||
            x->number != y->number || signbit(x->number) != signbit(y->number) ||
            (has_offsets && x->offset != y->offset)) {
            return differ(pair, "fact %zu: kind %d, %.17g, %zu, at %zu; else %d, %.17g, %zu, %zu",
                          i, (int)x->kind, x->number, x->count, x->offset, (int)y->kind, y->number,
                          y->count, y->offset);
        }
    }
    return a->type == b->type || differ(pair, "the type");
}

static bool left_nothing(struct msgpack_pair *pair) {
    for (size_t i = 0; i < PARLEY_FIELDS_MAX; i++) {
        if (pair->fast.values[i].kind != PARLEY_ABSENT || pair->fast.values[i].count != 0) {
            return differ(pair, "fact %zu is left, though it was not sure", i);
        }
    }
    return pair->fast.type == PARLEY_TYPE_OTHER || differ(pair, "a type is left");
}

/* ---- by msgpack-c's own objects ---- */

static json_t *base64_of(const msgpack_object_bin *bytes) {
    const size_t size =
        sodium_base64_ENCODED_LEN((size_t)bytes->size, sodium_base64_VARIANT_ORIGINAL);
    char *text = malloc(size);
    if (text == NULL) {
        abort();
    }
    sodium_bin2base64(text, size, (const unsigned char *)bytes->ptr, bytes->size,
                      sodium_base64_VARIANT_ORIGINAL);
    json_t *string = json_string(text);
    free(text);
    return string;
}

/* Recurses no deeper than msgpack-c reads. Numbers are reals, as those of json_oracle_read. */
static json_t *tree_of(const msgpack_object *object) {
    json_t *tree;
    switch (object->type) {
    case MSGPACK_OBJECT_BOOLEAN:
        return json_boolean(object->via.boolean);
    case MSGPACK_OBJECT_POSITIVE_INTEGER:
        return json_real((double)object->via.u64);
    case MSGPACK_OBJECT_NEGATIVE_INTEGER:
        return json_real((double)object->via.i64);
    case MSGPACK_OBJECT_FLOAT32:
    case MSGPACK_OBJECT_FLOAT64:
        return json_real(object->via.f64);
    case MSGPACK_OBJECT_STR:
        return json_stringn(object->via.str.ptr, object->via.str.size);
    case MSGPACK_OBJECT_BIN:
        return base64_of(&object->via.bin);
    case MSGPACK_OBJECT_ARRAY:
        tree = json_array();
        for (uint32_t i = 0; i < object->via.array.size; i++) {
            json_array_append_new(tree, tree_of(&object->via.array.ptr[i]));
        }
        return tree;
    case MSGPACK_OBJECT_MAP:
        tree = json_object();
        for (uint32_t i = 0; i < object->via.map.size; i++) {
            const msgpack_object_kv *member = &object->via.map.ptr[i];
            json_object_setn_new(tree, member->key.via.str.ptr, member->key.via.str.size,
                                 tree_of(&member->val));
        }
        return tree;
    default:
        return json_null();
    }
}

/* How many findings are about what the message says, and not about how large it is. */
static size_t count_findings(const struct parley_message *message) {
    size_t count = 0;
    for (size_t i = 0; i < message->findings.count; i++) {
        const char *id = message->findings.items[i].rule->id;
        count += strcmp(id, "IPC-007") != 0 && strcmp(id, "IPC-101") != 0;
    }
    return count;
}

/* `tree`: what msgpack-c made of `offset` bytes, when `result` is success. */
static bool agrees_with_tree(struct msgpack_pair *pair, msgpack_unpack_return result, size_t offset,
                             json_t *tree) {
    struct parley_message *json = &pair->json;
    if (result == MSGPACK_UNPACK_NOMEM_ERROR) {
        return true; /* deeper than msgpack-c reads */
    }
    if (result != MSGPACK_UNPACK_SUCCESS || offset != pair->fast.text.length) {
        return differ(pair, "msgpack-c does not read it");
    }
    if (json_oracle_walk(json, tree) != PARLEY_OK) {
        return differ(pair, "no memory");
    }
    return same_facts(pair, &pair->slow, json, false) &&
           (count_findings(&pair->slow) == count_findings(json) ||
            differ(pair, "%zu findings, and %zu of the tree", count_findings(&pair->slow),
                   count_findings(json)));
}

static bool agrees_with_objects(struct msgpack_pair *pair, const struct parley_options *options) {
    struct parley_message *json = &pair->json;
    json_t *tree = NULL;
    msgpack_unpacked unpacked;
    size_t offset = 0;
    msgpack_unpacked_init(&unpacked);
    const msgpack_unpack_return result =
        msgpack_unpack_next(&unpacked, pair->fast.text.data, pair->fast.text.length, &offset);
    prepare(json, PARLEY_BYTES("{}"), &parley_codec_json, options);
    if (result == MSGPACK_UNPACK_SUCCESS) {
        tree = tree_of(&unpacked.data);
    }
    msgpack_unpacked_destroy(&unpacked);
    const bool agree = agrees_with_tree(pair, result, offset, tree);
    json_decref(tree);
    return agree;
}

/* ---- by the walk ---- */

static bool agrees_with_walk(struct msgpack_pair *pair) {
    struct parley_message *slow = &pair->slow;
    slow->type = pair->fast.type;
    slow->is_decoded = true;
    if (msgpack_validate(slow) != PARLEY_OK) {
        return differ(pair, "no memory");
    }
    const struct parley_findings *findings = &slow->findings;
    pair->has_findings = findings->count > 0 || findings->omitted_count > 0 || findings->has_error;
    if (pair->fast.type != slow->type) {
        return differ(pair, "the type");
    }
    if (pair->certainty == ACCEPT_WHOLE) {
        return true;
    }
    return findings_are_the_same(&pair->fast.findings, findings, true)
               ? same_facts(pair, &pair->fast, slow, true)
               : differ(pair, "the walk has other findings: %s",
                        findings->count > 0 ? findings->items[0].rule->id : "none");
}

bool msgpack_pair_agree(struct msgpack_pair *pair, struct parley_bytes bytes,
                        const struct parley_codec *codec, const struct parley_options *options) {
    struct msgpack_fault fault;
    pair->difference[0] = '\0';
    pair->has_findings = false;
    prepare(&pair->fast, bytes, codec, options);
    prepare(&pair->slow, bytes, codec, options);
    pair->certainty = msgpack_accept(&pair->fast);
    const bool is_whole = msgpack_find_fault(bytes, &pair->slow.arena, &fault) == MSGPACK_READ;
    if (is_whole != (pair->certainty != ACCEPT_UNSURE)) {
        return differ(pair, "%s", is_whole ? "it is unsure of what has no fault" : fault.message);
    }
    return is_whole ? agrees_with_walk(pair) && agrees_with_objects(pair, options)
                    : left_nothing(pair);
}
