/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Accept fast, refuse slowly: most messages are right, and a reader that need not say what is wrong
 * can see that in one pass over the bytes, without findings. It runs the same
 * compiled table as every reader, and has two answers: certainly right, or not sure. Whatever it is
 * not sure about, right or wrong, is asked of the readers that find out and explain. */

#include <parley/message.h>

#include "schema.h"

/* Whether the text of a message that was reset is certainly JSON without a fault (GW-001, GW-003 to
 * GW-006) that keeps every rule and deserves no warning; then type and facts are those of the walk.
 * If not, they are cleared. Owns: facts are borrowed from the text; those with escapes live in the
 * arena, and nothing else is allocated. */
bool fast_accepts(struct parley_message *message);

/* PARLEY_INCREASING, of an array that is being read: what the items so far were asked. */
struct fast_rising {
    const struct schema_check *check; /* NULL: nothing as yet */
    double last;
};

/* Whether `number` is greater than what the same row was asked of before; an array where two rows
 * ask it is left to the walk. */
static inline bool fast_rises(struct fast_rising *array, const struct schema_check *check,
                              double number) {
    const bool has_risen = array->check == NULL || (array->check == check && number > array->last);
    *array = (struct fast_rising){check, number};
    return has_risen;
}

/* For readers like this one that have read all of a message and kept its facts and type: whether
 * it keeps the rules, if messages of the types in the set `failed` do not. It asks the rows over
 * several members and then the protocol's inspection (one that inspects facts); what that has to
 * say is forgotten. */
bool fast_keeps_rules(struct parley_message *message, uint32_t failed);

/* fast_accepts() for a text to whose object a member belongs that does not stand in it; some rule
 * must name `key`.  Owns: the member is borrowed. */
bool fast_accepts_with(struct parley_message *message, struct parley_bytes key,
                       const struct parley_value *member);
