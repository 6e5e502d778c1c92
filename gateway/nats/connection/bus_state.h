/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The data of one bus, shared by bus.c and bus_inbox.c and private to them: bus_inbox.c changes the
 * inbox, bus.c the rest. */

#include "bus.h"
#include "bus_link.h"
#include "bus_connector.h"
#include "library.h"
#include "mailboxes.h"

/* Incoming messages: for the mailboxes, for the core subscriptions, and for bus_options.listen. */
struct bus_inbox {
    struct reactor *reactor;
    const struct bus_events *events;
    struct library_inbox *incoming; /* NULL if closed */
    const char *listen;             /* NULL if absent */
    char prefix[BUS_SUBJECT_MAX];   /* of addresses, with its dot */
    size_t prefix_length;
    char id[BUS_SUBJECT_MAX]; /* the random token in it */
    size_t id_length;
    struct mailboxes mailboxes;
    struct bus_alias *aliases;
    struct bus_subscription *subscriptions;
    bool has_removed; /* one of them */
};

struct bus {
    struct reactor *reactor;
    struct bus_events events;
    natsOptions *options;
    char *where;

    struct reactor_watch watch;
    bool is_watched;
    struct reactor_turn turn;
    struct reactor_timer reopen;
    struct reactor_timer opener_check;
    struct reactor_timer pulse;

    natsConnection *connection; /* NULL if there is none */
    bool is_connected;
    bool can_write; /* the socket took everything last time, or is writable again */
    bool is_watching_write;
    size_t max_payload_bytes;
    uint32_t server_version;
    size_t backlog_bytes;
    bool has_heard; /* since the last pulse */
    unsigned silent_pulses;
    struct bus_mailbox echo;
    struct bus_inbox inbox;

    char why[BUS_WHY_MAX]; /* why there is no connection; "" if no attempt has ended so far */
    unsigned auth_failure_log_since_refusal;
    struct bus_violation violation;
    struct bus_connector opener;

    /* Written by the library's hooks: on the opener's thread until that has ended. */
    int socket;
    natsConnection *attached; /* of which that is the socket */
    bool is_broken;
    bool wants_read, wants_write;
    bool has_dead_socket; /* which the library is done with; it closes it itself before 3.10 */
};

/* `events` and `listen` are borrowed for the inbox's life. */
void bus_inbox_init(struct bus_inbox *inbox, struct reactor *reactor,
                    const struct bus_events *events, const char *listen);
/* Subscribes under a new name, so that no answers to an earlier connection arrive.  Returns: false
 * if it failed; bus_inbox_close is due in any case. */
bool bus_inbox_open(struct bus_inbox *inbox, natsConnection *connection) PARLEY_MUST_CHECK;
/* Opens the core subscriptions. */
void bus_inbox_subscribe_all(struct bus_inbox *inbox, natsConnection *connection);
/* Delivers the messages that the library has read. Receivers may call all of bus.h but
 * bus_destroy. */
void bus_inbox_deliver(struct bus_inbox *inbox);
/* The same for those to the inbox's own addresses, which may have come on another thread. */
void bus_inbox_deliver_addressed(struct bus_inbox *inbox);
/* Before the connection is destroyed. */
void bus_inbox_close(struct bus_inbox *inbox);
void bus_inbox_finish(struct bus_inbox *inbox);
