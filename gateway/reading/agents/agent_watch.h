/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Lists of agents that are followed. While any reader follows the agents of a protocol, one reactor
 * of the process reads what is stored of them into a table (agent_table.h), and all readers follow
 * that. When none has followed for ten seconds, it reads no more, and forgets them. */

#include "agent_query.h"
#include "channel.h"
#include "follow.h"
#include "jetstream.h"

struct agent_watch;

/* One for each protocol that has agents, NULL for others; of parley_protocols. `schemas`,
 * `channels`: borrowed.  Owns: a new array, which the caller destroys once no reactor runs. */
enum parley_status agent_watches_create(const struct channel *channels,
                                        struct parley_schema *const *schemas,
                                        struct agent_watch ***out) PARLEY_MUST_CHECK;
/* NULL is allowed. */
void agent_watches_destroy(struct agent_watch **watches);

struct agent_follow {
    struct reactor *reactor;
    struct jetstream *jetstream;
    struct follows *follows;
    const struct limits *limits; /* NULL: no sender is limited */
    const char *own;             /* as for agents_serve */
};
/* Serves a request with follow=true, from its begin callback.  Owns: borrows all; `query` and `own`
 * as long as the request.  Threads: that of the reactor. */
void agent_watch_serve(struct agent_watch *watch, struct http_request *request,
                       const struct agent_query *query, const struct agent_follow *with);

/* This reactor reads no more, for all that follow: it ends.  Threads: that of the reactor. */
void agent_watch_end(struct agent_watch *watch, const struct reactor *reactor);
