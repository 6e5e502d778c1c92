/* SPDX-License-Identifier: Apache-2.0 */

/* libmicrohttpd, and nobody else knows it. Two of its daemons hang on one reactor: one for
 * requests, one for open streams, because each resume of a connection walks through all the
 * suspended ones of its daemon. Both are driven from outside (MHD_run without waiting);
 * connections come from acceptor.c, and what a request waits for is http_request.c's.
 *
 * It deliberately knows no routes, no problems and no tokens, and logs nothing. */

#include "http.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include <microhttpd.h>
#include <sodium.h>

#include "http_internal.h"

enum {
    POOL_INCREMENT = 1024,
    RUNS_A_TURN = 8,
    BLOCK_1_0_BYTES = 4096, /* of a stream to an HTTP/1.0 client, which is not chunked */
};

void http_suspend(struct http_connection *connection) {
    MHD_suspend_connection(connection->mhd);
}

void http_resume(struct http_connection *connection) {
    MHD_resume_connection(connection->mhd);
    connection->daemon->is_due = true;
}

/* libmicrohttpd 0.9.75 forgets to look at some connections again, until their idle timeout. One
 * that is resumed is looked at. */
void http_look_again(struct http_connection *connection) {
    http_suspend(connection);
    http_resume(connection);
}

const char *http_reason(unsigned status) {
    return MHD_get_reason_phrase_for(status);
}

/* ---- the answer ---- */

static bool add_headers(struct http_request *request, const char *content_type) {
    struct MHD_Response *response = request->response;
    const struct parley_buffer *headers = &request->connection->headers;
    bool is_ok = parley_buffer_status(headers) == PARLEY_OK;
    for (size_t at = 0; is_ok && at < headers->length;) {
        const char *name = headers->data + at;
        const char *value = name + strlen(name) + 1;
        at = (size_t)(value + strlen(value) + 1 - headers->data);
        is_ok = MHD_add_response_header(response, name, value) == MHD_YES;
    }
    if (content_type != NULL) {
        is_ok = is_ok && MHD_add_response_header(response, "Content-Type", content_type) == MHD_YES;
    }
    if (request->is_close_after || http_server_of(request)->is_draining) {
        /* The client does not know yet, and may have sent its next request. */
        request->connection->is_cut = true;
        is_ok = is_ok && MHD_add_response_header(response, "Connection", "close") == MHD_YES;
    }
    return is_ok && MHD_add_response_header(response, "X-Request-Id", request->id) == MHD_YES;
}

/* Without memory there is no answer but to close the connection. */
static void answer(struct http_request *request, unsigned status, const char *content_type,
                   struct MHD_Response *response) {
    request->is_answered = true;
    request->response = response;
    request->status = status;
    if (response == NULL || !add_headers(request, content_type)) {
        request->has_failed = true;
    }
    http_go_on(request);
}

void http_respond(struct http_request *request, unsigned status, const char *content_type,
                  struct parley_bytes body) {
    if (request->is_answered || request->is_live) {
        return;
    }
    size_t length = content_type != NULL ? body.length : 0;
    /* MUST_COPY does not write to it. */
    answer(request, status, content_type,
           MHD_create_response_from_buffer(length, (void *)(uintptr_t)body.data,
                                           MHD_RESPMEM_MUST_COPY));
}

/* HTTP/1.0 knows no chunks and takes a closed connection for the end; a reset it does not. */
static void reset_on_close(const struct http_request *request) {
    const struct linger none = {.l_onoff = 1, .l_linger = 0};
    setsockopt(request->connection->watch.fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
}

static ssize_t read_source(void *context, uint64_t position, char *buffer, size_t size) {
    (void)position;
    struct http_request *request = context;
    http_server_of(request)->has_moved = true;
    request->has_wake = false;
    ssize_t length = request->read(request->state, buffer, size);
    if (length > 0) {
        return length;
    }
    if (length == HTTP_SOURCE_END) {
        if (request->is_1_0) {
            http_look_again(request->connection); /* its end closes the connection */
        }
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    if (length == 0 && !request->is_gone) {
        http_wait(request, HTTP_WAIT_SOURCE);
        if (request->has_wake) {
            http_go_on(request);
        }
        return 0;
    }
    if (request->is_1_0) {
        reset_on_close(request);
    }
    http_look_again(request->connection);
    return MHD_CONTENT_READER_END_WITH_ERROR;
}

void http_respond_stream(struct http_request *request, unsigned status, const char *content_type,
                         ssize_t (*read)(void *state, char *buffer, size_t size)) {
    if (request->is_answered || request->is_live) {
        return;
    }
    request->read = read;
    /* A chunk is written straight into the connection's pool; the block serves HTTP/1.0 alone. */
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, request->is_1_0 ? BLOCK_1_0_BYTES : 1, read_source, request, NULL);
    if (response != NULL && request->is_head) {
        /* libmicrohttpd would end the body that it does not send with a last chunk. */
        MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
    }
    answer(request, status, content_type, response);
}

/* Only from libmicrohttpd's callback. */
static enum MHD_Result send_answer(struct http_request *request) {
    if (request->has_failed) {
        return MHD_NO;
    }
    enum MHD_Result result =
        MHD_queue_response(request->connection->mhd, request->status, request->response);
    MHD_destroy_response(request->response);
    request->response = NULL;
    request->is_queued = result == MHD_YES;
    return result;
}

/* ---- refusing ---- */

static void refuse(struct http_request *request, unsigned status, const char *fault) {
    const struct http_options *options = &http_server_of(request)->options;
    http_close_after(request);
    if (options->refuse != NULL) {
        options->refuse(request, status, fault);
    }
    http_respond(request, status, NULL, PARLEY_BYTES(""));
}

/* The framing of its body cannot be trusted: what came before counts, but this is not the end of a
 * message, and what follows is not a request. */
static void break_body(struct http_request *request, const char *fault) {
    request->has_ended = true;
    if (request->is_live && request->has_begun) {
        live_response_break_off(request);
        return;
    }
    if (request->is_live) {
        live_response_take_back(request);
    }
    if (request->is_answered && request->response != NULL) {
        const enum MHD_Result is_added =
            MHD_add_response_header(request->response, "Connection", "close");
        request->has_failed = request->has_failed || is_added != MHD_YES;
    }
    refuse(request, MHD_HTTP_BAD_REQUEST, fault);
}

static enum MHD_Result begin_request(struct http_request *request) {
    struct http_server *server = http_server_of(request);
    const struct http_head *head = &request->connection->head;
    if (head->fault != NULL) {
        refuse(request, head->status, head->fault);
        return send_answer(request);
    }
    server->begin(server->context, request);
    /* An answer here closes the connection behind it, so it is given here only to those whose
     * body cannot or need not be read first. */
    bool is_at_once =
        request->content_length != 0 && (request->expects_continue || request->is_close_after);
    if (!request->is_answered || !is_at_once) {
        return MHD_YES;
    }
    request->connection->is_cut = true;
    return send_answer(request);
}

/* ---- libmicrohttpd's callbacks ---- */

static struct http_connection *connection_of(struct MHD_Connection *mhd) {
    return MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static enum MHD_Result handle(void *context, struct MHD_Connection *mhd, const char *target,
                              const char *method, const char *version, const char *data,
                              size_t *size, void **slot) {
    (void)context, (void)target, (void)method, (void)version; /* http_wire.c made them up */
    struct http_request *request = *slot;
    if (request == NULL) {
        struct http_connection *connection = connection_of(mhd);
        if (connection == NULL || connection->wire.phase == HTTP_WIRE_HEAD) {
            return MHD_NO; /* there was no memory for it, or it did not come through http_wire.c */
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
        const struct parley_bytes bytes = http_wire_piece(request->connection, given);
        *size = 0;
        request->received_length += (int64_t)bytes.length;
        return http_take_body(request, bytes) == PARLEY_OK ? MHD_YES : MHD_NO;
    }
    if (request->connection->wire.fault != NULL && !request->has_ended) {
        break_body(request, request->connection->wire.fault);
    }
    if (http_take_end(request) != PARLEY_OK) {
        return MHD_NO;
    }
    return request->is_answered ? send_answer(request) : MHD_YES;
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
    if (request->response != NULL) {
        MHD_destroy_response(request->response);
    }
    struct http_connection *connection = request->connection;
    const bool is_sent = code == MHD_REQUEST_TERMINATED_COMPLETED_OK && request->is_queued;
    http_request_close(request, is_sent || request->is_sent);
    if (is_sent) {
        http_wire_next(connection);
    }
}

/* Without memory `slot` stays NULL, and the connection is closed at its first request. */
static void open_connection(struct http_daemon *daemon, struct MHD_Connection *mhd, void **slot) {
    daemon->server->has_taken = true;
    daemon->server->has_moved = true;
    const int fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    struct http_connection *connection = malloc(sizeof *connection);
    if (connection != NULL && http_connection_init(connection, daemon, mhd, fd) != PARLEY_OK) {
        http_connection_finish(connection);
        free(connection);
        connection = NULL;
    }
    *slot = connection;
}

static void notify(void *context, struct MHD_Connection *mhd, void **slot,
                   enum MHD_ConnectionNotificationCode code) {
    struct http_daemon *daemon = context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        open_connection(daemon, mhd, slot);
        return;
    }
    struct http_connection *connection = *slot;
    const bool is_lingering = connection != NULL && connection->is_cut &&
                              http_linger(daemon->server, connection->watch.fd);
    if (!is_lingering) {
        acceptor_release(daemon->server->acceptor);
    }
    if (connection != NULL) {
        http_connection_finish(connection);
        free(connection);
        *slot = NULL;
    }
}

/* ---- the server ---- */

static void serve(void *context, const struct acceptor_connection *connection) {
    struct http_server *server = context;
    struct http_daemon *daemon =
        &server->daemons[connection->is_stream ? HTTP_STREAMS : HTTP_REQUESTS];
    server->has_taken = false;
    daemon->is_due = true;
    enum MHD_Result result = MHD_add_connection(daemon->mhd, connection->fd, &connection->peer.any,
                                                connection->peer_length);
    if (result != MHD_YES && !server->has_taken) {
        acceptor_release(server->acceptor); /* it closed the socket and will not say so */
    }
}

static void note_events(struct reactor_watch *watch, uint32_t events) {
    (void)events;
    struct http_daemon *daemon = OWNER_OF(watch, struct http_daemon, watch);
    daemon->is_due = true;
}

static bool has_more(const struct http_daemon *daemon) {
    MHD_UNSIGNED_LONG_LONG wanted = 1;
    return MHD_get_timeout(daemon->mhd, &wanted) == MHD_YES && wanted == 0;
}

/* It reads once from each connection. What comes of bodies leaves in one write a turn, so the turn
 * ends when there is enough of it, and before results would have to wait in a file. */
static void run_daemon(struct http_daemon *daemon) {
    struct http_server *server = daemon->server;
    daemon->is_due = false;
    for (unsigned i = 0; i < RUNS_A_TURN; i++) {
        server->has_moved = false;
        http_wire_enter(server);
        MHD_run(daemon->mhd);
        http_wire_leave();
        if (!server->has_moved || server->turn_bytes >= HTTP_BODY_PIECE_BYTES ||
            !has_more(daemon)) {
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
        struct http_daemon *daemon = &server->daemons[i];
        if (daemon->is_due || (daemon->due_ms >= 0 && daemon->due_ms <= now_ms)) {
            run_daemon(daemon);
        }
    }
    http_look_at_ends(server);
    http_go_on_with_queue(server); /* so that what became of it leaves in this turn */
}

static int64_t turn_timeout_ms(struct reactor_turn *turn) {
    struct http_server *server = OWNER_OF(turn, struct http_server, turn);
    int64_t timeout_ms = TAILQ_EMPTY(&server->woken) ? -1 : 0;
    for (size_t i = 0; i < HTTP_DAEMON_COUNT; i++) {
        struct http_daemon *daemon = &server->daemons[i];
        MHD_UNSIGNED_LONG_LONG wanted = 0;
        daemon->due_ms = -1;
        /* It does not report what was resumed. */
        if (!daemon->is_due && MHD_get_timeout(daemon->mhd, &wanted) != MHD_YES) {
            continue;
        }
        int64_t wanted_ms = wanted < INT32_MAX ? (int64_t)wanted : INT32_MAX;
        daemon->due_ms = reactor_now_ms(server->reactor) + wanted_ms;
        if (timeout_ms < 0 || wanted_ms < timeout_ms) {
            timeout_ms = wanted_ms;
        }
    }
    return timeout_ms;
}

static enum parley_status start_daemon(struct http_daemon *daemon, size_t memory_bytes) {
    const struct http_options *options = &daemon->server->options;
    /* The limit on connections is the acceptor's. Without MHD_USE_ERROR_LOG it is silent. */
    daemon->mhd = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_TURBO | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET, 0,
        NULL, NULL, handle, daemon, MHD_OPTION_CONNECTION_LIMIT, options->connections_max + 1,
        MHD_OPTION_CONNECTION_TIMEOUT, options->idle_timeout_s, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        memory_bytes, MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (size_t)POOL_INCREMENT,
        MHD_OPTION_NOTIFY_COMPLETED, complete, daemon, MHD_OPTION_NOTIFY_CONNECTION, notify, daemon,
        MHD_OPTION_END);
    if (daemon->mhd == NULL) {
        return PARLEY_E_MEMORY;
    }
    daemon->watch = (struct reactor_watch){
        .ready = note_events,
        .fd = MHD_get_daemon_info(daemon->mhd, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
    };
    return reactor_watch_add(daemon->server->reactor, &daemon->watch, EPOLLIN);
}

static enum parley_status start_server(struct http_server *server, int listen_fd) {
    const struct http_options *options = &server->options;
    PARLEY_TRY(start_daemon(&server->daemons[HTTP_REQUESTS], options->request_memory_bytes));
    PARLEY_TRY(start_daemon(&server->daemons[HTTP_STREAMS], options->stream_memory_bytes));
    return acceptor_create(server->reactor,
                           &(struct acceptor_options){
                               .listen_fd = listen_fd,
                               .connections_max = options->connections_max,
                               .idle_timeout_s = options->idle_timeout_s,
                               .is_stream = options->is_stream,
                               .serve = serve,
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
    TAILQ_INIT(&server->connections);
    TAILQ_INIT(&server->woken);
    LIST_INIT(&server->to_look);
    live_response_start(server);
    http_linger_start(server);
    for (size_t i = 0; i < HTTP_DAEMON_COUNT; i++) {
        server->daemons[i] = (struct http_daemon){.server = server, .due_ms = -1};
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

size_t http_server_active_count(const struct http_server *server) {
    return server->active_count;
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
        struct http_daemon *daemon = &server->daemons[i];
        if (daemon->mhd != NULL) {
            reactor_watch_remove(server->reactor, &daemon->watch);
            MHD_stop_daemon(daemon->mhd);
        }
    }
    reactor_timer_clear(server->reactor, &server->held_up_timer);
    http_linger_stop(server);
    acceptor_destroy(server->acceptor);
    free(server->by_fd);
    free(server);
}
