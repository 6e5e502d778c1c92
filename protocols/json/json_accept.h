/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Accept fast, refuse slowly: most messages are right, and a reader that need not say what is wrong
 * can see that in one pass over the bytes, without findings. It runs the same
 * compiled table as every reader, and has two answers: certainly right, or not sure. Whatever it is
 * not sure about, right or wrong, is asked of the readers that find out and explain. */

#include <parley/message.h>

/* Whether the text of a message that was reset is certainly JSON without a fault (GW-001, GW-003 to
 * GW-006) that keeps every rule and deserves no warning; then type and facts are those of the walk.
 * If not, they are cleared. Owns: facts are borrowed from the text; those with escapes live in the
 * arena, and nothing else is allocated. */
bool json_accept(struct parley_message *message);

/* json_accept() for a text to whose object a member belongs that does not stand in it; some rule
 * must name `key`.  Owns: the member is borrowed. */
bool json_accept_with(struct parley_message *message, struct parley_bytes key,
                      const struct parley_value *member);
