/* SPDX-License-Identifier: Apache-2.0 */

/* See bus.h. A nats.c connection in that library's event-loop mode is driven by the reactor:
 * incoming data is read when the socket is readable, and published messages leave in one write at
 * the end of the turn. This file does not depend on JetStream, and it uses neither the library's
 * request/reply nor its message threads nor its reconnecting.
 *
 * It does not use reconnecting for two reasons. In event-loop mode the library keeps its parser's
 * state across a reconnect: if the old connection ended within a message, the new one begins with a
 * protocol error, and so do all after it. And a reconnect holds the connection's lock for as long
 * as a server takes to answer, so every call on the reactor's thread would wait for it. So each
 * connection is a new one, made on a separate thread (the opener), and handed over when it is
 * established. From then on only the reactor's thread touches it: the library's ping timer is off,
 * and `pulse` does its work. (One leak is left: the buffer of a message that was cut off, at most
 * one per broken connection.)
 *
 * One more trap: if a server freezes between its INFO and its PONG, natsConnection_Connect spins
 * for as long as that lasts, whatever the timeout, so an opener that burns processor time is
 * cancelled. bus_inbox.c has another. */

#include "bus.h"

#include "bus_state.h"
#include "bus_text.h"

#include <nats/nats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* Functions that later versions require of an event loop, and declare; NULL in earlier ones. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wredundant-decls"
/* NOLINTBEGIN(readability-redundant-declaration) */
#pragma weak natsConnection_ProcessCloseEvent
#pragma weak natsConnection_ProcessDetachedEvent
/* Closes a socket that the library no longer reads or writes (3.10.1 has it). */
void natsConnection_ProcessCloseEvent(natsSock *socket);
/* Releases the state that the library keeps of a connection until it is detached (3.14 has it). */
void natsConnection_ProcessDetachedEvent(natsConnection *connection);
/* NOLINTEND(readability-redundant-declaration) */
#pragma GCC diagnostic pop

enum {
    CONNECT_TIMEOUT_MS = 2000,
    REOPEN_MS = 150,
    OPENER_CHECK_MS = 500,
    READ_BYTES = 128 * 1024,
    BACKLOG_BYTES_MAX = 16 * 1024 * 1024,
    PULSE_MS = 5000,
    /* With several servers, a refusal by one alternates with the silence of the others: the refusal
       is the reason shown until this many attempts in a row found no server. */
    AUTH_ERROR_KEPT_ATTEMPTS = 8,
    SILENT_PULSES_MAX = 4, /* a server that is silent for 20 s is given up */
};

/* ---- hooks: on the opener's thread while it connects, then on the reactor's ---- */

/* Closes a socket that the library is done with, where it leaves that to us. */
static void close_socket(struct bus *bus) {
    if (bus->has_dead_socket && natsConnection_ProcessCloseEvent != NULL) {
        natsConnection_ProcessCloseEvent(&bus->socket);
    }
    bus->has_dead_socket = false;
}

static natsStatus attach(void **data, void *loop, natsConnection *connection, natsSock socket) {
    struct bus *bus = loop;
    *data = bus;
    close_socket(bus); /* of an earlier server of the list */
    bus->attached = connection;
    bus->socket = socket;
    bus->wants_read = true;
    return NATS_OK;
}

/* From 3.10 on the socket is closed later, by close_socket. */
static void note_wishes(struct bus *bus) {
    bus->has_dead_socket = bus->has_dead_socket || (!bus->wants_read && !bus->wants_write);
}

static void unwatch(struct bus *bus) {
    if (bus->is_watched) {
        reactor_watch_remove(bus->reactor, &bus->watch);
        bus->is_watched = false;
    }
}

/* Before 3.10 the library closes the socket as soon as it no longer reads. From then on its number
 * may be that of another thread's, so it has to be unwatched now. */
static natsStatus want_read(void *data, bool is_wanted) {
    struct bus *bus = data;
    if (!is_wanted) {
        unwatch(bus);
    }
    bus->is_broken = !is_wanted;
    bus->wants_read = is_wanted;
    note_wishes(bus);
    return NATS_OK;
}

static natsStatus want_write(void *data, bool is_wanted) {
    struct bus *bus = data;
    bus->wants_write = is_wanted;
    note_wishes(bus);
    return NATS_OK;
}

static natsStatus detach(void *data) {
    struct bus *bus = data;
    bus->is_broken = true;
    if (natsConnection_ProcessDetachedEvent != NULL) {
        natsConnection_ProcessDetachedEvent(bus->attached);
    }
    return NATS_OK;
}

/* ---- connecting ---- */

static void open_later(struct bus *bus) {
    reactor_timer_set(bus->reactor, &bus->reopen, REOPEN_MS);
}

static void begin_to_open(struct bus *bus) {
    bus->is_broken = false;
    bus->wants_write = false;
    if (bus_connector_begin(&bus->opener)) {
        reactor_timer_set(bus->reactor, &bus->opener_check, OPENER_CHECK_MS);
    } else {
        open_later(bus);
    }
}

static void reopen_now(struct reactor_timer *timer) {
    begin_to_open(OWNER_OF(timer, struct bus, reopen));
}

/* Makes the library notice, in its next read, that the connection is broken. */
static void cut(struct bus *bus) {
    shutdown(bus->watch.fd, SHUT_RDWR);
}

/* It is closed before its subscriptions: they would announce their end to the server, and
 * natsConnection_Close would wait half a second, because of the buffered data, for an answer that
 * nothing would read. */
static void forget_connection(struct bus *bus) {
    natsConnection_Close(bus->connection);
    close_socket(bus);
    bus_inbox_close(&bus->inbox);
    natsConnection_Destroy(bus->connection);
    bus->connection = NULL;
}

static void adopt(struct bus *bus) {
    bus->watch.fd = bus->socket;
    if (bus->is_broken || !bus_inbox_open(&bus->inbox, bus->connection) ||
        reactor_watch_add(bus->reactor, &bus->watch, EPOLLIN) != PARLEY_OK) {
        forget_connection(bus);
        open_later(bus);
        return;
    }
    bus->is_watched = true;
    bus->is_connected = true;
    bus->can_write = true;
    bus->is_watching_write = false;
    bus->backlog_bytes = 0;
    bus->silent_pulses = 0;
    int64_t max_payload = natsConnection_GetMaxPayload(bus->connection);
    bus->max_payload_bytes = max_payload > 0 ? (size_t)max_payload : 0;
    bus->server_version = library_server_version(bus->connection);
    reactor_timer_set(bus->reactor, &bus->pulse, PULSE_MS);
    bus_inbox_subscribe_all(&bus->inbox, bus->connection);
    bus->events.connected(bus->events.context);
}

static void go_away(struct bus *bus) {
    unwatch(bus);
    reactor_timer_clear(bus->reactor, &bus->pulse);
    bus->is_connected = false;
    bus->backlog_bytes = 0;
    forget_connection(bus);
    open_later(bus);
    snprintf(bus->why, sizeof bus->why, "NATS is unreachable (the connection was lost): %s",
             bus->where);
    bus->auth_failure_log_since_refusal = AUTH_ERROR_KEPT_ATTEMPTS;
    bus->events.disconnected(bus->events.context);
}

static void note_failure(struct bus *bus) {
    const bool is_refused = bus->opener.is_refused;
    bus->auth_failure_log_since_refusal = is_refused ? 0 : bus->auth_failure_log_since_refusal + 1;
    if (is_refused || bus->auth_failure_log_since_refusal > AUTH_ERROR_KEPT_ATTEMPTS) {
        memcpy(bus->why, bus->opener.why, sizeof bus->why);
    }
    if (bus->events.failed != NULL) {
        bus->events.failed(bus->events.context);
    }
}

static void join_opener(struct bus *bus) {
    bus->connection = bus_connector_join(&bus->opener);
    reactor_timer_clear(bus->reactor, &bus->opener_check);
    if (bus->connection != NULL) {
        adopt(bus);
    } else {
        close_socket(bus);
        open_later(bus);
        note_failure(bus);
    }
}

static void check_opener(struct reactor_timer *timer) {
    struct bus *bus = OWNER_OF(timer, struct bus, opener_check);
    if (bus_connector_cancel_if_stuck(&bus->opener)) {
        join_opener(bus);
    } else {
        reactor_timer_set(bus->reactor, timer, OPENER_CHECK_MS);
    }
}

/* Handles the changes noted by the hooks and the opener. Must not be called from within the
 * library. */
static void settle(struct bus *bus) {
    if (bus->is_connected && bus->is_broken) {
        go_away(bus);
    }
    if (bus_connector_has_ended(&bus->opener)) {
        join_opener(bus);
    }
}

static void on_socket(struct reactor_watch *watch, uint32_t events) {
    struct bus *bus = OWNER_OF(watch, struct bus, watch);
    if (!bus->is_connected) {
        return;
    }
    if ((events & EPOLLOUT) != 0) {
        bus->can_write = true;
    }
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
        bus->has_heard = true;
        natsConnection_ProcessReadEvent(bus->connection);
        bus_inbox_deliver(&bus->inbox); /* also messages that came before the connection broke */
        settle(bus);
    }
}

static void write_out(struct bus *bus) {
    natsConnection_ProcessWriteEvent(bus->connection);
    settle(bus);
    if (!bus->is_connected) {
        return;
    }
    int left = natsConnection_Buffered(bus->connection);
    bus->backlog_bytes = left > 0 ? (size_t)left : 0;
    bool is_blocked = bus->wants_write;
    bus->can_write = !is_blocked;
    if (is_blocked != bus->is_watching_write &&
        reactor_watch_change(bus->reactor, &bus->watch,
                             is_blocked ? EPOLLIN | EPOLLOUT : EPOLLIN) == PARLEY_OK) {
        bus->is_watching_write = is_blocked;
    }
}

static void report_violations(struct bus *bus) {
    char subject[BUS_VIOLATION_MAX];
    bool is_publish;
    while (bus_violation_take(&bus->violation, &is_publish, subject)) {
        if (bus->is_connected && bus->events.forbidden != NULL) {
            bus->events.forbidden(bus->events.context, is_publish, subject);
        }
    }
}

static void run_turn(struct reactor_turn *turn) {
    struct bus *bus = OWNER_OF(turn, struct bus, turn);
    bus_inbox_deliver_addressed(&bus->inbox); /* what the library's threads have received */
    settle(bus);
    report_violations(bus);
    if (bus->is_connected && bus->can_write && bus->wants_write) {
        write_out(bus);
    }
}

/* Does not sleep while something waits to be written that a later turn published. */
static int64_t sleep_ms(struct reactor_turn *turn) {
    struct bus *bus = OWNER_OF(turn, struct bus, turn);
    return bus->is_connected && bus->can_write && bus->wants_write ? 0 : -1;
}

static void on_echo(void *context, const struct bus_message *message) {
    (void)context;
    (void)message;
}

/* A host that vanished or a server that froze sends nothing, not even a FIN. A message that parley
 * sends to itself must come back. */
static void pulse(struct reactor_timer *timer) {
    struct bus *bus = OWNER_OF(timer, struct bus, pulse);
    bus->silent_pulses = bus->has_heard ? 0 : bus->silent_pulses + 1;
    bus->has_heard = false;
    if (bus->silent_pulses >= SILENT_PULSES_MAX) {
        cut(bus);
    } else if (bus->silent_pulses > 0) {
        char address[BUS_SUBJECT_MAX];
        bus_mailbox_address(bus, bus->echo, address);
        (void)bus_publish(bus, address, NULL, (struct parley_bytes){0});
    }
    reactor_timer_set(bus->reactor, &bus->pulse, PULSE_MS);
}

/* ---- creation ---- */

static natsStatus set_options(struct bus *bus, const struct bus_options *wanted) {
    natsOptions *options = bus->options;
    const natsStatus status = bus_link_set(options, wanted);
    if (status != NATS_OK) {
        return status;
    }
    const natsStatus settings[] = {
        natsOptions_SetEventLoop(options, bus, attach, want_read, want_write, detach),
        natsOptions_SetSendAsap(options, true),
        natsOptions_SetPingInterval(options, 0),
        natsOptions_SetIOBufSize(options, READ_BYTES),
        natsOptions_SetTimeout(options, CONNECT_TIMEOUT_MS),
        natsOptions_SetAllowReconnect(options, false),
        bus_violation_add(&bus->violation, bus->reactor, bus->inbox.listen, options),
    };
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        if (settings[i] != NATS_OK) {
            return settings[i];
        }
    }
    return NATS_OK;
}

enum parley_status bus_create(struct reactor *reactor, const struct bus_options *options,
                              const struct bus_events *events, struct bus **out) {
    struct bus *bus = calloc(1, sizeof *bus);
    if (bus == NULL) {
        return PARLEY_E_MEMORY;
    }
    bus->reactor = reactor;
    bus->events = *events;
    bus_inbox_init(&bus->inbox, reactor, &bus->events,
                   events->heard != NULL ? options->listen : NULL);
    bus->auth_failure_log_since_refusal = AUTH_ERROR_KEPT_ATTEMPTS;
    bus->where = strdup(options->where != NULL ? options->where : "its servers do not answer");
    bus->watch.ready = on_socket;
    bus->turn.run = run_turn;
    bus->turn.timeout_ms = sleep_ms;
    bus->reopen.fire = reopen_now;
    bus->opener_check.fire = check_opener;
    bus->pulse.fire = pulse;
    if (bus->where == NULL || bus_mailbox_open(bus, on_echo, bus, &bus->echo) != PARLEY_OK ||
        natsOptions_Create(&bus->options) != NATS_OK || set_options(bus, options) != NATS_OK) {
        bus_destroy(bus);
        return PARLEY_E_MEMORY;
    }
    bus->opener = (struct bus_connector){
        .reactor = reactor,
        .options = bus->options,
        .where = bus->where,
    };
    reactor_turn_add(reactor, &bus->turn);
    begin_to_open(bus);
    *out = bus;
    return PARLEY_OK;
}

void bus_destroy(struct bus *bus) {
    if (bus == NULL) {
        return;
    }
    if (bus->opener.is_running) {
        bus->connection = bus_connector_wait(&bus->opener);
    }
    if (bus->is_connected) {
        natsConnection_ProcessWriteEvent(bus->connection);
        unwatch(bus);
    }
    forget_connection(bus);
    reactor_timer_clear(bus->reactor, &bus->reopen);
    reactor_timer_clear(bus->reactor, &bus->opener_check);
    reactor_timer_clear(bus->reactor, &bus->pulse);
    bus_inbox_finish(&bus->inbox);
    natsOptions_Destroy(bus->options);
    bus_violation_remove(&bus->violation);
    free(bus->where);
    free(bus);
}

bool bus_is_connected(const struct bus *bus) {
    return bus->is_connected;
}

const char *bus_why_away(const struct bus *bus) {
    return !bus->is_connected && bus->why[0] != '\0' ? bus->why : NULL;
}

bool bus_is_refused(const struct bus *bus) {
    return !bus->is_connected && bus->auth_failure_log_since_refusal < AUTH_ERROR_KEPT_ATTEMPTS;
}

size_t bus_max_payload_bytes(const struct bus *bus) {
    return bus->max_payload_bytes;
}

uint32_t bus_server_version(const struct bus *bus) {
    return bus->server_version;
}

bool bus_has_room(const struct bus *bus) {
    return bus->backlog_bytes < BACKLOG_BYTES_MAX;
}

bool bus_is_quiet(const struct bus *bus) {
    return bus->backlog_bytes < BACKLOG_BYTES_MAX / 8;
}

/* ---- sending ---- */

/* `text`: headers, if any, and payload. */
static natsStatus send_text(struct bus *bus, const char *subject, const char *reply,
                            struct parley_bytes text, size_t headers_bytes) {
    if (headers_bytes == 0 && reply != NULL) {
        return natsConnection_PublishRequest(bus->connection, subject, reply, text.data,
                                             (int)text.length);
    }
    if (headers_bytes == 0) {
        return natsConnection_Publish(bus->connection, subject, text.data, (int)text.length);
    }
    natsMsg *message = NULL;
    natsStatus status = library_message_create(&message, subject, reply, text, headers_bytes);
    if (status == NATS_OK) {
        status = natsConnection_PublishMsg(bus->connection, message);
        library_message_free(message);
    }
    return status;
}

enum bus_send bus_publish_text(struct bus *bus, const char *subject, const char *reply,
                               struct parley_bytes text, size_t headers_bytes) {
    if (!bus->is_connected || bus->is_broken) {
        return BUS_AWAY;
    }
    if (text.length > bus->max_payload_bytes) {
        return BUS_TOO_LARGE;
    }
    if (!bus_has_room(bus)) {
        return BUS_FULL;
    }
    if (!bus_subject_can_be(subject)) {
        return BUS_FAILED;
    }
    const natsStatus status = send_text(bus, subject, reply, text, headers_bytes);
    if (status != NATS_OK) {
        return status == NATS_MAX_PAYLOAD ? BUS_TOO_LARGE : BUS_FAILED;
    }
    bus->backlog_bytes += text.length + strlen(subject);
    return BUS_SENT;
}

enum bus_send bus_publish(struct bus *bus, const char *subject, const char *reply,
                          struct parley_bytes payload) {
    return bus_publish_text(bus, subject, reply, payload, 0);
}

const char *bus_library_version(void) {
    return nats_GetVersion();
}
