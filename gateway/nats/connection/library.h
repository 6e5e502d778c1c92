/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What parley needs of nats.c and nats.h does not offer, or offers at several times the cost. It is
 * there twice (ADR 49): library_exported.c calls functions that the shared object exports and the
 * header does not declare, and library_documented.c does the same by nats.h alone. CMake takes the
 * first if it finds that it works with the nats.c at hand, else the second
 * (PARLEY_NATS_FUNCTIONS). Only bus*.c include this. */

#include <parley/arena.h>
#include <stdint.h>

#include <nats/nats.h>

/* Makes a message of headers in wire format, of `headers_bytes`, and payload, one after the other
 * in `text`, which is copied.  `reply`: NULL if there is none.  Owns: library_message_free. */
natsStatus library_message_create(natsMsg **out, const char *subject, const char *reply,
                                  struct parley_bytes text, size_t headers_bytes);

/* Frees a message, and nothing if it is NULL. */
void library_message_free(natsMsg *message);

/* Returns the version in the server's INFO (server_version.h); 0 if that cannot be read. */
uint32_t library_server_version(natsConnection *connection);

/* ---- messages that come in ---- */

enum { LIBRARY_SUBJECTS_MAX = 2 };

/* What is to be received, and who is told. All but the subjects is borrowed until
 * library_inbox_close. */
struct library_inbox_options {
    natsConnection *connection;
    const char *subjects[LIBRARY_SUBJECTS_MAX]; /* a NULL is passed over */
    /* Whether a message is for this inbox, and not for another subscription of the connection.
     * Threads: called within natsConnection_ProcessReadEvent. It may not be asked at all. */
    bool (*is_wanted)(void *context, natsMsg *message);
    void *context;
    struct reactor *reactor; /* is woken when a message has come on another thread */
};

struct library_inbox;

/* Subscribes. Statuses of the server ("no responders") come as messages, too, which
 * natsSubscription_NextMsg would swallow.  Returns: false without memory, or if the connection has
 * ended; library_inbox_close is due in any case. */
bool library_inbox_open(const struct library_inbox_options *options,
                        struct library_inbox **out) PARLEY_MUST_CHECK;

/* Returns the oldest message that has come, or NULL.  Owns: library_message_free.
 * Threads: the reactor's, outside of the library. */
natsMsg *library_inbox_take(struct library_inbox *inbox);

/* Ends the subscriptions and frees what has not been taken. Nothing happens if it is NULL. */
void library_inbox_close(struct library_inbox *inbox);
