/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Makes a connection to NATS on a separate thread, since that can take arbitrarily long. Everything
 * is called on the reactor's thread. Private to the bus. */

#include <pthread.h>

#include "bus_link.h"

struct bus_connector {
    struct reactor *reactor; /* woken when an attempt has ended */
    natsOptions *options;    /* borrowed, as `where` is, which is for messages */
    const char *where;

    pthread_t thread;
    bool is_running; /* until it is joined */
    atomic_bool has_ended;

    /* The thread's, until it is joined. */
    natsConnection *connection;
    char why[BUS_WHY_MAX]; /* the attempt failed */
    bool is_refused;       /* by a server that answered */
};

/* Returns: false if there is no memory for a thread. */
bool bus_connector_begin(struct bus_connector *opener) PARLEY_MUST_CHECK;
/* Whether an attempt has ended and is to be joined. */
bool bus_connector_has_ended(const struct bus_connector *opener);
/* Cancels an attempt that only burns processor time.  Returns: whether it did: the attempt must be
 * joined. */
bool bus_connector_cancel_if_stuck(struct bus_connector *opener);
/* Returns: a new connection, which the caller destroys; NULL if the attempt failed. */
natsConnection *bus_connector_join(struct bus_connector *opener);
/* As bus_connector_join, for an attempt that may last: at worst two seconds per server. */
natsConnection *bus_connector_wait(struct bus_connector *opener);
