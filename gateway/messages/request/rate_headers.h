/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The headers RateLimit and RateLimit-Policy of draft-ietf-httpapi-ratelimit-headers. A policy is
 * the quota of a second; the burst of two seconds is not promised. */

#include "http.h"
#include "rate_table.h"

enum { RATE_HEADER_MAX = 160 };

/* The texts of the rate that was asked for last, on one reactor: nearly always the next one's, too.
 * Zeroed at first. */
struct rate_headers {
    struct rate rate;
    char policy[RATE_HEADER_MAX];
    char all_left[RATE_HEADER_MAX]; /* of a sender that has all of its quota */
};

/* Adds both to the answer.  `rate`: has a limit. */
void rate_headers_add(struct rate_headers *texts, struct http_request *request,
                      const struct rate *rate, const struct rate_lead *lead);
