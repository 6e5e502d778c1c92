/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* /livez and /readyz: whether the process runs, and whether it can store messages, with reasons. As
 * text, or as JSON for clients that prefer it. */

#include "services.h"

/* 200 while the process runs. */
void health_serve_livez(const struct services *services, struct http_request *request);

/* 200 while messages are accepted, else 503 with the first reason as its detail. */
void health_serve_readyz(const struct services *services, struct http_request *request);

/* Why a server that drains serves nothing. */
#define HEALTH_DRAINING                                                                            \
    "The server is shutting down and did not process this request. Send it again later, or to "    \
    "another server."
