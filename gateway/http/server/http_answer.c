/* SPDX-License-Identifier: Apache-2.0 */

/* Answers: whole ones and streams, which libmicrohttpd sends, and the choice of a live response
 * where there can be one. */

#include "http_answer.h"

#include <assert.h>
#include <string.h>

#include <parley/protocol.h>

#include "http_coding.h"
#include "http_inner_private.h"
#include "live_response.h"

enum {
    BLOCK_1_0_BYTES = 4096, /* of a stream to an HTTP/1.0 client, which is not chunked */
};

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
    if (content_type != NULL) { /* which browsers are not to guess */
        is_ok = is_ok &&
                MHD_add_response_header(response, "Content-Type", content_type) == MHD_YES &&
                MHD_add_response_header(response, "X-Content-Type-Options", "nosniff") == MHD_YES;
    }
    if (request->is_close_after || http_server_of(request)->is_draining) {
        /* The client is not informed, and may have sent its next request. */
        request->connection->is_cut = true;
        is_ok = is_ok && MHD_add_response_header(response, "Connection", "close") == MHD_YES;
    }
    return is_ok && MHD_add_response_header(response, "X-Request-Id", request->id) == MHD_YES;
}

bool http_answer_promises(const struct http_request *request) {
    return request->may_commit && (request->outcome.status / 100 == 2 || request->has_promised);
}

/* Without memory the only answer is to close the connection. */
static void answer(struct http_request *request, unsigned status, const char *content_type,
                   struct MHD_Response *response) {
    request->answer = HTTP_ANSWERED;
    request->response = response;
    request->outcome.status = status;
    if (response == NULL || !add_headers(request, content_type)) {
        request->has_failed = true;
    }
    if (http_answer_promises(request) && !request->has_failed) {
        commit_wait_begin(http_server_of(request)->options.commit, &request->commit);
    }
    /* The rest of the body is discarded in the meantime; http_take_end waits then. */
    if (!commit_is_waiting(&request->commit) || request->wait == HTTP_WAIT_BODY) {
        http_go_on(request);
    }
}

static void on_committed(struct commit_wait *wait) {
    struct http_request *request = OWNER_OF(wait, struct http_request, commit);
    if (request->wait == HTTP_WAIT_ANSWER) { /* else its body still comes */
        http_go_on(request);
    }
}

void http_commit_refusal(struct http_request *request) {
    request->has_promised = true;
}

void http_commit(struct http_request *request) {
    request->may_commit = http_server_of(request)->options.commit != NULL;
    request->commit.done = on_committed;
}

/* Of 304 libmicrohttpd sends no body, as of HEAD, but its length. */
static void respond_whole(struct http_request *request, unsigned status, const char *content_type,
                          struct parley_bytes bytes, enum MHD_ResponseMemoryMode mode) {
    if (!request->connection->head.is_head && status != HTTP_NOT_MODIFIED) {
        http_count_sent(request, bytes.length);
    }
    /* Neither mode writes to it. */
    answer(request, status, content_type,
           MHD_create_response_from_buffer(bytes.length, (void *)(uintptr_t)bytes.data, mode));
}

void http_encode(struct http_request *request, const struct http_encoding *encoding) {
    request->encoding = *encoding;
}

const struct http_encoding *http_request_encoding(const struct http_request *request) {
    return &request->encoding;
}

/* The answer in the encoding that the client reads.  Owns: `out` borrows from `body` or `scratch`,
 * which the caller finishes.  Returns: its media type. */
static const char *encode(const struct http_request *request, const char *content_type,
                          struct parley_bytes body, struct parley_buffer *scratch,
                          struct parley_bytes *out) {
    const struct http_encoding *encoding = &request->encoding;
    parley_buffer_init(scratch);
    *out = content_type != NULL ? body : PARLEY_BYTES("");
    if (encoding->protocol == NULL || content_type == NULL ||
        strcmp(content_type, "application/json") != 0 ||
        encoding->codec->from_json(body, scratch) != PARLEY_OK) {
        return content_type;
    }
    *out = parley_buffer_bytes(scratch);
    return encoding->media_type;
}

void http_respond(struct http_request *request, unsigned status, const char *content_type,
                  struct parley_bytes body) {
    assert(!request->is_closing);
    if (request->inner != NULL) {
        http_inner_respond(request->inner, status, content_type, body);
        return;
    }
    if (http_is_answered(request) || http_is_live(request)) {
        return;
    }
    struct parley_buffer encoded, compressed;
    struct parley_bytes bytes;
    const char *coding, *media_type = encode(request, content_type, body, &encoded, &bytes);
    bytes = http_coding_whole(request, bytes, &compressed, &coding);
    if (status == HTTP_NOT_MODIFIED) {
        media_type = NULL;
    } else if (coding != NULL) {
        http_header(request, "Content-Encoding", coding);
    }
    respond_whole(request, status, media_type, bytes, MHD_RESPMEM_MUST_COPY);
    parley_buffer_finish(&compressed);
    parley_buffer_finish(&encoded);
}

void http_respond_kept(struct http_request *request, unsigned status, const char *content_type,
                       struct parley_bytes body) {
    assert(!request->is_closing);
    if (request->inner != NULL) {
        http_inner_respond(request->inner, status, content_type, body);
    } else if (!http_is_answered(request) && !http_is_live(request)) {
        respond_whole(request, status, content_type, body, MHD_RESPMEM_PERSISTENT);
    }
}

/* HTTP/1.0 knows no chunks and takes a closed connection for the end; a reset it does not. */
static void reset_on_close(const struct http_request *request) {
    acceptor_break(http_server_of(request)->acceptor, request->connection->watch.fd);
}

static ssize_t read_source(void *context, uint64_t position, char *buffer, size_t size) {
    (void)position;
    struct http_request *request = context;
    http_server_of(request)->has_moved = true;
    request->has_wake = false;
    ssize_t length = http_coding_read(request, buffer, size);
    if (length > 0) {
        http_count_sent(request, (size_t)length);
        return length;
    }
    if (length == HTTP_SOURCE_END) {
        if (request->connection->head.is_1_0) {
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
    if (request->connection->head.is_1_0) {
        reset_on_close(request);
    }
    http_look_again(request->connection);
    return MHD_CONTENT_READER_END_WITH_ERROR;
}

void http_respond_stream(struct http_request *request, unsigned status, const char *content_type,
                         ssize_t (*read)(void *state, char *buffer, size_t size)) {
    assert(!request->is_closing);
    if (request->inner != NULL) {
        http_inner_respond_stream(request->inner, status, content_type, read);
        return;
    }
    if (http_is_answered(request) || http_is_live(request)) {
        return;
    }
    request->read = read;
    http_coding_begin(request);
    /* A chunk is written straight into the connection's pool; the block serves HTTP/1.0 alone. */
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, request->connection->head.is_1_0 ? BLOCK_1_0_BYTES : 1, read_source,
        request, NULL);
    if (response != NULL && request->connection->head.is_head) {
        /* libmicrohttpd would end the body that it does not send with a last chunk. */
        MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
    }
    answer(request, status, content_type, response);
}

enum MHD_Result http_answer_send(struct http_request *request) {
    if (request->has_failed) {
        return MHD_NO;
    }
    enum MHD_Result result =
        MHD_queue_response(request->connection->mhd, request->outcome.status, request->response);
    MHD_destroy_response(request->response);
    request->response = NULL;
    if (result == MHD_YES) {
        request->answer = HTTP_ANSWER_GIVEN;
    }
    return result;
}

void http_answer_close(struct http_request *request) {
    if (request->response != NULL) {
        MHD_destroy_response(request->response);
    }
}

void http_answer_last(struct http_request *request) {
    http_close_after(request);
    if (http_is_answered(request) && request->response != NULL) {
        const enum MHD_Result is_added =
            MHD_add_response_header(request->response, "Connection", "close");
        request->has_failed = request->has_failed || is_added != MHD_YES;
    }
}

/* ---- live ones ---- */

bool http_can_be_live(const struct http_request *request) {
    return !request->connection->head.is_1_0 && !request->connection->head.is_head;
}

void http_respond_live(struct http_request *request, unsigned status, const char *content_type,
                       ssize_t (*read)(void *state, char *buffer, size_t size)) {
    assert(!request->is_closing);
    if (request->inner != NULL || !http_can_be_live(request)) {
        http_respond_stream(request, status, content_type, read);
        return;
    }
    if (http_is_answered(request) || http_is_live(request)) {
        return;
    }
    live_response_begin(request, status, content_type, read);
}
