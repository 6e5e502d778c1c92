/* SPDX-License-Identifier: Apache-2.0 */

/* Connections that were handed to libmicrohttpd, until it says that they have begun. It may say so
 * at once or in a later MHD_run: until then the initial state of a connection is kept here, and
 * found by its descriptor. */

#include "http_internal.h"

#include <stdlib.h>
#include <string.h>

struct mhd_arrival *mhd_arrival_expect(struct http_server *server,
                                       const struct acceptor_connection *from) {
    mhd_arrival_lose(server, from->fd); /* libmicrohttpd has closed one of that number, silently */
    struct mhd_arrival *arrival = malloc(sizeof *arrival);
    if (arrival == NULL) {
        return NULL;
    }
    *arrival = (struct mhd_arrival){
        .fd = from->fd,
        .peer = peer_of(&from->peer.any),
        .certificate = from->certificate != NULL ? strdup(from->certificate) : NULL,
        .certificate_expires_at = from->certificate_expires_at,
        .opening = from->opening,
    };
    if (from->certificate != NULL && arrival->certificate == NULL) {
        free(arrival);
        return NULL;
    }
    parley_buffer_init(&arrival->pending);
    TAILQ_INSERT_TAIL(&server->arrivals, arrival, links);
    return arrival;
}

struct mhd_arrival *mhd_arrival_take(struct http_server *server, int fd) {
    struct mhd_arrival *arrival;
    TAILQ_FOREACH(arrival, &server->arrivals, links) {
        if (arrival->fd == fd) {
            TAILQ_REMOVE(&server->arrivals, arrival, links);
            break;
        }
    }
    return arrival;
}

void mhd_arrival_destroy(struct http_server *server, struct mhd_arrival *arrival) {
    if (arrival->release_kept != NULL) {
        arrival->release_kept(arrival->kept);
    }
    server->kept_bytes -= arrival->pending.length;
    parley_buffer_finish(&arrival->pending);
    free(arrival->certificate);
    free(arrival);
}

void mhd_arrival_lose(struct http_server *server, int fd) {
    struct mhd_arrival *arrival = mhd_arrival_take(server, fd);
    if (arrival != NULL) {
        acceptor_release(server->acceptor, arrival->opening);
        mhd_arrival_destroy(server, arrival);
    }
}

void mhd_arrivals_stop(struct http_server *server) {
    struct mhd_arrival *first;
    while ((first = TAILQ_FIRST(&server->arrivals)) != NULL) {
        mhd_arrival_lose(server, first->fd);
    }
}
