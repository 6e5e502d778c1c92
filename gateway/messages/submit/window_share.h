/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Which part of the window of messages in flight a message may fill: the higher its priority, the
 * later it is refused under overload (ADR 18). It is admission, not scheduling: accepted messages
 * are published in the order in which they came. */

#include <parley/protocol.h>

/* The percentage of a bound up to which a message of this priority is accepted. The last of the
 * protocol's priorities has all of it; without a priority it is 85.  `priority`: data NULL for
 * none. */
unsigned window_share(const struct parley_protocol *protocol, struct parley_bytes priority);
