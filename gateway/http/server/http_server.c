/* SPDX-License-Identifier: Apache-2.0 */

/* The server: libmicrohttpd's callbacks, its daemons' turns on the reactor, and lifecycle.
 * Connections come from acceptor.c, and http_request.c tracks the event for which a request waits.
 *
 * It deliberately does not depend on routes, problems or tokens, and logs nothing. */

#include "http.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <microhttpd.h>
#include <sodium.h>

#include "http_answer.h"
#include "mhd_daemon.h"
#include "http_internal.h"
#include "live_response.h"

enum {
    RUNS_A_TURN = 8,
    LINGERING_MAX = 64, /* of connections that are refused */
};

/* ---- refusing ---- */

static void refuse(struct http_request *request, unsigned status, const char *fault) {
    const struct http_options *options = &http_server_of(request)->options;
    http_close_after(request);
    if (options->refuse != NULL) {
        options->refuse(request, status, fault);
    }
    http_respond(request, status, NULL, PARLEY_BYTES(""));
}

/* The framing of its body cannot be trusted, or it came too slowly: the data before that counts,
 * but this is not the end of a message, and the data after it is not a request. */
static void break_body(struct http_request *request, const struct mhd_recv *wire) {
    request->has_ended = true;
    if (request->live > LIVE_HEAD) {
        live_response_break_off(request);
        return;
    }
    if (http_is_live(request)) {
        live_response_take_back(request);
    }
    http_answer_last(request);
    refuse(request, wire->fault_status, wire->fault);
}

static enum MHD_Result begin_request(struct http_request *request) {
    struct http_server *server = http_server_of(request);
    const struct http_head *head = &request->connection->head;
    if (head->fault != NULL) {
        refuse(request, head->status, head->fault);
        return http_answer_send(request);
    }
    server->begin(server->context, request);
    /* An answer here closes the connection after it, so it is given here only to those whose
     * body cannot or need not be read first. */
    bool is_at_once = request->content_length != 0 &&
                      (request->connection->head.expects_continue || request->is_close_after);
    if (!http_may_answer(request) || !is_at_once) {
        return MHD_YES;
    }
    request->connection->is_cut = true;
    return http_answer_send(request);
}

/* ---- libmicrohttpd's callbacks ---- */

static struct http_connection *connection_of(struct MHD_Connection *mhd) {
    return MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static enum MHD_Result handle(void *context, struct MHD_Connection *mhd, const char *target,
                              const char *method, const char *version, const char *data,
                              size_t *size, void **slot) {
    (void)context, (void)target, (void)method, (void)version; /* mhd_recv.c made them up */
    struct http_request *request = *slot;
    if (request == NULL) {
        struct http_connection *connection = connection_of(mhd);
        if (connection == NULL || connection->wire.phase == HTTP_WIRE_HEAD) {
            return MHD_NO; /* there was no memory for it, or it did not come through mhd_recv.c */
        }
        connection->daemon->server->has_moved = true;
        request = http_request_open(connection);
        *slot = request;
        return begin_request(request);
    }
    http_server_of(request)->has_moved = true;
    if (request->has_failed) {
        return MHD_NO;
    }
    if (*size > 0) {
        const struct parley_bytes given = {data, *size};
        const struct parley_bytes bytes = mhd_recv_piece(request->connection, given);
        *size = 0;
        request->received_length += (int64_t)bytes.length;
        http_server_of(request)->totals.received_bytes += bytes.length;
        return http_take_body(request, bytes) == PARLEY_OK ? MHD_YES : MHD_NO;
    }
    if (request->connection->wire.fault != NULL && !request->has_ended) {
        break_body(request, &request->connection->wire);
    }
    if (http_take_end(request) != PARLEY_OK) {
        return MHD_NO;
    }
    return http_may_answer(request) ? http_answer_send(request) : MHD_YES;
}

static void complete(void *context, struct MHD_Connection *mhd, void **slot,
                     enum MHD_RequestTerminationCode code) {
    (void)context;
    (void)mhd;
    struct http_request *request = *slot;
    if (request == NULL) {
        return; /* it never had a whole head */
    }
    *slot = NULL;
    http_server_of(request)->has_moved = true;
    http_answer_close(request);
    struct http_connection *connection = request->connection;
    const bool is_sent =
        code == MHD_REQUEST_TERMINATED_COMPLETED_OK && request->answer == HTTP_ANSWER_GIVEN;
    http_request_close(request, is_sent || request->live == LIVE_SENT);
    if (is_sent) {
        mhd_recv_next(connection);
    }
}

static struct http_connection *create_connection(struct mhd_daemon *daemon,
                                                 struct MHD_Connection *mhd,
                                                 struct mhd_arrival *arrival) {
    struct http_connection *connection = malloc(sizeof *connection);
    if (connection != NULL && http_connection_init(connection, daemon, mhd, arrival) != PARLEY_OK) {
        http_connection_finish(connection);
        free(connection);
        return NULL;
    }
    return connection;
}

/* Without memory `slot` stays NULL, and the connection is closed at its first request. Its address
 * has one less from now on, since nothing remembers that later. */
static void open_connection(struct mhd_daemon *daemon, struct MHD_Connection *mhd, void **slot) {
    struct http_server *server = daemon->server;
    server->has_moved = true;
    const int fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    struct mhd_arrival *arrival = mhd_arrival_take(server, fd);
    if (arrival == NULL) {
        *slot = NULL; /* no request of it is served, and the trial at the start has failed */
        return;
    }
    struct http_connection *connection = create_connection(daemon, mhd, arrival);
    if (connection == NULL) {
        tally_leave(arrival->opening);
    }
    mhd_arrival_destroy(server, arrival);
    *slot = connection;
}

/* It is expected.  `next`: its descriptor is libmicrohttpd's from now on. */
static void hand_over(struct http_server *server, enum mhd_daemon_kind kind,
                      const struct acceptor_connection *next) {
    if (!mhd_daemon_add(&server->daemons[kind], next)) {
        mhd_arrival_lose(server, next->fd); /* it is closed, and libmicrohttpd will not say so */
    }
}

static void serve(void *context, const struct acceptor_connection *connection) {
    struct http_server *server = context;
    if (mhd_arrival_expect(server, connection) == NULL) {
        close(connection->fd);
        acceptor_release(server->acceptor, connection->opening);
        return;
    }
    hand_over(server, HTTP_REQUESTS, connection);
}

/* It is not closed, but continues in the other daemon.  Returns: whether it does. */
static bool move(struct http_connection *connection) {
    struct http_server *server = connection->daemon->server;
    struct acceptor_connection next;
    if (!mhd_handover_next(connection, &next)) {
        return false;
    }
    struct mhd_arrival *arrival = mhd_arrival_expect(server, &next);
    if (arrival == NULL) {
        close(next.fd);
        return false;
    }
    mhd_handover_give(connection, arrival);
    hand_over(server, HTTP_STREAMS, &next);
    return true;
}

/* Its client has disconnected, or has its answer. */
static void let_go(struct http_server *server, struct http_connection *connection) {
    struct tally_entry *opening = connection != NULL ? connection->opening : NULL;
    const bool is_lingering = connection != NULL && connection->is_cut &&
                              http_linger(server, connection->watch.fd, opening);
    if (!is_lingering) {
        acceptor_release(server->acceptor, opening);
    }
}

static void notify(void *context, struct MHD_Connection *mhd, void **slot,
                   enum MHD_ConnectionNotificationCode code) {
    struct mhd_daemon *daemon = context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        open_connection(daemon, mhd, slot);
        return;
    }
    struct http_connection *connection = *slot;
    if (connection == NULL || !move(connection)) {
        let_go(daemon->server, connection);
    }
    if (connection != NULL) {
        http_connection_finish(connection);
        free(connection);
        *slot = NULL;
    }
}

/* ---- the server ---- */

/* The answer leaves before the request was read, so its client may still be sending it. The server
 * waits for few of the refused clients: they are refused to save the cost of waiting. */
static void refuse_connection(void *context, const struct acceptor_connection *connection) {
    struct http_server *server = context;
    const struct parley_bytes answer = server->options.full_answer;
    server->totals.refused_connections++;
    const ssize_t sent =
        send(connection->fd, answer.data, answer.length, MSG_DONTWAIT | MSG_NOSIGNAL);
    const bool is_lingering = sent == (ssize_t)answer.length &&
                              server->lingering_count < LINGERING_MAX &&
                              http_linger(server, connection->fd, NULL);
    close(connection->fd);
    if (!is_lingering) {
        acceptor_release(server->acceptor, NULL);
    }
}

/* It reads once from each connection. Messages from bodies leave in one write per turn, so the turn
 * ends when there is enough of it, before results must wait in a file. */
static void run_daemon(struct mhd_daemon *daemon) {
    struct http_server *server = daemon->server;
    for (unsigned i = 0; i < RUNS_A_TURN; i++) {
        server->has_moved = false;
        mhd_recv_enter(server);
        mhd_daemon_run(daemon);
        mhd_recv_leave();
        if (!server->has_moved || server->turn_bytes >= HTTP_BODY_PIECE_BYTES ||
            !mhd_daemon_has_more(daemon)) {
            break;
        }
    }
}

static void run_turn(struct reactor_turn *turn) {
    struct http_server *server = OWNER_OF(turn, struct http_server, turn);
    http_go_on_with_queue(server);
    int64_t now_ms = reactor_now_ms(server->reactor);
    server->turn_bytes = 0;
    for (size_t i = 0; i < HTTP_DAEMON_COUNT; i++) {
        struct mhd_daemon *daemon = &server->daemons[i];
        if (daemon->is_due || (daemon->due_ms >= 0 && daemon->due_ms <= now_ms)) {
            run_daemon(daemon);
        }
    }
    http_look_at_ends(server);
    http_go_on_with_queue(server); /* so that their results leave in this turn */
}

static int64_t turn_timeout_ms(struct reactor_turn *turn) {
    struct http_server *server = OWNER_OF(turn, struct http_server, turn);
    int64_t timeout_ms = TAILQ_EMPTY(&server->woken) ? -1 : 0;
    for (size_t i = 0; i < HTTP_DAEMON_COUNT; i++) {
        const int64_t wanted_ms = mhd_daemon_timeout_ms(&server->daemons[i]);
        if (wanted_ms >= 0 && (timeout_ms < 0 || wanted_ms < timeout_ms)) {
            timeout_ms = wanted_ms;
        }
    }
    return timeout_ms;
}

static enum parley_status start_server(struct http_server *server, int listen_fd) {
    const struct http_options *options = &server->options;
    static const struct mhd_daemon_callbacks callbacks = {handle, complete, notify};
    const size_t memory_bytes[] = {[HTTP_REQUESTS] = options->request_memory_bytes,
                                   [HTTP_STREAMS] = options->stream_memory_bytes};
    for (size_t i = 0; i < HTTP_DAEMON_COUNT; i++) {
        PARLEY_TRY(mhd_daemon_start(&server->daemons[i], memory_bytes[i], &callbacks));
    }
    return acceptor_create(server->reactor,
                           &(struct acceptor_options){
                               .listen_fd = listen_fd,
                               .connections_max = options->connections_max,
                               .idle_timeout_s = options->idle_timeout_s,
                               .limits = options->limits,
                               .tls = options->tls,
                               .handshake_timeout_ms = options->tls_handshake_timeout_ms,
                               .serve = serve,
                               .refuse = refuse_connection,
                               .context = server,
                           },
                           &server->acceptor);
}

enum parley_status http_server_create(struct reactor *reactor, int listen_fd,
                                      const struct http_options *options, http_begin_fn *begin,
                                      void *context, struct http_server **out) {
    struct http_server *server = calloc(1, sizeof *server);
    if (server == NULL) {
        return PARLEY_E_MEMORY;
    }
    server->reactor = reactor;
    server->options = *options;
    server->begin = begin;
    server->context = context;
    server->turn = (struct reactor_turn){.run = run_turn, .timeout_ms = turn_timeout_ms};
    TAILQ_INIT(&server->arrivals);
    TAILQ_INIT(&server->connections);
    TAILQ_INIT(&server->woken);
    LIST_INIT(&server->to_look);
    live_response_start(server);
    http_linger_start(server);
    http_deadlines_start(server);
    mhd_recv_start(server);
    for (size_t i = 0; i < HTTP_DAEMON_COUNT; i++) {
        server->daemons[i] =
            (struct mhd_daemon){.server = server, .kind = (enum mhd_daemon_kind)i, .due_ms = -1};
    }
    enum parley_status status = sodium_init() >= 0 ? start_server(server, listen_fd) : PARLEY_E_IO;
    randombytes_buf(server->random.seed, sizeof server->random.seed);
    if (status != PARLEY_OK) {
        http_server_destroy(server);
        return status;
    }
    reactor_turn_add(reactor, &server->turn);
    *out = server;
    return PARLEY_OK;
}

void http_server_drain(struct http_server *server) {
    server->is_draining = true;
}

void http_server_bound_bodies(struct http_server *server, uint64_t body_bytes_max,
                              size_t body_rate_bytes) {
    server->options.body_bytes_max = body_bytes_max;
    server->options.body_rate_bytes = body_rate_bytes;
    mhd_recv_describe_bound(server);
    http_deadlines_describe_bound(server);
}

size_t http_server_active_count(const struct http_server *server) {
    return server->active_count + acceptor_closing_count(server->acceptor);
}

struct http_totals http_server_totals(const struct http_server *server) {
    const struct tls_totals tls = acceptor_tls_totals(server->acceptor);
    struct http_totals totals = server->totals;
    totals.handshakes_done = tls.handshakes_done;
    totals.handshakes_failed = tls.handshakes_failed;
    return totals;
}

size_t http_server_connection_count(const struct http_server *server) {
    return acceptor_open_count(server->acceptor);
}

void http_server_destroy(struct http_server *server) {
    if (server == NULL) {
        return;
    }
    if (server->acceptor != NULL) {
        acceptor_stop(server->acceptor);
    }
    /* A daemon that is stopped while a connection is suspended aborts the process. */
    struct http_connection *connection;
    TAILQ_FOREACH(connection, &server->connections, links) {
        if (connection->is_active) {
            http_go_on(&connection->request);
        }
    }
    for (size_t i = 0; i < HTTP_DAEMON_COUNT; i++) {
        struct mhd_daemon *daemon = &server->daemons[i];
        mhd_daemon_stop(daemon);
    }
    mhd_arrivals_stop(server);
    reactor_timer_clear(server->reactor, &server->held_up_timer);
    http_deadlines_stop(server);
    http_linger_stop(server);
    acceptor_destroy(server->acceptor);
    free(server->by_fd);
    free(server);
}
