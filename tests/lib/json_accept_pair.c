/* SPDX-License-Identifier: Apache-2.0 */

/* The fast path against jansson and its walk, then against the event reader, which knows places. */

#include "json_accept_pair.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "json/json_accept.h"
#include "json/json_reader.h"
#include "rules/walk.h"
#include "json_oracle.h"

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

static bool has_no_findings(struct json_accept_pair *both, const char *reader) {
    const struct parley_findings *findings = &both->slow.findings;
    if (findings->count > 0 || findings->omitted_count > 0 || findings->has_error) {
        return differ(both, "%s has findings: %s", reader,
                      findings->count > 0 ? findings->items[0].rule->id : "omitted");
    }
    return true;
}

static bool agree_with_tree(struct json_accept_pair *both) {
    struct parley_message *slow = &both->slow;
    json_t *tree = json_oracle_read(slow->text);
    bool agree = json_is_object(tree) || differ(both, "jansson does not read it");
    if (agree) {
        agree = json_oracle_walk(slow, tree) == PARLEY_OK || differ(both, "no memory");
    }
    agree = agree && has_no_findings(both, "the tree") && same_facts(both, false);
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
    return has_no_findings(both, "the event reader") && same_facts(both, true);
}

bool json_accept_pair_agree(struct json_accept_pair *both, struct parley_bytes text,
                            const struct parley_options *options) {
    both->difference[0] = '\0';
    json_oracle_prepare(&both->fast, text, options);
    both->is_accepted = json_accept(&both->fast);
    if (!both->is_accepted) {
        return left_nothing(both);
    }
    json_oracle_prepare(&both->slow, text, options);
    return agree_with_tree(both) && agree_with_events(both);
}
