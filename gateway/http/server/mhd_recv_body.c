/* SPDX-License-Identifier: Apache-2.0 */

/* Bodies that are not whole with their head are read in pieces into one buffer of the server, and
 * libmicrohttpd gets a placeholder for each piece (ADR 10). */

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "http_internal.h"

enum {
    SMALL_PIECE_BYTES = HTTP_TRAILERS_MAX, /* of bodies while much is kept: a line fits … */
    KEPT_BYTES_MAX = 8 << 20,              /* … since so much is kept of all connections */
    OVERREAD_BYTES_MAX = 1024,             /* after a body of known length */
    PLACEHOLDER_LINE_BYTES = sizeof "00000000\r\n" - 1,
    PLACEHOLDER_FRAME_BYTES = PLACEHOLDER_LINE_BYTES + 2,
    PLACEHOLDER_MIN_BYTES = PLACEHOLDER_FRAME_BYTES + 1,
};

/* Returns how much of a body is read at once. Bytes that its handler does not take are kept, so
 * while many are kept only a few are read. Of a body of known length, hardly more than the body is
 * read. */
static size_t piece_size(const struct http_connection *connection) {
    const struct mhd_recv *wire = &connection->wire;
    const bool is_crowded = connection->daemon->server->kept_bytes >= KEPT_BYTES_MAX;
    const size_t size = is_crowded ? SMALL_PIECE_BYTES : HTTP_BODY_PIECE_BYTES;
    const bool is_last =
        wire->phase == HTTP_WIRE_BODY && wire->body_left + OVERREAD_BYTES_MAX < size;
    return is_last ? (size_t)wire->body_left + OVERREAD_BYTES_MAX : size;
}

/* Returns: the length of the piece, of which `length` bytes were there before. */
static size_t read_piece(struct http_connection *connection, char *data, size_t length) {
    const size_t size = piece_size(connection);
    if (length < size && (!connection->wire.is_drained || connection->wire.pending.length > 0)) {
        const ssize_t count = mhd_recv_take(connection, data + length, size - length);
        length += count > 0 ? (size_t)count : 0;
    }
    return length;
}

static struct parley_bytes unframe_counted(struct mhd_recv *wire, char *data, size_t length) {
    const size_t used = length < wire->body_left ? length : (size_t)wire->body_left;
    wire->body_left -= used;
    if (wire->body_left == 0) {
        wire->phase = HTTP_WIRE_WHOLE;
    }
    mhd_recv_put_back(wire, data + used, length - used);
    return (struct parley_bytes){data, used};
}

/* Data after a fault is dropped: the connection is closed after the answer. */
static struct parley_bytes unframe_chunks(struct mhd_recv *wire, char *data, size_t length) {
    size_t used = 0;
    const struct parley_bytes body = http_chunks_gather(&wire->chunks, data, length, &used);
    wire->fault = wire->chunks.fault;
    wire->fault_status = 400;
    if (wire->fault != NULL || wire->chunks.phase == HTTP_CHUNKS_END) {
        wire->phase = HTTP_WIRE_WHOLE;
    }
    if (wire->fault == NULL) {
        mhd_recv_put_back(wire, data + used, length - used);
    }
    return body;
}

/* libmicrohttpd waits for edges, and a FIN that came with data made none of its own: after a read
 * that drained the socket nothing would report it. */
static void watch_for_end(struct http_connection *connection) {
    const struct mhd_recv *wire = &connection->wire;
    const bool has_failed = wire->error != 0 && wire->error != EAGAIN;
    if (connection->has_half_closed || wire->has_ended || has_failed) {
        http_look_later(connection);
    } else if (!connection->is_watched) {
        (void)http_watch(connection, 0); /* without memory the idle timeout must suffice */
    }
}

/* A chunk of arbitrary content that stands for the piece.  `length`: of all of it. */
static size_t write_placeholder(char *out, size_t length) {
    static const char line[PLACEHOLDER_LINE_BYTES + 1] = "00000000\r\n";
    size_t content = length - PLACEHOLDER_FRAME_BYTES;
    memcpy(out, line, PLACEHOLDER_LINE_BYTES);
    for (char *digit = out + PLACEHOLDER_LINE_BYTES - 2; content > 0; content >>= 4) {
        *--digit = "0123456789abcdef"[content & 15];
    }
    out[length - 2] = '\r';
    out[length - 1] = '\n';
    return length;
}

static const char last_chunk[] = "0\r\n\r\n";

/* The body is not read further: for libmicrohttpd it ends here. */
static size_t cut_off(struct http_connection *connection, unsigned status, const char *fault,
                      char *out) {
    struct mhd_recv *wire = &connection->wire;
    wire->fault = fault;
    wire->fault_status = status;
    wire->phase = HTTP_WIRE_WHOLE;
    memcpy(out, last_chunk, sizeof last_chunk - 1);
    return sizeof last_chunk - 1;
}

size_t mhd_recv_give_body(struct http_connection *connection, char *out, size_t size,
                          size_t length) {
    struct mhd_recv *wire = &connection->wire;
    struct http_piece *piece = &connection->daemon->server->piece;
    struct parley_bytes body;
    _Static_assert(HTTP_WIRE_READ_MIN >= PLACEHOLDER_MIN_BYTES + sizeof last_chunk, "it has room");
    assert(size >= PLACEHOLDER_MIN_BYTES + sizeof last_chunk);
    const struct http_server *server = connection->daemon->server;
    const uint64_t body_max = server->options.body_bytes_max;
    if (connection->deadline.is_late) {
        return cut_off(connection, 408, server->late_body, out);
    }
    do {
        length = read_piece(connection, piece->data, length);
        body = wire->phase == HTTP_WIRE_CHUNKS ? unframe_chunks(wire, piece->data, length)
                                               : unframe_counted(wire, piece->data, length);
        length = 0;
    } while (body.length == 0 && wire->phase != HTTP_WIRE_WHOLE && !wire->is_drained);
    wire->body_length += body.length;
    if (body_max > 0 && wire->body_length > body_max) {
        return cut_off(connection, 413, server->large_body, out);
    }
    const bool is_whole = wire->phase == HTTP_WIRE_WHOLE;
    size_t given = 0;
    if (body.length > 0) {
        piece->connection = connection;
        piece->body = body;
        connection->daemon->server->turn_bytes += body.length;
        const bool is_last = is_whole || wire->is_drained;
        given = write_placeholder(out, is_last ? (size_t)PLACEHOLDER_MIN_BYTES : size);
    }
    if (is_whole) {
        memcpy(out + given, last_chunk, sizeof last_chunk - 1);
        given += sizeof last_chunk - 1;
    } else if (wire->is_drained) {
        watch_for_end(connection);
    }
    return given;
}

struct parley_bytes mhd_recv_piece(struct http_connection *connection, struct parley_bytes given) {
    struct http_piece *piece = &connection->daemon->server->piece;
    if (piece->connection != connection) {
        return given;
    }
    piece->connection = NULL;
    return piece->body;
}
