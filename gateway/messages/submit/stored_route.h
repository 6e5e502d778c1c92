/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The route of a message that is stored, and may have been published straight to NATS. */

#include <parley/message.h>

#include "channel.h"

/* `message`: of the channel's protocol.  `out`: zeroed for one that cannot be read; of one that
 * breaks a rule it has the members that could be read.  Owns: `out` borrows from message, subject
 * and payload. */
enum parley_status stored_route_read(struct parley_message *message, const struct channel *channel,
                                     const char *subject, struct parley_bytes payload,
                                     struct parley_route *out) PARLEY_MUST_CHECK;
