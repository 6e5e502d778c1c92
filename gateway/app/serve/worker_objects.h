/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What writes to the object stores, on one worker. */

#include "gateway.h"
#include "object_store.h"

/* Creates gateway->object_stores.  Owns: borrows `room`. */
enum parley_status worker_objects_create(struct gateway *gateway,
                                         struct object_room *room) PARLEY_MUST_CHECK;
/* Harmless when they were not created; before the jetstream is destroyed. */
void worker_objects_destroy(struct gateway *gateway);

/* Nothing is being written. */
bool worker_objects_are_idle(const struct gateway *gateway);
