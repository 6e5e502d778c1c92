/* SPDX-License-Identifier: Apache-2.0 */

/* A request from its head to its end: the events for which it waits, and how it continues.
 *
 * A connection is suspended for one of three reasons (enum http_wait) and resumed for that reason
 * alone, which takes effect in the next MHD_run. libmicrohttpd reads before anything else when a
 * connection is resumed, and if the client has disconnected by then it forgets the data that it had
 * read before; so bytes that a body callback leaves are kept here, and the connection is resumed
 * only once all of them are taken: data sent before a client died is served. (For a request that it
 * has received completely, mhd_recv.c shows it no end before the answer.)
 *
 * It deliberately calls libmicrohttpd only by http_suspend and http_resume. */

#include "http_internal.h"
#include "http_coding.h"
#include "http_inner_private.h"
#include "live_response.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include <sodium.h>

/* ---- waiting ---- */

void http_wake(struct http_request *request) {
    assert(!request->is_closing);
    if (request->inner != NULL) {
        request->has_wake = true;
        http_queue(request);
        return;
    }
    switch (request->wait) {
    case HTTP_WAIT_NONE:
        request->has_wake = true;
        if (http_is_live(request)) {
            http_queue(request);
        }
        return;
    case HTTP_WAIT_BODY:
    case HTTP_WAIT_LIVE:
        http_queue(request);
        return;
    case HTTP_WAIT_ANSWER:
        return; /* it continues when it is answered */
    case HTTP_WAIT_SOURCE:
        http_go_on(request);
    }
}

/* ---- the body ---- */

bool http_request_is_discarding(const struct http_request *request) {
    return http_is_answered(request) || http_is_live_over(request) || request->handler == NULL ||
           request->handler->body == NULL;
}

/* Returns: how many of the bytes are done with. */
static size_t offer(struct http_request *request, struct parley_bytes bytes) {
    request->has_wake = false;
    if (http_request_is_discarding(request)) {
        return bytes.length;
    }
    size_t taken = request->handler->body(request->state, request, bytes);
    assert(taken <= bytes.length);
    return http_request_is_discarding(request) ? bytes.length : taken;
}

enum parley_status http_take_body(struct http_request *request, struct parley_bytes bytes) {
    struct parley_buffer *held = &request->connection->held;
    assert(request->wait != HTTP_WAIT_BODY); /* a read gives one piece at most */
    const size_t taken = offer(request, bytes);
    if (http_is_live(request)) {
        live_response_take_body(request);
    }
    if (taken == bytes.length) {
        return PARLEY_OK;
    }
    parley_buffer_append(held, (struct parley_bytes){bytes.data + taken, bytes.length - taken});
    if (parley_buffer_status(held) != PARLEY_OK) {
        http_go_on(request);
        request->has_failed = true;
        return PARLEY_E_MEMORY;
    }
    http_server_of(request)->kept_bytes += held->length;
    http_wait(request, HTTP_WAIT_BODY);
    if (request->has_wake) {
        http_queue(request);
    }
    return PARLEY_OK;
}

static void go_on_with_body(struct http_request *request) {
    if (request->wait != HTTP_WAIT_BODY) {
        return; /* answered in the meantime */
    }
    struct http_connection *connection = request->connection;
    struct parley_buffer held = connection->held; /* its handler reads it though it may answer */
    const struct parley_bytes left = {held.data + connection->held_offset,
                                      held.length - connection->held_offset};
    parley_buffer_init(&connection->held);
    const size_t taken = offer(request, left);
    connection->held = held;
    if (request->wait != HTTP_WAIT_BODY || taken == left.length) {
        http_forget_held(connection);
        http_go_on(request);
        return;
    }
    connection->held_offset += taken;
    if (request->has_wake) {
        http_queue(request);
    }
}

/* Requests that are queued while it runs have their next turn. */
void http_go_on_with_queue(struct http_server *server) {
    const struct http_request *last = TAILQ_LAST(&server->woken, http_woken);
    struct http_request *request = NULL;
    while (request != last) {
        request = TAILQ_FIRST(&server->woken);
        TAILQ_REMOVE(&server->woken, request, woken_links);
        request->is_woken = false;
        if (request->inner != NULL) {
            http_inner_go_on(request->inner);
            continue;
        }
        live_response_go_on(request);
        go_on_with_body(request);
    }
}

enum parley_status http_take_end(struct http_request *request) {
    if (!request->has_ended) {
        request->has_ended = true;
        if (!http_is_answered(request) && !http_is_live_over(request) && request->handler != NULL &&
            request->handler->end != NULL) {
            request->handler->end(request->state, request);
        }
    }
    if (http_is_live(request)) {
        return live_response_take_end(request);
    }
    if (http_may_answer(request)) {
        return PARLEY_OK;
    }
    if (request->handler == NULL || request->is_gone) {
        return PARLEY_E_IO;
    }
    http_wait(request, HTTP_WAIT_ANSWER);
    return PARLEY_OK;
}

/* ---- lifecycle ---- */

/* Each batch of random bytes seeds the next one: a system call for them would cost as much as all
 * other work of this file on a request. */
static void draw_ids(struct http_server *server) {
    unsigned char seed[HTTP_ID_SEED_BYTES];
    memcpy(seed, server->random.seed, sizeof seed);
    randombytes_buf_deterministic(&server->random, sizeof server->random, seed);
    server->ids_left = HTTP_IDS_AT_ONCE;
}

static void make_id(struct http_server *server, char id[2 * HTTP_ID_BYTES + 1]) {
    static const char digits[] = "0123456789abcdef";
    if (server->ids_left == 0) {
        draw_ids(server);
    }
    const unsigned char *bytes = server->random.ids[--server->ids_left];
    for (size_t i = 0; i < HTTP_ID_BYTES; i++) {
        id[2 * i] = digits[bytes[i] >> 4];
        id[2 * i + 1] = digits[bytes[i] & 15];
    }
    id[2 * HTTP_ID_BYTES] = '\0';
}

struct http_request *http_request_open(struct http_connection *connection) {
    struct http_request *request = &connection->request;
    const struct http_head *head = &connection->head;
    ASAN_UNPOISON_MEMORY_REGION(request, sizeof *request);
    *request = (struct http_request){
        .connection = connection,
        .method = head->method,
        .path = head->path,
        .id = head->request_id,
        .content_length = head->is_chunked ? -1 : head->content_length,
        .outcome.began_ns = reactor_now_ns(connection->daemon->server->reactor),
    };
    if (request->id == NULL) {
        make_id(connection->daemon->server, request->own_id);
        request->id = request->own_id;
    }
    parley_buffer_clear(&connection->headers);
    request->is_late = connection->daemon->server->is_draining;
    connection->is_active = true;
    connection->daemon->server->active_count += request->is_late ? 0 : 1;
    return request;
}

void http_request_close(struct http_request *request, bool is_complete) {
    struct http_connection *connection = request->connection;
    struct http_server *server = connection->daemon->server;
    request->is_closing = true;
    if (request->is_woken) {
        TAILQ_REMOVE(&server->woken, request, woken_links);
    }
    commit_wait_cancel(&request->commit);
    live_response_close(request);
    http_coding_end(request);
    if (request->handler != NULL && request->handler->closed != NULL) {
        request->handler->closed(request->state, is_complete);
    }
    if (server->options.over != NULL) {
        request->outcome.is_complete = is_complete;
        request->outcome.received_bytes = (uint64_t)request->received_length;
        server->options.over(server->context, request, &request->outcome);
    }
    for (size_t i = 0; i < HTTP_REMARK_COUNT; i++) {
        free(request->remarks[i]);
    }
    http_watch_idle(connection);
    server->active_count -= request->is_late ? 0 : 1;
    connection->is_active = false;
    ASAN_POISON_MEMORY_REGION(request, sizeof *request);
}

/* ---- for its handler ---- */

const char *http_request_method(const struct http_request *request) {
    return request->method;
}

const char *http_request_path(const struct http_request *request) {
    return request->path;
}

const char *http_request_id(const struct http_request *request) {
    return request->id;
}

int64_t http_request_content_length(const struct http_request *request) {
    return request->content_length;
}

const struct peer *http_request_peer(const struct http_request *request) {
    return &request->connection->peer;
}

int64_t http_request_certificate_expires_at(const struct http_request *request) {
    return request->connection->certificate_expires_at;
}

const char *http_request_certificate(const struct http_request *request) {
    return request->connection->certificate;
}

void http_request_note(struct http_request *request, enum http_note note, unsigned char value) {
    request->outcome.notes[note] = value;
}

void http_request_remark(struct http_request *request, enum http_remark remark,
                         struct parley_bytes text) {
    free(request->remarks[remark]);
    request->remarks[remark] = parley_bytes_copy(text);
}

const char *http_request_remarked(const struct http_request *request, enum http_remark remark) {
    return request->remarks[remark];
}

void http_request_serve(struct http_request *request, const struct http_handler *handler,
                        void *state) {
    request->handler = handler;
    request->state = state;
}

void *http_request_state(const struct http_request *request) {
    return request->state;
}

/* Of an inner request it is kept with its client's connection. */
static struct http_connection *kept_at(const struct http_request *request) {
    return request->inner != NULL ? http_inner_outer(request->inner)->connection
                                  : request->connection;
}

void http_request_keep(struct http_request *request, void *kept, void (*release)(void *kept)) {
    http_connection_keep(kept_at(request), kept, release);
}

void *http_request_kept(const struct http_request *request) {
    return kept_at(request)->kept;
}

void http_header(struct http_request *request, const char *name, const char *value) {
    struct parley_buffer *headers = &request->connection->headers;
    parley_buffer_append(headers, (struct parley_bytes){name, strlen(name) + 1});
    parley_buffer_append(headers, (struct parley_bytes){value, strlen(value) + 1});
}

const char *http_request_host(const struct http_request *request) {
    const struct http_head *head = &request->connection->head;
    return head->authority != NULL ? head->authority : http_head_field(head, "Host");
}

const char *http_request_header(const struct http_request *request, const char *name) {
    return http_head_field(&request->connection->head, name);
}

const char *http_request_header_at(const struct http_request *request, const char *name,
                                   size_t number) {
    return http_head_field_at(&request->connection->head, name, number);
}

uint32_t http_request_wait_s(const struct http_request *request) {
    return request->connection->head.wait_s;
}

const char *http_request_query(const struct http_request *request, const char *name) {
    return http_head_option(&request->connection->head, name);
}

void http_request_each_query(const struct http_request *request,
                             bool (*each)(void *context, const char *name, const char *value),
                             void *context) {
    http_head_each_option(&request->connection->head, each, context);
}

void http_close_after(struct http_request *request) {
    request->is_close_after = true;
}
