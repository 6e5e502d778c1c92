/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Counts how many of a thing each sender has open: connections, streams. Shared by all workers. It
 * holds an entry for each sender that has one open, and for no other. */

#include <stddef.h>

#include <parley/status.h>

#include "limit_key.h"

struct tally;
struct tally_entry;

/* `expected`: how many senders there usually are, for its speed. */
enum parley_status tally_create(size_t expected, struct tally **out) PARLEY_MUST_CHECK;
/* After every entry was left.  NULL is allowed. */
void tally_destroy(struct tally *tally);

/* Counts one more that the sender opens.  Threads: any.
 * Returns: the entry to give to tally_leave; NULL if it has `max` already, or there is no
 * memory. */
struct tally_entry *tally_enter(struct tally *tally, const struct limit_key *key, uint64_t max);
/* Counts that one was closed.  `entry` NULL: it was not counted.  Threads: any. */
void tally_leave(struct tally_entry *entry);

/* Returns how many senders have one open.  Threads: any. */
size_t tally_sender_count(struct tally *tally);
