/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Writes the correlations of messages that were published straight to NATS. It reads the subjects
 * that a protocol names for that (channel.h: correlation_subjects) from a shared consumer, so that
 * each message is read by one of all gateways. One correlation consumer per process is enough. */

#include <parley/message.h>

#include "channel.h"
#include "correlation_store.h"

struct correlation_consumer;

/* `message`: of the protocol, used during callbacks only.  Owns: borrows all arguments; returns a
 * new consumer, which the caller destroys before store and jetstream. */
enum parley_status correlation_consumer_create(struct correlation_store *store,
                                               struct jetstream *jetstream,
                                               const struct channel *channel,
                                               struct parley_message *message,
                                               struct correlation_consumer **out) PARLEY_MUST_CHECK;
/* Takes no more messages; writes that were begun go on. NULL is allowed. */
void correlation_consumer_stop(struct correlation_consumer *consumer);
void correlation_consumer_destroy(struct correlation_consumer *consumer);
