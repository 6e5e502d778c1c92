/* SPDX-License-Identifier: Apache-2.0 */

/* See library.h. The functions below are exported by the shared object of nats.c in every 3.x, in
 * this form, for its own tests and modules. A version without one of them, or in which one behaves
 * differently, fails the probe that CMake runs (cmake/probe_nats.c). */

#include "library.h"
#include "server_version.h"

#include <stdlib.h>
#include <string.h>

enum { MESSAGES_AT_FIRST = 256, VERSION_PART_MAX = 999 };

/* It is called inside natsConnection_ProcessReadEvent, with no lock held, before any subscription
 * sees the message; a filter that keeps the message sets *message to NULL. */
typedef void nats_filter_fn(natsConnection *connection, natsMsg **message, void *context);
void natsConn_setFilterWithClosure(natsConnection *connection, nats_filter_fn *filter,
                                   void *context);
/* Creates a message with its headers in wire format, as the library keeps a message that it
 * received, and the library sends such headers as they are. Setting headers one by one takes a
 * table, three allocations each, and writing them afterwards: a fifth of the cost of a single
 * request. */
natsStatus natsMsg_create(natsMsg **out, const char *subject, int subject_length, const char *reply,
                          int reply_length, const char *text, int text_length, int headers_length);
/* Frees a message at once. natsMsg_Destroy has a thread of the library do it, which costs a futex
 * and a memory cache miss per message, a third of the cost of a line of a large body. */
void natsMsg_free(void *message);
/* Whether the server's INFO has this version, or a later one. */
bool natsConn_srvVersionAtLeast(natsConnection *connection, int major, int minor, int patch);

natsStatus library_message_create(natsMsg **out, const char *subject, const char *reply,
                                  struct parley_bytes text, size_t headers_bytes) {
    return natsMsg_create(out, subject, (int)strlen(subject), reply,
                          reply != NULL ? (int)strlen(reply) : 0, text.data, (int)text.length,
                          (int)headers_bytes);
}

void library_message_free(natsMsg *message) {
    natsMsg_free(message);
}

/* It asks for larger and larger versions. */
uint32_t library_server_version(natsConnection *connection) {
    int parts[3] = {0};
    for (size_t i = 0; i < 3; i++) {
        do {
            parts[i]++;
        } while (parts[i] <= VERSION_PART_MAX &&
                 natsConn_srvVersionAtLeast(connection, parts[0], parts[1], parts[2]));
        parts[i]--;
    }
    return (uint32_t)SERVER_VERSION(parts[0], parts[1], parts[2]);
}

/* ---- messages that come in ---- */

struct library_inbox {
    struct library_inbox_options options;
    natsSubscription *subscriptions[LIBRARY_SUBJECTS_MAX];
    natsMsg **items;
    size_t count, taken, capacity;
};

static bool add(struct library_inbox *inbox, natsMsg *message) {
    if (inbox->count == inbox->capacity) {
        size_t capacity = inbox->capacity > 0 ? 2 * inbox->capacity : MESSAGES_AT_FIRST;
        natsMsg **items = reallocarray(inbox->items, capacity, sizeof(natsMsg *));
        if (items == NULL) {
            return false;
        }
        inbox->items = items;
        inbox->capacity = capacity;
    }
    inbox->items[inbox->count++] = message;
    return true;
}

/* Without memory the message is lost, as it would be anywhere in the library: its waiter has a
 * deadline. */
static void filter(natsConnection *connection, natsMsg **message, void *context) {
    (void)connection;
    struct library_inbox *inbox = context;
    if (!inbox->options.is_wanted(inbox->options.context, *message)) {
        return;
    }
    if (!add(inbox, *message)) {
        natsMsg_free(*message);
    }
    *message = NULL;
}

bool library_inbox_open(const struct library_inbox_options *options, struct library_inbox **out) {
    struct library_inbox *inbox = calloc(1, sizeof *inbox);
    *out = inbox;
    if (inbox == NULL) {
        return false;
    }
    inbox->options = *options;
    natsConn_setFilterWithClosure(options->connection, filter, inbox);
    for (size_t i = 0; i < LIBRARY_SUBJECTS_MAX; i++) {
        if (options->subjects[i] != NULL &&
            natsConnection_SubscribeSync(&inbox->subscriptions[i], options->connection,
                                         options->subjects[i]) != NATS_OK) {
            return false;
        }
    }
    return true;
}

natsMsg *library_inbox_take(struct library_inbox *inbox) {
    if (inbox == NULL || inbox->taken == inbox->count) {
        return NULL;
    }
    natsMsg *message = inbox->items[inbox->taken++];
    if (inbox->taken == inbox->count) {
        inbox->taken = inbox->count = 0;
    }
    return message;
}

void library_inbox_close(struct library_inbox *inbox) {
    if (inbox == NULL) {
        return;
    }
    natsConn_setFilterWithClosure(inbox->options.connection, NULL, NULL);
    for (size_t i = 0; i < LIBRARY_SUBJECTS_MAX; i++) {
        natsSubscription_Destroy(inbox->subscriptions[i]);
    }
    for (natsMsg *left; (left = library_inbox_take(inbox)) != NULL;) {
        natsMsg_free(left);
    }
    free(inbox->items);
    free(inbox);
}
