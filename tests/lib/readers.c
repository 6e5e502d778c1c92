/* SPDX-License-Identifier: Apache-2.0 */

/* Drives one rule table by several readers. */

#include "readers.h"

#include <stdarg.h>
#include <stdio.h>

#include "json/json_reader.h"
#include "rules/walk.h"
#include "json_oracle.h"

void readers_init(struct readers *readers, const struct parley_schema *schema) {
    parley_message_init(&readers->by_tree, schema);
    parley_message_init(&readers->by_text, schema);
    parley_message_init(&readers->checked, schema);
    readers->difference[0] = '\0';
}

void readers_finish(struct readers *readers) {
    parley_message_finish(&readers->by_tree);
    parley_message_finish(&readers->by_text);
    parley_message_finish(&readers->checked);
}

static bool differ(struct readers *readers, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool differ(struct readers *readers, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(readers->difference, sizeof readers->difference, format, arguments);
    va_end(arguments);
    return false;
}

static bool has_rule(const struct parley_message *message, enum parley_gateway_rule rule) {
    return message->findings.count == 1 &&
           message->findings.items[0].rule == &parley_gateway_rules[rule];
}

static bool same_findings(struct readers *readers, const struct parley_message *message) {
    const struct parley_findings *tree = &readers->by_tree.findings;
    const struct parley_findings *text = &message->findings;
    for (size_t i = 0; i < tree->count && i < text->count; i++) {
        const struct parley_finding *a = &tree->items[i], *b = &text->items[i];
        if (a->rule != b->rule || strcmp(a->path, b->path) != 0 ||
            strcmp(a->message, b->message) != 0 || strcmp(a->hint, b->hint) != 0) {
            return differ(readers, "finding %zu: %s %s (%s) by tree, %s %s (%s) by text", i,
                          a->rule->id, a->path, a->message, b->rule->id, b->path, b->message);
        }
    }
    if (tree->count != text->count || tree->omitted_count != text->omitted_count ||
        tree->has_error != text->has_error) {
        return differ(readers, "%zu findings by tree, %zu by text", tree->count, text->count);
    }
    return true;
}

static bool same_facts(struct readers *readers, const struct parley_message *message) {
    for (size_t i = 0; i < PARLEY_FIELDS_MAX; i++) {
        const struct parley_value *a = &readers->by_tree.values[i];
        const struct parley_value *b = &message->values[i];
        /* Bit for bit, for a zero may be negative. */
        if (a->kind != b->kind || !parley_bytes_equal(a->text, b->text) || a->count != b->count ||
            memcmp(&a->number, &b->number, sizeof a->number) != 0) {
            return differ(readers, "fact %zu: kind %d, %g, %zu by tree, %d, %g, %zu by text", i,
                          (int)a->kind, a->number, a->count, (int)b->kind, b->number, b->count);
        }
    }
    return readers->by_tree.type == message->type || differ(readers, "the type");
}

/* What the event reader says when it is driven by itself and not told the type. */
static bool agrees_with_text(struct readers *readers, struct parley_bytes text,
                             const struct parley_options *options, const json_t *tree) {
    struct json_fault fault;
    struct key_set keys;
    struct walk walk;
    json_oracle_prepare(&readers->by_text, text, options);
    walk_begin(&walk, &readers->by_text, WALK_EVERY_TYPE);
    const struct json_events events = json_events_of_walk(&walk);
    key_set_init(&keys, text);
    const bool is_read =
        json_reader_read(text, &events, &readers->by_text.arena, &keys, &fault) == JSON_READER_READ;
    key_set_finish(&keys);
    if (is_read != (tree != NULL)) {
        return differ(readers, "only one of them reads it; the event reader: %s",
                      is_read ? "fine" : fault.message);
    }
    if (!json_is_object(tree)) {
        return true;
    }
    if (walk_end(&walk) != PARLEY_OK) {
        return differ(readers, "no memory");
    }
    return same_findings(readers, &readers->by_text) && same_facts(readers, &readers->by_text);
}

static bool agrees_with_check(struct readers *readers, const json_t *tree) {
    const struct parley_message *checked = &readers->checked;
    if (checked->is_decoded != json_is_object(tree) ||
        has_rule(checked, PARLEY_GW_TOP_LEVEL) != (tree != NULL && !json_is_object(tree))) {
        return differ(readers, "jansson and the check differ about what is a message");
    }
    if (!checked->is_decoded) {
        return checked->findings.count == 1 || differ(readers, "a fault is told once");
    }
    return same_findings(readers, checked) && same_facts(readers, checked);
}

static bool compare(struct readers *readers, struct parley_bytes text,
                    const struct parley_options *options, json_t *tree) {
    json_oracle_prepare(&readers->by_tree, text, options);
    if (json_is_object(tree) && json_oracle_walk(&readers->by_tree, tree) != PARLEY_OK) {
        return differ(readers, "no memory");
    }
    return agrees_with_text(readers, text, options, tree) && agrees_with_check(readers, tree);
}

bool readers_agree(struct readers *readers, struct parley_bytes text,
                   const struct parley_options *options) {
    readers->difference[0] = '\0';
    if (parley_message_check(&readers->checked, text, &parley_codec_json, options,
                             (struct parley_position){1, 1}) != PARLEY_OK) {
        return differ(readers, "there is no verdict");
    }
    if (has_rule(&readers->checked, PARLEY_GW_SIZE)) {
        return true;
    }
    json_t *tree = json_oracle_read(readers->checked.text);
    const bool agree = compare(readers, readers->checked.text, options, tree);
    json_decref(tree);
    return agree;
}
