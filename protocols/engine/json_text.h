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
    const char *path;    /* of GW-003 and GW-004; "" otherwise.  Owns: the arena */
};

enum json_text_result {
    JSON_TEXT_READ,
    JSON_TEXT_FAULT,
    JSON_TEXT_MEMORY,
};

/* Reads `text`. `walk` NULL: only look for faults. `keys`: made for this text, and empty; NULL: do
 * not look for keys that are repeated.
 * Owns: decoded strings and the fault's path live in the arena, other strings in `text`. */
enum json_text_result json_text_read(struct parley_bytes text, struct walk *walk,
                                     struct parley_arena *arena, struct key_set *keys,
                                     struct json_fault *out_fault);
