/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* GET /v1/{protocol}/agents and /agents/{agent}: which agents there are, and what their last
 * messages say, read from the stream for each request, and not kept; or followed (agent_watch.h).
 */

#include <parley/protocol.h>

#include "channel.h"
#include "http.h"
#include "jetstream.h"
#include "sender_limits.h"
#include "checkpoints.h"

struct agents;
struct agent_watch;
struct follows;

/* What serves lists that are followed. */
struct agents_follows {
    struct follows *follows;
    struct agent_watch *const *watches; /* of parley_protocols, shared */
};

/* `checkpoints`: reads the agents' logs.  `follows`: copied.  `schemas`, `channels`: of
 * parley_protocols. All are borrowed. Owns: returns a new object, to be destroyed after the HTTP
 * server and before the jetstream. */
enum parley_status agents_create(struct reactor *reactor, struct jetstream *jetstream,
                                 struct parley_schema *const *schemas,
                                 const struct channel *channels, struct checkpoints *checkpoints,
                                 const struct agents_follows *follows,
                                 struct agents **out) PARLEY_MUST_CHECK;
/* NULL is allowed. */
void agents_destroy(struct agents *agents);

/* Answers, now or later.  `limits` NULL: no sender is limited.  `name`: the agent, as in the path;
 * NULL: all agents.  `own`: the only agent of which who asks may know everything; NULL: all.
 * Owns: borrows `own` as long as the request. */
void agents_serve(struct agents *agents, const struct limits *limits, struct http_request *request,
                  const struct parley_protocol *protocol, const char *name, const char *own);
