/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What bus.c needs besides a connection of nats.c: the options for one, in words why there is none,
 * and what a server forbids on one. Only bus.c includes this. */

#include <nats/nats.h>
#include <stdatomic.h>

#include "bus.h"

#define BUS_WHY_MAX 400

/* Sets servers, token and name. User names and passwords are percent-decoded, which nats.c does not
 * do; one tls:// makes all connections TLS, for nats.c ignores schemes. */
natsStatus bus_link_set(natsOptions *options, const struct bus_options *wanted);

/* Why a connection attempt that ended with `status` on this thread failed: half a sentence without
 * secrets.  Returns: whether it was a server that said no. */
bool bus_link_explain(natsStatus status, const char *where, char out[BUS_WHY_MAX]);

/* ---- what a server forbids ---- */

/* Permission violations come on a thread of the library, maybe after the connection's end. So they
 * are put into a mailbox that is looked for in a list, under a lock. Of those that come before
 * they are taken, each text is kept once, and not more than there is room for. */
enum {
    BUS_VIOLATION_COUNT_MAX = 16,
    BUS_VIOLATION_MAX = 256, /* nats.c keeps no more of an error */
};

struct bus_violation {
    struct reactor *reactor;
    const char *ignored; /* a subject that nobody minds; NULL: none.  Borrowed */
    atomic_size_t count;
    char texts[BUS_VIOLATION_COUNT_MAX][BUS_VIOLATION_MAX];
    struct bus_violation *next;
};

/* Registers it, and makes it the options' error handler.
 * Owns: embedded in its owner; zeroed, then initialised once, until bus_violation_remove. */
natsStatus bus_violation_add(struct bus_violation *violation, struct reactor *reactor,
                             const char *ignored, natsOptions *options);
/* Harmless when it was not added. */
void bus_violation_remove(struct bus_violation *violation);
/* Takes one of those that have come.  Returns: false: there is none. */
bool bus_violation_take(struct bus_violation *violation, bool *out_is_publish,
                        char subject[BUS_VIOLATION_MAX]);
