/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* POST /mcp: the Model Context Protocol, of which each request stands alone: no session, and any
 * gateway answers any request. */

#include "gateway.h"

/* Serves it on one reactor.  Owns: borrows what it points to. */
struct mcp {
    struct gateway *gateway;
    const char *version; /* of the server; static */
};

void mcp_serve(struct mcp *mcp, struct http_request *request);
