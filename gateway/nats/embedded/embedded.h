/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The nats-server that parley brings along: a child on loopback and a free port, with its store in
 * the data folder. It is restarted when it dies, killed when it no longer acknowledges, and dies
 * with parley, even when that is killed by SIGKILL. All calls on the thread of `reactor`, which
 * must be the one that lives as long as the process (the kernel ends the child with that thread).
 *
 * The data folder holds: lock (held with flock by parley and by the child: a folder is free when
 * both have ended; not empty while a child runs, and after one that did not end by itself),
 * nats.conf and nats.url (mode 0600: they bear the token), nats.log, store/. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <parley/status.h>

#include "reactor.h"

struct embedded;

struct embedded_options {
    const char *data;   /* an existing folder */
    const char *binary; /* NULL: nats-server, found in PATH, /usr/sbin and /usr/local/bin */
};

struct embedded_events {
    /* The child died, or could not be started. It is tried again nevertheless, less and less
     * often: `error` is for the log. Not called for an end that embedded_replace asked for. */
    void (*trouble)(void *context, const char *error);
    void (*restarted)(void *context); /* another child was started */
    /* nats-server could not read the last `bytes` of a stream's files, and has dropped them. Only
     * within embedded_create, and only of nats-server before 2.10. `stream` is borrowed. */
    void (*damaged)(void *context, const char *stream, uint64_t bytes);
    void *context;
};

/* Locks the folder, writes the configuration and starts the child; returns when it answers, or
 * after 10 s. Where the last child did not end by itself, a nats-server before 2.10 is started
 * twice (docs/adr/0036).  `error` gets a sentence with the problem and its remedy, when it fails.
 * Returns: PARLEY_E_IO: the folder is held by another parley, nats-server is not installed, it
 * cannot read the store of a newer one, … */
enum parley_status embedded_create(struct reactor *reactor, const struct embedded_options *options,
                                   const struct embedded_events *events, char *error,
                                   size_t error_size, struct embedded **out) PARLEY_MUST_CHECK;

/* Whether embedded_create would find a nats-server.  `error` as there. */
bool embedded_is_installed(char *error, size_t error_size);

/* nats://127.0.0.1:PORT, constant over all lives of the child.  Owns: borrowed. */
const char *embedded_url(const struct embedded *embedded);
const char *embedded_token(const struct embedded *embedded);

/* The child no longer acknowledges: kills it (SIGKILL) and starts another. Harmless while a start
 * is under way. */
void embedded_replace(struct embedded *embedded);

/* Sends SIGTERM, and SIGKILL after five seconds; waits for the child's end, unlocks the folder. */
void embedded_destroy(struct embedded *embedded);
