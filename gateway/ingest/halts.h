/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What people ask of halts: GET and DELETE /v1/{protocol}/halts (docs/api.md#halts). */

#include "gateway.h"
#include "halting.h"

/* What the query says. */
struct halts_query {
    const char *kind, *name; /* of protocol->halt_kinds; NULL: all conversations */
    const char *reason;      /* only of a release */
};

/* Returns: whether the query is valid; if not, the request is answered. */
bool halts_query_read(struct http_request *request, const struct parley_protocol *protocol,
                      bool is_release, struct halts_query *out);

void halt_list_serve(struct gateway *gateway, struct http_request *request,
                     const struct parley_protocol *protocol);
void halt_release_serve(struct gateway *gateway, struct http_request *request,
                        const struct parley_protocol *protocol);
