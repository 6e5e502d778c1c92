/* SPDX-License-Identifier: Apache-2.0 */

/* Builds the trie of a protocol's rule table, once, at start. A table that contradicts itself is
 * the programmer's mistake: assert. */

#include "schema.h"

#include <assert.h>
#include <stdlib.h>

#include <parley/arena.h>

const struct schema_node *schema_member(const struct schema_node *node, struct parley_bytes key) {
    for (const struct schema_node *child = node->children; child != NULL; child = child->next) {
        if (parley_bytes_equal(child->token, key)) {
            return child;
        }
    }
    return node->every;
}

static struct schema_node *add_child(struct parley_arena *arena, struct schema_node *node,
                                     struct parley_bytes token) {
    const bool is_every = parley_bytes_equal(token, PARLEY_BYTES("*"));
    struct schema_node *child = parley_arena_allocate(arena, sizeof *child);
    if (child == NULL) {
        return NULL;
    }
    assert(node->child_count < SCHEMA_CHILDREN_MAX);
    *child = (struct schema_node){.token = token, .field = -1};
    if (is_every) {
        node->every = child;
        return child;
    }
    child->index = node->child_count++;
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

/* The node of a path, made if need be; NULL: no memory. */
static struct schema_node *node_at(struct parley_schema *schema, const char *path) {
    struct schema_node *node = &schema->root;
    for (size_t depth = 0; *path != '\0'; depth++) {
        assert(*path == '/' && depth < SCHEMA_DEPTH_MAX);
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

static enum parley_status add_check(struct parley_schema *schema, const struct parley_rule *rule,
                                    const struct parley_place *place, unsigned order) {
    struct schema_check *check = parley_arena_allocate(schema->arena, sizeof *check);
    struct schema_node *node = node_at(schema, place->path);
    if (check == NULL || node == NULL) {
        return PARLEY_E_MEMORY;
    }
    assert(place->hint != NULL || rule->hint != NULL);
    assert(place->is_broken == NULL || place->message != NULL);
    *check = (struct schema_check){.rule = rule, .place = place, .order = order};
    struct schema_check **end = place->is_broken != NULL ? &schema->cross_checks : &node->checks;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = check;
    return PARLEY_OK;
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
    }
    for (unsigned i = 0; i < protocol->rule_count; i++) {
        const struct parley_rule *rule = &protocol->rules[i];
        for (size_t j = 0; j < rule->place_count; j++) {
            PARLEY_TRY(add_check(schema, rule, &rule->places[j], i));
        }
    }
    return PARLEY_OK;
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
    *schema = (struct parley_schema){.protocol = protocol, .arena = arena, .root.field = -1};
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

const struct parley_protocol *parley_schema_protocol(const struct parley_schema *schema) {
    return schema->protocol;
}
