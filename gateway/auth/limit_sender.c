/* SPDX-License-Identifier: Apache-2.0 */

#include "limit_sender.h"

#include <inttypes.h>
#include <stdio.h>

#include "guard.h"
#include "problem.h"

static bool is_anonymous(const struct principal *principal) {
    return principal->name[0] == '\0';
}

struct limit_sender limit_sender_of(const struct limits *limits,
                                    const struct http_request *request) {
    const struct principal *principal = guard_principal(request);
    return is_anonymous(principal)
               ? limits_sender(limits, LIMIT_ADDRESS, peer_network(http_request_peer(request)))
               : limits_sender(limits, LIMIT_NAME, parley_bytes_of(principal->name));
}

bool limit_sender_is_loopback(const struct http_request *request) {
    return is_anonymous(guard_principal(request)) && peer_is_loopback(http_request_peer(request));
}

struct rate sender_rate(const struct limits *limits, const struct http_request *request) {
    const struct principal *principal = guard_principal(request);
    const uint64_t own[RATE_UNITS] = {
        [RATE_MESSAGES] = principal->messages_per_s, [RATE_BYTES] = principal->bytes_per_s};
    struct rate rate = limits_rate(limits);
    for (size_t unit = 0; unit < RATE_UNITS; unit++) {
        const uint64_t per_s = own[unit] > 0 ? own[unit] : rate.per_s[unit];
        rate.per_s[unit] = per_s < RATE_PER_S_MAX ? per_s : RATE_PER_S_MAX;
    }
    return rate;
}

static void refuse(struct http_request *request, int64_t wait_ns) {
    char after[24];
    snprintf(after, sizeof after, "%" PRId64, rate_seconds(wait_ns));
    http_header(request, "Retry-After", after);
    problem_respond_format(request, PROBLEM_RATE_LIMITED,
                           "This address has shown too much that is not accepted "
                           "(--rate-messages). Try again after %s s.",
                           after);
}

bool sender_may_fail(const struct limits *limits, struct http_request *request, int64_t now_ms) {
    static const struct rate_cost cost = {{[RATE_MESSAGES] = LIMITS_INVALID_COST}};
    if (limits == NULL) {
        return true;
    }
    const struct rate rate = limits_rate(limits);
    if (rate.per_s[RATE_MESSAGES] == 0) {
        return true;
    }
    const struct limit_sender sender =
        limits_sender(limits, LIMIT_ADDRESS, peer_network(http_request_peer(request)));
    bool is_taken = false;
    const struct rate_lead lead =
        rate_table_take(limits->rates[LIMIT_ADDRESS], &sender.key, &rate, &cost,
                        now_ms * (RATE_SECOND_NS / 1000), &is_taken);
    if (!is_taken) {
        refuse(request, rate_wait_for(&rate, &lead, &cost));
    }
    return is_taken;
}
