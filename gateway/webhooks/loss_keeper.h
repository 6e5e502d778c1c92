/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Stores which agents were lost (reading/agents/agent_page.h), for webhooks. Each loss is a key
 * `<agent>.lost.<sequence of its last beat>` of a bucket, created once over all gateways, with the
 * agent as its value. All agents are read at the time at which the next of them would be lost. Of a
 * gateway that starts, losses of the last day are stored, if such keys were written by then
 * already.
 *
 * Threads: that of the reactor. */

#include "channel.h"
#include "jetstream.h"
#include "reactor.h"

struct loss_keeper;

#define LOSSES_WITHOUT "webhooks are not told of agents that are lost meanwhile"

/* Owns: borrows all; returns a new one, which the caller destroys after the jetstream. */
enum parley_status loss_keeper_create(struct reactor *reactor, struct jetstream *jetstream,
                                      const struct channel *channel,
                                      const struct parley_schema *schema,
                                      struct loss_keeper **out) PARLEY_MUST_CHECK;
/* It begins nothing from now on. NULL is allowed, here and below. */
void loss_keeper_stop(struct loss_keeper *keeper);
void loss_keeper_destroy(struct loss_keeper *keeper);
