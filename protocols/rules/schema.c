/* SPDX-License-Identifier: Apache-2.0 */

/* Builds the trie of a protocol's rule table, once, at start. A table that contradicts itself is
 * the programmer's mistake: assert. */

#include "schema.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include <parley/arena.h>

#include "alike.h"
#include "constraint.h"

const struct schema_node *schema_member(const struct schema_node *node, struct parley_bytes key) {
    const struct schema_node *member = schema_marked_member(node, key, schema_mark(key));
    return member != &schema_unasked ? member : NULL;
}

const struct schema_node *schema_member_like(const struct schema_node *node,
                                             struct parley_bytes key) {
    const struct schema_node *found = NULL, *child = node->children;
    const uint32_t letters = child != NULL ? alike_letters(key) : 0;
    for (; child != NULL; child = child->next) {
        if (alike_may(letters, child->letters) &&
            (alike_but_style(key, child->token) || alike_but_letter(key, child->token))) {
            if (found != NULL) {
                return NULL;
            }
            found = child;
        }
    }
    return found;
}

static const struct schema_slot no_slots[1];

const struct schema_node schema_unasked = {
    .field = -1,
    .slots = no_slots,
    .slot_count = 1,
    .rest = &schema_unasked,
    .free_kinds = ~0u,
};

static struct schema_node *add_child(struct parley_arena *arena, struct schema_node *node,
                                     struct parley_bytes token) {
    const bool is_every = parley_bytes_equal(token, PARLEY_BYTES("*"));
    struct schema_node *child = parley_arena_allocate(arena, sizeof *child);
    if (child == NULL) {
        return NULL;
    }
    assert(node->child_count < SCHEMA_CHILDREN_MAX);
    *child = (struct schema_node){.token = token, .letters = alike_letters(token), .field = -1};
    if (is_every) {
        node->every = child;
        return child;
    }
    child->bit = UINT64_C(1) << node->child_count++;
    struct schema_node **end = &node->children;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = child;
    return child;
}

static struct schema_node *find_child(struct schema_node *node, struct parley_bytes token) {
    if (parley_bytes_equal(token, PARLEY_BYTES("*"))) {
        return node->every;
    }
    for (struct schema_node *child = node->children; child != NULL; child = child->next) {
        if (parley_bytes_equal(child->token, token)) {
            return child;
        }
    }
    return NULL;
}

/* The node of a path, created if necessary; NULL: no memory. */
static struct schema_node *node_at(struct parley_schema *schema, const char *path) {
    struct schema_node *node = &schema->root;
    for (size_t depth = 0; *path != '\0'; depth++) {
        assert(*path == '/' && depth < SCHEMA_DEPTH_MAX);
        (void)depth; /* without asserts nothing else reads it */
        const struct parley_bytes token = {path + 1, strcspn(path + 1, "/")};
        assert(memchr(token.data, '~', token.length) == NULL);
        struct schema_node *child = find_child(node, token);
        if (child == NULL) {
            child = add_child(schema->arena, node, token);
        }
        if (child == NULL) {
            return NULL;
        }
        node = child;
        path = token.data + token.length;
    }
    return node;
}

/* Inserts a copy of `check` after those of the rules up to its own. */
static enum parley_status add_copy(struct parley_schema *schema, struct schema_check **list,
                                   const struct schema_check *check) {
    struct schema_check *copy = parley_arena_allocate(schema->arena, sizeof *copy);
    if (copy == NULL) {
        return PARLEY_E_MEMORY;
    }
    while (*list != NULL && (*list)->order <= check->order) {
        list = &(*list)->next;
    }
    *copy = *check;
    copy->next = *list;
    *list = copy;
    return PARLEY_OK;
}

static enum parley_status add_check(struct parley_schema *schema, const struct parley_rule *rule,
                                    const struct parley_place *place, unsigned order) {
    struct schema_check check = {
        .rule = rule, .place = place, .order = order, .asked_kinds = constraint_asked_kinds(place)};
    assert(place->hint != NULL || rule->hint != NULL);
    assert(!place_is_over_members(place) || place->message != NULL);
    assert(place->is_asked == NULL || place_is_over_members(place));
    if (place->by_inspection || rule->spans_messages) {
        return PARLEY_OK;
    }
    struct schema_node *node = node_at(schema, place->path);
    if (place->constraint == PARLEY_PATTERN) {
        check.pattern = pattern_compile(schema->arena, place->pattern);
    }
    if (node == NULL || (place->constraint == PARLEY_PATTERN && check.pattern == NULL)) {
        return PARLEY_E_MEMORY;
    }
    return add_copy(schema, place_is_over_members(place) ? &schema->cross_checks : &node->checks,
                    &check);
}

/* Copies the checks of `every` to named members. */
static enum parley_status merge(struct parley_schema *schema, struct schema_node *into,
                                const struct schema_node *from) {
    for (const struct schema_check *check = from->checks; check != NULL; check = check->next) {
        PARLEY_TRY(add_copy(schema, &into->checks, check));
    }
    const struct schema_node *child = from->every != NULL ? from->every : from->children;
    while (child != NULL) {
        struct schema_node *same = find_child(into, child->token);
        if (same == NULL) {
            same = add_child(schema->arena, into, child->token);
        }
        if (same == NULL) {
            return PARLEY_E_MEMORY;
        }
        PARLEY_TRY(merge(schema, same, child));
        child = child == from->every ? from->children : child->next;
    }
    return PARLEY_OK;
}

/* As deep as the rules' paths. */
static enum parley_status merge_every(struct parley_schema *schema, struct schema_node *node) {
    for (struct schema_node *child = node->children; child != NULL; child = child->next) {
        if (node->every != NULL) {
            PARLEY_TRY(merge(schema, child, node->every));
        }
        PARLEY_TRY(merge_every(schema, child));
    }
    return node->every != NULL ? merge_every(schema, node->every) : PARLEY_OK;
}

/* Fills the empty slots of a node.  Returns: how many children are not in their first one. */
static size_t fill_slots(const struct schema_node *node, struct schema_slot *slots) {
    size_t displaced_count = 0;
    memset(slots, 0, node->slot_count * sizeof *slots);
    for (const struct schema_node *child = node->children; child != NULL; child = child->next) {
        const struct schema_mark mark = schema_mark(child->token);
        const size_t first = schema_first_slot(node, mark);
        size_t slot = first;
        while (slots[slot].node != NULL) {
            slot = (slot + 1) & (node->slot_count - 1);
        }
        slots[slot] = (struct schema_slot){mark, child->token.length, child};
        displaced_count += slot != first;
    }
    return displaced_count;
}

/* A hash table of the children's keys, at most a quarter full, and, if one of some factors allows
 * it, with each key in the first slot of its search. */
static enum parley_status index_children(struct parley_schema *schema, struct schema_node *node) {
    enum { FACTORS = 100 };
    node->rest = node->every != NULL ? node->every : &schema_unasked;
    node->slots = no_slots;
    node->slot_count = 1;
    if (node->child_count == 0) {
        return PARLEY_OK;
    }
    while (node->slot_count < (size_t)node->child_count * 4) {
        node->slot_count *= 2;
    }
    struct schema_slot *slots =
        parley_arena_allocate(schema->arena, node->slot_count * sizeof *slots);
    if (slots == NULL) {
        return PARLEY_E_MEMORY;
    }
    node->slots = slots;
    for (unsigned i = 0; i < FACTORS; i++) {
        node->slot_factor = UINT64_C(0x9E3779B97F4A7C15) * (2 * i + 1);
        if (fill_slots(node, slots) == 0) {
            break;
        }
    }
    return PARLEY_OK;
}

static void spell(struct schema_node *node) {
    struct schema_spelling *spelling = &node->spelling;
    const size_t length = node->token.length + strlen("\"\":");
    if (length > sizeof spelling->words || node->bit == 0) {
        return; /* the top level and `every` have no key of their own */
    }
    char text[sizeof spelling->words + 1];
    snprintf(text, sizeof text, "\"%.*s\":", (int)node->token.length, node->token.data);
    memcpy(spelling->words, text, length);
    memset(spelling->masks, 0xFF, length);
    spelling->length = length;
}

/* Computes what readers look up instead of going through checks. Recurses as deep as the rules'
 * paths. */
static enum parley_status prepare(struct parley_schema *schema, struct schema_node *node) {
    spell(node);
    for (struct schema_check *check = node->checks; check != NULL; check = check->next) {
        check->node = node;
    }
    if (schema->numbered_count < SCHEMA_PLACES_NUMBERED) {
        node->number = schema->numbered_count++;
        schema->numbered[node->number] = node;
    }
    for (struct schema_node *child = node->children; child != NULL; child = child->next) {
        PARLEY_TRY(prepare(schema, child));
    }
    PARLEY_TRY(schema_digest(schema->arena, node));
    PARLEY_TRY(index_children(schema, node));
    return node->every != NULL ? prepare(schema, node->every) : PARLEY_OK;
}

static uint32_t types_that_require_stamps(const struct parley_schema *schema) {
    const struct parley_stamp *stamp = schema->protocol->stamps;
    uint32_t types = UINT32_MAX;
    for (; stamp != NULL && stamp->member != NULL; stamp++) {
        const struct schema_node *node =
            schema_member(&schema->root, parley_bytes_of(stamp->member));
        types &= node != NULL ? schema_types_that_require(node) : 0;
    }
    return types;
}

static enum parley_status build(struct parley_schema *schema) {
    const struct parley_protocol *protocol = schema->protocol;
    for (size_t i = 0; protocol->fields[i] != NULL; i++) {
        struct schema_node *node = node_at(schema, protocol->fields[i]);
        if (node == NULL) {
            return PARLEY_E_MEMORY;
        }
        assert(i < PARLEY_FIELDS_MAX && node->field == -1);
        node->field = (int)i;
        schema->field_count = i + 1;
    }
    for (unsigned i = 0; i < protocol->rule_count; i++) {
        const struct parley_rule *rule = &protocol->rules[i];
        for (size_t j = 0; j < rule->place_count; j++) {
            PARLEY_TRY(add_check(schema, rule, &rule->places[j], i));
        }
    }
    for (unsigned i = 0; protocol->types[i] != NULL; i++) {
        if (add_child(schema->arena, &schema->types, parley_bytes_of(protocol->types[i])) == NULL) {
            return PARLEY_E_MEMORY;
        }
    }
    PARLEY_TRY(index_children(schema, &schema->types));
    PARLEY_TRY(merge_every(schema, &schema->root));
    for (struct schema_check *check = schema->cross_checks; check != NULL; check = check->next) {
        check->node = schema_at(schema, check->place->path);
    }
    PARLEY_TRY(prepare(schema, &schema->root));
    schema->stamped_types = types_that_require_stamps(schema);
    return PARLEY_OK;
}

const struct schema_node *schema_at(const struct parley_schema *schema, const char *path) {
    struct schema_node *node = (struct schema_node *)&schema->root;
    while (*path != '\0' && node != NULL) {
        const struct parley_bytes token = {path + 1, strcspn(path + 1, "/")};
        node = find_child(node, token);
        path = token.data + token.length;
    }
    return node;
}

enum parley_status parley_schema_create(const struct parley_protocol *protocol,
                                        struct parley_schema **out) {
    struct parley_schema *schema = calloc(1, sizeof *schema);
    struct parley_arena *arena = calloc(1, sizeof *arena);
    if (schema == NULL || arena == NULL) {
        free(schema);
        free(arena);
        return PARLEY_E_MEMORY;
    }
    parley_arena_init(arena, 0);
    *schema = (struct parley_schema){.protocol = protocol,
                                     .arena = arena,
                                     .root.field = -1,
                                     .numbered = {&schema_unasked},
                                     .numbered_count = 1};
    const enum parley_status status = build(schema);
    if (status != PARLEY_OK) {
        parley_schema_destroy(schema);
        return status;
    }
    *out = schema;
    return PARLEY_OK;
}

void parley_schema_destroy(struct parley_schema *schema) {
    if (schema != NULL) {
        parley_arena_finish(schema->arena);
        free(schema->arena);
        free(schema);
    }
}
