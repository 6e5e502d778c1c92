/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How far a stream with several copies is known to go. A member of the cluster that has just become
 * its leader answers before it has applied all that the one before it acknowledged, and says of its
 * last messages that there are none. One that says that its last sequence is smaller than what is
 * known is believed only when it has said so in the rounds of half a minute: then they are lost.
 * Private to nats/. */

#include "jetstream_state.h"

/* Whether it has several copies, as the last round found it.  Returns: false if that is not known,
 * or it is none of the streams that are watched; otherwise *out is its highest sequence known. */
bool jetstream_reach_of(const struct jetstream *jetstream, const char *stream, uint64_t *out);
/* Its leader has, or had, a message with this sequence. Of other streams it is ignored. */
void jetstream_reach_note(struct jetstream *jetstream, const char *stream, uint64_t sequence);
/* In each round: what its leader says is its last sequence. */
void jetstream_reach_look(struct jetstream_check *check, uint64_t last_sequence);
