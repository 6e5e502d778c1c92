/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The constraints of rule.h: checking a value, and describing them in words. */

#include <parley/arena.h>
#include <parley/buffer.h>
#include <parley/rule.h>

#include "schema.h"

/* Whether a value has a kind of the check's place and satisfies its constraint. What depends on
 * more than the value (PARLEY_MIN_ITEMS, PARLEY_INCREASING) is not checked here. */
bool constraint_holds(const struct schema_check *check, const struct parley_value *value);

/* The kind that a constraint concerns; PARLEY_ABSENT: none. */
enum parley_kind constraint_kind(enum parley_constraint constraint);

/* Two sets of kinds: those that are wrong at the place, and those where it depends on the value.
 * A value of any other kind is right. PARLEY_INTEGER is a number that the reader knows to be whole;
 * PARLEY_NUMBER may be whole. */
unsigned constraint_wrong_kinds(const struct parley_place *place);
unsigned constraint_asked_kinds(const struct parley_place *place);

/* PARLEY_MIN_ITEMS of an array with `count` items. */
static inline bool constraint_has_items(const struct parley_place *place, size_t count) {
    return (double)count >= place->minimum;
}

/* PARLEY_INCREASING: the state that a reader keeps for an array. */
struct constraint_rising {
    const struct parley_place *place; /* NULL: no number yet */
    double last;
};

/* Whether `number` is greater than the one before it at the same place.  Only one place of an array
 * can be compared: a second one fails. */
static inline bool constraint_rises(struct constraint_rising *rising,
                                    const struct parley_place *place, double number) {
    const bool has_risen =
        rising->place == NULL || (rising->place == place && number > rising->last);
    *rising = (struct constraint_rising){place, number};
    return has_risen;
}

/* Whether a place is about several members, so that it is checked once all captures are known. */
static inline bool place_is_over_members(const struct parley_place *place) {
    return place->is_broken != NULL || place->wants != NULL;
}

/* Whether such a place is broken. */
bool place_is_broken(const struct parley_place *place, const struct parley_captures *captures);

/* "`seq` is -1; expected an integer of 0 or more, or null".  `path` is the value's JSON Pointer.
 * `value` NULL: it is missing.
 * Returns: text in the arena; NULL when there is no memory. */
const char *constraint_message(struct parley_arena *arena, const struct parley_place *place,
                               const char *path, const struct parley_value *value);

/* Describes the values that a place expects, in words: "a string of at least 3 characters". */
void constraint_describe(const struct parley_place *place, struct parley_buffer *out);
