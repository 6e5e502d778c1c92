/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The query of a request for agents. */

#include <parley/agents.h>

#include "agent_page.h"
#include "follow.h"
#include "http.h"

#define AGENT_LIMIT_MAX 1000u

struct agent_query {
    unsigned states;   /* bit I: enum agent_state */
    const char *value; /* of the protocol's own option; NULL: any agent */
    const char *after; /* the last name of the page before; "": none */
    size_t limit;
    bool has_page; /* it names a limit or a cursor */
    struct follow_query follow;
};

/* Reads the query of a request.  Owns: out borrows from the request.
 * Returns: false when it has answered. */
bool agent_query_parse(struct http_request *request, const struct parley_agents *agents,
                       struct agent_query *out);
