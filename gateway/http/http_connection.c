/* SPDX-License-Identifier: Apache-2.0 */

/* A connection from its first request to its end, and what its client does with it meanwhile.
 *
 * A client may close its sending half as soon as its request is sent, and read the answer on the
 * other one. That looks like one that has closed the whole connection until something is written
 * to it, so neither takes an answer away: http_wire.c shows libmicrohttpd no end before the answer,
 * and the handler of a stream is asked to say something (http_handler.half_closed).
 *
 * It deliberately calls nothing of libmicrohttpd's but by http_look_again. */

#include "http_internal.h"

#include <stddef.h>
#include <sys/epoll.h>

/* ---- the client's end ---- */

void http_look_later(struct http_connection *connection) {
    if (!connection->is_to_look) {
        connection->is_to_look = true;
        LIST_INSERT_HEAD(&connection->daemon->server->to_look, connection, look_links);
    }
}

static void note_half_close(struct http_connection *connection) {
    struct http_request *request = &connection->request;
    if (connection->has_half_closed) {
        return;
    }
    connection->has_half_closed = true;
    if (!connection->is_active || request->wait == HTTP_WAIT_NONE) {
        http_look_later(connection);
    }
    if (connection->is_active && request->handler != NULL &&
        request->handler->half_closed != NULL && !request->is_gone) {
        request->handler->half_closed(request->state, request);
    }
}

/* The client of a request that waits has closed both halves, or is unreachable. */
static void lose_client(struct http_request *request) {
    const struct http_daemon *daemon = request->connection->daemon;
    const bool is_stream = daemon == &daemon->server->daemons[HTTP_STREAMS];
    request->is_gone = true;
    if (request->wait == HTTP_WAIT_SOURCE || (request->wait == HTTP_WAIT_ANSWER && is_stream)) {
        http_go_on(request);
    }
}

static void client_stirred(struct reactor_watch *watch, uint32_t events) {
    struct http_connection *connection = OWNER_OF(watch, struct http_connection, watch);
    struct http_request *request = &connection->request;
    if ((events & EPOLLRDHUP) != 0) {
        note_half_close(connection);
    }
    if (!connection->is_active) {
        return;
    }
    if (request->is_live) {
        live_response_ready(request, events);
    } else if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
        lose_client(request);
    }
}

enum parley_status http_connection_watch(struct http_connection *connection, uint32_t events) {
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
void http_connection_rest(struct http_connection *connection) {
    const struct http_request *request = &connection->request;
    const bool is_closing = request->is_close_after || request->is_live ||
                            (request->is_1_0 && !connection->head.is_kept);
    if (connection->has_half_closed) {
        http_look_later(connection);
    } else if (!connection->is_watched && !request->has_waited && !is_closing) {
        (void)http_connection_watch(connection, 0); /* without memory the idle timeout has to do */
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

/* ---- life ---- */

enum parley_status http_connection_init(struct http_connection *connection,
                                        struct http_daemon *daemon, struct MHD_Connection *mhd,
                                        int fd) {
    *connection = (struct http_connection){
        .daemon = daemon,
        .mhd = mhd,
        .watch = {.ready = client_stirred, .fd = fd},
    };
    parley_buffer_init(&connection->headers);
    parley_buffer_init(&connection->held);
    parley_buffer_init(&connection->unsent);
    ASAN_POISON_MEMORY_REGION(&connection->request, sizeof connection->request);
    http_head_init(&connection->head);
    TAILQ_INSERT_TAIL(&daemon->server->connections, connection, links);
    return http_wire_open(connection);
}

void http_connection_finish(struct http_connection *connection) {
    struct http_server *server = connection->daemon->server;
    if (connection->is_watched) {
        reactor_watch_remove(server->reactor, &connection->watch);
    }
    if (connection->is_to_look) {
        LIST_REMOVE(connection, look_links);
    }
    TAILQ_REMOVE(&server->connections, connection, links);
    http_wire_close(connection);
    http_head_finish(&connection->head);
    parley_buffer_finish(&connection->headers);
    http_forget_held(connection);
    ASAN_UNPOISON_MEMORY_REGION(&connection->request, sizeof connection->request);
}
