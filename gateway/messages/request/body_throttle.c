/* SPDX-License-Identifier: Apache-2.0 */

#include "body_throttle.h"

enum {
    STEPS_PER_S =
        4, /* a body that waits continues this often, with the bytes that have arrived since */
    NS_PER_MS = 1000000,
    WAIT_MS_MAX = 1000, /* so that it notices when the server shuts down */
};

static bool is_slowing(const struct body_throttle *pace) {
    return rate_charge_is_on(pace->meter) && !pace->gateway->is_draining;
}

/* As much as the sender may send in one step. */
static struct rate_cost step(const struct rate *rate) {
    struct rate_cost cost = {{0}};
    for (size_t unit = 0; unit < RATE_UNITS; unit++) {
        const uint64_t share = rate->per_s[unit] / STEPS_PER_S;
        cost.count[unit] = share > 0 ? share : 1;
    }
    return cost;
}

static void go_on(struct reactor_timer *timer) {
    struct body_throttle *pace = OWNER_OF(timer, struct body_throttle, timer);
    pace->messages_left = UINT64_MAX;
    http_wake(pace->request);
}

void body_throttle_init(struct body_throttle *pace, const struct rate_charge *meter,
                        const struct gateway *gateway, struct http_request *request) {
    *pace = (struct body_throttle){.meter = meter,
                                   .gateway = gateway,
                                   .request = request,
                                   .timer = {.fire = go_on},
                                   .messages_left = UINT64_MAX};
}

static void charge(struct body_throttle *pace) {
    if (pace->messages_spent > 0) {
        rate_charge_charge(pace->meter, pace->messages_spent, 0);
        pace->messages_spent = 0;
    }
}

void body_throttle_close(struct body_throttle *pace) {
    pace->request = NULL;
    reactor_timer_clear(pace->gateway->reactor, &pace->timer);
    charge(pace);
}

size_t body_throttle_begin(struct body_throttle *pace, size_t offered) {
    if (!is_slowing(pace)) {
        return offered;
    }
    const struct rate *rate = &pace->meter->rate;
    const struct rate_lead lead = rate_charge_look(pace->meter);
    const uint64_t messages = rate->per_s[RATE_MESSAGES], bytes = rate->per_s[RATE_BYTES];
    pace->messages_left = messages > 0 ? rate_left(messages, lead.ns[RATE_MESSAGES]) : UINT64_MAX;
    if (pace->messages_left == 0) {
        return 0;
    }
    const uint64_t allowed = bytes > 0 ? rate_left(bytes, lead.ns[RATE_BYTES]) : UINT64_MAX;
    return allowed < offered ? (size_t)allowed : offered;
}

/* Whether more of the piece could have been taken but for the rate is not asked: a wake too many is
 * harmless. */
void body_throttle_end(struct body_throttle *pace, size_t offered, size_t taken) {
    if (!is_slowing(pace)) {
        return;
    }
    const struct rate_lead lead = rate_charge_charge(pace->meter, pace->messages_spent, taken);
    pace->messages_spent = 0;
    const struct rate_cost more = step(&pace->meter->rate);
    const int64_t wait_ns = rate_wait_for(&pace->meter->rate, &lead, &more);
    if (taken == offered || wait_ns == 0) {
        pace->messages_left = UINT64_MAX;
        return;
    }
    pace->messages_left = 0;
    const int64_t wait_ms = (wait_ns + NS_PER_MS - 1) / NS_PER_MS;
    reactor_timer_set(pace->gateway->reactor, &pace->timer,
                      wait_ms < WAIT_MS_MAX ? wait_ms : (int64_t)WAIT_MS_MAX);
}

void body_throttle_note(struct body_throttle *pace, bool is_valid) {
    const uint64_t cost = is_valid ? 1 : LIMITS_INVALID_COST;
    pace->messages_spent += cost;
    pace->messages_left -= cost < pace->messages_left ? cost : pace->messages_left;
}
