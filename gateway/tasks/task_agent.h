/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The agent in whose name a task is claimed, extended or given back. */

#include "request_options.h"

/* Whether there can be such an agent, and the token may speak for it; if not, the request is
 * answered. */
bool task_agent_is_allowed(struct request_options *options, struct http_request *request,
                           struct parley_bytes agent);
/* Reads the head of a request that claims or changes tasks into `options`, whose gateway, protocol
 * and task are set.  Returns: whether it can be served: the protocol has tasks, this server decides
 * on claims, and the body is plain; if not, the request is answered. */
bool task_options_read(struct request_options *options, struct http_request *request);
