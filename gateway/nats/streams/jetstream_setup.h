/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The streams that must exist: created where they are missing, and checked in rounds. Private to
 * nats/. */

#include "jetstream_types.h"

#define JETSTREAM_PROBE_SUBJECT "_parley.probe"

/* `ready`: called after each round that found every stream usable enough (jetstream_types.h). */
enum parley_status jetstream_setup_create(struct jetstream *jetstream,
                                          void (*ready)(struct jetstream *jetstream));
/* Frees everything that jetstream_setup_create has made; one that failed half-way is allowed. */
void jetstream_setup_destroy(struct jetstream *jetstream);
/* Begins the rounds, which continue until jetstream_setup_end. */
void jetstream_setup_begin(struct jetstream *jetstream);
void jetstream_setup_end(struct jetstream *jetstream);
