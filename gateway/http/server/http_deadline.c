/* SPDX-License-Identifier: Apache-2.0 */

/* Limits the time that a client may take to send a request. Clients that have begun one and not
 * ended it are checked a few times per second; a request that comes in one read is never among
 * them.
 *
 * A head must be complete within head_timeout_ms of its first byte. A body may not pause for the
 * idle timeout, and must come at body_rate on average, once as much time as the idle timeout has
 * passed. A conversation is not judged by its rate: the body is chunked, and the answer comes while
 * it is sent, so that the client may wait for a result, or for a person who types, before it sends
 * more. There only libmicrohttpd's idle timeout counts. Time in which the server itself does not
 * read, since the handler takes no more, does not count. */

#include "http_internal.h"

#include <stdio.h>

enum { CHECK_MS = 250 };

static enum http_receiving what_is_received(const struct mhd_recv *wire) {
    switch (wire->phase) {
    case HTTP_WIRE_HEAD:
        return wire->pending.length > 0 ? HTTP_RECEIVING_HEAD : HTTP_RECEIVING_NOTHING;
    case HTTP_WIRE_BODY:
    case HTTP_WIRE_CHUNKS:
        return HTTP_RECEIVING_BODY;
    case HTTP_WIRE_WHOLE:
        break;
    }
    return HTTP_RECEIVING_NOTHING;
}

/* ---- checks ---- */

static bool is_held_back(const struct http_request *request) {
    return request->wait == HTTP_WAIT_BODY || request->is_held_up;
}

static bool is_conversation(const struct http_request *request) {
    return request->content_length < 0 && http_is_live(request);
}

static bool is_too_slow(const struct http_options *options, const struct http_deadline *deadline,
                        int64_t now_ms) {
    const int64_t idle_ms = (int64_t)options->idle_timeout_s * 1000;
    const int64_t rate = (int64_t)options->body_rate_bytes;
    if (now_ms - deadline->moved_ms >= idle_ms) {
        return true;
    }
    const int64_t over_ms = now_ms - deadline->began_ms - idle_ms;
    return rate > 0 && over_ms > 0 && deadline->length / rate < over_ms / 1000;
}

static bool is_body_late(struct http_connection *connection, int64_t now_ms) {
    struct http_deadline *deadline = &connection->deadline;
    const struct http_request *request = &connection->request;
    if (!connection->is_active) {
        return false; /* libmicrohttpd has not called back for it so far */
    }
    if (is_held_back(request)) {
        deadline->began_ms += CHECK_MS;
        deadline->moved_ms = now_ms;
        return false;
    }
    if (request->received_length != deadline->length) {
        deadline->length = request->received_length;
        deadline->moved_ms = now_ms;
    }
    const struct http_options *options = &http_server_of(request)->options;
    return !is_conversation(request) && is_too_slow(options, deadline, now_ms);
}

static bool is_late(struct http_connection *connection, int64_t now_ms) {
    const struct http_options *options = &connection->daemon->server->options;
    if (connection->deadline.receiving == HTTP_RECEIVING_HEAD) {
        return now_ms - connection->deadline.began_ms >= options->head_timeout_ms;
    }
    return is_body_late(connection, now_ms);
}

static void check(struct reactor_timer *timer) {
    struct http_server *server = OWNER_OF(timer, struct http_server, receiving_timer);
    const int64_t now_ms = reactor_now_ms(server->reactor);
    struct http_connection *connection;
    TAILQ_FOREACH(connection, &server->receiving, deadline.links) {
        if (!connection->deadline.is_late && is_late(connection, now_ms)) {
            connection->deadline.is_late = true;
            http_look_later(connection); /* mhd_recv.c then reads the end of it */
        }
    }
    if (!TAILQ_EMPTY(&server->receiving)) {
        reactor_timer_set(server->reactor, timer, CHECK_MS);
    }
}

/* ---- checked requests ---- */

static void begin(struct http_connection *connection) {
    struct http_server *server = connection->daemon->server;
    struct http_deadline *deadline = &connection->deadline;
    const int64_t now_ms = reactor_now_ms(server->reactor);
    deadline->began_ms = deadline->moved_ms = now_ms;
    deadline->length = 0;
    TAILQ_INSERT_TAIL(&server->receiving, connection, deadline.links);
    if (!server->receiving_timer.is_armed) {
        reactor_timer_set(server->reactor, &server->receiving_timer, CHECK_MS);
    }
}

void http_deadline_note(struct http_connection *connection) {
    struct http_deadline *deadline = &connection->deadline;
    const enum http_receiving receiving = what_is_received(&connection->wire);
    if (receiving == deadline->receiving ||
        connection->daemon->server->options.idle_timeout_s == 0) {
        return;
    }
    http_deadline_forget(connection);
    deadline->receiving = receiving;
    if (receiving != HTTP_RECEIVING_NOTHING) {
        begin(connection);
    }
}

void http_deadline_forget(struct http_connection *connection) {
    struct http_deadline *deadline = &connection->deadline;
    if (deadline->receiving != HTTP_RECEIVING_NOTHING) {
        TAILQ_REMOVE(&connection->daemon->server->receiving, connection, deadline.links);
        deadline->receiving = HTTP_RECEIVING_NOTHING;
    }
    deadline->is_late = false;
}

/* ---- lifecycle ---- */

void http_deadlines_describe_bound(struct http_server *server) {
    const struct http_options *options = &server->options;
    snprintf(server->late_body, sizeof server->late_body,
             "The body paused for %u s (--idle-timeout) or, after that time, was slower than %llu "
             "bytes a second (--body-rate). Of many messages, those that came whole were "
             "processed.",
             options->idle_timeout_s, (unsigned long long)options->body_rate_bytes);
}

void http_deadlines_start(struct http_server *server) {
    struct http_options *options = &server->options;
    if (options->head_timeout_ms == 0) {
        options->head_timeout_ms = (int64_t)options->idle_timeout_s * 1000;
    }
    TAILQ_INIT(&server->receiving);
    server->receiving_timer.fire = check;
    snprintf(server->late_head, sizeof server->late_head,
             "The head of the request was not whole within %lld s (--head-timeout). Send it at "
             "once.",
             (long long)(options->head_timeout_ms / 1000));
    http_deadlines_describe_bound(server);
}

void http_deadlines_stop(struct http_server *server) {
    reactor_timer_clear(server->reactor, &server->receiving_timer);
}
