/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Identifies who is limited for a request: its principal by name or, for an anonymous one, its
 * address. */

#include "http.h"
#include "sender_limits.h"

struct limit_sender limit_sender_of(const struct limits *limits,
                                    const struct http_request *request);

/* Whether it is an address of this machine, and has no name. */
bool limit_sender_is_loopback(const struct http_request *request);

/* How fast it may send: its principal's own rates or, where that has none, the server's. */
struct rate sender_rate(const struct limits *limits, const struct http_request *request);

/* Credentials of the request were not accepted: charges its address the cost of an invalid message.
 * `limits` NULL: no charge.
 * Returns: false if that address has tried too often, and the request is answered. */
bool sender_may_fail(const struct limits *limits, struct http_request *request, int64_t now_ms);
