/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The steps by which parley_message_check fixes a message (parley/fix.h). */

#include <parley/message.h>

/* Writes the text of a message that was checked to `out`, with the fixes that message->options asks
 * for.  Returns: out_is_done: there is none, and `out` is as it was. */
enum parley_status fix_once(struct parley_message *message, struct parley_buffer *out,
                            bool *out_is_done) PARLEY_MUST_CHECK;

/* Appends `,"applied":[…],"message":…`: the message as JSON, or null if no message in its encoding
 * is fixed. */
enum parley_status fix_write(struct parley_message *message,
                             struct parley_buffer *out) PARLEY_MUST_CHECK;

void fix_finish(struct parley_fixes *fixes);
