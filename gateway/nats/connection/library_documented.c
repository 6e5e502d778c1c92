/* SPDX-License-Identifier: Apache-2.0 */

/* See library.h. This uses nats.h alone. What comes in is given to callbacks, on threads of the
 * library, and waits here for the reactor: a lock, and a wake-up of another thread, per burst of
 * messages. The server's version is not to be had, so that what depends on it is left out. */

#include "library.h"
#include "reactor.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_NAME_MAX = 128, MESSAGES_AT_FIRST = 256 };

/* ---- messages that are sent ---- */

/* Sets the header of a line ("Name: value").  Returns: also an error if there is no colon. */
static natsStatus set_header(natsMsg *message, const char *line, size_t length) {
    char name[HEADER_NAME_MAX];
    const char *colon = memchr(line, ':', length);
    const size_t name_length = colon != NULL ? (size_t)(colon - line) : sizeof name;
    if (name_length >= sizeof name) {
        return NATS_INVALID_ARG;
    }
    memcpy(name, line, name_length);
    name[name_length] = '\0';
    const char *value = colon + 1;
    while (value < line + length && *value == ' ') {
        value++;
    }
    char *copy = strndup(value, (size_t)(line + length - value));
    if (copy == NULL) {
        return NATS_NO_MEMORY;
    }
    const natsStatus status = natsMsgHeader_Add(message, name, copy);
    free(copy);
    return status;
}

/* The first line is the version, the last one is empty. */
static natsStatus set_headers(natsMsg *message, const char *text, size_t length) {
    const char *at = memchr(text, '\n', length);
    while (at != NULL) {
        const char *line = at + 1;
        const size_t left = length - (size_t)(line - text);
        at = memchr(line, '\n', left);
        const size_t line_length = at != NULL ? (size_t)(at - line) : left;
        if (line_length <= 1) { /* "\r" */
            return NATS_OK;
        }
        const natsStatus status = set_header(message, line, line_length - 1);
        if (status != NATS_OK) {
            return status;
        }
    }
    return NATS_OK;
}

natsStatus library_message_create(natsMsg **out, const char *subject, const char *reply,
                                  struct parley_bytes text, size_t headers_bytes) {
    natsStatus status = natsMsg_Create(
        out, subject, reply, headers_bytes < text.length ? text.data + headers_bytes : NULL,
        (int)(text.length - headers_bytes));
    if (status == NATS_OK && headers_bytes > 0) {
        status = set_headers(*out, text.data, headers_bytes);
        if (status != NATS_OK) {
            natsMsg_Destroy(*out);
            *out = NULL;
        }
    }
    return status;
}

void library_message_free(natsMsg *message) {
    natsMsg_Destroy(message);
}

uint32_t library_server_version(natsConnection *connection) {
    (void)connection;
    return 0;
}

/* ---- messages that come in ---- */

struct library_inbox {
    struct library_inbox_options options;
    natsSubscription *subscriptions[LIBRARY_SUBJECTS_MAX];
    atomic_uint users; /* its owner, and each subscription until the library has ended it */

    pthread_mutex_t lock; /* of what is below */
    bool is_closed;
    natsMsg **items;
    size_t count, taken, capacity;
};

static void release(struct library_inbox *inbox) {
    if (atomic_fetch_sub(&inbox->users, 1) != 1) {
        return;
    }
    for (natsMsg *left; (left = library_inbox_take(inbox)) != NULL;) {
        natsMsg_Destroy(left);
    }
    pthread_mutex_destroy(&inbox->lock);
    free(inbox->items);
    free(inbox);
}

/* Called with the lock held. */
static bool add(struct library_inbox *inbox, natsMsg *message) {
    if (inbox->is_closed) {
        return false;
    }
    if (inbox->count == inbox->capacity) {
        const size_t capacity = inbox->capacity > 0 ? 2 * inbox->capacity : MESSAGES_AT_FIRST;
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

/* On a thread of the library. Without memory the message is lost: its waiter has a deadline. */
static void receive(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                    void *context) {
    (void)connection;
    (void)subscription;
    struct library_inbox *inbox = context;
    pthread_mutex_lock(&inbox->lock);
    const bool is_added = add(inbox, message);
    if (is_added && inbox->count == inbox->taken + 1) {
        reactor_wake(inbox->options.reactor);
    }
    pthread_mutex_unlock(&inbox->lock);
    if (!is_added) {
        natsMsg_Destroy(message);
    }
}

static void end(void *context) {
    release(context);
}

/* Adds a subscription whose messages are not limited in number: their waiters limit them. */
static bool subscribe(struct library_inbox *inbox, size_t number) {
    natsSubscription **subscription = &inbox->subscriptions[number];
    atomic_fetch_add(&inbox->users, 1);
    if (natsConnection_Subscribe(subscription, inbox->options.connection,
                                 inbox->options.subjects[number], receive, inbox) != NATS_OK) {
        atomic_fetch_sub(&inbox->users, 1);
        return false;
    }
    if (natsSubscription_SetOnCompleteCB(*subscription, end, inbox) != NATS_OK) {
        return false; /* the inbox then stays for good, which is better than one that is gone */
    }
    return natsSubscription_SetPendingLimits(*subscription, -1, -1) == NATS_OK;
}

bool library_inbox_open(const struct library_inbox_options *options, struct library_inbox **out) {
    struct library_inbox *inbox = calloc(1, sizeof *inbox);
    *out = inbox;
    if (inbox == NULL) {
        return false;
    }
    inbox->options = *options;
    atomic_init(&inbox->users, 1);
    pthread_mutex_init(&inbox->lock, NULL);
    for (size_t i = 0; i < LIBRARY_SUBJECTS_MAX; i++) {
        if (options->subjects[i] != NULL && !subscribe(inbox, i)) {
            return false;
        }
    }
    return true;
}

natsMsg *library_inbox_take(struct library_inbox *inbox) {
    if (inbox == NULL) {
        return NULL;
    }
    natsMsg *message = NULL;
    pthread_mutex_lock(&inbox->lock);
    if (inbox->taken < inbox->count) {
        message = inbox->items[inbox->taken++];
    }
    if (inbox->taken == inbox->count) {
        inbox->taken = inbox->count = 0;
    }
    pthread_mutex_unlock(&inbox->lock);
    return message;
}

/* A callback may be under way: the last user frees the inbox. */
void library_inbox_close(struct library_inbox *inbox) {
    if (inbox == NULL) {
        return;
    }
    pthread_mutex_lock(&inbox->lock);
    inbox->is_closed = true;
    pthread_mutex_unlock(&inbox->lock);
    for (size_t i = 0; i < LIBRARY_SUBJECTS_MAX; i++) {
        natsSubscription_Destroy(inbox->subscriptions[i]);
    }
    release(inbox);
}
