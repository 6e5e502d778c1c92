/* SPDX-License-Identifier: Apache-2.0 */

/* Drives one rule table by two readers. */

#include "readers.h"

#include <stdarg.h>
#include <stdio.h>

#include "engine/json.h"
#include "engine/json_text.h"
#include "engine/walk.h"

void readers_init(struct readers *readers, const struct parley_schema *schema) {
    parley_message_init(&readers->by_tree, schema);
    parley_message_init(&readers->by_text, schema);
    readers->difference[0] = '\0';
}

void readers_finish(struct readers *readers) {
    parley_message_finish(&readers->by_tree);
    parley_message_finish(&readers->by_text);
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

static bool same_findings(struct readers *readers) {
    const struct parley_findings *tree = &readers->by_tree.findings;
    const struct parley_findings *text = &readers->by_text.findings;
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

static bool same_facts(struct readers *readers) {
    for (size_t i = 0; i < PARLEY_FIELDS_MAX; i++) {
        const struct parley_value *a = &readers->by_tree.values[i];
        const struct parley_value *b = &readers->by_text.values[i];
        /* Bit for bit, for a zero may be negative. */
        if (a->kind != b->kind || !parley_bytes_equal(a->text, b->text) || a->count != b->count ||
            memcmp(&a->number, &b->number, sizeof a->number) != 0) {
            return differ(readers, "fact %zu: kind %d, %g, %zu by tree, %d, %g, %zu by text", i,
                          (int)a->kind, a->number, a->count, (int)b->kind, b->number, b->count);
        }
    }
    return readers->by_tree.type == readers->by_text.type || differ(readers, "the type");
}

/* Sets up a message as parley_message_check does, without reading it. */
static void prepare(struct parley_message *message, struct parley_bytes text,
                    const struct parley_options *options) {
    parley_message_reset(message);
    message->sent = message->text = text;
    message->codec = &parley_codec_json;
    message->options = *options;
    message->arena.limit_bytes = 0;
}

/* Reads by jansson what was read without a tree: because it is certainly right, or large, or wrong.
 * Returns: whether it can be read as before. */
static bool reload(struct parley_message *message) {
    const bool was_decoded = message->is_decoded;
    message->findings = (struct parley_findings){0};
    return json_load(message) == PARLEY_OK && message->is_decoded == was_decoded;
}

bool readers_agree(struct readers *readers, struct parley_bytes text,
                   const struct parley_options *options) {
    struct parley_message *tree = &readers->by_tree;
    readers->difference[0] = '\0';
    if (parley_message_check(tree, text, &parley_codec_json, options,
                             (struct parley_position){1, 1}) != PARLEY_OK) {
        return differ(readers, "jansson refuses what the event reader reads");
    }
    if (has_rule(tree, PARLEY_GW_SIZE)) {
        return true;
    }
    if (tree->tree == NULL && !reload(tree)) {
        return differ(readers, "jansson does not say the same of what had no tree");
    }
    struct json_fault fault;
    struct walk walk;
    prepare(&readers->by_text, tree->text, options);
    walk_begin(&walk, &readers->by_text, WALK_EVERY_TYPE);
    const struct json_events events = json_events_of_walk(&walk);
    struct key_set keys;
    key_set_init(&keys, tree->text);
    const bool is_read = json_text_read(tree->text, &events, &readers->by_text.arena, &keys,
                                        &fault) == JSON_TEXT_READ;
    key_set_finish(&keys);
    const bool is_object = !has_rule(tree, PARLEY_GW_TOP_LEVEL);
    if (is_read != (tree->is_decoded || !is_object)) {
        return differ(readers, "only one of them reads it; the event reader: %s",
                      is_read ? "fine" : fault.message);
    }
    if (!is_read || !is_object) {
        return true;
    }
    if (json_walk(tree) != PARLEY_OK || walk_end(&walk) != PARLEY_OK) {
        return differ(readers, "no memory");
    }
    return same_findings(readers) && same_facts(readers);
}
