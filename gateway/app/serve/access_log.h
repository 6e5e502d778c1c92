/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The access log: a line of the log for a request that is over. It has no payload, and nothing that
 * a client chose but its request id, which is visible ASCII, and the ids of its trace. */

#include "gateway.h"

/* Whether the configuration, or the request's trace, asks for a line. */
static inline bool access_log_has(const struct gateway *gateway, const struct http_request *request,
                                  const struct http_outcome *outcome) {
    const uint64_t which = gateway->configuration->access_log;
    return which == ACCESS_LOG_ALL ||
           (which == ACCESS_LOG_ERRORS &&
            (outcome->status >= 400 || http_request_remarked(request, HTTP_REMARK_TRACE) != NULL));
}

/* Writes it.  `route`: the pattern of its address; NULL: it has none.  `protocol` NULL: none. */
void access_log_write(const struct http_request *request, const struct http_outcome *outcome,
                      const char *route, const char *protocol);
