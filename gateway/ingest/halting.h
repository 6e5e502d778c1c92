/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Halts, as sending sees them: which messages they stop, and which have to wait for them. A
 * protocol without halts passes through here at the price of a comparison. */

#include "failure.h"
#include "halt_gate.h"

/* Whether a valid message is refused, since its conversation is halted. */
bool halting_refuses(const struct request_options *options, struct parley_message *message,
                     struct failure *out);

/* Publishes a message that was not refused; as jetstream_publish.  `hold`: as of halt_post. */
enum jetstream_publish halting_publish(const struct request_options *options,
                                       const struct parley_route *route,
                                       const struct jetstream_message *message,
                                       struct halt_hold *hold, jetstream_ack_fn *done,
                                       void *context);
