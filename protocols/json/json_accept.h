/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Accept fast, refuse slowly. Most messages are valid, and a reader that does not explain what is
 * wrong can find that out in one pass, without findings. It uses the same compiled table as every
 * reader, and has two answers: certainly valid, or not sure. If it is not sure, the readers that
 * explain decide. */

#include <parley/message.h>

/* Whether the text of a message that was reset is certainly valid JSON (GW-001, GW-003 to GW-006)
 * that keeps every rule, without a warning; then type and facts are set as by the walk. If not,
 * they are cleared. Owns: facts are borrowed from the text, or, if they have escapes, allocated in
 * the arena; nothing else is allocated. */
bool json_accept(struct parley_message *message);

/* json_accept() for a text whose object lacks one member, which is given; some rule must name
 * `key`.  Owns: `member` is borrowed. */
bool json_accept_with(struct parley_message *message, struct parley_bytes key,
                      const struct parley_value *member);
