/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The event reader: one strict pass over the bytes of a JSON text, without a tree. It drives a
 * walk with positions, and finds the first fault in the order of the bytes. */

#include "key_set.h"
#include "walk.h"

#define JSON_DEPTH_MAX 64

struct json_fault {
    enum parley_gateway_rule rule;
    size_t offset;
    const char *message; /* static */
    const char *hint;    /* static; NULL: the rule's */
    const char *path;    /* of GW-003 and GW-004; "" otherwise.  Owns: the arena */
    bool is_contained;   /* the structure of the whole text is intact, or as far as it was read:
                            what comes after this text can be trusted */
};

enum json_reader_result {
    JSON_READER_READ,
    JSON_READER_FAULT,
    JSON_READER_MEMORY,
};

/* What the reader tells, in the order of the text. What is inside a value that nobody wants to hear
 * of is read, and not told. */
struct json_events {
    void *context;
    /* An array or object begins (its count is not known yet), or a scalar is there.
     * Returns: whether to tell of what is inside. */
    bool (*value)(void *context, const struct parley_value *value);
    /* Returns: whether to tell of its value. */
    bool (*key)(void *context, struct parley_bytes key);
    /* An array or object ends that was told of. */
    void (*leave)(void *context, size_t count);
    bool is_brief; /* texts are wanted during a call alone: those that are decoded take no room in
                      the arena */
};

/* Reads `text`. `events` NULL: only look for faults; nothing after a fault is told. `keys`: made
 * for this text, and empty; NULL: do not look for keys that are repeated. Owns: decoded strings and
 * the fault's path live in the arena, other strings in `text`. */
enum json_reader_result json_reader_read(struct parley_bytes text, const struct json_events *events,
                                         struct parley_arena *arena, struct key_set *keys,
                                         struct json_fault *out_fault);

/* The rules as one who listens. */
struct json_events json_events_of_walk(struct walk *walk);
