/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The access log: a line of the log for a finished request. It has no payload, and of the client's
 * own texts only its request id, which is visible ASCII, and the ids of its trace. */

#include "gateway.h"

/* Whether the configuration, or the request's trace, asks for a line. */
static inline bool access_log_has(const struct gateway *gateway, const struct http_request *request,
                                  const struct http_outcome *outcome) {
    const uint64_t which = gateway->configuration->access_log;
    return which == ACCESS_LOG_ALL ||
           (which == ACCESS_LOG_ERRORS &&
            (outcome->status >= 400 || http_request_remarked(request, HTTP_REMARK_TRACE) != NULL));
}

/* Writes it.  `route`: the pattern of its address; NULL if it has none.  `protocol` is NULL if it
 * concerns none. */
void access_log_write(const struct http_request *request, const struct http_outcome *outcome,
                      const char *route, const char *protocol);
