/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Counts how often a sender sends the same invalid message, so that the answer can say that nothing
 * has changed: an agent that does not see its own loop is told of it. It keeps digests, no
 * messages, of a fixed number of senders and messages; each worker has its own. */

#include <stdint.h>

#include <parley/bytes.h>

/* A sender that waits longer than this before it tries again has no loop. */
#define REPEATS_WITHIN_MS (60 * 1000)
/* How many messages are remembered: of too many the oldest of those that share a place with the new
 * one gives way. */
#define REPEATS_MAX 1024

struct repeats;

/* Notes an invalid message. `*repeats` NULL: they are created with the first one.  `sender`: its
 * name or address; `protocol`: a name.  Units: `now_ms` is the milliseconds of a monotonic clock.
 * Returns: how often it has come, this time among them; 1 also if there is no memory. */
uint32_t repeats_note(struct repeats **repeats, struct parley_bytes sender,
                      struct parley_bytes protocol, struct parley_bytes text, int64_t now_ms);
/* NULL is allowed. */
void repeats_destroy(struct repeats *repeats);
