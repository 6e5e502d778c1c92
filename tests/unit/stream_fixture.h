/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the tests of streams on a JetStream of their own have in common. That JetStream has a past:
 * nobody opens a core_subscription of it. */

#include <parley/protocol.h>

#include "channel.h"

extern const struct channel vlp_channel;

/* Of VLP.  Owns: the caller destroys it. */
struct parley_schema *vlp_schema(void);
