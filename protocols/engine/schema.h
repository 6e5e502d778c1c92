/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A rule table made ready to run: its paths as a trie, so that whoever walks a document knows at
 * each value what is asked of it. Read-only once it is made. */

#include <parley/protocol.h>

#include "pattern.h"

/* One row of the table at one place. */
struct schema_check {
    const struct parley_rule *rule;
    const struct parley_place *place;
    unsigned order;                /* of the rule in the table */
    const struct pattern *pattern; /* PARLEY_PATTERN */
    struct schema_check *next;
};

/* One place of a document. */
struct schema_node {
    struct parley_bytes token;   /* of the JSON Pointer; the key in its object */
    unsigned index;              /* among its siblings: its bit in a set of members seen */
    int field;                   /* the protocol's field that is captured here, or -1 */
    struct schema_check *checks; /* in the order of the table; none of them has is_broken */
    struct schema_node *children, *next;
    struct schema_node *every; /* the child that stands for every item or member, or NULL; its
                                  checks stand in the named ones too */
    unsigned child_count;
    const struct schema_node **slots; /* of the children, by their keys' marks */
    size_t slot_count;                /* a power of two; 0: there are no children */
    uint64_t required;                /* children that some row requires, by index */
    uint32_t required_types;          /* the types for which some row requires this one */
    bool asks_text; /* some row asks what a string says, not only that it is one */
};

/* More members of one object than this cannot be named by rules. */
#define SCHEMA_CHILDREN_MAX 64
/* The longest path of a rule, in tokens. */
#define SCHEMA_DEPTH_MAX 12

struct parley_schema {
    const struct parley_protocol *protocol;
    struct parley_arena *arena; /* holds all nodes and checks */
    struct schema_node root;
    struct schema_check *cross_checks; /* those with is_broken */
};

/* The set of types for which a row is asked. */
static inline uint32_t schema_types(const struct schema_check *check) {
    return check->place->for_types != 0 ? check->place->for_types : UINT32_MAX;
}

/* A few bits of a key, in which most keys differ from one another. */
static inline uint32_t schema_mark(struct parley_bytes key) {
    if (key.length == 0) {
        return 0;
    }
    const unsigned char *bytes = (const unsigned char *)key.data;
    return (uint32_t)(key.length & 255) | (uint32_t)bytes[0] << 8 |
           (uint32_t)bytes[key.length / 2] << 16 | (uint32_t)bytes[key.length - 1] << 24;
}

/* The node at a path that the table names. */
const struct schema_node *schema_at(const struct parley_schema *schema, const char *path);

/* The child of an object's node for this key, or NULL when no rule asks about it. */
const struct schema_node *schema_member(const struct schema_node *node, struct parley_bytes key);
