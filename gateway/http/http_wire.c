/* SPDX-License-Identifier: Apache-2.0 */

/* libmicrohttpd 0.9.75 reads sockets by recv, accepts what can be read in two ways, answers some of
 * what it does not accept by itself (twice, with a page of its own, or not at all), and spins when
 * its pool is full. It can be told none of that, nor how to read. So its recv is ours: this program
 * defines the symbol, which the dynamic linker prefers to the C library's, and what libmicrohttpd
 * then reads is what it does well with (ADR 9):
 *
 *   - a head when it is whole, was read by http_head.c, and in words of ours: a refused one as a
 *     request without a body, which http.c refuses when it comes to it;
 *   - a body up to its end, or up to where its framing breaks, and then an end;
 *   - the next request when this one is over.
 *
 * The price is a copy of the head. There is no system call more; often there is one less, since a
 * connection that is resumed for its answer would read first.
 *
 * Anybody else's recv, and that of any other thread, is the C library's. Our own code in this
 * folder says recvfrom where it means the socket. */

#include "http_wire.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "http_internal.h"

enum {
    EMPTY_LINES_MAX = 8, /* before a request: a client could send them for ever */
    MARGIN_BYTES = 32,   /* that a head of a sound request may be longer when it is written anew */
    FD_TABLE_MIN = 64,
};

static _Thread_local struct http_server *running;

static ssize_t read_for(struct http_connection *connection, char *out, size_t size);

/* recv by another name. ThreadSanitizer, whose own recv is hidden by ours, learns from what a
 * recvmsg has read that it came after what was written at the other end; from recvfrom it does not,
 * and takes what libraries hand from thread to thread through NATS for a race. */
static ssize_t read_socket(int fd, void *buffer, size_t size, int flags) {
#ifdef __SANITIZE_THREAD__
    struct iovec piece = {.iov_base = buffer, .iov_len = size};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    return recvmsg(fd, &message, flags);
#else
    return recvfrom(fd, buffer, size, flags, NULL, NULL);
#endif
}

/* The name in C differs, for <sys/socket.h> may define recv as an inline function. */
ssize_t http_wire_recv(int fd, void *buffer, size_t size, int flags) __asm__("recv")
    __attribute__((visibility("default"), used));

ssize_t http_wire_recv(int fd, void *buffer, size_t size, int flags) {
    const struct http_server *server = running;
    if (server != NULL && (size_t)fd < server->by_fd_count && server->by_fd[fd] != NULL) {
        return read_for(server->by_fd[fd], buffer, size);
    }
    return read_socket(fd, buffer, size, flags);
}

/* ---- the socket ---- */

/* As recv.  `size`: not 0. */
static ssize_t receive(struct http_connection *connection, char *out, size_t size) {
    struct http_wire *wire = &connection->wire;
    const ssize_t count = read_socket(connection->watch.fd, out, size, MSG_DONTWAIT);
    wire->is_drained = count < (ssize_t)size;
    wire->has_ended = count == 0;
    wire->error = count < 0 ? errno : 0;
    return count;
}

static void drop_pending(struct http_wire *wire, size_t length) {
    struct parley_buffer *pending = &wire->pending;
    pending->length -= length;
    memmove(pending->data, pending->data + length, pending->length);
    wire->scanned = 0;
    if (pending->length == 0) {
        parley_buffer_finish(pending); /* few connections need it twice */
    }
}

/* What was pending, and what the socket has.  As recv. */
static ssize_t take(struct http_connection *connection, char *out, size_t size) {
    struct http_wire *wire = &connection->wire;
    const size_t pending = wire->pending.length < size ? wire->pending.length : size;
    if (pending == 0) {
        return receive(connection, out, size);
    }
    memcpy(out, wire->pending.data, pending);
    drop_pending(wire, pending);
    if (pending == size) {
        wire->is_drained = false;
        return (ssize_t)size;
    }
    const ssize_t count = receive(connection, out + pending, size - pending);
    return (ssize_t)pending + (count > 0 ? count : 0);
}

static void put_back(struct http_wire *wire, const char *data, size_t length) {
    struct parley_buffer *pending = &wire->pending;
    const size_t before = pending->length;
    parley_buffer_append(pending, (struct parley_bytes){data, length});
    if (before > 0 && length > 0 && parley_buffer_status(pending) == PARLEY_OK) {
        memmove(pending->data + length, pending->data, before);
        memcpy(pending->data, data, length);
    }
}

/* ---- the body ---- */

static void end_body(struct http_wire *wire, const char *tail) {
    wire->phase = HTTP_WIRE_TAIL;
    wire->tail = tail;
}

static void break_chunks(struct http_wire *wire, const char *fault) {
    static const char *const tails[] = {
        [HTTP_CHUNK_SIZE] = "0\r\n\r\n",
        [HTTP_CHUNK_DATA] = "",
        [HTTP_CHUNK_DATA_END] = "\r\n0\r\n\r\n",
        [HTTP_CHUNK_TRAILERS] = "\r\n",
        [HTTP_CHUNKS_END] = "",
    };
    wire->fault = fault;
    end_body(wire, tails[wire->chunks.phase]);
}

static size_t pass_chunks(struct http_wire *wire, const char *data, size_t length) {
    size_t given = 0;
    const size_t used =
        http_chunks_follow(&wire->chunks, (struct parley_bytes){data, length}, &given);
    if (wire->chunks.fault != NULL) {
        break_chunks(wire, wire->chunks.fault);
        return given;
    }
    if (wire->chunks.phase == HTTP_CHUNKS_END) {
        end_body(wire, "\r\n"); /* the trailers are for nobody */
    }
    put_back(wire, data + used, length - used);
    return given;
}

static size_t pass_counted(struct http_wire *wire, const char *data, size_t length) {
    const size_t given = length < wire->body_left ? length : (size_t)wire->body_left;
    wire->body_left -= given;
    if (wire->body_left == 0) {
        wire->phase = HTTP_WIRE_WHOLE;
        put_back(wire, data + given, length - given);
    }
    return given;
}

/* Returns: how many of the bytes libmicrohttpd gets; the others are pending or dropped. */
static size_t pass(struct http_wire *wire, const char *data, size_t length) {
    switch (wire->phase) {
    case HTTP_WIRE_BODY:
        return pass_counted(wire, data, length);
    case HTTP_WIRE_CHUNKS:
        return pass_chunks(wire, data, length);
    case HTTP_WIRE_HEAD:
    case HTTP_WIRE_TAIL:
    case HTTP_WIRE_WHOLE:
        break;
    }
    put_back(wire, data, length);
    return 0;
}

static size_t give_tail(struct http_wire *wire, char *out, size_t size) {
    const size_t left = strlen(wire->tail);
    const size_t given = left < size ? left : size;
    memcpy(out, wire->tail, given);
    wire->tail += given;
    if (given == left) {
        wire->phase = HTTP_WIRE_WHOLE;
    }
    return given;
}

/* ---- the head ---- */

static void begin_body(struct http_wire *wire, const struct http_head *head) {
    wire->body_left = (uint64_t)head->content_length;
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
    return (ssize_t)http_head_write(&connection->head, out);
}

/* `raw`: a whole head.  Returns: as recv. */
static ssize_t take_head(struct http_connection *connection, struct parley_bytes raw) {
    connection->wire.empty_lines = 0;
    struct http_head *head = &connection->head;
    if (http_head_read(head, raw) != PARLEY_OK) {
        connection->wire.error = ENOMEM;
        return -1;
    }
    begin_body(&connection->wire, head);
    return 0;
}

/* Where the empty line ends; 0: it has not come. `from`: what was looked at before. */
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

/* A whole head came in one piece, and lies where libmicrohttpd wants it: `length` bytes at `out`,
 * of which the head are `end`. */
static ssize_t rewrite(struct http_connection *connection, char *out, size_t length, size_t end) {
    struct http_head *head = &connection->head;
    char written[HTTP_REWRITTEN_MAX];
    if (take_head(connection, (struct parley_bytes){out, end}) != 0) {
        return -1;
    }
    if (head->fault != NULL) {
        return refuse(connection, head->status, head->fault, head->is_head, out);
    }
    const size_t head_length = http_head_write(head, written);
    const size_t given = pass(&connection->wire, out + end, length - end);
    assert(head_length <= end + MARGIN_BYTES);
    memmove(out + head_length, out + end, given);
    memcpy(out, written, head_length);
    return (ssize_t)(head_length + given);
}

/* Empty lines before a request are skipped (RFC 9112, section 2.2: at least one).
 * Returns: whether there are too many. */
static bool skip_empty_lines(struct http_wire *wire) {
    size_t length = 0;
    while (length + 2 <= wire->pending.length &&
           memcmp(wire->pending.data + length, "\r\n", 2) == 0) {
        length += 2;
    }
    if (length > 0) {
        drop_pending(wire, length);
    }
    wire->empty_lines += length / 2;
    return wire->empty_lines > EMPTY_LINES_MAX;
}

/* The head is what is pending, or the start of it. */
static ssize_t gather_head(struct http_connection *connection, char *out, size_t size) {
    struct http_wire *wire = &connection->wire;
    struct parley_buffer *pending = &wire->pending;
    unsigned status = 0;
    const char *fault = NULL;
    size_t end = 0;
    for (;;) {
        if (skip_empty_lines(wire)) {
            status = 400;
            fault = "More than 8 empty lines come before the request line.";
            break;
        }
        const struct parley_bytes so_far = parley_buffer_bytes(pending);
        const bool is_blank = so_far.length == 0 || (so_far.length == 1 && *so_far.data == '\r');
        end = is_blank ? 0 : head_end(so_far, wire->scanned);
        const struct parley_bytes known = {so_far.data, end > 0 ? end : so_far.length};
        fault = is_blank ? NULL : http_head_fault_so_far(known, wire->scanned, &status);
        wire->scanned = so_far.length;
        if (fault != NULL || end > 0) {
            break;
        }
        const ssize_t count = receive(connection, out, size);
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
    drop_pending(wire, end);
    return (ssize_t)http_head_write(head, out);
}

static ssize_t give_head(struct http_connection *connection, char *out, size_t size) {
    struct http_wire *wire = &connection->wire;
    const bool has_room = size >= 2 * (size_t)HTTP_REWRITTEN_MAX;
    assert(has_room); /* libmicrohttpd's pool is made with that much */
    if (!has_room) {
        wire->error = ENOMEM;
        return -1;
    }
    if (wire->pending.length == 0) {
        const ssize_t count = receive(connection, out, size - MARGIN_BYTES);
        if (count <= 0) {
            return count;
        }
        const struct parley_bytes bytes = {out, (size_t)count};
        const size_t end = out[0] != '\r' ? head_end(bytes, 0) : 0;
        if (end > 0) {
            return rewrite(connection, out, bytes.length, end);
        }
        put_back(wire, out, bytes.length);
    }
    return gather_head(connection, out, size);
}

/* ---- reading ---- */

static bool is_within_body(const struct http_wire *wire) {
    return wire->phase == HTTP_WIRE_BODY || wire->phase == HTTP_WIRE_CHUNKS ||
           wire->phase == HTTP_WIRE_TAIL;
}

/* Returns: how much of the body libmicrohttpd gets. */
static size_t give_some(struct http_connection *connection, char *out, size_t size) {
    struct http_wire *wire = &connection->wire;
    const ssize_t count = take(connection, out, size);
    const size_t given = count > 0 ? pass(wire, out, (size_t)count) : 0;
    if (given == 0 && wire->phase == HTTP_WIRE_CHUNKS && wire->pending.length >= size) {
        break_chunks(wire, "A line of the chunked body is too long.");
    }
    return given;
}

/* What is kept back of a chunked body makes room for more. */
static size_t give_body(struct http_connection *connection, char *out, size_t size) {
    struct http_wire *wire = &connection->wire;
    bool has_more = !wire->is_drained || wire->pending.length > 0;
    size_t given = 0;
    while (given < size && is_within_body(wire)) {
        if (wire->phase == HTTP_WIRE_TAIL) {
            given += give_tail(wire, out + given, size - given);
        } else if (!has_more || (given > 0 && wire->pending.length >= size - given)) {
            break;
        } else {
            given += give_some(connection, out + given, size - given);
            has_more = !wire->is_drained;
        }
    }
    const bool has_failed = wire->error != 0 && wire->error != EAGAIN;
    if (given < size && is_within_body(wire) && (has_more || wire->has_ended || has_failed)) {
        /* libmicrohttpd takes a short read for a socket that has no more. */
        http_look_later(connection);
    }
    return given;
}

static ssize_t read_for(struct http_connection *connection, char *out, size_t size) {
    struct http_wire *wire = &connection->wire;
    ssize_t given = 0;
    if (wire->phase == HTTP_WIRE_WHOLE) {
        errno = EAGAIN;
        return -1;
    }
    wire->is_drained = wire->has_ended = false;
    wire->error = 0;
    if (wire->phase == HTTP_WIRE_HEAD) {
        given = give_head(connection, out, size);
    }
    if (given >= 0 && is_within_body(wire)) {
        given += (ssize_t)give_body(connection, out + given, size - (size_t)given);
    }
    connection->is_cut = connection->is_cut || wire->fault != NULL;
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

/* ---- life ---- */

enum parley_status http_wire_open(struct http_connection *connection) {
    struct http_server *server = connection->side->server;
    const size_t fd = (size_t)connection->watch.fd;
    parley_buffer_init(&connection->wire.pending);
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

void http_wire_close(struct http_connection *connection) {
    struct http_server *server = connection->side->server;
    const size_t fd = (size_t)connection->watch.fd;
    parley_buffer_finish(&connection->wire.pending);
    if (fd < server->by_fd_count && server->by_fd[fd] == connection) {
        server->by_fd[fd] = NULL;
    }
}

void http_wire_next(struct http_connection *connection) {
    struct http_wire *wire = &connection->wire;
    wire->phase = HTTP_WIRE_HEAD;
    wire->scanned = 0;
    http_head_release(&connection->head);
    if (wire->pending.length > 0 || !wire->is_drained) {
        http_look_later(connection);
    }
}

void http_wire_enter(struct http_server *server) {
    running = server;
}

void http_wire_leave(void) {
    running = NULL;
}
