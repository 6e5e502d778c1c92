/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Limits the rate of a request's sender: a single message is refused (429), a body of many is
 * slowed down (body_throttle.h). Messages are charged afterwards, and invalid ones cost more, so a
 * sender may owe for a while. */

#include "http.h"
#include "sender_limits.h"
#include "rate_headers.h"
#include "reactor.h"

/* Zeroed: nothing is limited, and all of it costs nothing. */
struct rate_charge {
    struct rate_table *rates; /* NULL: no limit */
    const struct reactor *clock;
    struct limit_key key;
    struct rate rate;
    bool has_length; /* of the body, which is not compressed: rate_charge_admit takes it */
};

/* At the beginning of a request.  `limits` NULL: no limit. The answer says how much is left.
 * `texts`: of the reactor. */
void rate_charge_begin(struct rate_charge *meter, struct limits *limits, struct rate_headers *texts,
                       const struct reactor *reactor, struct http_request *request);

static inline bool rate_charge_is_on(const struct rate_charge *meter) {
    return meter->rates != NULL;
}

/* One message that may have `bytes_max` bytes: takes its cost.
 * Returns: false: the sender has sent too much, and the request is answered. */
bool rate_charge_admit(const struct rate_charge *meter, struct http_request *request,
                       size_t bytes_max);

/* Something was done, or refused.  Returns: the lead after it. */
struct rate_lead rate_charge_charge(const struct rate_charge *meter, uint64_t messages,
                                    uint64_t bytes);
/* A message that was admitted was invalid. */
void rate_charge_charge_invalid(const struct rate_charge *meter);

struct rate_lead rate_charge_look(const struct rate_charge *meter);
