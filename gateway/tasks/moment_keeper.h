/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Stores the moments of tasks (core/moments.h), for those who are told by what is stored: webhooks.
 * Each is a key of the bucket of facts, `<id>.expired` or `<id>.lapsed.<turn>`, created once over
 * all gateways, with the task as its value. A gateway that dies before it has written a key leaves
 * that to another one, or to its next start: what was up to a day ago is written then, if keys of
 * this kind were written by then already. */

#include "tasks.h"

struct moment_keeper;

enum { MOMENT_KEEPER_PAST_MS = 86400000 };

/* `bucket`: as of channel.h.  Owns: borrows gateway, protocol, bucket and moments; returns a new
 * one, which the caller destroys after the jetstream. */
enum parley_status moment_keeper_create(struct gateway *gateway,
                                        const struct parley_protocol *protocol, const char *bucket,
                                        struct moments *moments,
                                        struct moment_keeper **out) PARLEY_MUST_CHECK;
/* It begins nothing from now on. NULL is allowed, here and below. */
void moment_keeper_stop(struct moment_keeper *keeper);
void moment_keeper_destroy(struct moment_keeper *keeper);
