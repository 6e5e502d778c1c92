/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The agent in whose name a task is claimed, extended or given back. */

#include "request_options.h"

/* Whether there can be such an agent, and the token may speak for it; if not, the request is
 * answered. */
bool task_agent_is_allowed(struct request_options *options, struct http_request *request,
                           struct parley_bytes agent);
/* Whether this server decides on claims; if not, the request is answered. */
bool task_claims_are_decided(const struct request_options *options, struct http_request *request);
