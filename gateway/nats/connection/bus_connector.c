/* SPDX-License-Identifier: Apache-2.0 */

#include "bus_connector.h"

#include <stdio.h>
#include <time.h>

enum {
    /* A usual attempt takes a few; on a busy machine a server may be slow to end its greeting. */
    CPU_MS_MAX = 2000,
    CHECK_MS = 100,
};

static void *open_connection(void *context) {
    struct bus_connector *opener = context;
    const natsStatus status = natsConnection_Connect(&opener->connection, opener->options);
    if (status != NATS_OK) {
        opener->is_refused = bus_link_explain(status, opener->where, opener->why);
        opener->connection = NULL;
    }
    nats_ReleaseThreadMemory();
    atomic_store(&opener->has_ended, true);
    reactor_wake(opener->reactor);
    return NULL;
}

bool bus_connector_begin(struct bus_connector *opener) {
    opener->connection = NULL;
    opener->is_refused = false;
    atomic_store(&opener->has_ended, false);
    opener->is_running = pthread_create(&opener->thread, NULL, open_connection, opener) == 0;
    return opener->is_running;
}

bool bus_connector_has_ended(const struct bus_connector *opener) {
    return opener->is_running && atomic_load(&opener->has_ended);
}

static bool is_spinning(const struct bus_connector *opener) {
    clockid_t clock;
    struct timespec used;
    return pthread_getcpuclockid(opener->thread, &clock) == 0 && clock_gettime(clock, &used) == 0 &&
           used.tv_sec * 1000 + used.tv_nsec / 1000000 > CPU_MS_MAX;
}

/* A cancelled thread leaks a socket and its buffers, once per freeze of a server. It spins over
 * poll, which is a cancellation point, so it ends at once. */
bool bus_connector_cancel_if_stuck(struct bus_connector *opener) {
    if (!is_spinning(opener)) {
        return false;
    }
    pthread_cancel(opener->thread);
    return true;
}

static natsConnection *take_result(struct bus_connector *opener, const void *returned) {
    opener->is_running = false;
    if (returned == PTHREAD_CANCELED) {
        snprintf(opener->why, sizeof opener->why, "NATS is unreachable (it stopped answering): %s",
                 opener->where);
    }
    natsConnection *connection = opener->connection;
    opener->connection = NULL;
    return connection;
}

natsConnection *bus_connector_join(struct bus_connector *opener) {
    void *returned;
    pthread_join(opener->thread, &returned);
    return take_result(opener, returned);
}

static struct timespec soon(void) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += CHECK_MS * 1000 * 1000;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

natsConnection *bus_connector_wait(struct bus_connector *opener) {
    for (;;) {
        void *returned;
        const struct timespec until = soon();
        if (pthread_timedjoin_np(opener->thread, &returned, &until) == 0) {
            return take_result(opener, returned);
        }
        (void)bus_connector_cancel_if_stuck(opener);
    }
}
