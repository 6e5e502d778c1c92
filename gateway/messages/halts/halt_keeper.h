/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Run by one worker for the whole process: it reads the bucket of halts into the set, applies the
 * halts of messages that were published straight to NATS (each is read by one of all gateways), and
 * removes halts from the bucket that were released long ago. */

#include <parley/message.h>

#include "channel.h"
#include "halt_gate.h"

struct halt_keeper;

struct halt_keeper_options {
    struct reactor *reactor;
    struct jetstream *jetstream;
    struct halt_gate *gate;
    const struct channel *channel;
    struct parley_message *message; /* of the protocol, used during callbacks only */
    void (*seen)(void *context);    /* the bucket was read for the first time */
    void *context;
};

/* Owns: copies the options, and borrows the objects that they point to; returns a new keeper, which
 * the caller destroys before gate and jetstream. */
enum parley_status halt_keeper_create(const struct halt_keeper_options *options,
                                      struct halt_keeper **out) PARLEY_MUST_CHECK;
/* The number of messages that all gateways together must still examine for halts. Returns: false:
 * that is not known at present; NULL: there is no keeper. */
bool halt_keeper_pending(const struct halt_keeper *keeper, uint64_t *out);
/* Stops taking messages. NULL is allowed. */
void halt_keeper_stop(struct halt_keeper *keeper);
void halt_keeper_destroy(struct halt_keeper *keeper);
