/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Handles the messages and statuses that an ordered consumer's counterpart on the server sends.
 * Private to ordered_*.c. */

#include "ordered_state.h"

/* Handles one.  Returns: false when the consumer on the server must be replaced: a message was
 * lost, it no longer exists, or it lacks messages that the stream holds. */
bool ordered_delivery_handle(struct ordered_consumer *consumer, const struct bus_message *message);
/* Moves the position on, never back. */
void ordered_delivery_advance(struct ordered_consumer *consumer, enum ordered_position position);
