/* SPDX-License-Identifier: Apache-2.0 */

/* Suspends a connection until its request can continue, and resumes it.
 *
 * A connection is suspended for one of four reasons (enum http_wait) and resumed for that reason
 * alone, which takes effect in the next MHD_run. */

#include "http_internal.h"

#include <assert.h>

/* A suspended connection does not notice that its client disconnects. Of those that wait for an
 * answer only the streams' are watched: the others are answered within seconds, and are as many as
 * messages. A
 * waiting body is not: data that the client sent before is still served. Without memory for the
 * watch the next write shows that the client has disconnected. */
static void watch_client(struct http_request *request) {
    struct http_connection *connection = request->connection;
    const bool is_long =
        request->wait == HTTP_WAIT_SOURCE ||
        (request->wait == HTTP_WAIT_ANSWER && connection->daemon->kind == HTTP_STREAMS);
    if (is_long && !connection->is_watched) {
        (void)http_watch(connection, 0);
    }
}

void http_wait(struct http_request *request, enum http_wait wait) {
    assert(!request->is_closing);
    request->wait = wait;
    http_suspend(request->connection);
    watch_client(request);
}

void http_go_on(struct http_request *request) {
    assert(!request->is_closing);
    if (request->wait == HTTP_WAIT_NONE) {
        return;
    }
    request->has_waited =
        request->wait != HTTP_WAIT_BODY; /* and so libmicrohttpd reads the socket again */
    request->wait = HTTP_WAIT_NONE;
    http_forget_held(request->connection);
    http_resume(request->connection);
}

void http_queue(struct http_request *request) {
    assert(!request->is_closing);
    if (!request->is_woken) {
        request->is_woken = true;
        TAILQ_INSERT_TAIL(&http_server_of(request)->woken, request, woken_links);
    }
}

void http_forget_held(struct http_connection *connection) {
    connection->daemon->server->kept_bytes -= connection->held.length;
    parley_buffer_finish(&connection->held);
    connection->held_offset = 0;
}
