/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads JSON objects whose members are texts: the values of keys, and small bodies. */

#include <stdbool.h>

#include <parley/arena.h>
#include <parley/bytes.h>
#include <parley/status.h>

/* A member whose value is a text. */
struct text_member {
    const char *name;
    struct parley_bytes *out; /* data NULL if it is absent, or is not a text */
};

struct text_object {
    const struct text_member *rows; /* name NULL ends them */
    /* For the first member that is none of these: its name and its text. NULL: not wanted. */
    struct parley_bytes *other_name, *other;
    bool has_other;    /* output: there is a member that is none of these … */
    bool has_repeated; /* … and one of these that is there twice */
};

/* Owns: decoded texts are in `arena`, others in `text`.
 * Returns: PARLEY_E_UNSUPPORTED: `text` is not a JSON object. */
enum parley_status text_object_read(struct text_object *object, struct parley_bytes text,
                                    struct parley_arena *arena) PARLEY_MUST_CHECK;
