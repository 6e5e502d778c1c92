/* SPDX-License-Identifier: Apache-2.0 */

/* The headers are those of draft-ietf-httpapi-ratelimit-headers: a policy is the quota of a second;
 * the burst of two seconds is not promised. */

#include "meter.h"

#include <inttypes.h>
#include <stdio.h>

#include "problem.h"
#include "sender.h"

#define NS_PER_MS 1000000

/* Of the draft: a quota counts requests unless its policy says otherwise. */
static const struct unit {
    const char *name, *policy_suffix;
} units[RATE_UNITS] = {
    [RATE_MESSAGES] = {"\"messages\"", ""},
    [RATE_BYTES] = {"\"bytes\"", ";qu=\"content-bytes\""},
};

static int64_t now_ns(const struct meter *meter) {
    return reactor_now_ms(meter->clock) * NS_PER_MS;
}

static int64_t seconds_up(int64_t ns) {
    return (ns + RATE_SECOND_NS - 1) / RATE_SECOND_NS;
}

/* ---- headers ---- */

struct line {
    char text[160];
    size_t length;
};

static void put_text(struct line *line, const char *text) {
    while (*text != '\0' && line->length + 1 < sizeof line->text) {
        line->text[line->length++] = *text++;
    }
    line->text[line->length] = '\0';
}

static void put_parameter(struct line *line, const char *name, uint64_t value) {
    char digits[24] = "";
    char *first = digits + sizeof digits - 1;
    do {
        *--first = (char)('0' + value % 10);
    } while ((value /= 10) > 0);
    put_text(line, name);
    put_text(line, first);
}

static void put_name(struct line *line, size_t unit) {
    put_text(line, line->length > 0 ? ", " : "");
    put_text(line, units[unit].name);
}

/* How much of a second's quota is left, and when all of it will be. */
static void put_left(struct line *line, uint64_t per_s, int64_t lead_ns) {
    const uint64_t left = rate_left(per_s, lead_ns);
    const int64_t until_quota_ns = lead_ns - (RATE_BURST_NS - RATE_SECOND_NS);
    put_parameter(line, ";r=", left < per_s ? left : per_s);
    put_parameter(line, ";t=", until_quota_ns > 0 ? (uint64_t)seconds_up(until_quota_ns) : 1);
}

static void add_headers(const struct meter *meter, struct http_request *request,
                        const struct rate_lead *lead) {
    struct line left = {.length = 0}, policy = {.length = 0};
    for (size_t unit = 0; unit < RATE_UNITS; unit++) {
        const uint64_t per_s = meter->rate.per_s[unit];
        if (per_s > 0) {
            put_name(&left, unit);
            put_left(&left, per_s, lead->ns[unit]);
            put_name(&policy, unit);
            put_parameter(&policy, ";q=", per_s);
            put_text(&policy, ";w=1");
            put_text(&policy, units[unit].policy_suffix);
        }
    }
    http_header(request, "RateLimit", left.text);
    http_header(request, "RateLimit-Policy", policy.text);
}

/* ---- refusing ---- */

static void refuse(const struct meter *meter, struct http_request *request, int64_t wait_ns) {
    const struct rate *rate = &meter->rate;
    const int64_t seconds = seconds_up(wait_ns);
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

void meter_begin(struct meter *meter, struct limits *limits, const struct reactor *reactor,
                 struct http_request *request) {
    *meter = (struct meter){0};
    if (limits == NULL) {
        return;
    }
    meter->rate = sender_rate(limits, request);
    if (!rate_is_limited(&meter->rate)) {
        return;
    }
    const struct limit_sender sender = sender_of(limits, request);
    meter->rates = limits->rates[sender.kind];
    meter->key = sender.key;
    meter->clock = reactor;
    meter->has_length = http_request_content_length(request) >= 0;
    struct rate_lead lead = meter_look(meter);
    if (meter->rate.per_s[RATE_MESSAGES] > 0) { /* as it will be with this request's message */
        lead.ns[RATE_MESSAGES] =
            rate_lead_after(meter->rate.per_s[RATE_MESSAGES], lead.ns[RATE_MESSAGES], 1);
    }
    add_headers(meter, request, &lead);
}

bool meter_admit(const struct meter *meter, struct http_request *request, size_t bytes_max) {
    if (!meter_is_on(meter)) {
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

struct rate_lead meter_charge(const struct meter *meter, uint64_t messages, uint64_t bytes) {
    if (!meter_is_on(meter)) {
        return (struct rate_lead){{0}};
    }
    return rate_table_charge(meter->rates, &meter->key, &meter->rate,
                             &(struct rate_cost){{messages, bytes}}, now_ns(meter));
}

void meter_charge_invalid(const struct meter *meter) {
    meter_charge(meter, LIMITS_INVALID_COST - 1, 0);
}

struct rate_lead meter_look(const struct meter *meter) {
    return rate_table_look(meter->rates, &meter->key, now_ns(meter));
}
