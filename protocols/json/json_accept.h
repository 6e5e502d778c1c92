/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Accept fast, refuse slowly. Most messages are valid, and a reader that does not explain faults
 * can find that out in one pass, without findings. It uses the same compiled table as every reader.
 * Where it is not sure, or a row is broken, the readers that explain decide. */

#include "accept.h"

/* Reads the text of a message that was reset. Unless unsure, it is valid JSON (GW-001, GW-003 to
 * GW-006), and message->type is set as by the walk; if no row is broken, the captures are, too, and
 * the findings are those of the inspection. Otherwise they are cleared. Owns: captures are borrowed
 * from the text, or, if they have escapes, allocated in the arena; nothing else is allocated but by
 * the inspection. */
enum accept_certainty json_accept(struct parley_message *message);

/* Whether a message is right (ACCEPT_RIGHT) whose text lacks one member, which is given; some rule
 * must name `key`. If not, type, captures and findings are cleared.  Owns: `member` is borrowed. */
bool json_accept_with(struct parley_message *message, struct parley_bytes key,
                      const struct parley_value *member);
