/* SPDX-License-Identifier: Apache-2.0 */

#include "rate_headers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A sender that is not further ahead than this has all of its quota. */
#define QUOTA_LEAD_NS (RATE_BURST_NS - RATE_SECOND_NS)

/* From the draft: a quota counts requests unless its policy says otherwise. */
static const struct unit {
    const char *name, *policy_suffix;
} units[RATE_UNITS] = {
    [RATE_MESSAGES] = {"messages", ""},
    [RATE_BYTES] = {"bytes", ";qu=\"content-bytes\""},
};

/* How much of a second's quota is left, and when all of it will be. */
static void write_left(const struct rate *rate, const struct rate_lead *lead,
                       char out[RATE_HEADER_MAX]) {
    size_t length = 0;
    for (size_t unit = 0; unit < RATE_UNITS; unit++) {
        const uint64_t quota = rate->per_s[unit];
        if (quota == 0) {
            continue;
        }
        const uint64_t left = rate_left(quota, lead->ns[unit]);
        const int64_t until_ns = lead->ns[unit] - QUOTA_LEAD_NS;
        length += (size_t)snprintf(out + length, RATE_HEADER_MAX - length,
                                   "%s\"%s\";r=%" PRIu64 ";t=%" PRId64, length > 0 ? ", " : "",
                                   units[unit].name, left < quota ? left : quota,
                                   until_ns > 0 ? rate_seconds(until_ns) : 1);
    }
}

static void write_policy(const struct rate *rate, char out[RATE_HEADER_MAX]) {
    size_t length = 0;
    for (size_t unit = 0; unit < RATE_UNITS; unit++) {
        if (rate->per_s[unit] > 0) {
            length +=
                (size_t)snprintf(out + length, RATE_HEADER_MAX - length,
                                 "%s\"%s\";q=%" PRIu64 ";w=1%s", length > 0 ? ", " : "",
                                 units[unit].name, rate->per_s[unit], units[unit].policy_suffix);
        }
    }
}

static bool has_all(const struct rate_lead *lead) {
    return lead->ns[RATE_MESSAGES] <= QUOTA_LEAD_NS && lead->ns[RATE_BYTES] <= QUOTA_LEAD_NS;
}

static void write_texts(struct rate_headers *texts, const struct rate *rate) {
    texts->rate = *rate;
    write_policy(rate, texts->policy);
    write_left(rate, &(struct rate_lead){{0}}, texts->all_left);
}

void rate_headers_add(struct rate_headers *texts, struct http_request *request,
                      const struct rate *rate, const struct rate_lead *lead) {
    if (memcmp(&texts->rate, rate, sizeof *rate) != 0) {
        write_texts(texts, rate);
    }
    if (has_all(lead)) {
        http_header(request, "RateLimit", texts->all_left);
    } else {
        char left[RATE_HEADER_MAX];
        write_left(rate, lead, left);
        http_header(request, "RateLimit", left);
    }
    http_header(request, "RateLimit-Policy", texts->policy);
}
