/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Publications that JetStream has not decided on: an earlier message with the same id, or to the
 * same subject, is still on its way to the replicas. They are published again until they are
 * decided, for as long as a message may wait (ADR 15). Private to nats/. */

#include "jetstream_state.h"

void jetstream_undecided_init(struct jetstream *jetstream);
/* Harmless when it was not initialised. */
void jetstream_undecided_finish(struct jetstream *jetstream);

/* JetStream has not decided on this one, as an answer to it says.  Returns: whether it waits now,
 * and is published again in a moment; false: it has waited long enough. */
bool jetstream_undecided_wait(struct jetstream_publication *publication);
/* The connection is lost, or the server shuts down: all of them join the queues of their flows. */
void jetstream_undecided_queue_all(struct jetstream *jetstream);
