/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads messages as they are published, by core subscriptions: of streams in which parley creates
 * no consumer (jetstream_map.h). A message published earlier, or while the connection is broken, is
 * not seen; one published twice under one Nats-Msg-Id is seen twice, and stored once. */

#include "jetstream_types.h"

struct core_subscription;

/* `stored`: its sequence counts the messages that this reading has delivered, from 1; its time is
 * the present. Owns: borrowed for the call. */
typedef void core_subscription_fn(void *context, const struct jetstream_stored *stored);

/* Reads `subjects`, of which there are at most JETSTREAM_FAMILIES_MAX; over reconnects, too.
 * `queue`: each message goes to one of the readings of a queue; NULL: to all.
 * Owns: borrows the texts; returns a new reading, which the caller closes before the jetstream. */
enum parley_status core_subscription_open(struct jetstream *jetstream, const char *const subjects[],
                                          size_t count, const char *queue,
                                          core_subscription_fn *delivered, void *context,
                                          struct core_subscription **out) PARLEY_MUST_CHECK;
/* As core_subscription_open, for all families that are stored in `place`. */
enum parley_status core_subscription_open_place(struct jetstream *jetstream,
                                                const struct jetstream_place *place,
                                                core_subscription_fn *delivered, void *context,
                                                struct core_subscription **out) PARLEY_MUST_CHECK;
/* May be called from its own callback. NULL is allowed. */
void core_subscription_close(struct core_subscription *reading);
