/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Sends the events of all protocols to webhooks, on one worker of the process. Each webhook has a
 * durable consumer for each of its events, which all gateways share: an event is delivered at least
 * once, by one of them. Nothing is kept in memory but what is under way, as many as the webhook
 * takes at once; what waits to be sent again waits in NATS. */

#include "figures.h"
#include "reactor.h"
#include "webhook_event.h"
#include "webhook_file.h"

struct jetstream;
struct webhooks;

struct webhooks_options {
    struct reactor *reactor;
    struct jetstream *jetstream;
    const struct configuration *configuration;
    struct parley_message *messages; /* one per protocol, used during callbacks only */
    const struct webhook_file *file;
    struct figures *figures;
};

/* Owns: copies the options, borrows all that they point to; returns new ones, which the caller
 * destroys before the jetstream. */
enum parley_status webhooks_create(const struct webhooks_options *options,
                                   struct webhooks **out) PARLEY_MUST_CHECK;
/* Takes no more events; what is being sent continues. NULL is allowed, also below. */
void webhooks_stop(struct webhooks *all);
/* Nothing is being sent. */
bool webhooks_are_idle(const struct webhooks *all);
void webhooks_destroy(struct webhooks *all);
