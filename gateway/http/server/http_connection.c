/* SPDX-License-Identifier: Apache-2.0 */

/* A connection from its first request to its end, and the actions of its client in that time.
 *
 * A client may close its sending half as soon as its request is sent, and read the answer on the
 * other one. That looks like one that has closed the whole connection until something is written
 * to it, so neither cancels an answer: mhd_recv.c shows libmicrohttpd no end before the answer, and
 * the handler of a stream is asked to write something (http_handler.half_closed).
 *
 * It deliberately calls libmicrohttpd only by http_look_again. */

#include "http_internal.h"
#include "live_response.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* ---- the client's end ---- */

/* Whether the client of a request that waits can still read shows only when something is written to
 * it: an interim answer, which every client of HTTP/1.1 skips. A client that has disconnected
 * answers it with a reset. (100 and not 102: some clients skip no other.) */
static void ask_client(struct http_connection *connection) {
    static const struct parley_bytes interim = {"HTTP/1.1 100 Continue\r\n\r\n", 25};
    const struct http_request *request = &connection->request;
    if (request->wait == HTTP_WAIT_ANSWER && connection->daemon->kind == HTTP_STREAMS &&
        !connection->head.is_1_0) {
        (void)send(connection->watch.fd, interim.data, interim.length, MSG_DONTWAIT | MSG_NOSIGNAL);
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
    } else if (connection->is_active && !http_is_live(request)) {
        ask_client(connection);
    }
}

/* The client of a request that waits has closed both halves, or is unreachable. */
static void lose_client(struct http_request *request) {
    const bool is_stream = request->connection->daemon->kind == HTTP_STREAMS;
    request->is_gone = true;
    if (request->wait == HTTP_WAIT_SOURCE || (request->wait == HTTP_WAIT_ANSWER && is_stream)) {
        http_go_on(request);
    }
}

static void on_client_event(struct reactor_watch *watch, uint32_t events) {
    struct http_connection *connection = OWNER_OF(watch, struct http_connection, watch);
    struct http_request *request = &connection->request;
    if ((events & EPOLLRDHUP) != 0) {
        note_half_close(connection);
    }
    if (!connection->is_active) {
        return;
    }
    if (http_is_live(request)) {
        live_response_ready(request, events);
    } else if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
        lose_client(request);
    }
}

/* ---- lifecycle ---- */

enum parley_status http_connection_init(struct http_connection *connection,
                                        struct mhd_daemon *daemon, struct MHD_Connection *mhd,
                                        struct mhd_arrival *arrival) {
    *connection = (struct http_connection){
        .daemon = daemon,
        .mhd = mhd,
        .next_fd = -1,
        .watch = {.ready = on_client_event, .fd = arrival->fd},
        .peer = arrival->peer,
        .opening = arrival->opening,
        .certificate = arrival->certificate,
        .certificate_expires_at = arrival->certificate_expires_at,
        .kept = arrival->kept,
        .release_kept = arrival->release_kept,
        .wire = {.pending = arrival->pending},
    };
    arrival->certificate = NULL;
    arrival->kept = NULL;
    arrival->release_kept = NULL;
    parley_buffer_init(&arrival->pending);
    parley_buffer_init(&connection->headers);
    parley_buffer_init(&connection->held);
    parley_buffer_init(&connection->unsent);
    ASAN_POISON_MEMORY_REGION(&connection->request, sizeof connection->request);
    http_head_init(&connection->head);
    TAILQ_INSERT_TAIL(&daemon->server->connections, connection, links);
    return mhd_recv_open(connection);
}

void http_connection_keep(struct http_connection *connection, void *kept,
                          void (*release)(void *kept)) {
    if (connection->release_kept != NULL) {
        connection->release_kept(connection->kept);
    }
    connection->kept = kept;
    connection->release_kept = release;
}

void http_connection_finish(struct http_connection *connection) {
    struct http_server *server = connection->daemon->server;
    http_connection_keep(connection, NULL, NULL);
    free(connection->certificate);
    if (connection->is_watched) {
        reactor_watch_remove(server->reactor, &connection->watch);
    }
    if (connection->is_to_look) {
        LIST_REMOVE(connection, look_links);
    }
    TAILQ_REMOVE(&server->connections, connection, links);
    http_deadline_forget(connection);
    mhd_recv_close(connection);
    http_head_finish(&connection->head);
    parley_buffer_finish(&connection->headers);
    http_forget_held(connection);
    ASAN_UNPOISON_MEMORY_REGION(&connection->request, sizeof connection->request);
}
