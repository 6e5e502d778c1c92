/* SPDX-License-Identifier: Apache-2.0 */

#include "worker_figures.h"

enum { COPY_MS = 500 };

static void set(const struct gateway *gateway, enum figure figure, uint64_t value) {
    counter_set(&gateway->figures->values[figure], value);
}

static void copy(const struct gateway *gateway) {
    const struct http_totals http = http_server_totals(gateway->http);
    set(gateway, FIGURE_RECEIVED_BYTES, http.received_bytes);
    set(gateway, FIGURE_SENT_BYTES, http.sent_bytes);
    set(gateway, FIGURE_ACTIVE_REQUESTS, http_server_active_count(gateway->http));
    set(gateway, FIGURE_IN_FLIGHT_MESSAGES, jetstream_in_flight_count(gateway->jetstream));
}

static void on_time(struct reactor_timer *timer) {
    struct worker_figures *copier = OWNER_OF(timer, struct worker_figures, timer);
    copy(copier->gateway);
    reactor_timer_set(copier->gateway->reactor, timer, COPY_MS);
}

void worker_figures_start(struct worker_figures *copier, struct gateway *gateway) {
    *copier = (struct worker_figures){.gateway = gateway, .timer.fire = on_time};
    reactor_timer_set(gateway->reactor, &copier->timer, 0);
}

void worker_figures_stop(struct worker_figures *copier) {
    if (copier->gateway != NULL) {
        reactor_timer_clear(copier->gateway->reactor, &copier->timer);
    }
}
