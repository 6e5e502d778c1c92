/* SPDX-License-Identifier: Apache-2.0 */

/* A request without a client. A connection that libmicrohttpd does not know stands in for the
 * client's: it has the head, and the headers of the answer. Its handler gets the body as from a
 * client, and is told of the end; its answer, whole or a stream, is kept until it is complete.
 *
 * It deliberately never suspends anything: a handler that cannot go on is asked again after
 * http_wake, in the next turn. */

#include "http_inner.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http_inner_private.h"
#include "http_internal.h"

enum { PIECE_BYTES = 16 * 1024 }; /* of a stream that is read at once */

struct http_inner {
    struct http_connection connection;
    struct http_request *outer;
    struct parley_bytes body;
    struct parley_buffer answer;
    size_t taken_bytes; /* of the body */
    size_t answer_bytes_max;
    char *content_type;
    http_inner_fn *answered;
    void *context;
    bool is_whole;
};

static struct http_request *request_of(struct http_inner *inner) {
    return &inner->connection.request;
}

/* ---- the answer ---- */

static void deliver(struct http_inner *inner) {
    struct http_request *request = request_of(inner);
    const bool is_whole = inner->is_whole && !inner->answer.has_failed && !request->has_failed;
    inner->answered(inner->context, inner,
                    &(const struct http_inner_answer){.status = request->outcome.status,
                                                      .content_type = inner->content_type,
                                                      .body = parley_buffer_bytes(&inner->answer),
                                                      .is_whole = is_whole});
}

static void on_committed(struct commit_wait *wait) {
    deliver(OWNER_OF(wait, struct http_request, commit)->inner);
}

/* All of it is there. */
static void complete(struct http_inner *inner, bool is_whole) {
    struct http_request *request = request_of(inner);
    inner->is_whole = is_whole;
    request->answer = HTTP_ANSWERED;
    if (http_answer_promises(request)) {
        request->commit.done = on_committed;
        commit_wait_begin(http_server_of(request)->options.commit, &request->commit);
    }
    if (!commit_is_waiting(&request->commit)) {
        deliver(inner);
    }
}

static void note_answer(struct http_inner *inner, unsigned status, const char *content_type) {
    struct http_request *request = request_of(inner);
    request->outcome.status = status;
    inner->content_type = content_type != NULL ? strdup(content_type) : NULL;
    request->has_failed |= content_type != NULL && inner->content_type == NULL;
}

void http_inner_respond(struct http_inner *inner, unsigned status, const char *content_type,
                        struct parley_bytes body) {
    struct http_request *request = request_of(inner);
    if (http_is_answered(request) || request->read != NULL) {
        return;
    }
    note_answer(inner, status, content_type);
    if (content_type != NULL) {
        parley_buffer_append(&inner->answer, body);
    }
    complete(inner, true);
}

/* Reads what the source has. */
static void gather(struct http_inner *inner) {
    struct http_request *request = request_of(inner);
    while (!http_is_answered(request)) {
        request->has_wake = false;
        if (inner->answer.length >= inner->answer_bytes_max ||
            !parley_buffer_reserve(&inner->answer, PIECE_BYTES)) {
            complete(inner, false);
            return;
        }
        const ssize_t length =
            request->read(request->state, inner->answer.data + inner->answer.length, PIECE_BYTES);
        if (length > 0) {
            inner->answer.length += (size_t)length;
        } else if (length < 0) {
            complete(inner, length == HTTP_SOURCE_END);
        } else if (!request->has_wake) {
            return;
        }
    }
}

/* The source may be in the middle of something: it is read in the next turn. */
void http_inner_respond_stream(struct http_inner *inner, unsigned status, const char *content_type,
                               ssize_t (*read)(void *state, char *buffer, size_t size)) {
    struct http_request *request = request_of(inner);
    if (http_is_answered(request) || request->read != NULL) {
        return;
    }
    note_answer(inner, status, content_type);
    request->read = read;
    http_queue(request);
}

struct parley_bytes http_inner_so_far(const struct http_inner *inner) {
    return parley_buffer_bytes(&inner->answer);
}

const char *http_inner_header(const struct http_inner *inner, const char *name) {
    const struct parley_buffer *headers = &inner->connection.headers;
    for (size_t at = 0; !headers->has_failed && at < headers->length;) {
        const char *found = headers->data + at;
        const char *value = found + strlen(found) + 1;
        if (strcasecmp(found, name) == 0) {
            return value;
        }
        at = (size_t)(value + strlen(value) + 1 - headers->data);
    }
    return NULL;
}

/* ---- the request ---- */

/* Gives the handler the body, and its end. */
static void give_body(struct http_inner *inner) {
    struct http_request *request = request_of(inner);
    while (inner->taken_bytes < inner->body.length && !http_request_is_discarding(request)) {
        request->has_wake = false;
        const struct parley_bytes rest = {inner->body.data + inner->taken_bytes,
                                          inner->body.length - inner->taken_bytes};
        const size_t taken = request->handler->body(request->state, request, rest);
        inner->taken_bytes += taken;
        request->received_length += (int64_t)taken;
        if (taken < rest.length && !request->has_wake) {
            return; /* until it is woken */
        }
    }
    if (!request->has_ended && !http_is_answered(request)) {
        request->has_ended = true;
        if (request->handler != NULL && request->handler->end != NULL) {
            request->handler->end(request->state, request);
        }
    }
}

void http_inner_go_on(struct http_inner *inner) {
    give_body(inner);
    if (request_of(inner)->read != NULL) {
        gather(inner);
    }
}

void http_inner_begin(struct http_inner *inner) {
    struct http_server *server = http_server_of(request_of(inner));
    server->begin(server->context, request_of(inner));
    give_body(inner);
}

static enum parley_status make_head(struct http_inner *inner,
                                    const struct http_inner_options *options) {
    struct http_head *head = &inner->connection.head;
    const struct http_head_parts parts = {.method = options->method,
                                          .target = options->target,
                                          .fields = options->headers,
                                          .field_count = options->header_count,
                                          .content_length = options->body.length};
    PARLEY_TRY(http_head_make(head, &parts));
    head->is_1_0 = false; /* without Host, since that was judged as the outer request's */
    return head->fault == NULL ? PARLEY_OK : PARLEY_E_UNSUPPORTED;
}

static void open_request(struct http_inner *inner) {
    const struct http_head *head = &inner->connection.head;
    *request_of(inner) = (struct http_request){.connection = &inner->connection,
                                               .inner = inner,
                                               .method = head->method,
                                               .path = head->path,
                                               .id = inner->outer->id,
                                               .content_length = head->content_length,
                                               .outcome.began_ns = inner->outer->outcome.began_ns};
}

struct http_request *http_inner_outer(const struct http_inner *inner) {
    return inner->outer;
}

enum parley_status http_inner_create(struct http_request *outer,
                                     const struct http_inner_options *options,
                                     struct http_inner **out) {
    struct http_inner *inner = calloc(1, sizeof *inner);
    if (inner == NULL) {
        return PARLEY_E_MEMORY;
    }
    struct http_connection *connection = &inner->connection;
    inner->outer = outer;
    inner->answer_bytes_max = options->answer_bytes_max;
    inner->answered = options->answered;
    inner->context = options->context;
    connection->daemon = outer->connection->daemon;
    connection->peer = outer->connection->peer;
    connection->certificate = outer->connection->certificate;
    connection->certificate_expires_at = outer->connection->certificate_expires_at;
    http_head_init(&connection->head);
    parley_buffer_init(&connection->headers);
    parley_buffer_init(&inner->answer);
    inner->body = options->body;
    const enum parley_status status = make_head(inner, options);
    open_request(inner);
    if (status != PARLEY_OK) {
        http_inner_destroy(inner);
        return status;
    }
    *out = inner;
    return PARLEY_OK;
}

/* What the log says of the outer request. */
static void pass_notes_on(const struct http_request *request, struct http_request *outer) {
    for (size_t i = 0; i < HTTP_NOTE_COUNT; i++) {
        if (i != HTTP_NOTE_ROUTE && request->outcome.notes[i] != 0) {
            http_request_note(outer, (enum http_note)i, request->outcome.notes[i]);
        }
    }
    for (size_t i = 0; i < HTTP_REMARK_COUNT; i++) {
        if (request->remarks[i] != NULL) {
            http_request_remark(outer, (enum http_remark)i, parley_bytes_of(request->remarks[i]));
        }
    }
}

void http_inner_destroy(struct http_inner *inner) {
    if (inner == NULL) {
        return;
    }
    struct http_request *request = request_of(inner);
    request->is_closing = true;
    if (request->is_woken) {
        TAILQ_REMOVE(&http_server_of(request)->woken, request, woken_links);
    }
    commit_wait_cancel(&request->commit);
    if (request->handler != NULL && request->handler->closed != NULL) {
        request->handler->closed(request->state, http_is_answered(request));
    }
    pass_notes_on(request, inner->outer);
    for (size_t i = 0; i < HTTP_REMARK_COUNT; i++) {
        free(request->remarks[i]);
    }
    http_head_finish(&inner->connection.head);
    parley_buffer_finish(&inner->connection.headers);
    parley_buffer_finish(&inner->answer);
    free(inner->content_type);
    free(inner);
}
