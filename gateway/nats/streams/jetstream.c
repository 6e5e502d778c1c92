/* SPDX-License-Identifier: Apache-2.0 */

/* See jetstream.h: the life of the whole, and the probe that shows whether an embedded server still
 * acknowledges messages. The probe has a stream of its own, and shows that of the server:
 * nats-server 2.9 hangs as a whole on a full disk. From 2.14 on it continues, but stores nothing
 * any more in a stream of which it could not write one message, and does not answer: that the
 * stream's own messages show. Either is cured by a restart. */

#include "jetstream.h"

#include "jetstream_away_queue.h"
#include "jetstream_request.h"
#include "jetstream_setup.h"
#include "jetstream_state.h"

#include <stdlib.h>
#include <string.h>

enum {
    PROBE_TICK_MS = 500,
    PROBE_AFTER_MS = 2000,
    UNRESPONSIVE_AFTER_MS = 5000,
};

/* ---- probing ---- */

static void on_probe_ack(void *context, const struct jetstream_ack *ack) {
    (void)ack;
    struct jetstream *jetstream = context;
    jetstream->prober.is_waiting = false;
}

static void on_probe_tick(struct reactor_timer *timer) {
    static const struct jetstream_message probe = {.subject = JETSTREAM_PROBE_SUBJECT,
                                                   .payload = {"probe", 5}};
    struct jetstream *jetstream = OWNER_OF(timer, struct jetstream, prober.tick);
    struct jetstream_prober *prober = &jetstream->prober;
    int64_t now_ms = reactor_now_ms(jetstream->reactor);
    /* While a turn took long, nothing was sent to the server and no answer was read. */
    const int64_t good_ms = prober->good_ms + now_ms - timer->due_ms;
    prober->good_ms = good_ms < now_ms ? good_ms : now_ms;
    reactor_timer_set(jetstream->reactor, timer, PROBE_TICK_MS);
    if (jetstream_can_publish(jetstream) && !prober->is_waiting &&
        now_ms - prober->good_ms >= PROBE_AFTER_MS) {
        prober->is_waiting =
            jetstream_publish(jetstream, &probe, on_probe_ack, jetstream) == JETSTREAM_PUBLISHED;
    }
    const bool is_unresponsive = now_ms - prober->good_ms >= UNRESPONSIVE_AFTER_MS ||
                                 jetstream_flows_are_silent(jetstream, UNRESPONSIVE_AFTER_MS);
    if (is_unresponsive && now_ms - prober->reported_ms >= UNRESPONSIVE_AFTER_MS) {
        prober->reported_ms = now_ms;
        jetstream->events.unresponsive(jetstream->events.context);
    }
}

/* ---- events of the bus ---- */

static void on_connected(void *context) {
    struct jetstream *jetstream = context;
    jetstream->connected_count++;
    if (jetstream->options.is_probing) {
        jetstream_note_good(jetstream);
        reactor_timer_set(jetstream->reactor, &jetstream->prober.tick, PROBE_TICK_MS);
    }
    jetstream->trouble.violation[0] = '\0';
    jetstream_setup_begin(jetstream);
}

static void become_ready(struct jetstream *jetstream) {
    if (jetstream->is_ready) {
        return;
    }
    jetstream->is_ready = jetstream->setup.has_started = true;
    jetstream->trouble.since_ms = -1;
    ordered_consumers_start(jetstream);
    shared_consumers_start(jetstream);
    jetstream_away_queue_end(jetstream);
    jetstream->events.ready(jetstream->events.context);
}

static void on_failed(void *context) {
    jetstream_trouble_review(context);
}

/* $JS.EVENT.ADVISORY.STREAM.DELETED.VLP */
static void on_heard(void *context, const char *subject) {
    struct jetstream *jetstream = context;
    const char *name = strrchr(subject, '.') + 1;
    for (size_t i = 0; i < jetstream_check_count(jetstream); i++) {
        if (strcmp(jetstream->setup.checks[i].place.stream, name) == 0) {
            jetstream_recheck(jetstream);
            return;
        }
    }
}

static void on_forbidden(void *context, bool is_publish, const char *subject) {
    jetstream_violation_note(context, is_publish, subject);
    if (is_publish) {
        jetstream_publisher_refuse(context, subject);
    }
}

static void on_disconnected(void *context) {
    struct jetstream *jetstream = context;
    bool was_ready = jetstream->is_ready;
    jetstream->is_ready = false;
    reactor_timer_clear(jetstream->reactor, &jetstream->prober.tick);
    jetstream_setup_end(jetstream);
    ordered_consumers_stop(jetstream);
    shared_consumers_stop(jetstream);
    jetstream_publisher_lose_all(jetstream);
    jetstream_requests_end(jetstream, true);
    jetstream_trouble_review(jetstream);
    if (was_ready) {
        jetstream->events.away(jetstream->events.context);
    }
}

/* ---- creation ---- */

enum parley_status jetstream_create(struct reactor *reactor,
                                    const struct jetstream_options *options,
                                    const struct jetstream_events *events, struct jetstream **out) {
    struct jetstream *jetstream = calloc(1, sizeof *jetstream);
    if (jetstream == NULL) {
        return PARLEY_E_MEMORY;
    }
    jetstream->reactor = reactor;
    jetstream->options = *options;
    jetstream->events = *events;
    jetstream->prober.tick.fire = on_probe_tick;
    if (jetstream_publisher_init(jetstream) != PARLEY_OK ||
        jetstream_away_queue_init(jetstream) != PARLEY_OK ||
        jetstream_setup_create(jetstream, become_ready) != PARLEY_OK) {
        jetstream_destroy(jetstream);
        return PARLEY_E_MEMORY;
    }
    const struct bus_events bus_events = {.connected = on_connected,
                                          .disconnected = on_disconnected,
                                          .failed = on_failed,
                                          .heard = on_heard,
                                          .forbidden = on_forbidden,
                                          .context = jetstream};
    jetstream->options.bus.listen = JETSTREAM_ADVISORIES;
    enum parley_status status =
        bus_create(reactor, &jetstream->options.bus, &bus_events, &jetstream->bus);
    if (status != PARLEY_OK) {
        jetstream_destroy(jetstream);
        return status;
    }
    jetstream_trouble_begin(jetstream);
    *out = jetstream;
    return PARLEY_OK;
}

void jetstream_destroy(struct jetstream *jetstream) {
    if (jetstream == NULL) {
        return;
    }
    if (jetstream->bus != NULL) {
        jetstream_setup_end(jetstream);
        ordered_consumers_stop(jetstream);
        shared_consumers_stop(jetstream);
        jetstream_requests_end(jetstream, false);
    }
    reactor_timer_clear(jetstream->reactor, &jetstream->prober.tick);
    jetstream_trouble_end(jetstream);
    bus_destroy(jetstream->bus);
    jetstream_setup_destroy(jetstream);
    jetstream_publisher_finish(jetstream);
    jetstream_away_queue_finish(jetstream);
    free(jetstream);
}

bool jetstream_is_ready(const struct jetstream *jetstream) {
    return jetstream_can_publish(jetstream);
}

bool jetstream_can_read(const struct jetstream *jetstream) {
    return jetstream->is_ready;
}

uint64_t jetstream_connection_count(const struct jetstream *jetstream) {
    return jetstream->connected_count;
}

/* A stream that stores messages of several protocols is named once. */
static const char *name_once(const struct jetstream *jetstream, size_t number) {
    const struct jetstream_check *checks = jetstream->setup.checks;
    for (size_t i = 0; i < number; i++) {
        if (checks[i].place.families != 0 &&
            strcmp(checks[i].place.stream, checks[number].place.stream) == 0) {
            return NULL;
        }
    }
    return checks[number].place.families != 0 ? checks[number].place.stream : NULL;
}

bool jetstream_stream_state(const struct jetstream *jetstream, size_t number,
                            struct jetstream_stream_state *out) {
    if (number >= jetstream_check_count(jetstream)) {
        return false;
    }
    const struct jetstream_check *check = &jetstream->setup.checks[number];
    *out = (struct jetstream_stream_state){.name = name_once(jetstream, number),
                                           .is_usable = check->grade == JETSTREAM_IS_USABLE,
                                           .bytes = check->room.bytes,
                                           .messages = check->room.count,
                                           .bytes_max = check->room.bytes_max};
    return true;
}

bool jetstream_is_connected(const struct jetstream *jetstream) {
    return bus_is_connected(jetstream->bus);
}

uint32_t jetstream_server_version(const struct jetstream *jetstream) {
    return bus_server_version(jetstream->bus);
}

unsigned jetstream_copies(const struct jetstream *jetstream) {
    unsigned most = 0;
    for (size_t i = 0; i < jetstream_check_count(jetstream); i++) {
        const unsigned copies = jetstream->setup.checks[i].copies;
        most = copies > most ? copies : most;
    }
    return most;
}

size_t jetstream_max_payload_bytes(const struct jetstream *jetstream) {
    return bus_max_payload_bytes(jetstream->bus);
}
