/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Shared by the readers that only accept, whichever encoding they read: their use of the rule
 * table. Where a check fails they only note for which types of message, since the type may come
 * last; at the end a failure counts if the message is of such a type. That is less than the walk
 * does, which must not report what follows from something it has reported: here any failure leaves
 * the findings to the walk.
 *
 * The code run for each value and each key is inline; the rest is in accept.c. */

#include <parley/message.h>

#include "constraint.h"
#include "walk.h"

/* The state of such a reader for one message. */
enum accept_certainty {
    ACCEPT_UNSURE,    /* it may have faults */
    ACCEPT_WHOLE,     /* it has no fault, and its type is known; it breaks a rule */
    ACCEPT_INSPECTED, /* it keeps all rows; the protocol's inspection has found faults, and the
                         findings are complete but for their places */
    ACCEPT_RIGHT,     /* it keeps every rule, without a warning */
};

enum {
    ACCEPT_DEPTH_MAX = 64,
    ACCEPT_KEYS_MAX = 256, /* of all open objects, those that no rule names */
};

/* One open array or object. */
struct accept_level {
    const struct schema_node *node;
    uint64_t seen;      /* members that rules name, by schema_node.bit */
    size_t count;       /* of members or items: the reader counts up or down */
    uint32_t first_key; /* index of its first key in accept.keys */
    unsigned last;      /* JSON: schema_node.number of the last member */
    char closing;       /* ']' for an array, '}' for an object */
    struct constraint_rising rising;
};

/* A reader's state. accept_begin() prepares it; the arrays are written before they are read. */
struct accept {
    struct parley_message *message;
    struct accept_level *level; /* the innermost that is open; `levels`: none is */
    uint32_t failed;            /* the types whose rules this message does not keep */
    bool has_spelling;          /* a key that no rule names, and that may be misspelt, is a fault */
    uint32_t key_count;
    bool is_type_known;                               /* message->type is set from it */
    struct accept_level levels[1 + ACCEPT_DEPTH_MAX]; /* the first is around the message */
    struct schema_mark marks[ACCEPT_KEYS_MAX];
    struct parley_bytes keys[ACCEPT_KEYS_MAX];
};

static inline void accept_begin(struct accept *accept, struct parley_message *message) {
    accept->message = message;
    accept->level = accept->levels;
    accept->failed = accept->key_count = 0;
    accept->has_spelling = message->options.has_spelling;
    accept->is_type_known = false;
}

/* ---- checks of a value ---- */

/* Asks what most rows ask: which kind a value is.  `kind`: PARLEY_INTEGER for a number that the
 * reader knows to be whole. */
static inline void accept_ask_kind(struct accept *accept, const struct schema_node *node,
                                   unsigned kind) {
    accept->failed |= node->wrong_types[schema_kind(kind)];
}

/* Whether rows depend on this value. Most ask of a string that it is not empty. */
static inline bool accept_depends(const struct schema_node *node, unsigned kind,
                                  const struct parley_value *value) {
    return (node->asked_kinds & kind) != 0 &&
           !(kind == PARLEY_STRING && value->text.length >= node->free_text_bytes);
}

/* Asks the rows that depend on more than the kind (schema_node.asked_kinds).  `value`: a scalar, or
 * an array whose `count` is known; a capture is passed by its address in message->values. */
void accept_ask_rows(struct accept *accept, const struct schema_node *node, unsigned kind,
                     const struct parley_value *value);

/* ---- arrays and objects ---- */

/* Returns: false when there is no room. */
static inline bool accept_open(struct accept *accept, const struct schema_node *node, char closing,
                               size_t count) {
    if (accept->level == &accept->levels[ACCEPT_DEPTH_MAX]) {
        return false;
    }
    *++accept->level = (struct accept_level){
        .node = node, .count = count, .first_key = accept->key_count, .closing = closing};
    return true;
}

static inline void accept_ask_missing(struct accept *accept, const struct accept_level *object) {
    const struct schema_node *node = object->node;
    if ((node->required & ~object->seen) == 0) {
        return;
    }
    const unsigned first = accept->is_type_known ? accept->message->type : 0;
    const unsigned last = accept->is_type_known ? first : PARLEY_TYPE_OTHER;
    for (unsigned type = first; type <= last; type++) {
        const bool is_missing = (node->required_for[type] & ~object->seen) != 0;
        accept->failed |= is_missing ? PARLEY_TYPE_BIT(type) : 0;
    }
}

/* Returns: the level that was the innermost. */
static inline const struct accept_level *accept_close(struct accept *accept) {
    const struct accept_level *level = accept->level--;
    accept->key_count = level->first_key;
    if (level->closing == '}') {
        accept_ask_missing(accept, level);
    }
    return level;
}

/* ---- members ---- */

/* Notes a member; one that no rule names (bit 0) is not kept.  Returns: false when the object had
 * it already. */
static inline bool accept_member(struct accept_level *object, const struct schema_node *node) {
    const bool is_new = (object->seen & node->bit) == 0;
    object->seen |= node->bit;
    return is_new;
}

/* Whether the innermost object has this key already; for keys that no rule names. */
static inline bool accept_has_key(const struct accept *accept, struct parley_bytes key,
                                  struct schema_mark mark) {
    for (size_t i = accept->level->first_key; i < accept->key_count; i++) {
        if (schema_same_mark(accept->marks[i], mark) && parley_bytes_equal(accept->keys[i], key)) {
            return true;
        }
    }
    return false;
}

/* Keeps such a key.  Returns: false when there is no room. */
static inline bool accept_keep_key(struct accept *accept, struct parley_bytes key,
                                   struct schema_mark mark) {
    if (accept->key_count == ACCEPT_KEYS_MAX) {
        return false;
    }
    if (accept->has_spelling && schema_member_like(accept->level->node, key) != NULL) {
        accept->failed =
            UINT32_MAX; /* the walk looks whether the member that is meant is missing */
    }
    accept->marks[accept->key_count] = mark;
    accept->keys[accept->key_count++] = key;
    return true;
}

/* ---- the end ---- */

/* The verdict on a message that has been read to its end, and whose captures are captured. Asks the
 * rows over several members, then the protocol's inspection (one that inspects captures). Returns:
 * not ACCEPT_UNSURE. */
enum accept_certainty accept_judge(struct accept *accept);
