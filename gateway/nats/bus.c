/* SPDX-License-Identifier: Apache-2.0 */

/* See bus.h. A nats.c connection in that library's event-loop mode is driven by the reactor: what
 * arrives is read when the socket is readable, and what was published leaves in one write at the
 * end of the turn. This file knows nothing of JetStream, and it uses neither the library's
 * request/reply nor its message threads nor its reconnecting.
 *
 * It does not use reconnecting for two reasons. In event-loop mode the library keeps its parser's
 * state across a reconnect: if the old connection ended within a message, the new one begins with a
 * protocol error, and so do all after it. And a reconnect holds the connection's lock for as long
 * as a server takes to answer, so every call on the reactor's thread would wait for it. So each
 * connection is a new one, made on a thread of its own (the opener), and handed over when it is
 * established. From then on only the reactor's thread touches it: the library's ping timer is off,
 * and `pulse` does its work. (One leak is left: the buffer of a message that was cut off, at most
 * one per broken connection.)
 *
 * Two more traps. If a server freezes between its INFO and its PONG, natsConnection_Connect spins
 * for as long as that lasts, whatever the timeout, so an opener that burns processor time is
 * cancelled. And natsSubscription_NextMsg swallows the server's "no responders" (503) and does not
 * say which request it was for, so messages are taken at the library's filter, which sees them
 * before any subscription does, and takes no lock. Only what is for none of its addresses goes on
 * to the library's subscriptions: those of bus_subscribe, which know whose a message is. */

#include "bus.h"

#include "bus_link.h"
#include "bus_text.h"
#include "mailboxes.h"

#include <nats/nats.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

/* Not in nats.h: the library's own hook for its tests, which its shared object exports in every
 * release since 3.0. It is called inside natsConnection_ProcessReadEvent, with no lock held; a
 * filter that keeps the message sets *message to NULL. */
typedef void nats_filter_fn(natsConnection *connection, natsMsg **message, void *context);
void natsConn_setFilterWithClosure(natsConnection *connection, nats_filter_fn *filter,
                                   void *context);

/* Not in nats.h either: natsMsg_Destroy has a thread of the library call it, which costs a futex
 * and a memory cache miss per message, a third of the cost of a line of a large body. */
void natsMsg_free(void *message);

/* Nor is this: it creates a message with its headers in wire format, as the library keeps a message
 * that it received, and the library sends such headers as they are. Setting headers one by one
 * takes a table, three allocations each, and writing them afterwards: a fifth of the cost of a
 * single request.  `text`: headers and payload, copied. */
natsStatus natsMsg_create(natsMsg **out, const char *subject, int subject_length, const char *reply,
                          int reply_length, const char *text, int text_length, int headers_length);

enum {
    CONNECT_TIMEOUT_MS = 2000,
    REOPEN_MS = 150,
    OPENER_CHECK_MS = 500,
    /* A usual attempt takes a few; on a busy machine a server may be slow to end its greeting. */
    OPENER_CPU_MS_MAX = 2000,
    READ_BYTES = 128 * 1024,
    BACKLOG_BYTES_MAX = 16 * 1024 * 1024,
    PULSE_MS = 5000,
    /* With several servers, a refusal by one alternates with the silence of the others: the refusal
       is the reason shown until this many attempts in a row found no server. */
    REFUSAL_KEPT_ATTEMPTS = 8,
    SILENT_PULSES_MAX = 4, /* a server that is silent for 20 s is given up */
    MESSAGES_AT_FIRST = 256,
};

/* Messages that were read and not delivered so far. */
struct messages {
    natsMsg **items;
    size_t count;
    size_t capacity;
};

struct bus {
    struct reactor *reactor;
    struct bus_events events;
    natsOptions *options;

    struct reactor_watch watch;
    struct reactor_turn turn;
    struct reactor_timer reopen;
    struct reactor_timer opener_check;
    struct reactor_timer pulse;

    natsConnection *connection; /* NULL: none */
    natsSubscription *inbox;
    natsSubscription *listener;
    const char *listen; /* NULL: none */
    char *where;
    char why[BUS_WHY_MAX]; /* why there is no connection; "": no attempt has ended so far */
    unsigned attempts_since_refusal;
    struct bus_violation violation;
    char prefix[BUS_SUBJECT_MAX]; /* of addresses, with its dot */
    size_t prefix_length;
    char id[BUS_SUBJECT_MAX]; /* the random token in it */
    size_t id_length;
    bool is_connected;
    bool can_write; /* the socket took everything last time, or is writable again */
    bool is_watching_write;
    size_t max_payload_bytes;
    size_t backlog_bytes;
    bool has_heard; /* since the last pulse */
    unsigned silent_pulses;
    struct bus_mailbox echo;

    struct mailboxes mailboxes;
    struct messages incoming;
    struct bus_alias *aliases;
    struct bus_subscription *subscriptions;
    bool has_removed; /* one of them */

    /* The opener writes `connection`, and what the hooks write, until has_opened is set. */
    pthread_t opener;
    bool has_opener;
    atomic_bool has_opened;
    char opener_why[BUS_WHY_MAX];
    bool is_refused; /* by a server that answered */
    int socket;
    bool is_broken;
    bool wants_write;
};

/* ---- hooks: on the opener's thread while it connects, then on the reactor's ---- */

static natsStatus attach(void **data, void *loop, natsConnection *connection, natsSock socket) {
    (void)connection;
    struct bus *bus = loop;
    *data = bus;
    bus->socket = socket;
    return NATS_OK;
}

static natsStatus want_read(void *data, bool is_wanted) {
    struct bus *bus = data;
    bus->is_broken = !is_wanted;
    return NATS_OK;
}

static natsStatus want_write(void *data, bool is_wanted) {
    struct bus *bus = data;
    bus->wants_write = is_wanted;
    return NATS_OK;
}

static natsStatus detach(void *data) {
    struct bus *bus = data;
    bus->is_broken = true;
    return NATS_OK;
}

static void *open_connection(void *context) {
    struct bus *bus = context;
    const natsStatus status = natsConnection_Connect(&bus->connection, bus->options);
    if (status != NATS_OK) {
        bus->is_refused = bus_link_explain(status, bus->where, bus->opener_why);
        bus->connection = NULL;
    }
    nats_ReleaseThreadMemory();
    atomic_store(&bus->has_opened, true);
    reactor_wake(bus->reactor);
    return NULL;
}

/* ---- mailboxes ---- */

enum parley_status bus_mailbox_open(struct bus *bus, bus_receive_fn *receive, void *context,
                                    struct bus_mailbox *out) {
    return mailboxes_open(&bus->mailboxes, receive, context, out);
}

void bus_mailbox_close(struct bus *bus, struct bus_mailbox mailbox) {
    mailboxes_close(&bus->mailboxes, mailbox);
}

void bus_mailbox_address(const struct bus *bus, struct bus_mailbox mailbox,
                         char address[BUS_SUBJECT_MAX]) {
    if (bus->prefix_length == 0) {
        address[0] = '\0';
        return;
    }
    memcpy(address, bus->prefix, bus->prefix_length);
    mailbox_write(mailbox, address + bus->prefix_length);
}

void bus_mailbox_tag(const struct bus *bus, struct bus_mailbox mailbox, char tag[BUS_TAG_MAX]) {
    memcpy(tag, bus->id, bus->id_length);
    tag[bus->id_length] = '-';
    mailbox_write(mailbox, tag + bus->id_length + 1);
}

void bus_alias_add(struct bus *bus, struct bus_alias *alias) {
    alias->next = bus->aliases;
    bus->aliases = alias;
}

void bus_alias_remove(struct bus *bus, struct bus_alias *alias) {
    struct bus_alias **link = &bus->aliases;
    while (*link != NULL && *link != alias) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        *link = alias->next;
    }
}

/* ---- receiving ---- */

static bool messages_add(struct messages *messages, natsMsg *message) {
    if (messages->count == messages->capacity) {
        size_t capacity = messages->capacity > 0 ? 2 * messages->capacity : MESSAGES_AT_FIRST;
        natsMsg **items = reallocarray(messages->items, capacity, sizeof(natsMsg *));
        if (items == NULL) {
            return false;
        }
        messages->items = items;
        messages->capacity = capacity;
    }
    messages->items[messages->count++] = message;
    return true;
}

static void messages_destroy_all(struct messages *messages) {
    for (size_t i = 0; i < messages->count; i++) {
        natsMsg_free(messages->items[i]);
    }
    messages->count = 0;
}

static bool is_addressed(const struct bus *bus, natsMsg *message);

/* Without memory the message is lost, as it would be anywhere in the library: what waits for it has
 * a deadline. */
static void take_message(natsConnection *connection, natsMsg **message, void *context) {
    (void)connection;
    struct bus *bus = context;
    if (bus->subscriptions != NULL && !is_addressed(bus, *message)) {
        return;
    }
    if (!messages_add(&bus->incoming, *message)) {
        natsMsg_free(*message);
    }
    *message = NULL;
}

/* The text in the subject, or in the reply subject, that identifies the mailbox. */
static const char *find_address(const struct bus *bus, const char *subject, const char *reply) {
    if (strncmp(subject, bus->prefix, bus->prefix_length) == 0) {
        return subject + bus->prefix_length;
    }
    const char *at = reply != NULL ? strstr(reply, bus->id) : NULL;
    return at != NULL && at[bus->id_length] == '-' ? at + bus->id_length + 1 : NULL;
}

static const struct bus_alias *find_alias(const struct bus *bus, const char *reply) {
    const struct bus_alias *alias = reply != NULL ? bus->aliases : NULL;
    while (alias != NULL && strstr(reply, alias->text) == NULL) {
        alias = alias->next;
    }
    return alias;
}

static bool is_listened_to(const struct bus *bus, const char *subject) {
    return bus->listen != NULL && strncmp(subject, bus->listen, strlen(bus->listen) - 1) == 0;
}

/* Not for a core subscription. (What a consumer of an earlier connection still delivers has the
 * subject of a message, and the reply subject of a consumer.) */
static bool is_addressed(const struct bus *bus, natsMsg *message) {
    const char *subject = natsMsg_GetSubject(message), *reply = natsMsg_GetReply(message);
    return find_address(bus, subject, reply) != NULL || is_listened_to(bus, subject) ||
           (reply != NULL && strncmp(reply, "$JS.ACK.", 8) == 0);
}

static struct bus_message describe(natsMsg *native) {
    const int length = natsMsg_GetDataLength(native);
    return (struct bus_message){
        .subject = natsMsg_GetSubject(native),
        .reply = natsMsg_GetReply(native),
        .reply_tail = "",
        .payload = {natsMsg_GetData(native), length > 0 ? (size_t)length : 0},
        .native = native,
    };
}

static void deliver(struct bus *bus, natsMsg *native) {
    const char *subject = natsMsg_GetSubject(native);
    const char *reply = natsMsg_GetReply(native);
    const char *address = find_address(bus, subject, reply);
    const struct bus_alias *alias = address == NULL ? find_alias(bus, reply) : NULL;
    char of_alias[MAILBOX_TEXT_MAX];
    if (alias != NULL) {
        mailbox_write(alias->mailbox, of_alias);
        address = of_alias;
    }
    if (address == NULL) {
        if (is_listened_to(bus, subject)) {
            bus->events.heard(bus->events.context, subject);
        }
        return; /* else it is for the inbox of an earlier connection */
    }
    struct bus_message message = describe(native);
    mailboxes_deliver(&bus->mailboxes, address, &message);
}

/* Delivers what comes next; the library drops what exceeds 65,536 messages.  Returns: false: there
 * is nothing. */
static bool receive_core(const struct bus_subscription *subscription) {
    natsMsg *native = NULL;
    if (subscription->native == NULL ||
        natsSubscription_NextMsg(&native, subscription->native, 0) != NATS_OK) {
        return false;
    }
    const struct bus_message message = describe(native);
    subscription->receive(subscription->context, &message);
    natsMsg_free(native);
    return true;
}

/* A receiver may remove any of the subscriptions: then it begins again. */
static void receive_all_core(struct bus *bus) {
    struct bus_subscription *at = bus->subscriptions;
    while (at != NULL) {
        bus->has_removed = false;
        const bool has_received = receive_core(at);
        at = bus->has_removed ? bus->subscriptions : has_received ? at : at->next;
    }
}

static void receive_all(struct bus *bus) {
    for (size_t i = 0; i < bus->incoming.count; i++) {
        deliver(bus, bus->incoming.items[i]);
    }
    messages_destroy_all(&bus->incoming);
    receive_all_core(bus);
}

/* ---- core subscriptions ---- */

/* One that fails (out of memory, a wrong subject) is tried again with the next connection. */
static void open_subscription(struct bus *bus, struct bus_subscription *subscription) {
    natsSubscription *native = NULL;
    const natsStatus status =
        subscription->queue != NULL
            ? natsConnection_QueueSubscribeSync(&native, bus->connection, subscription->subject,
                                                subscription->queue)
            : natsConnection_SubscribeSync(&native, bus->connection, subscription->subject);
    subscription->native = status == NATS_OK ? native : NULL;
}

static void close_subscription(struct bus_subscription *subscription) {
    natsSubscription_Destroy(subscription->native);
    subscription->native = NULL;
}

void bus_subscribe(struct bus *bus, struct bus_subscription *subscription) {
    subscription->native = NULL;
    subscription->next = bus->subscriptions;
    bus->subscriptions = subscription;
    if (bus->is_connected) {
        open_subscription(bus, subscription);
    }
}

void bus_unsubscribe(struct bus *bus, struct bus_subscription *subscription) {
    struct bus_subscription **link = &bus->subscriptions;
    while (*link != NULL && *link != subscription) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        *link = subscription->next;
        bus->has_removed = true;
        close_subscription(subscription);
    }
}

const char *bus_message_header(const struct bus_message *message, const char *name) {
    /* The library parses the headers at the first call: hence the cast. */
    const char *value = NULL;
    if (natsMsgHeader_Get((natsMsg *)(uintptr_t)message->native, name, &value) != NATS_OK) {
        return NULL;
    }
    return value;
}

unsigned bus_message_status(const struct bus_message *message) {
    if (message->payload.length > 0) {
        return 0; /* the server's statuses have none, and most messages return here */
    }
    const char *text = bus_message_header(message, "Status");
    return text != NULL ? (unsigned)strtoul(text, NULL, 10) : 0;
}

/* ---- connecting ---- */

static void open_later(struct bus *bus) {
    reactor_timer_set(bus->reactor, &bus->reopen, REOPEN_MS);
}

static void begin_to_open(struct bus *bus) {
    bus->is_broken = false;
    bus->is_refused = false;
    bus->wants_write = false;
    atomic_store(&bus->has_opened, false);
    bus->has_opener = pthread_create(&bus->opener, NULL, open_connection, bus) == 0;
    if (bus->has_opener) {
        reactor_timer_set(bus->reactor, &bus->opener_check, OPENER_CHECK_MS);
    } else {
        open_later(bus);
    }
}

static void reopen_now(struct reactor_timer *timer) {
    begin_to_open(OWNER_OF(timer, struct bus, reopen));
}

/* Each connection has a new inbox: answers to an earlier connection do not reach it. */
static bool open_inbox(struct bus *bus) {
    natsInbox *name = NULL;
    if (natsInbox_Create(&name) != NATS_OK) {
        return false;
    }
    int length = snprintf(bus->prefix, sizeof bus->prefix, "%s.", (const char *)name);
    natsInbox_Destroy(name);
    if (length < 0 || (size_t)length + MAILBOX_TEXT_MAX > sizeof bus->prefix) {
        return false;
    }
    bus->prefix_length = (size_t)length;
    const char *id = strchr(bus->prefix, '.') + 1; /* _INBOX.<id>. */
    bus->id_length = bus->prefix_length - 1 - (size_t)(id - bus->prefix);
    memcpy(bus->id, id, bus->id_length);
    bus->id[bus->id_length] = '\0';
    if (bus->id_length + 1 + MAILBOX_TEXT_MAX > BUS_TAG_MAX) {
        return false;
    }
    char wildcard[BUS_SUBJECT_MAX + 1];
    snprintf(wildcard, sizeof wildcard, "%s*", bus->prefix);
    natsConn_setFilterWithClosure(bus->connection, take_message, bus);
    return natsConnection_SubscribeSync(&bus->inbox, bus->connection, wildcard) == NATS_OK &&
           (bus->listen == NULL ||
            natsConnection_SubscribeSync(&bus->listener, bus->connection, bus->listen) == NATS_OK);
}

/* Makes the library notice, in its next read, that the connection is broken. */
static void cut(struct bus *bus) {
    shutdown(bus->watch.fd, SHUT_RDWR);
}

static void forget_connection(struct bus *bus) {
    natsSubscription_Destroy(bus->inbox);
    natsSubscription_Destroy(bus->listener);
    for (struct bus_subscription *at = bus->subscriptions; at != NULL; at = at->next) {
        close_subscription(at);
    }
    natsConnection_Destroy(bus->connection);
    bus->inbox = NULL;
    bus->listener = NULL;
    bus->connection = NULL;
}

static void adopt(struct bus *bus) {
    bus->watch.fd = bus->socket;
    if (bus->is_broken || !open_inbox(bus) ||
        reactor_watch_add(bus->reactor, &bus->watch, EPOLLIN) != PARLEY_OK) {
        forget_connection(bus);
        open_later(bus);
        return;
    }
    bus->is_connected = true;
    bus->can_write = true;
    bus->is_watching_write = false;
    bus->backlog_bytes = 0;
    bus->silent_pulses = 0;
    int64_t max_payload = natsConnection_GetMaxPayload(bus->connection);
    bus->max_payload_bytes = max_payload > 0 ? (size_t)max_payload : 0;
    reactor_timer_set(bus->reactor, &bus->pulse, PULSE_MS);
    for (struct bus_subscription *at = bus->subscriptions; at != NULL; at = at->next) {
        open_subscription(bus, at);
    }
    bus->events.connected(bus->events.context);
}

static void go_away(struct bus *bus) {
    reactor_watch_remove(bus->reactor, &bus->watch);
    reactor_timer_clear(bus->reactor, &bus->pulse);
    bus->is_connected = false;
    bus->backlog_bytes = 0;
    forget_connection(bus);
    open_later(bus);
    snprintf(bus->why, sizeof bus->why, "NATS is unreachable (the connection was lost): %s",
             bus->where);
    bus->attempts_since_refusal = REFUSAL_KEPT_ATTEMPTS;
    bus->events.disconnected(bus->events.context);
}

static void note_failure(struct bus *bus) {
    bus->attempts_since_refusal = bus->is_refused ? 0 : bus->attempts_since_refusal + 1;
    if (bus->is_refused || bus->attempts_since_refusal > REFUSAL_KEPT_ATTEMPTS) {
        memcpy(bus->why, bus->opener_why, sizeof bus->why);
    }
    if (bus->events.failed != NULL) {
        bus->events.failed(bus->events.context);
    }
}

static void join_opener(struct bus *bus) {
    pthread_join(bus->opener, NULL);
    bus->has_opener = false;
    reactor_timer_clear(bus->reactor, &bus->opener_check);
    if (bus->connection != NULL) {
        adopt(bus);
    } else {
        open_later(bus);
        note_failure(bus);
    }
}

static bool is_opener_spinning(const struct bus *bus) {
    clockid_t clock;
    struct timespec used;
    return pthread_getcpuclockid(bus->opener, &clock) == 0 && clock_gettime(clock, &used) == 0 &&
           used.tv_sec * 1000 + used.tv_nsec / 1000000 > OPENER_CPU_MS_MAX;
}

/* A cancelled opener leaks a socket and its buffers, once per freeze of a server. It spins over
 * poll, which is a cancellation point, so it ends at once. */
static void check_opener(struct reactor_timer *timer) {
    struct bus *bus = OWNER_OF(timer, struct bus, opener_check);
    if (is_opener_spinning(bus)) {
        pthread_cancel(bus->opener);
        snprintf(bus->opener_why, sizeof bus->opener_why,
                 "NATS is unreachable (it stopped answering): %s", bus->where);
        join_opener(bus);
    } else {
        reactor_timer_set(bus->reactor, timer, OPENER_CHECK_MS);
    }
}

static void wait_for_opener(struct bus *bus) {
    for (;;) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100 * 1000 * 1000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (pthread_timedjoin_np(bus->opener, NULL, &until) == 0) {
            return;
        }
        if (is_opener_spinning(bus)) {
            pthread_cancel(bus->opener);
        }
    }
}

/* Acts on what the hooks and the opener have noted. Must not be called from within the library. */
static void settle(struct bus *bus) {
    if (bus->is_connected && bus->is_broken) {
        go_away(bus);
    }
    if (bus->has_opener && atomic_load(&bus->has_opened)) {
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
        receive_all(bus); /* also what came before the connection broke */
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

/* A host that vanished or a server that froze sends nothing, not even a FIN. What parley sends to
 * itself must come back. */
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
        bus_violation_add(&bus->violation, bus->reactor, bus->listen, options),
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
    bus->listen = events->heard != NULL ? options->listen : NULL;
    bus->attempts_since_refusal = REFUSAL_KEPT_ATTEMPTS;
    bus->where = strdup(options->where != NULL ? options->where : "its servers do not answer");
    mailboxes_init(&bus->mailboxes);
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
    reactor_turn_add(reactor, &bus->turn);
    begin_to_open(bus);
    *out = bus;
    return PARLEY_OK;
}

void bus_destroy(struct bus *bus) {
    if (bus == NULL) {
        return;
    }
    if (bus->has_opener) {
        wait_for_opener(bus);
    }
    if (bus->is_connected) {
        natsConnection_ProcessWriteEvent(bus->connection);
        reactor_watch_remove(bus->reactor, &bus->watch);
    }
    forget_connection(bus);
    reactor_timer_clear(bus->reactor, &bus->reopen);
    reactor_timer_clear(bus->reactor, &bus->opener_check);
    reactor_timer_clear(bus->reactor, &bus->pulse);
    messages_destroy_all(&bus->incoming);
    free(bus->incoming.items);
    natsOptions_Destroy(bus->options);
    bus_violation_remove(&bus->violation);
    mailboxes_finish(&bus->mailboxes);
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
    return !bus->is_connected && bus->attempts_since_refusal < REFUSAL_KEPT_ATTEMPTS;
}

size_t bus_max_payload_bytes(const struct bus *bus) {
    return bus->max_payload_bytes;
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
    natsStatus status = natsMsg_create(&message, subject, (int)strlen(subject), reply,
                                       reply != NULL ? (int)strlen(reply) : 0, text.data,
                                       (int)text.length, (int)headers_bytes);
    if (status == NATS_OK) {
        status = natsConnection_PublishMsg(bus->connection, message);
        natsMsg_free(message);
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
