/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Declarations that the files of TLS share: a reactor's server and its connections. tls_context.c
 * sets the negotiated parameters; tls_socket.c reads and writes a connection's socket for OpenSSL;
 * tls_handshake.c is its beginning, tls_pump.c the rest; tls_server.c bounds all of them in number
 * and time. */

#include <stdbool.h>
#include <sys/queue.h>

#include <openssl/ssl.h>

#include "tls_context.h"
#include "tls_name.h"
#include "tls_server.h"

enum {
    TLS_PIECE_BYTES = 16384, /* the payload of a record */
};

/* A connection's life; tls_move in tls_server.c makes every transition:
 *
 *     SILENT ──first byte──▶ HANDSHAKE ──done──▶ OPEN ──plain end closed──▶ CLOSING
 *        │                       │                                             │
 *        │                       └─failed, with an alert─▶ LINGERING ◀─all sent┘
 *        └──plain text, which is answered──────────────────▲
 *
 * Each may end at once: the client has disconnected, is too slow, or there is no memory. */
enum tls_state {
    TLS_SILENT, /* nothing was received, and there is no SSL */
    TLS_HANDSHAKE,
    TLS_OPEN,
    TLS_CLOSING,   /* bytes that the plain end wrote are still to be sent */
    TLS_LINGERING, /* closing now could discard data that the client has not read */
    TLS_STATE_COUNT,
};

/* The known state of a connection's TCP socket. */
enum tls_net {
    TLS_NET_READY,   /* it may have something to read */
    TLS_NET_DRAINED, /* the last read took all there was, and no event came since */
    TLS_NET_ENDING,  /* the client has ended its sending half: it is read to its end */
    TLS_NET_LOST, /* the other half has ended too: received data is still read, and nothing written
                   */
};

/* The event that one direction of a connection waits for. */
enum tls_await {
    TLS_AWAITS_NOTHING,
    TLS_AWAITS_NET_IN,
    TLS_AWAITS_NET_OUT,
    TLS_AWAITS_PLAIN_IN,
    TLS_AWAITS_PLAIN_OUT,
};

enum tls_phase {
    TLS_FLOWING,
    TLS_ENDING, /* its source has ended; of the outgoing one, whose close_notify is to be sent */
    TLS_OVER,
};

/* One direction. Data that its sink did not take is held, and its source is not read until then. */
struct tls_flow {
    enum tls_await awaits;
    enum tls_phase phase;
    char *held; /* NULL if empty */
    size_t held_offset, held_length;
};

struct tls_connection {
    struct tls_server *server;
    SSL *ssl; /* from HANDSHAKE to CLOSING */
    struct reactor_watch net;
    struct reactor_watch plain; /* fd -1 if there is none */
    int given_fd;               /* the other end, while it is open */
    void *tag;
    enum tls_state state;
    struct tls_flow in, out; /* from the client; to it */
    enum tls_net net_state;
    bool has_net_ended; /* the client's end was read */
    bool is_due;
    bool is_broken; /* the client must not take the data it gets for complete */
    size_t discarded_bytes;
    int64_t due_ms;
    TAILQ_ENTRY(tls_connection) links;     /* in the queue of its state */
    TAILQ_ENTRY(tls_connection) due_links; /* in server->due or server->due_handshakes */
};

TAILQ_HEAD(tls_list, tls_connection);

/* Connections in states that have an equal time limit, the first to reach it first. */
struct tls_queue {
    struct tls_server *server;
    struct tls_list connections;
    size_t count;
    int64_t limit_ms; /* 0: no limit */
    struct reactor_timer timer;
};

enum {
    TLS_QUEUE_ARRIVING,
    TLS_QUEUE_OPEN,
    TLS_QUEUE_CLOSING,
    TLS_QUEUE_LINGERING,
    TLS_QUEUE_COUNT
};

struct tls_server {
    struct reactor *reactor;
    struct tls_server_options options;
    struct reactor_turn turn;
    struct tls_queue queues[TLS_QUEUE_COUNT];
    struct tls_list due, due_handshakes;
    struct tls_totals totals;
    char piece[TLS_PIECE_BYTES]; /* data on its way through; free at the end of a call */
};

/* ---- tls_context.c ---- */

/* Returns: NULL without memory. */
SSL *tls_context_open(struct tls_context *context, struct tls_connection *connection);

/* ---- tls_socket.c ---- */

/* A BIO whose data is a struct tls_connection.  Returns: NULL without memory. */
BIO_METHOD *tls_socket_method(void);

/* ---- tls_server.c ---- */

void tls_move(struct tls_connection *connection, enum tls_state to);
/* Makes it continue in this turn. */
void tls_queue_due(struct tls_connection *connection);
/* An event that `flow` may have waited for. */
void tls_resume(struct tls_flow *flow, enum tls_await what);
/* Restarts its time limit. */
void tls_renew(struct tls_connection *connection);
/* Closes and frees it. */
void tls_end(struct tls_connection *connection);

/* ---- tls_handshake.c ---- */

/* Does one step of it. The connection may be freed afterwards. */
void tls_handshake_go_on(struct tls_connection *connection);

/* ---- tls_pump.c ---- */

/* Moves the data that can be moved, up to a limit. The connection may be freed afterwards, but not
 * while it is OPEN. */
void tls_pump_go_on(struct tls_connection *connection);
/* Sends the data that can be sent at once. */
void tls_pump_flush(struct tls_connection *connection);
/* Makes a pair of sockets, and gives away one of them.  Returns: PARLEY_E_IO. */
enum parley_status tls_pump_open(struct tls_connection *connection,
                                 int *out_plain_fd) PARLEY_MUST_CHECK;
/* Drops all held data, and closes our end of the pair. Harmless at any time. */
void tls_pump_close(struct tls_connection *connection);
/* Sends nothing more. The connection may be freed afterwards. */
void tls_linger(struct tls_connection *connection);
