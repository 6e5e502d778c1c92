/* SPDX-License-Identifier: Apache-2.0 */

#include "sender.h"

#include "guard.h"

static bool is_anonymous(const struct principal *principal) {
    return principal->name[0] == '\0';
}

struct limit_sender sender_of(const struct limits *limits, const struct http_request *request) {
    const struct principal *principal = guard_principal(request);
    return is_anonymous(principal)
               ? limits_sender(limits, LIMIT_ADDRESS, peer_network(http_request_peer(request)))
               : limits_sender(limits, LIMIT_NAME, parley_bytes_of(principal->name));
}

bool sender_is_loopback(const struct http_request *request) {
    return is_anonymous(guard_principal(request)) && peer_is_loopback(http_request_peer(request));
}

struct rate sender_rate(const struct limits *limits, const struct http_request *request) {
    const struct principal *principal = guard_principal(request);
    const uint64_t own[RATE_UNITS] = {
        [RATE_MESSAGES] = principal->messages_per_s, [RATE_BYTES] = principal->bytes_per_s};
    struct rate rate = limits->rate;
    for (size_t unit = 0; unit < RATE_UNITS; unit++) {
        rate.per_s[unit] = own[unit] > 0 ? own[unit] : rate.per_s[unit];
    }
    return rate;
}
