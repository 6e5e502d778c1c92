/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A compiled rule table: its paths as a trie, so that a reader knows at each value which rules
 * apply. Read-only once it is created. */

#include <string.h>

#include <parley/message.h>

#include "pattern.h"

/* One row of the table at one place. */
struct schema_check {
    const struct parley_rule *rule;
    const struct parley_place *place;
    unsigned order;                 /* of the rule in the table */
    unsigned asked_kinds;           /* constraint_asked_kinds() of its place */
    const struct pattern *pattern;  /* PARLEY_PATTERN */
    const struct schema_node *node; /* its place, or, of a row over several members, the value
                                       there; NULL: no row is about that */
    struct schema_check *next;
};

/* The bytes of a key in two words. Keys of the same length are equal if their marks are equal, up
 * to SCHEMA_MARK_BYTES; longer ones may differ. */
struct schema_mark {
    uint64_t head, tail;
};
#define SCHEMA_MARK_BYTES 16

/* A slot in a node's table of children; node NULL: it is free. */
struct schema_slot {
    struct schema_mark mark;
    size_t length; /* of the key */
    const struct schema_node *node;
};

/* A key with its quotes and its colon, as in most texts; the bytes after it are masked. */
struct schema_spelling {
    uint64_t words[2], masks[2];
    size_t length; /* 0: there is no key, or it is longer than the words */
};

/* Kinds of values by the numbers of their bits. PARLEY_INTEGER stands for a number that the reader
 * knows to be whole. */
enum { SCHEMA_KINDS = 7 };
static inline unsigned schema_kind(enum parley_kind kind) {
    return (unsigned)__builtin_ctz((unsigned)kind);
}

/* One place of a document. */
struct schema_node {
    struct parley_bytes token; /* of the JSON Pointer; the key in its object */
    struct schema_spelling spelling;
    uint32_t letters;            /* alike_letters() of the token */
    unsigned number;             /* among all nodes, from 1; 0: not numbered, there are too many */
    uint64_t bit;                /* identifies it in a set of siblings; `every`: 0 */
    int field;                   /* the protocol's field that is captured here, or -1 */
    struct schema_check *checks; /* in the order of the table; each over one value */
    struct schema_node *children, *next;
    struct schema_node *every; /* the child for every item or member, or NULL; named children have
                                  its checks, too */
    unsigned child_count;
    const struct schema_slot *slots; /* hash table of the children, by the marks of their keys */
    uint64_t slot_factor;            /* multiplier that finds the first slot … */
    size_t slot_count;               /* … and the number of slots, a power of two */
    const struct schema_node *rest;  /* `every`, or schema_unasked: for all other members */
    /* A digest of its checks: */
    unsigned free_kinds;                /* any value of these is right for every type */
    unsigned asked_kinds;               /* for these, some check depends on the value */
    size_t free_text_bytes;             /* … but a string with so many passes all of them */
    uint32_t wrong_types[SCHEMA_KINDS]; /* by the number of a kind: the types it is wrong for */
    /* A digest of its children's checks: */
    uint64_t required;      /* the bits of those that some type requires */
    uint64_t *required_for; /* by type: the bits of those it requires; NULL: no type requires any */
};

/* The most members of one object that rules can name. */
#define SCHEMA_CHILDREN_MAX 64
/* The longest path of a rule, in tokens. */
#define SCHEMA_DEPTH_MAX 12

/* More places than these have no number. */
#define SCHEMA_PLACES_NUMBERED 128

struct parley_schema {
    const struct parley_protocol *protocol;
    struct parley_arena *arena; /* holds all nodes and checks */
    size_t field_count;
    const struct schema_node *numbered[SCHEMA_PLACES_NUMBERED]; /* nodes by number; 0: unasked */
    unsigned numbered_count;
    struct schema_node root;
    uint32_t stamped_types; /* those whose rows require every member that `stamp` fills in */
    struct schema_check *cross_checks; /* those over several members */
    struct schema_node types;          /* like members: the bit of each is its number */
};

/* The types for which a row is checked. */
static inline uint32_t schema_types(const struct schema_check *check) {
    return check->place->for_types != 0 ? check->place->for_types : UINT32_MAX;
}

static inline uint64_t schema_word(const char *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static inline uint32_t schema_half_word(const char *at) {
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* The first and the last bytes; of keys of 8 to 16 bytes these are all. */
static inline struct schema_mark schema_mark(struct parley_bytes key) {
    const char *end = key.data + key.length;
    if (key.length >= sizeof(uint64_t)) {
        return (struct schema_mark){schema_word(key.data), schema_word(end - sizeof(uint64_t))};
    }
    if (key.length >= sizeof(uint32_t)) {
        return (struct schema_mark){schema_half_word(key.data),
                                    schema_half_word(end - sizeof(uint32_t))};
    }
    if (key.length == 0) {
        return (struct schema_mark){0, 0};
    }
    return (struct schema_mark){(unsigned char)key.data[0],
                                (uint64_t)(unsigned char)key.data[key.length / 2] << 8 |
                                    (unsigned char)end[-1]};
}

static inline bool schema_same_mark(struct schema_mark a, struct schema_mark b) {
    return a.head == b.head && a.tail == b.tail;
}

/* The slot where the search for a key begins. */
static inline size_t schema_first_slot(const struct schema_node *node, struct schema_mark mark) {
    return ((mark.head ^ mark.tail << 1) * node->slot_factor >> 32) & (node->slot_count - 1);
}

/* Whether the text at `at`, of `left` bytes, begins with this key and its colon. */
static inline bool schema_is_spelled(const struct schema_spelling *spelling, const char *at,
                                     size_t left) {
    return left >= sizeof spelling->words && spelling->length != 0 &&
           (((schema_word(at) ^ spelling->words[0]) & spelling->masks[0]) |
            ((schema_word(at + sizeof(uint64_t)) ^ spelling->words[1]) & spelling->masks[1])) == 0;
}

/* The place that no rule checks, nor anything below it. */
extern const struct schema_node schema_unasked;

/* Writes the digests of a node, once its checks and its children are known. */
enum parley_status schema_digest(struct parley_arena *arena,
                                 struct schema_node *node) PARLEY_MUST_CHECK;

/* The types for which some row requires the member that is there. */
uint32_t schema_types_that_require(const struct schema_node *member);

/* The node at a path of the table. */
const struct schema_node *schema_at(const struct parley_schema *schema, const char *path);

/* The child for a key, whose mark is given, or `rest`. */
static inline const struct schema_node *schema_marked_member(const struct schema_node *node,
                                                             struct parley_bytes key,
                                                             struct schema_mark mark) {
    const struct schema_slot *slot = &node->slots[schema_first_slot(node, mark)];
    while (slot->node != NULL) {
        if (schema_same_mark(slot->mark, mark) && slot->length == key.length &&
            (key.length <= SCHEMA_MARK_BYTES || parley_bytes_equal(slot->node->token, key))) {
            return slot->node;
        }
        slot = slot + 1 < node->slots + node->slot_count ? slot + 1 : node->slots;
    }
    return node->rest;
}

/* The number of the type named by the value of the type member. */
static inline unsigned schema_type_of(const struct parley_schema *schema,
                                      const struct parley_value *value) {
    if (value->kind != PARLEY_STRING) {
        return PARLEY_TYPE_OTHER;
    }
    if (schema->protocol->type_of != NULL) {
        return schema->protocol->type_of(value->text);
    }
    const struct schema_mark mark = schema_mark(value->text);
    const uint64_t bit = schema_marked_member(&schema->types, value->text, mark)->bit;
    return bit != 0 ? (unsigned)__builtin_ctzll(bit) : PARLEY_TYPE_OTHER;
}

/* The only child that a key which names none is like: it may be misspelt (GW-103). NULL: none, or
 * several. */
const struct schema_node *schema_member_like(const struct schema_node *node,
                                             struct parley_bytes key);

/* The child for a key, or NULL if no rule checks it. */
const struct schema_node *schema_member(const struct schema_node *node, struct parley_bytes key);
