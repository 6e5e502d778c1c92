/* SPDX-License-Identifier: Apache-2.0 */

/* Connections from which libmicrohttpd must read although there is no event, and the
 * watch that reports a client's end. */

#include "http_internal.h"

#include <sys/epoll.h>

void http_look_later(struct http_connection *connection) {
    if (!connection->is_to_look) {
        connection->is_to_look = true;
        LIST_INSERT_HEAD(&connection->daemon->server->to_look, connection, look_links);
    }
}

enum parley_status http_watch(struct http_connection *connection, uint32_t events) {
    struct reactor *reactor = connection->daemon->server->reactor;
    const uint32_t all = events | EPOLLRDHUP | EPOLLET;
    if (connection->is_watched) {
        return reactor_watch_change(reactor, &connection->watch, all);
    }
    PARLEY_TRY(reactor_watch_add(reactor, &connection->watch, all));
    connection->is_watched = true;
    return PARLEY_OK;
}

/* libmicrohttpd waits for edges, and an end that came together with the last bytes of a request
 * made none of its own: it would not be seen before the idle timeout. A connection whose request
 * waited is read from once more by itself. */
void http_watch_idle(struct http_connection *connection) {
    const struct http_request *request = &connection->request;
    const bool is_closing = request->is_close_after || http_is_live(request) ||
                            (request->connection->head.is_1_0 && !connection->head.is_kept);
    if (connection->has_half_closed) {
        http_look_later(connection);
    } else if (!connection->is_watched && !request->has_waited && !is_closing) {
        (void)http_watch(connection, 0); /* without memory the idle timeout must suffice */
    }
}

void http_look_at_ends(struct http_server *server) {
    struct http_connection *connection;
    while ((connection = LIST_FIRST(&server->to_look)) != NULL) {
        const bool is_waiting = connection->is_active && connection->request.wait != HTTP_WAIT_NONE;
        LIST_REMOVE(connection, look_links);
        connection->is_to_look = false;
        if (!is_waiting && connection->wire.phase != HTTP_WIRE_WHOLE) {
            http_look_again(connection);
        }
    }
}
