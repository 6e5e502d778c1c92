/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A message that the gateway itself publishes for readers, of what people decided. */

#include "gateway.h"

/* Owns: borrowed for the call. */
struct announcement {
    const struct parley_protocol *protocol;
    struct parley_bytes text; /* JSON */
    const char *message_id;   /* Nats-Msg-Id: one message, whichever gateways publish it */
    struct bus_header header; /* one more; name NULL: none */
};

/* Checks and publishes it, whatever is halted.  Returns: as jetstream_publish; JETSTREAM_FAILED
 * also if it is invalid. */
enum jetstream_publish announcement_publish(struct gateway *gateway,
                                            const struct announcement *announcement,
                                            jetstream_ack_fn *done, void *context);
