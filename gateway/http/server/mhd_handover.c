/* SPDX-License-Identifier: Apache-2.0 */

/* Moves a connection from the daemon for requests, where each begins, to the one for streams, when
 * a request on it stays open: those of the first daemon would wait for each other's resumes (ADR
 * 3).
 *
 *     its head is whole ──▶ mhd_handover_begin: the socket has a second descriptor, and
 *     libmicrohttpd, which has not seen the head, is shown the connection's end
 *       ──▶ it closes its descriptor ──▶ mhd_handover_next: the other daemon gets the second one
 *       ──▶ mhd_handover_give: and the state and received data of the connection
 *
 * There the head is read once more. Without a descriptor for it a request is served where it is. */

#include "http_internal.h"

#include <fcntl.h>
#include <unistd.h>

bool mhd_handover_begin(struct http_connection *connection) {
    struct http_server *server = connection->daemon->server;
    if (server->options.stays_open == NULL || connection->daemon->kind == HTTP_STREAMS ||
        !server->options.stays_open(&connection->head)) {
        return false;
    }
    connection->next_fd = fcntl(connection->watch.fd, F_DUPFD_CLOEXEC, 0);
    return connection->next_fd >= 0;
}

bool mhd_handover_next(struct http_connection *connection, struct acceptor_connection *out) {
    struct acceptor *acceptor = connection->daemon->server->acceptor;
    if (connection->next_fd < 0) {
        return false;
    }
    if (parley_buffer_status(&connection->wire.pending) != PARLEY_OK) {
        close(connection->next_fd); /* its head is lost */
        return false;
    }
    acceptor_renumber(acceptor, connection->watch.fd, connection->next_fd);
    *out = (struct acceptor_connection){
        .fd = connection->next_fd,
        .certificate = connection->certificate,
        .certificate_expires_at = connection->certificate_expires_at,
        .peer.v4.sin_family = AF_INET, /* mhd_handover_give knows the real one */
        .peer_length = sizeof out->peer.v4,
        .opening = connection->opening,
    };
    return true;
}

void mhd_handover_give(struct http_connection *connection, struct mhd_arrival *arrival) {
    arrival->peer = connection->peer;
    arrival->kept = connection->kept;
    arrival->release_kept = connection->release_kept;
    connection->kept = NULL;
    connection->release_kept = NULL;
    arrival->pending = connection->wire.pending; /* still counted in kept_bytes */
    parley_buffer_init(&connection->wire.pending);
}
