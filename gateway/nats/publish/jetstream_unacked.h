/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Publishes messages that may be lost: no ack, no window, no patience. */

#include "jetstream_types.h"

/* Publishes a message if NATS takes it at once: its stream can be used, and little is buffered for
 * the connection, so that awaited messages have room. It is not reported whether it is stored.
 * Owns: copies the message.  Returns: false if it was dropped. */
bool jetstream_post(struct jetstream *jetstream, const struct jetstream_message *message);
