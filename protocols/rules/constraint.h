/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The shared, parameterised checks of rule.h, and how they put themselves into words. */

#include <parley/arena.h>
#include <parley/buffer.h>
#include <parley/rule.h>

#include "schema.h"

/* Whether a value that is there is of a kind, and satisfies the constraint, of a check's place.
 * What needs more than the value (PARLEY_MIN_ITEMS, PARLEY_INCREASING) holds here. */
bool constraint_holds(const struct schema_check *check, const struct parley_value *value);

/* The one kind that a constraint speaks of; PARLEY_ABSENT: of none. */
enum parley_kind constraint_kind(enum parley_constraint constraint);

/* The set of kinds of which the place asks no more than that a value is of one of them: whatever
 * such a value is, constraint_holds. */
unsigned constraint_sure_kinds(const struct parley_place *place);

/* Whether a place speaks of several members, so that it is asked once all facts are known. */
static inline bool place_is_over_members(const struct parley_place *place) {
    return place->is_broken != NULL || place->wants != NULL;
}

/* Whether such a place is broken. */
bool place_is_broken(const struct parley_place *place, const struct parley_facts *facts);

/* "`seq` is -1; expected an integer of 0 or more, or null".  `path` is the value's JSON Pointer.
 * `value` NULL: it is missing.
 * Owns: the arena.  Returns: NULL when there is no memory. */
const char *constraint_message(struct parley_arena *arena, const struct parley_place *place,
                               const char *path, const struct parley_value *value);

/* What a place wants, in words: "a string of at least 3 characters". */
void constraint_describe(const struct parley_place *place, struct parley_buffer *out);
