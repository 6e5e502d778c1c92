/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Remembers what was published straight to NATS: it reads the subjects that a protocol wants to be
 * remembered (channel.h: memory_subjects), together with the other gateways, each message by one of
 * them. One of it in a process is enough. */

#include <parley/message.h>

#include "channel.h"
#include "memory.h"

struct gatherer;

/* `message`: of the protocol, used for the time of a callback.  Owns: everything is borrowed. */
enum parley_status gatherer_create(struct memory *memory, struct jetstream *jetstream,
                                   const struct channel *channel, struct parley_message *message,
                                   struct gatherer **out) PARLEY_MUST_CHECK;
/* Takes nothing more; what it is writing goes on. */
void gatherer_stop(struct gatherer *gatherer);
/* Before memory and jetstream. */
void gatherer_destroy(struct gatherer *gatherer);
