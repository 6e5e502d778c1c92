/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Publications that JetStream has not decided on: an earlier message with their id, or to their
 * subject, is still on its way to the replicas. They are published again until they are decided,
 * for as long as a message may wait (ADR 15). Private to nats/. */

#include "jetstream_state.h"

void jetstream_undecided_init(struct jetstream *jetstream);
/* Harmless when it was not initialised. */
void jetstream_undecided_finish(struct jetstream *jetstream);

/* JetStream has not decided on this one, and messages after it in its body would overtake it: all
 * of its stream waits until it was tried again.  Returns: whether it waits, or has ended; otherwise
 * nothing has happened. */
bool jetstream_undecided_hold(struct jetstream_publication *publication);
/* JetStream has not decided on this one, as an answer to it reports: it is published again in a
 * moment, or ends since it has waited long enough. */
void jetstream_undecided_add(struct jetstream_publication *publication);
/* The connection is lost, or the server shuts down: all of them join the queues of their flows. */
void jetstream_undecided_queue_all(struct jetstream *jetstream);
