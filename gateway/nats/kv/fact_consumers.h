/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Creates the facts of messages that were published straight to NATS, or whose gateway died before
 * it had created them. Each of the subjects that a protocol names for that (channel.h:
 * fact_subjects) is read from a shared consumer, so that each message is read by one of all
 * gateways. One process needs them once. */

#include <parley/message.h>

#include "channel.h"
#include "fact_store.h"

struct fact_consumers;

struct fact_consumers_options {
    struct reactor *reactor;
    struct jetstream *jetstream;
    struct fact_store *store;
    const struct channel *channel;
    struct parley_message *message;          /* of the protocol, used during callbacks only */
    const union parley_option_value *values; /* of the protocol's options */
};

/* Owns: copies the options, borrows all that they point to; returns new consumers, which the caller
 * destroys before store and jetstream. */
enum parley_status fact_consumers_create(const struct fact_consumers_options *options,
                                         struct fact_consumers **out) PARLEY_MUST_CHECK;
/* The number of messages that all gateways together have still to be given.  Returns: false if that
 * is not known of all of them at present, or there are no consumers (NULL). */
bool fact_consumers_pending(const struct fact_consumers *consumers, uint64_t *out);
/* Stops taking messages; work that has begun continues. NULL is allowed. */
void fact_consumers_stop(struct fact_consumers *consumers);
void fact_consumers_destroy(struct fact_consumers *consumers);
