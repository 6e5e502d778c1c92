/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The object stores of one worker: the streams that must exist for them, and what writes to them.
 */

#include "gateway.h"
#include "object_store.h"

struct worker_objects {
    struct object_names *names; /* one per protocol that has a store */
};

/* Adds their streams to `streams`, which has room for one per protocol. */
enum parley_status worker_objects_list(struct worker_objects *objects,
                                       const struct channel *channels,
                                       struct jetstream_stream *streams,
                                       size_t *count) PARLEY_MUST_CHECK;
/* Creates gateway->object_stores.  Owns: borrows `room`. */
enum parley_status worker_objects_create(struct gateway *gateway,
                                         struct object_room *room) PARLEY_MUST_CHECK;
/* Harmless when they were not created; before the jetstream is destroyed. */
void worker_objects_destroy(struct gateway *gateway);
/* After the jetstream was destroyed. */
void worker_objects_forget(struct worker_objects *objects);

/* Nothing is being written. */
bool worker_objects_are_idle(const struct gateway *gateway);
