/* SPDX-License-Identifier: Apache-2.0 */

/* The receiving side of a bus: its mailboxes, aliases and core subscriptions.
 *
 * natsSubscription_NextMsg swallows the server's "no responders" (503) and does not say which
 * request it was for, so messages for the inbox's addresses are taken in library.h's way. All
 * others are left to the library's subscriptions: those of bus_subscribe, which know the receiver
 * of a message. */

#include "bus_state.h"

#include <nats/nats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- mailboxes ---- */

enum parley_status bus_mailbox_open(struct bus *bus, bus_receive_fn *receive, void *context,
                                    struct bus_mailbox *out) {
    return mailboxes_open(&bus->inbox.mailboxes, receive, context, out);
}

void bus_mailbox_close(struct bus *bus, struct bus_mailbox mailbox) {
    mailboxes_close(&bus->inbox.mailboxes, mailbox);
}

void bus_mailbox_address(const struct bus *bus, struct bus_mailbox mailbox,
                         char address[BUS_SUBJECT_MAX]) {
    if (bus->inbox.prefix_length == 0) {
        address[0] = '\0';
        return;
    }
    memcpy(address, bus->inbox.prefix, bus->inbox.prefix_length);
    mailbox_write(mailbox, address + bus->inbox.prefix_length);
}

void bus_mailbox_tag(const struct bus *bus, struct bus_mailbox mailbox, char tag[BUS_TAG_MAX]) {
    memcpy(tag, bus->inbox.id, bus->inbox.id_length);
    tag[bus->inbox.id_length] = '-';
    mailbox_write(mailbox, tag + bus->inbox.id_length + 1);
}

void bus_alias_add(struct bus *bus, struct bus_alias *alias) {
    alias->next = bus->inbox.aliases;
    bus->inbox.aliases = alias;
}

void bus_alias_remove(struct bus *bus, struct bus_alias *alias) {
    struct bus_alias **link = &bus->inbox.aliases;
    while (*link != NULL && *link != alias) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        *link = alias->next;
    }
}

/* ---- receiving ---- */

/* The text in the subject, or in the reply subject, that identifies the mailbox. */
static const char *find_address(const struct bus_inbox *inbox, const char *subject,
                                const char *reply) {
    if (strncmp(subject, inbox->prefix, inbox->prefix_length) == 0) {
        return subject + inbox->prefix_length;
    }
    const char *at = reply != NULL ? strstr(reply, inbox->id) : NULL;
    return at != NULL && at[inbox->id_length] == '-' ? at + inbox->id_length + 1 : NULL;
}

static const struct bus_alias *find_alias(const struct bus_inbox *inbox, const char *reply) {
    const struct bus_alias *alias = reply != NULL ? inbox->aliases : NULL;
    while (alias != NULL && strstr(reply, alias->text) == NULL) {
        alias = alias->next;
    }
    return alias;
}

static bool is_listened_to(const struct bus_inbox *inbox, const char *subject) {
    return inbox->listen != NULL && strncmp(subject, inbox->listen, strlen(inbox->listen) - 1) == 0;
}

/* Not for a core subscription. (A message that a consumer of an earlier connection still delivers
 * has the subject of a message, and the reply subject of a consumer.) */
static bool is_addressed(const struct bus_inbox *inbox, natsMsg *message) {
    const char *subject = natsMsg_GetSubject(message), *reply = natsMsg_GetReply(message);
    return find_address(inbox, subject, reply) != NULL || is_listened_to(inbox, subject) ||
           (reply != NULL && strncmp(reply, "$JS.ACK.", 8) == 0);
}

static bool is_wanted(void *context, natsMsg *message) {
    const struct bus_inbox *inbox = context;
    return inbox->subscriptions == NULL || is_addressed(inbox, message);
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

static void deliver(struct bus_inbox *inbox, natsMsg *native) {
    const char *subject = natsMsg_GetSubject(native);
    const char *reply = natsMsg_GetReply(native);
    const char *address = find_address(inbox, subject, reply);
    const struct bus_alias *alias = address == NULL ? find_alias(inbox, reply) : NULL;
    char of_alias[MAILBOX_TEXT_MAX];
    if (alias != NULL) {
        mailbox_write(alias->mailbox, of_alias);
        address = of_alias;
    }
    if (address == NULL) {
        if (is_listened_to(inbox, subject)) {
            inbox->events->heard(inbox->events->context, subject);
        }
        return; /* else it is for the inbox of an earlier connection */
    }
    struct bus_message message = describe(native);
    mailboxes_deliver(&inbox->mailboxes, address, &message);
}

/* Delivers the next message; the library drops those that exceed 65,536.  Returns: false if there
 * is none. */
static bool receive_core(const struct bus_subscription *subscription) {
    natsMsg *native = NULL;
    if (subscription->native == NULL ||
        natsSubscription_NextMsg(&native, subscription->native, 0) != NATS_OK) {
        return false;
    }
    const struct bus_message message = describe(native);
    subscription->receive(subscription->context, &message);
    library_message_free(native);
    return true;
}

/* A receiver may remove any of the subscriptions: then it begins again. */
static void receive_all_core(struct bus_inbox *inbox) {
    struct bus_subscription *at = inbox->subscriptions;
    while (at != NULL) {
        inbox->has_removed = false;
        const bool has_received = receive_core(at);
        at = inbox->has_removed ? inbox->subscriptions : has_received ? at : at->next;
    }
}

void bus_inbox_deliver_addressed(struct bus_inbox *inbox) {
    for (natsMsg *native; (native = library_inbox_take(inbox->incoming)) != NULL;) {
        deliver(inbox, native);
        library_message_free(native);
    }
}

void bus_inbox_deliver(struct bus_inbox *inbox) {
    bus_inbox_deliver_addressed(inbox);
    receive_all_core(inbox);
}

/* ---- core subscriptions ---- */

/* One that fails (out of memory, a wrong subject) is tried again with the next connection. */
static void open_subscription(natsConnection *connection, struct bus_subscription *subscription) {
    natsSubscription *native = NULL;
    const natsStatus status =
        subscription->queue != NULL
            ? natsConnection_QueueSubscribeSync(&native, connection, subscription->subject,
                                                subscription->queue)
            : natsConnection_SubscribeSync(&native, connection, subscription->subject);
    subscription->native = status == NATS_OK ? native : NULL;
}

static void close_subscription(struct bus_subscription *subscription) {
    natsSubscription_Destroy(subscription->native);
    subscription->native = NULL;
}

void bus_subscribe(struct bus *bus, struct bus_subscription *subscription) {
    subscription->native = NULL;
    subscription->next = bus->inbox.subscriptions;
    bus->inbox.subscriptions = subscription;
    if (bus->is_connected) {
        open_subscription(bus->connection, subscription);
    }
}

void bus_unsubscribe(struct bus *bus, struct bus_subscription *subscription) {
    struct bus_subscription **link = &bus->inbox.subscriptions;
    while (*link != NULL && *link != subscription) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        *link = subscription->next;
        bus->inbox.has_removed = true;
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

/* ---- lifecycle ---- */

static bool name_inbox(struct bus_inbox *inbox) {
    natsInbox *name = NULL;
    if (natsInbox_Create(&name) != NATS_OK) {
        return false;
    }
    int length = snprintf(inbox->prefix, sizeof inbox->prefix, "%s.", (const char *)name);
    natsInbox_Destroy(name);
    if (length < 0 || (size_t)length + MAILBOX_TEXT_MAX > sizeof inbox->prefix) {
        return false;
    }
    inbox->prefix_length = (size_t)length;
    const char *id = strchr(inbox->prefix, '.') + 1; /* _INBOX.<id>. */
    inbox->id_length = inbox->prefix_length - 1 - (size_t)(id - inbox->prefix);
    memcpy(inbox->id, id, inbox->id_length);
    inbox->id[inbox->id_length] = '\0';
    return inbox->id_length + 1 + MAILBOX_TEXT_MAX <= BUS_TAG_MAX;
}

bool bus_inbox_open(struct bus_inbox *inbox, natsConnection *connection) {
    if (!name_inbox(inbox)) {
        return false;
    }
    char wildcard[BUS_SUBJECT_MAX + 1];
    snprintf(wildcard, sizeof wildcard, "%s*", inbox->prefix);
    const struct library_inbox_options options = {
        .connection = connection,
        .subjects = {wildcard, inbox->listen},
        .is_wanted = is_wanted,
        .context = inbox,
        .reactor = inbox->reactor,
    };
    return library_inbox_open(&options, &inbox->incoming);
}

void bus_inbox_subscribe_all(struct bus_inbox *inbox, natsConnection *connection) {
    for (struct bus_subscription *at = inbox->subscriptions; at != NULL; at = at->next) {
        open_subscription(connection, at);
    }
}

void bus_inbox_close(struct bus_inbox *inbox) {
    library_inbox_close(inbox->incoming);
    inbox->incoming = NULL;
    for (struct bus_subscription *at = inbox->subscriptions; at != NULL; at = at->next) {
        close_subscription(at);
    }
}

void bus_inbox_init(struct bus_inbox *inbox, struct reactor *reactor,
                    const struct bus_events *events, const char *listen) {
    inbox->reactor = reactor;
    inbox->events = events;
    inbox->listen = listen;
    mailboxes_init(&inbox->mailboxes);
}

void bus_inbox_finish(struct bus_inbox *inbox) {
    mailboxes_finish(&inbox->mailboxes);
}
