/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How many of something each sender has open: connections, streams. Shared by all workers. It holds
 * an entry for each sender that has one open, and none for any other. */

#include <stddef.h>

#include <parley/status.h>

#include "limit_key.h"

struct tally;
struct tally_entry;

/* `expected`: how many senders there usually are, for its speed. */
enum parley_status tally_create(size_t expected, struct tally **out) PARLEY_MUST_CHECK;
/* After every entry was left.  NULL is allowed. */
void tally_destroy(struct tally *tally);

/* The sender opens one more.  Threads: any.
 * Returns: what to give to tally_leave; NULL: it has `max` already, or there is no memory. */
struct tally_entry *tally_enter(struct tally *tally, const struct limit_key *key, uint64_t max);
/* It is closed.  `entry` NULL: it was not counted.  Threads: any. */
void tally_leave(struct tally_entry *entry);

/* How many have one open.  Threads: any. */
size_t tally_sender_count(struct tally *tally);
