/* SPDX-License-Identifier: Apache-2.0 */

/* A compressed answer has an encoder from its beginning to its end, and no other buffer: each piece
 * of the source is as long as its compressed form has room for, so all of it leaves at once.
 * Without memory for an encoder, or room in the quota, an answer is sent as it is. */

#include "http_coding.h"

#include "encoder.h"
#include "negotiate.h"

/* Returns the coding if the answer is compressed: HTTP/1.0 has no such answers here, since they
 * would not be worth it without chunks. */
static enum coding choose(struct http_request *request) {
    const struct coding_quota *quota = http_server_of(request)->options.codings;
    http_header(request, "Vary", "Accept-Encoding");
    if (quota == NULL || quota->max_bytes == 0 || request->connection->head.is_1_0) {
        return CODING_IDENTITY;
    }
    return negotiate_coding(http_request_header(request, "Accept-Encoding"));
}

static struct encoder *make_encoder(struct http_request *request, enum coding coding) {
    struct encoder *encoder = NULL;
    const enum parley_status status =
        encoder_create(coding, http_server_of(request)->options.codings, &encoder);
    return status == PARLEY_OK ? encoder : NULL;
}

void http_compress(struct http_request *request) {
    request->may_compress = true;
}

struct parley_bytes http_coding_whole(struct http_request *request, struct parley_bytes body,
                                      struct parley_buffer *scratch, const char **out_coding) {
    parley_buffer_init(scratch);
    *out_coding = NULL;
    if (!request->may_compress || body.length < HTTP_COMPRESSED_BYTES_MIN) {
        return body;
    }
    const enum coding coding = choose(request);
    struct encoder *encoder = coding != CODING_IDENTITY ? make_encoder(request, coding) : NULL;
    const size_t size = encoder_bound(body.length);
    if (encoder == NULL || !parley_buffer_reserve(scratch, size)) {
        encoder_destroy(encoder);
        return body;
    }
    const ssize_t length = encoder_write(encoder, body, true, scratch->data, size);
    encoder_destroy(encoder);
    if (length < 0) {
        return body;
    }
    *out_coding = coding_name(coding);
    return (struct parley_bytes){scratch->data, (size_t)length};
}

void http_coding_begin(struct http_request *request) {
    if (!request->may_compress) {
        return;
    }
    const enum coding coding = choose(request);
    if (coding == CODING_IDENTITY) {
        return;
    }
    if (!request->connection->head.is_head) {
        request->encoder = make_encoder(request, coding);
    }
    if (request->encoder != NULL || request->connection->head.is_head) {
        http_header(request, "Content-Encoding", coding_name(coding));
    }
}

ssize_t http_coding_read(struct http_request *request, char *buffer, size_t size) {
    struct encoder *encoder = request->encoder;
    if (encoder == NULL) {
        return request->read(request->state, buffer, size);
    }
    if (request->has_coded_end) {
        return HTTP_SOURCE_END;
    }
    if (size < ENCODER_OUTPUT_MIN) {
        return HTTP_SOURCE_ABORT; /* no sender is so small */
    }
    char *plain = http_server_of(request)->plain;
    const size_t room = encoder_room(size);
    const ssize_t count =
        request->read(request->state, plain, room < HTTP_PIECE_BYTES ? room : HTTP_PIECE_BYTES);
    request->has_coded_end = count == HTTP_SOURCE_END;
    if (count <= 0 && !request->has_coded_end) {
        return count;
    }
    const struct parley_bytes piece = {plain, count > 0 ? (size_t)count : 0};
    const ssize_t length = encoder_write(encoder, piece, request->has_coded_end, buffer, size);
    return length >= 0 ? length : HTTP_SOURCE_ABORT;
}

void http_coding_end(struct http_request *request) {
    encoder_destroy(request->encoder);
    request->encoder = NULL;
}
