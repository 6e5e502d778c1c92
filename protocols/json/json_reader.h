/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The event reader: one strict pass over the bytes of a JSON text, without a tree. It drives a walk
 * with positions, and finds the first fault. */

#include "key_set.h"
#include "walk.h"

#define JSON_DEPTH_MAX 64

struct json_fault {
    enum parley_gateway_rule rule;
    size_t offset;
    const char *message; /* static */
    const char *hint;    /* static; NULL: the rule's */
    const char *path;    /* of GW-003 and GW-004, in the arena; "" otherwise */
    bool is_contained; /* the structure of the text is intact as far as it was read, so that its end
                          is known */
};

enum json_reader_result {
    JSON_READER_READ,
    JSON_READER_FAULT,
    JSON_READER_MEMORY,
};

/* The events of a reader, in the order of the text. The content of a value is read but not reported
 * if the listener does not ask for it. */
struct json_events {
    void *context;
    /* An array or object begins (its count is not known yet), or a scalar was read.
     * Returns: whether to report its content. */
    bool (*value)(void *context, const struct parley_value *value);
    /* Asked of an array or object whose content is not reported. NULL: of none.  Returns: whether
     * it is left unread: only its end is looked for, and what is in it may have any fault. */
    bool (*leaves)(void *context);
    /* Returns: whether to report its value. */
    bool (*key)(void *context, struct parley_bytes key);
    /* An array or object that was reported ends. */
    void (*leave)(void *context, size_t count);
    /* The value for which `value` was called, perhaps of several that are open the innermost, ends
     * before this byte of the text. NULL: it is not asked. */
    void (*end)(void *context, size_t offset);
    bool is_brief; /* texts are needed during a call only: decoded ones take no room in the arena */
};

/* Reads `text`. `events` NULL: only look for faults. Nothing after a fault is reported. `keys`:
 * initialised for this text, and empty; NULL: do not look for duplicate keys. Owns: decoded strings
 * and the fault's path are in the arena, other strings in `text`. */
enum json_reader_result json_reader_read(struct parley_bytes text, const struct json_events *events,
                                         struct parley_arena *arena, struct key_set *keys,
                                         struct json_fault *out_fault);

/* Reads a text that was read before without a fault, for other events, as the function above
 * without `keys`.  Returns: PARLEY_E_UNSUPPORTED: it has a fault all the same. */
enum parley_status json_reader_read_again(struct parley_bytes text,
                                          const struct json_events *events,
                                          struct parley_arena *arena) PARLEY_MUST_CHECK;

/* A walk as a listener. */
struct json_events json_events_of_walk(struct walk *walk);
