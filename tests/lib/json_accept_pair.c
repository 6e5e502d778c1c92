/* SPDX-License-Identifier: Apache-2.0 */

/* The fast path against jansson and its walk, then against the event reader, which knows places,
 * and the size that it adds up against what msgpack-c's packer would write. */

#include "json_accept_pair.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "json/json_accept.h"
#include "json/json_reader.h"
#include "msgpack/msgpack_message.h"
#include "rules/walk.h"
#include "json_oracle.h"
#include "same_findings.h"

void json_accept_pair_init(struct json_accept_pair *both, const struct parley_schema *schema) {
    parley_message_init(&both->fast, schema);
    parley_message_init(&both->slow, schema);
    both->difference[0] = '\0';
}

void json_accept_pair_finish(struct json_accept_pair *both) {
    parley_message_finish(&both->fast);
    parley_message_finish(&both->slow);
}

static bool differ(struct json_accept_pair *both, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool differ(struct json_accept_pair *both, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(both->difference, sizeof both->difference, format, arguments);
    va_end(arguments);
    return false;
}

static bool left_nothing(struct json_accept_pair *both) {
    for (size_t i = 0; i < PARLEY_FIELDS_MAX; i++) {
        if (both->fast.values[i].kind != PARLEY_ABSENT || both->fast.values[i].count != 0) {
            return differ(both, "fact %zu is left, though it was not sure", i);
        }
    }
    if (both->fast.packed_bytes != 0) {
        return differ(both, "a size is left");
    }
    return both->fast.type == PARLEY_TYPE_OTHER || differ(both, "a type is left");
}

static bool same_facts(struct json_accept_pair *both, bool has_offsets) {
    for (size_t i = 0; i < PARLEY_FIELDS_MAX; i++) {
        const struct parley_value *a = &both->fast.values[i], *b = &both->slow.values[i];
        if (a->kind != b->kind || !parley_bytes_equal(a->text, b->text) || a->count != b->count ||
            a->number != b->number || signbit(a->number) != signbit(b->number) ||
            (has_offsets && a->offset != b->offset)) {
            return differ(both, "fact %zu: kind %d, %.17g, %zu, at %zu; slowly %d, %.17g, %zu, %zu",
                          i, (int)a->kind, a->number, a->count, a->offset, (int)b->kind, b->number,
                          b->count, b->offset);
        }
    }
    return both->fast.type == both->slow.type || differ(both, "the type");
}

/* Where no row is broken. */
static bool same_findings(struct json_accept_pair *both, const char *reader, bool has_offsets) {
    return findings_are_the_same(&both->fast.findings, &both->slow.findings, has_offsets) ||
           differ(both, "%s has other findings: %zu, of which the first is %s", reader,
                  both->slow.findings.count,
                  both->slow.findings.count > 0 ? both->slow.findings.items[0].rule->id : "none");
}

/* What is known of a text that has no fault. */
static bool same_knowledge(struct json_accept_pair *both, const char *reader, bool has_offsets) {
    if (both->certainty == ACCEPT_WHOLE) {
        return both->fast.type == both->slow.type || differ(both, "the type");
    }
    return same_findings(both, reader, has_offsets) && same_facts(both, has_offsets);
}

static bool agree_with_tree(struct json_accept_pair *both) {
    struct parley_message *slow = &both->slow;
    json_t *tree = json_oracle_read(slow->text);
    bool agree = json_is_object(tree) || differ(both, "jansson does not read it");
    if (agree) {
        agree = json_oracle_walk(slow, tree) == PARLEY_OK || differ(both, "no memory");
    }
    agree = agree && same_knowledge(both, "the tree", false);
    json_decref(tree);
    return agree;
}

static bool agree_with_events(struct json_accept_pair *both) {
    struct parley_message *slow = &both->slow;
    struct json_fault fault;
    struct key_set keys;
    struct walk walk;
    walk_begin(&walk, slow, WALK_EVERY_TYPE);
    const struct json_events events = json_events_of_walk(&walk);
    key_set_init(&keys, slow->text);
    const enum json_reader_result result =
        json_reader_read(slow->text, &events, &slow->arena, &keys, &fault);
    key_set_finish(&keys);
    if (result != JSON_READER_READ || walk_end(&walk) != PARLEY_OK) {
        return differ(both, "the event reader does not read it");
    }
    return same_knowledge(both, "the event reader", true);
}

static bool agree_with_packer(struct json_accept_pair *both) {
    size_t bytes = 0;
    if (both->fast.protocol->inspects_size &&
        msgpack_size_from_json(&both->slow, &bytes) != PARLEY_OK) {
        return differ(both, "no memory");
    }
    return both->fast.packed_bytes == bytes ||
           differ(both, "it is %zu bytes of MessagePack, not %zu", bytes, both->fast.packed_bytes);
}

bool json_accept_pair_agree(struct json_accept_pair *both, struct parley_bytes text,
                            const struct parley_options *options) {
    both->difference[0] = '\0';
    json_oracle_prepare(&both->fast, text, options);
    both->certainty = json_accept(&both->fast);
    both->is_accepted = both->certainty == ACCEPT_RIGHT;
    if (both->certainty == ACCEPT_UNSURE) {
        return left_nothing(both);
    }
    json_oracle_prepare(&both->slow, text, options);
    return agree_with_tree(both) && agree_with_events(both) && agree_with_packer(both);
}
