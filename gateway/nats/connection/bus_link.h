/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The data that a bus needs besides a nats.c connection: its options, the reason why there is no
 * connection, in words, and the subjects that the server does not permit. Private to the bus. */

#include <nats/nats.h>
#include <stdatomic.h>

#include "bus.h"

#define BUS_WHY_MAX 400

/* Sets servers, token and name. User names and passwords are percent-decoded, which nats.c does not
 * do; one tls:// makes all connections TLS, since nats.c ignores schemes. */
natsStatus bus_link_set(natsOptions *options, const struct bus_options *wanted);

/* Why a connection attempt that ended with `status` on this thread failed: half a sentence without
 * secrets.  Returns: whether a server refused it. */
bool bus_link_explain(natsStatus status, const char *where, char out[BUS_WHY_MAX]);

/* ---- subjects that the server does not permit ---- */

/* Permission violations are reported on a thread of the library, perhaps after the connection's
 * end. So they are stored in a record that is looked up in a list, under a lock. Of the violations
 * that come before they are taken, each text is stored once, up to BUS_VIOLATION_COUNT_MAX. */
enum {
    BUS_VIOLATION_COUNT_MAX = 16,
    BUS_VIOLATION_MAX = 256, /* the length to which nats.c cuts an error */
};

struct bus_violation {
    struct reactor *reactor;
    const char *ignored; /* a subject whose violations do not matter; NULL if there is none.
                            Borrowed */
    atomic_size_t count;
    char texts[BUS_VIOLATION_COUNT_MAX][BUS_VIOLATION_MAX];
    struct bus_violation *next;
};

/* Registers it, and makes it the options' error handler.  Owns: the caller embeds it, zeroed at
 * first, and keeps it until bus_violation_remove. */
natsStatus bus_violation_add(struct bus_violation *violation, struct reactor *reactor,
                             const char *ignored, natsOptions *options);
/* Harmless when it was not added. */
void bus_violation_remove(struct bus_violation *violation);
/* Takes one of the violations.  Returns: false if there is none. */
bool bus_violation_take(struct bus_violation *violation, bool *out_is_publish,
                        char subject[BUS_VIOLATION_MAX]);
