/* SPDX-License-Identifier: Apache-2.0 */

/* libmicrohttpd 0.9.75 reads sockets by recv, accepts ambiguous input, answers some of the input
 * that it rejects by itself (twice, with a page of its own, or not at all), and spins when its pool
 * is full. None of that can be configured, nor how it reads. So its recv is parley's: this program
 * defines the symbol, which the dynamic linker prefers to the C library's, and libmicrohttpd then
 * reads only input that it handles well (ADR 9):
 *
 *   - a head when it is complete, was read by http_head.c, and rewritten: a refused one as a
 *     request without a body, which http_server.c refuses when it comes to it;
 *   - a body that is whole with its head, or placeholders for its pieces, which are read into one
 *     buffer of the server (ADR 10), up to its end or to where its framing breaks;
 *   - the next request when this one has ended.
 *
 * The cost is a copy of the head. There are no additional system calls; often there is one less,
 * since a connection that is resumed for its answer would read first.
 *
 * The recv of other callers and of other threads is the C library's. The files of this folder call
 * recvfrom where they mean the socket. */

#include "mhd_recv.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http_internal.h"

enum {
    EMPTY_LINES_MAX = 8, /* before a request: a client could send them forever */
    MARGIN_BYTES = 32,   /* that the head of a sound request may be longer when it is rewritten */
    FD_TABLE_MIN = 64,
};

static _Thread_local struct http_server *running;

static ssize_t read_for(struct http_connection *connection, char *out, size_t size);

/* The name in C differs, since <sys/socket.h> may define recv as an inline function. */
ssize_t mhd_recv_recv(int fd, void *buffer, size_t size, int flags) __asm__("recv")
    __attribute__((visibility("default"), used));

ssize_t mhd_recv_recv(int fd, void *buffer, size_t size, int flags) {
    const struct http_server *server = running;
    if (server != NULL && (size_t)fd < server->by_fd_count && server->by_fd[fd] != NULL) {
        return read_for(server->by_fd[fd], buffer, size);
    }
    return mhd_recv_read(fd, buffer, size, flags);
}

/* ---- the head ---- */

static void begin_body(struct mhd_recv *wire, const struct http_head *head) {
    wire->body_left = (uint64_t)head->content_length;
    wire->body_length = 0;
    wire->chunks = (struct http_chunks){0};
    wire->phase = head->fault != NULL         ? HTTP_WIRE_WHOLE
                  : head->is_chunked          ? HTTP_WIRE_CHUNKS
                  : head->content_length != 0 ? HTTP_WIRE_BODY
                                              : HTTP_WIRE_WHOLE;
}

static ssize_t refuse(struct http_connection *connection, unsigned status, const char *fault,
                      bool is_head, char *out) {
    http_head_refuse(&connection->head, status, fault, is_head);
    begin_body(&connection->wire, &connection->head);
    connection->is_cut = true;
    return (ssize_t)http_head_write(&connection->head, false, out);
}

/* `raw`: a whole head.  Returns: as recv. */
static ssize_t take_head(struct http_connection *connection, struct parley_bytes raw) {
    connection->wire.empty_lines = 0;
    struct http_head *head = &connection->head;
    if (http_head_read(head, raw) != PARLEY_OK) {
        connection->wire.error = ENOMEM;
        return -1;
    }
    const struct http_server *server = connection->daemon->server;
    const uint64_t body_max = server->options.body_bytes_max;
    if (head->fault == NULL && body_max > 0 && (uint64_t)head->content_length > body_max) {
        head->fault = server->large_body;
        head->status = 413;
    }
    begin_body(&connection->wire, head);
    return 0;
}

/* Returns the end of the empty line; 0 if it has not come. `from`: the offset up to which it was
 * checked before. */
static size_t head_end(struct parley_bytes bytes, size_t from) {
    const char *at = bytes.data + from, *const end = bytes.data + bytes.length;
    const char *line_end;
    while ((line_end = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        at = line_end + 1;
        if (at - bytes.data >= 4 && memcmp(at - 4, "\r\n\r\n", 4) == 0) {
            return (size_t)(at - bytes.data);
        }
    }
    return 0;
}

/* The body comes in pieces, of which the first begins after the head, unless it must wait. */
static ssize_t begin_pieces(struct http_connection *connection, char *out, size_t length,
                            size_t end, size_t *in_piece) {
    if (connection->head.expects_continue) {
        mhd_recv_put_back(&connection->wire, out + end, length - end);
    } else {
        *in_piece = length - end;
        memcpy(connection->daemon->server->piece.data, out + end, *in_piece);
    }
    return (ssize_t)http_head_write(&connection->head, true, out);
}

/* The connection moves to the other daemon, with the data from the head on: libmicrohttpd is shown
 * its end (mhd_handover.c).  Returns: as recv. */
static ssize_t leave(struct mhd_recv *wire, struct parley_bytes taken) {
    mhd_recv_put_back(wire, taken.data, taken.length);
    wire->phase = HTTP_WIRE_HEAD;
    wire->scanned = 0;
    wire->has_ended = true;
    return 0;
}

/* A whole head came in one piece, and is where libmicrohttpd wants it: `length` bytes at `out`, of
 * which the head is `end`. If the body is whole too, it stays there (*in_piece is 0). */
static ssize_t rewrite(struct http_connection *connection, char *out, size_t length, size_t end,
                       size_t *in_piece) {
    struct mhd_recv *wire = &connection->wire;
    struct http_head *head = &connection->head;
    const size_t rest = length - end;
    char written[HTTP_REWRITTEN_MAX];
    const struct parley_bytes raw = {out, end};
    const struct http_head_bound *bound = &connection->daemon->server->head_bound;
    if (end > bound->bytes_max) {
        unsigned status;
        const char *fault = http_head_fault_so_far(raw, 0, bound, &status);
        return refuse(connection, status, fault, memcmp(out, "HEAD ", 5) == 0, out);
    }
    if (take_head(connection, raw) != 0) {
        return -1;
    }
    if (head->fault != NULL) {
        return refuse(connection, head->status, head->fault, head->is_head, out);
    }
    if (mhd_handover_begin(connection)) {
        return leave(wire, (struct parley_bytes){out, length});
    }
    if (wire->phase == HTTP_WIRE_CHUNKS || wire->body_left > rest) {
        return begin_pieces(connection, out, length, end, in_piece);
    }
    const size_t body_length = (size_t)wire->body_left;
    const size_t head_length = http_head_write(head, false, written);
    wire->phase = HTTP_WIRE_WHOLE;
    mhd_recv_put_back(wire, out + end + body_length, rest - body_length);
    assert(head_length <= end + MARGIN_BYTES);
    memmove(out + head_length, out + end, body_length);
    memcpy(out, written, head_length);
    return (ssize_t)(head_length + body_length);
}

/* Empty lines before a request are skipped (RFC 9112, section 2.2: at least one).
 * Returns: whether there are too many. */
static bool skip_empty_lines(struct mhd_recv *wire) {
    size_t length = 0;
    while (length + 2 <= wire->pending.length &&
           memcmp(wire->pending.data + length, "\r\n", 2) == 0) {
        length += 2;
    }
    if (length > 0) {
        mhd_recv_drop(wire, length);
    }
    wire->empty_lines += length / 2;
    return wire->empty_lines > EMPTY_LINES_MAX;
}

/* The pending bytes are the head, or the start of it. */
static ssize_t gather_head(struct http_connection *connection, char *out, size_t size) {
    struct mhd_recv *wire = &connection->wire;
    struct parley_buffer *pending = &wire->pending;
    const struct http_head_bound *bound = &connection->daemon->server->head_bound;
    unsigned status = 0;
    const char *fault = NULL;
    size_t end = 0;
    for (;;) {
        if (skip_empty_lines(wire)) {
            status = 400;
            fault = "More than 8 empty lines come before the request line.";
            break;
        }
        if (connection->deadline.is_late) {
            status = 408;
            fault = connection->daemon->server->late_head;
            break;
        }
        const struct parley_bytes so_far = parley_buffer_bytes(pending);
        const bool is_blank = so_far.length == 0 || (so_far.length == 1 && *so_far.data == '\r');
        end = is_blank ? 0 : head_end(so_far, wire->scanned);
        const struct parley_bytes known = {so_far.data, end > 0 ? end : so_far.length};
        fault = is_blank ? NULL : http_head_fault_so_far(known, wire->scanned, bound, &status);
        wire->scanned = so_far.length;
        if (fault != NULL || end > 0) {
            break;
        }
        const ssize_t count = mhd_recv_receive(connection, out, size);
        if (count <= 0) {
            return count;
        }
        parley_buffer_append(pending, (struct parley_bytes){out, (size_t)count});
        if (parley_buffer_status(pending) != PARLEY_OK) {
            return -1;
        }
    }
    if (fault != NULL) {
        const bool is_head = pending->length > 5 && memcmp(pending->data, "HEAD ", 5) == 0;
        return refuse(connection, status, fault, is_head, out);
    }
    if (take_head(connection, (struct parley_bytes){pending->data, end}) != 0) {
        return -1;
    }
    const struct http_head *head = &connection->head;
    if (head->fault != NULL) {
        return refuse(connection, head->status, head->fault, head->is_head, out);
    }
    if (mhd_handover_begin(connection)) {
        return leave(wire, PARLEY_BYTES(""));
    }
    mhd_recv_drop(wire, end);
    return (ssize_t)http_head_write(head, wire->phase != HTTP_WIRE_WHOLE, out);
}

static ssize_t give_head(struct http_connection *connection, char *out, size_t size,
                         size_t *in_piece) {
    struct mhd_recv *wire = &connection->wire;
    const bool has_room = size >= 2 * (size_t)HTTP_REWRITTEN_MAX;
    assert(has_room); /* libmicrohttpd's pool is made with that much */
    if (!has_room) {
        wire->error = ENOMEM;
        return -1;
    }
    if (wire->pending.length == 0) {
        const ssize_t count = mhd_recv_receive(connection, out, size - MARGIN_BYTES);
        if (count <= 0) {
            return count;
        }
        const struct parley_bytes bytes = {out, (size_t)count};
        const size_t end = out[0] != '\r' ? head_end(bytes, 0) : 0;
        if (end > 0) {
            return rewrite(connection, out, bytes.length, end, in_piece);
        }
        mhd_recv_put_back(wire, out, bytes.length);
    }
    return gather_head(connection, out, size);
}

/* ---- reading ---- */

static bool is_within_body(const struct mhd_recv *wire) {
    return wire->phase == HTTP_WIRE_BODY || wire->phase == HTTP_WIRE_CHUNKS;
}

/* Returns: as recv. */
static ssize_t give(struct http_connection *connection, char *out, size_t size) {
    struct mhd_recv *wire = &connection->wire;
    const bool is_head = wire->phase == HTTP_WIRE_HEAD;
    ssize_t given = 0;
    size_t in_piece = 0;
    if (is_head) {
        given = give_head(connection, out, size, &in_piece);
        if (given <= 0) {
            return given;
        }
    }
    if (!is_within_body(wire)) {
        return given;
    }
    if (is_head && connection->head.expects_continue) {
        /* libmicrohttpd sends its 100 before it looks at the body. */
        if (wire->pending.length > 0 || !wire->is_drained) {
            http_look_later(connection);
        }
        return given;
    }
    return given +
           (ssize_t)mhd_recv_give_body(connection, out + given, size - (size_t)given, in_piece);
}

static ssize_t read_for(struct http_connection *connection, char *out, size_t size) {
    struct http_server *server = connection->daemon->server;
    struct mhd_recv *wire = &connection->wire;
    const size_t pending_before = wire->pending.length;
    if (size < HTTP_WIRE_READ_MIN) {
        errno = ECONNRESET; /* libmicrohttpd asks which error epoll has reported: it reads an int */
        return -1;
    }
    if (wire->phase == HTTP_WIRE_WHOLE) {
        errno = EAGAIN;
        return -1;
    }
    server->piece.connection = NULL;
    wire->is_drained = wire->has_ended = false;
    wire->error = 0;
    ssize_t given = give(connection, out, size);
    server->kept_bytes += wire->pending.length - pending_before;
    connection->is_cut = connection->is_cut || wire->fault != NULL;
    http_deadline_note(connection);
    if (parley_buffer_status(&wire->pending) != PARLEY_OK) {
        wire->error = ENOMEM;
        given = -1;
    }
    if (given > 0 || (given == 0 && wire->has_ended)) {
        return given;
    }
    errno = wire->error != 0 ? wire->error : EAGAIN;
    return -1;
}

/* ---- lifecycle ---- */

void mhd_recv_describe_bound(struct http_server *server) {
    snprintf(server->large_body, sizeof server->large_body,
             "The body has more than %llu bytes (--body-max). Send it in several requests. Of many "
             "messages, those that came whole were processed.",
             (unsigned long long)server->options.body_bytes_max);
}

void mhd_recv_start(struct http_server *server) {
    http_head_bound_init(&server->head_bound, server->options.head_bytes_max);
    mhd_recv_describe_bound(server);
}

enum parley_status mhd_recv_open(struct http_connection *connection) {
    struct http_server *server = connection->daemon->server;
    const size_t fd = (size_t)connection->watch.fd;
    if (fd >= server->by_fd_count) {
        const size_t count = fd < FD_TABLE_MIN ? (size_t)FD_TABLE_MIN : fd * 2;
        struct http_connection **table = realloc(server->by_fd, count * sizeof *table);
        if (table == NULL) {
            return PARLEY_E_MEMORY;
        }
        memset(table + server->by_fd_count, 0, (count - server->by_fd_count) * sizeof *table);
        server->by_fd = table;
        server->by_fd_count = count;
    }
    server->by_fd[fd] = connection;
    return PARLEY_OK;
}

void mhd_recv_close(struct http_connection *connection) {
    struct http_server *server = connection->daemon->server;
    const size_t fd = (size_t)connection->watch.fd;
    server->kept_bytes -= connection->wire.pending.length;
    parley_buffer_finish(&connection->wire.pending);
    if (fd < server->by_fd_count && server->by_fd[fd] == connection) {
        server->by_fd[fd] = NULL;
    }
}

void mhd_recv_next(struct http_connection *connection) {
    struct mhd_recv *wire = &connection->wire;
    wire->phase = HTTP_WIRE_HEAD;
    wire->scanned = 0;
    http_head_release(&connection->head);
    if (wire->pending.length > 0 || !wire->is_drained) {
        http_look_later(connection);
    }
}

void mhd_recv_enter(struct http_server *server) {
    running = server;
}

void mhd_recv_leave(void) {
    running = NULL;
}
