/* SPDX-License-Identifier: Apache-2.0 */

#include "worker_figures.h"

#include "streams.h"

enum { COPY_MS = 500 };

static void set(const struct services *services, enum figure figure, uint64_t value) {
    counter_set(&services->gateway.figures->values[figure], value);
}

static void copy_http(const struct services *services) {
    const struct http_totals http = http_server_totals(services->http);
    set(services, FIGURE_RECEIVED_BYTES, http.received_bytes);
    set(services, FIGURE_SENT_BYTES, http.sent_bytes);
    set(services, FIGURE_ACTIVE_REQUESTS, http_server_active_count(services->http));
    set(services, FIGURE_CONNECTIONS, http_server_connection_count(services->http));
    set(services, FIGURE_REFUSED_CONNECTIONS, http.refused_connections);
    set(services, FIGURE_HANDSHAKES_DONE, http.handshakes_done);
    set(services, FIGURE_HANDSHAKES_FAILED, http.handshakes_failed);
}

static void copy_nats(const struct services *services) {
    const struct jetstream *jetstream = services->gateway.jetstream;
    const uint64_t connected = jetstream_connection_count(jetstream);
    set(services, FIGURE_IN_FLIGHT_MESSAGES, jetstream_in_flight_count(jetstream));
    set(services, FIGURE_HELD_MESSAGES, jetstream_held_count(jetstream));
    set(services, FIGURE_NATS_CONNECTIONS, jetstream_is_connected(jetstream) ? 1 : 0);
    set(services, FIGURE_NATS_RECONNECTS, connected > 0 ? connected - 1 : 0);
    counter_set(&services->gateway.figures->nats_version,
                jetstream_is_connected(jetstream) ? jetstream_server_version(jetstream) : 0);
}

static void copy_stores(const struct services *services) {
    struct jetstream_stream_state state;
    for (size_t i = 0;
         i < FIGURES_STREAMS_MAX && jetstream_stream_state(services->gateway.jetstream, i, &state);
         i++) {
        struct store_figures *store = &services->gateway.figures->stores[i];
        const bool is_usable =
            state.is_usable && jetstream_is_connected(services->gateway.jetstream);
        counter_set(&store->is_usable, is_usable ? 1 : 0);
        counter_set(&store->messages, state.messages);
        counter_set(&store->bytes, state.bytes);
        counter_set(&store->bytes_max, state.bytes_max);
    }
}

static void copy_streams(const struct services *services) {
    struct streams_state states[FIGURES_STREAMS_MAX];
    const size_t count = streams_measure(services->streams, states, FIGURES_STREAMS_MAX);
    for (size_t i = 0; i < count && i < FIGURES_STREAMS_MAX; i++) {
        struct stream_figures *stream = &services->gateway.figures->streams[i];
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
        counter_set_known(&copier->services->gateway.figures->streams[i].facts_pending,
                          has_facts || has_halts, of_facts + of_halts);
    }
}

static void copy(const struct worker_figures *copier) {
    const struct services *services = copier->services;
    copy_http(services);
    copy_nats(services);
    copy_stores(services);
    copy_streams(services);
    copy_facts(copier);
    set(services, FIGURE_AWAITED_REPLIES, replies_count(services->gateway.replies));
}

static void on_time(struct reactor_timer *timer) {
    struct worker_figures *copier = OWNER_OF(timer, struct worker_figures, timer);
    copy(copier);
    reactor_timer_set(copier->services->gateway.reactor, timer, COPY_MS);
}

void worker_figures_start(struct worker_figures *copier) {
    copier->timer.fire = on_time;
    reactor_timer_set(copier->services->gateway.reactor, &copier->timer, 0);
}

void worker_figures_stop(struct worker_figures *copier) {
    if (copier->services != NULL) {
        reactor_timer_clear(copier->services->gateway.reactor, &copier->timer);
    }
}
