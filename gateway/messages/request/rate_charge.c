/* SPDX-License-Identifier: Apache-2.0 */

#include "rate_charge.h"

#include <inttypes.h>
#include <stdio.h>

#include "problem.h"
#include "limit_sender.h"

#define NS_PER_MS 1000000

static int64_t now_ns(const struct rate_charge *meter) {
    return reactor_now_ms(meter->clock) * NS_PER_MS;
}

/* ---- refusing ---- */

static void refuse(const struct rate_charge *meter, struct http_request *request, int64_t wait_ns) {
    const struct rate *rate = &meter->rate;
    const int64_t seconds = rate_seconds(wait_ns);
    char after[24], messages[64] = "", bytes[64] = "";
    snprintf(after, sizeof after, "%" PRId64, seconds);
    http_header(request, "Retry-After", after);
    if (rate->per_s[RATE_MESSAGES] > 0) {
        snprintf(messages, sizeof messages, "%" PRIu64 " messages", rate->per_s[RATE_MESSAGES]);
    }
    if (rate->per_s[RATE_BYTES] > 0) {
        snprintf(bytes, sizeof bytes, "%s%" PRIu64 " bytes", messages[0] != '\0' ? " and " : "",
                 rate->per_s[RATE_BYTES]);
    }
    problem_respond_format(request, PROBLEM_RATE_LIMITED,
                           "This sender may send %s%s a second, and has sent more. Nothing was "
                           "stored: send it again after %" PRId64 " s, or send many messages in "
                           "one request, which is slowed down instead.",
                           messages, bytes, seconds);
}

/* ---- metering ---- */

void rate_charge_begin(struct rate_charge *meter, struct limits *limits, struct rate_headers *texts,
                       const struct reactor *reactor, struct http_request *request) {
    *meter = (struct rate_charge){0};
    if (limits == NULL) {
        return;
    }
    meter->rate = sender_rate(limits, request);
    if (!rate_is_limited(&meter->rate)) {
        return;
    }
    const struct limit_sender sender = limit_sender_of(limits, request);
    meter->rates = limits->rates[sender.kind];
    meter->key = sender.key;
    meter->clock = reactor;
    meter->has_length = http_request_content_length(request) >= 0;
    struct rate_lead lead = rate_charge_look(meter);
    if (meter->rate.per_s[RATE_MESSAGES] > 0) { /* as it will be with this request's message */
        lead.ns[RATE_MESSAGES] =
            rate_lead_after(meter->rate.per_s[RATE_MESSAGES], lead.ns[RATE_MESSAGES], 1);
    }
    rate_headers_add(texts, request, &meter->rate, &lead);
}

bool rate_charge_admit(const struct rate_charge *meter, struct http_request *request,
                       size_t bytes_max) {
    if (!rate_charge_is_on(meter)) {
        return true;
    }
    const int64_t length = meter->has_length ? http_request_content_length(request) : 0;
    const uint64_t bytes = length > 0 ? (uint64_t)length : 0;
    const struct rate_cost cost = {{1, bytes < bytes_max ? bytes : bytes_max}};
    bool is_taken = false;
    const struct rate_lead lead =
        rate_table_take(meter->rates, &meter->key, &meter->rate, &cost, now_ns(meter), &is_taken);
    if (!is_taken) {
        refuse(meter, request, rate_wait_for(&meter->rate, &lead, &cost));
    }
    return is_taken;
}

struct rate_lead rate_charge_charge(const struct rate_charge *meter, uint64_t messages,
                                    uint64_t bytes) {
    if (!rate_charge_is_on(meter)) {
        return (struct rate_lead){{0}};
    }
    return rate_table_charge(meter->rates, &meter->key, &meter->rate,
                             &(struct rate_cost){{messages, bytes}}, now_ns(meter));
}

void rate_charge_charge_invalid(const struct rate_charge *meter) {
    rate_charge_charge(meter, LIMITS_INVALID_COST - 1, 0);
}

struct rate_lead rate_charge_look(const struct rate_charge *meter) {
    return rate_table_look(meter->rates, &meter->key, now_ns(meter));
}
