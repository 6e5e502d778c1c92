/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The bytes that libmicrohttpd reads from a connection's socket: one request at a time, with a head
 * that was read and rewritten (http_head.h), and a body whose framing is valid (ADR 9). */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <parley/buffer.h>
#include <parley/status.h>

#include "http_chunks.h"

struct http_connection;
struct http_server;

/* A read with less room than this is not one of a request. */
enum { HTTP_WIRE_READ_MIN = 32 };

enum mhd_recv_phase {
    HTTP_WIRE_HEAD,   /* before or within a head */
    HTTP_WIRE_BODY,   /* within a body of known length */
    HTTP_WIRE_CHUNKS, /* within a chunked body */
    HTTP_WIRE_WHOLE,  /* libmicrohttpd has the whole request; later bytes wait for its answer */
};

struct mhd_recv {
    enum mhd_recv_phase phase;
    bool is_drained;   /* the socket had nothing more when it was last read */
    bool has_ended;    /* and the client has closed its sending half */
    int error;         /* of that; 0 if there is none */
    const char *fault; /* the fault of the body, other than its content; NULL if there is none */
    unsigned fault_status;        /* of the answer to that */
    uint64_t body_left;           /* the rest of a body of known length */
    uint64_t body_length;         /* the bytes of a body so far */
    struct http_chunks chunks;    /* of a chunked one */
    struct parley_buffer pending; /* received, not passed on so far */
    size_t scanned;               /* of pending, in which no head ends */
    size_t empty_lines;           /* that came since the last head */
};

/* The piece of a body for which libmicrohttpd was given a placeholder just now, or else the bytes
 * it was given. */
struct parley_bytes mhd_recv_piece(struct http_connection *connection, struct parley_bytes given);

/* Before there are connections. */
void mhd_recv_start(struct http_server *server);
/* Writes the text for a body that is too large: after its bound has changed. */
void mhd_recv_describe_bound(struct http_server *server);

/* A connection's first and last. */
enum parley_status mhd_recv_open(struct http_connection *connection) PARLEY_MUST_CHECK;
void mhd_recv_close(struct http_connection *connection);
/* A request of the connection has ended, and there may be another. */
void mhd_recv_next(struct http_connection *connection);

/* Around MHD_run. */
void mhd_recv_enter(struct http_server *server);
void mhd_recv_leave(void);

/* ---- mhd_recv_socket.c ---- */

/* recv. */
ssize_t mhd_recv_read(int fd, void *buffer, size_t size, int flags);
/* Reads from the connection's socket.  `size`: not 0.  Returns: as recv. */
ssize_t mhd_recv_receive(struct http_connection *connection, char *out, size_t size);
/* Takes the pending bytes, then reads the socket.  Returns: as recv. */
ssize_t mhd_recv_take(struct http_connection *connection, char *out, size_t size);
/* Puts bytes before the pending ones. */
void mhd_recv_put_back(struct mhd_recv *wire, const char *data, size_t length);
/* Drops bytes from the beginning of the pending ones. */
void mhd_recv_drop(struct mhd_recv *wire, size_t length);

/* ---- mhd_recv_body.c ---- */

/* Reads a piece of the body, which begins with `length` bytes that are in the server's piece. A
 * placeholder as long as libmicrohttpd's buffer makes it read again; after a shorter one it waits
 * for the socket.
 * Returns: how many bytes libmicrohttpd gets at `out`. */
size_t mhd_recv_give_body(struct http_connection *connection, char *out, size_t size,
                          size_t length);
