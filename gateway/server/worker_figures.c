/* SPDX-License-Identifier: Apache-2.0 */

#include "worker_figures.h"

#include "streams.h"

enum { COPY_MS = 500 };

static void set(const struct gateway *gateway, enum figure figure, uint64_t value) {
    counter_set(&gateway->figures->values[figure], value);
}

static void copy_http(const struct gateway *gateway) {
    const struct http_totals http = http_server_totals(gateway->http);
    set(gateway, FIGURE_RECEIVED_BYTES, http.received_bytes);
    set(gateway, FIGURE_SENT_BYTES, http.sent_bytes);
    set(gateway, FIGURE_ACTIVE_REQUESTS, http_server_active_count(gateway->http));
    set(gateway, FIGURE_CONNECTIONS, http_server_connection_count(gateway->http));
    set(gateway, FIGURE_REFUSED_CONNECTIONS, http.refused_connections);
    set(gateway, FIGURE_HANDSHAKES_DONE, http.handshakes_done);
    set(gateway, FIGURE_HANDSHAKES_FAILED, http.handshakes_failed);
}

static void copy_nats(const struct gateway *gateway) {
    const struct jetstream *jetstream = gateway->jetstream;
    const uint64_t connected = jetstream_connection_count(jetstream);
    set(gateway, FIGURE_IN_FLIGHT_MESSAGES, jetstream_in_flight_count(jetstream));
    set(gateway, FIGURE_HELD_MESSAGES, jetstream_held_count(jetstream));
    set(gateway, FIGURE_NATS_CONNECTIONS, jetstream_is_connected(jetstream) ? 1 : 0);
    set(gateway, FIGURE_NATS_RECONNECTS, connected > 0 ? connected - 1 : 0);
    counter_set(&gateway->figures->nats_version,
                jetstream_is_connected(jetstream) ? jetstream_server_version(jetstream) : 0);
}

static void copy_stores(const struct gateway *gateway) {
    struct jetstream_stream_state state;
    for (size_t i = 0;
         i < FIGURES_STREAMS_MAX && jetstream_stream_state(gateway->jetstream, i, &state); i++) {
        struct store_figures *store = &gateway->figures->stores[i];
        const bool is_usable = state.is_usable && jetstream_is_connected(gateway->jetstream);
        counter_set(&store->is_usable, is_usable ? 1 : 0);
        counter_set(&store->messages, state.messages);
        counter_set(&store->bytes, state.bytes);
        counter_set(&store->bytes_max, state.bytes_max);
    }
}

static void copy_streams(const struct gateway *gateway) {
    struct streams_state states[FIGURES_STREAMS_MAX];
    const size_t count = streams_measure(gateway->streams, states, FIGURES_STREAMS_MAX);
    for (size_t i = 0; i < count && i < FIGURES_STREAMS_MAX; i++) {
        struct stream_figures *stream = &gateway->figures->streams[i];
        counter_set(&stream->readers, states[i].readers);
        counter_set(&stream->lag, states[i].lag);
        counter_set(&stream->events, states[i].events);
    }
}

static void copy_facts(const struct worker_figures *copier) {
    for (size_t i = 0; i < parley_protocol_count(); i++) {
        uint64_t of_facts, of_halts;
        const bool has_facts = fact_consumers_pending(copier->fact_consumers[i], &of_facts);
        const bool has_halts = halt_keeper_pending(copier->halt_keepers[i], &of_halts);
        counter_set_known(&copier->gateway->figures->streams[i].facts_pending,
                          has_facts || has_halts, of_facts + of_halts);
    }
}

static void copy(const struct worker_figures *copier) {
    const struct gateway *gateway = copier->gateway;
    copy_http(gateway);
    copy_nats(gateway);
    copy_stores(gateway);
    copy_streams(gateway);
    copy_facts(copier);
    set(gateway, FIGURE_AWAITED_REPLIES, replies_count(gateway->replies));
}

static void on_time(struct reactor_timer *timer) {
    struct worker_figures *copier = OWNER_OF(timer, struct worker_figures, timer);
    copy(copier);
    reactor_timer_set(copier->gateway->reactor, timer, COPY_MS);
}

void worker_figures_start(struct worker_figures *copier) {
    copier->timer.fire = on_time;
    reactor_timer_set(copier->gateway->reactor, &copier->timer, 0);
}

void worker_figures_stop(struct worker_figures *copier) {
    if (copier->gateway != NULL) {
        reactor_timer_clear(copier->gateway->reactor, &copier->timer);
    }
}
