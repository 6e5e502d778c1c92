/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The NATS of the process: the embedded nats-server, or that of --nats; and how to connect to it.
 *
 * Threads: main's; what it says may be read by all. */

#include "embedded.h"
#include "figures.h"
#include "nats_identity.h"

/* Owns: the caller embeds it, zeroed at first; the configuration outlives it. */
struct nats_start {
    struct embedded *embedded; /* NULL with --nats */
    const char *urls;
    const char *shown; /* the same for people, without secrets */
    const char *token; /* NULL for none */
    const char *store; /* where the embedded nats-server stores; NULL with --nats */
    struct nats_identity identity;
    struct figures *figures; /* private */
};

/* Starts the nats-server, or reads the files that say who parley is.  `figures`: the main thread's,
 * which count restarts.  Returns: 0, or the exit status of the program: it has logged why. */
int nats_start_open(struct nats_start *nats, struct reactor *reactor,
                    const struct configuration *configuration, struct figures *figures);
/* Before the reactor is destroyed; safe when it was not opened. */
void nats_start_close(struct nats_start *nats);
