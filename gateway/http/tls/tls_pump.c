/* SPDX-License-Identifier: Apache-2.0 */

/* An open connection: its bytes, decrypted and encrypted, between the client's socket and the pair
 * of sockets whose other end serves it. The two directions are independent, so that each half can
 * end by itself. Data on its way is in the server's one piece; only data that a sink does not
 * accept is held, up to a piece in each direction, and then its source is not read: so the
 * back-pressure of a client that reads nothing, or of a server that takes nothing, is passed on. */

#include "tls_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>

enum {
    PIECES_A_TURN = 4,          /* in each direction, before others have their turn */
    PLAIN_BUFFER_BYTES = 65536, /* of the pair, in each direction */
    DISCARDED_BYTES_MAX = 1 << 20,
};

/* ---- data that a sink does not accept ---- */

static struct parley_bytes held(const struct tls_flow *flow) {
    return (struct parley_bytes){flow->held + flow->held_offset,
                                 flow->held_length - flow->held_offset};
}

static void drop(struct tls_flow *flow) {
    free(flow->held);
    flow->held = NULL;
    flow->held_offset = flow->held_length = 0;
}

/* The sink accepted `taken` of `bytes`, which are held or on their way.
 * Returns: false without memory. */
static bool keep(struct tls_flow *flow, struct parley_bytes bytes, size_t taken) {
    if (taken == bytes.length) {
        drop(flow);
        return true;
    }
    if (flow->held != NULL) {
        flow->held_offset += taken;
        return true;
    }
    flow->held = malloc(bytes.length - taken);
    if (flow->held == NULL) {
        return false;
    }
    flow->held_length = bytes.length - taken;
    memcpy(flow->held, bytes.data + taken, flow->held_length);
    return true;
}

/* ---- ends ---- */

static void end_in(struct tls_connection *connection) {
    connection->in.phase = TLS_OVER;
    drop(&connection->in);
    shutdown(connection->plain.fd, SHUT_WR);
}

/* Nothing can be sent from now on: the other end notices it when it writes. Data that it has
 * written is discarded, since it may wait for room. */
static void break_out(struct tls_connection *connection) {
    char *piece = connection->server->piece;
    connection->out.phase = TLS_OVER;
    drop(&connection->out);
    shutdown(connection->plain.fd, SHUT_RD);
    while (recv(connection->plain.fd, piece, TLS_PIECE_BYTES, MSG_DONTWAIT) > 0) {
    }
}

static void lose(struct tls_connection *connection) {
    end_in(connection);
    break_out(connection);
}

/* SSL_read, SSL_write or SSL_shutdown could not complete its work for `flow`. An error of the
 * socket is reported as the client's end where that came before it. */
static void settle(struct tls_connection *connection, struct tls_flow *flow, int result) {
    const int error = SSL_get_error(connection->ssl, result);
    if (error == SSL_ERROR_WANT_READ) {
        flow->awaits = TLS_AWAITS_NET_IN;
    } else if (error == SSL_ERROR_WANT_WRITE) {
        flow->awaits = TLS_AWAITS_NET_OUT;
    } else if (error != SSL_ERROR_SSL && flow == &connection->out) {
        break_out(connection); /* earlier data may still be there to read */
    } else if (error == SSL_ERROR_ZERO_RETURN) {
        end_in(connection);
    } else { /* the client broke TLS, or has disconnected */
        lose(connection);
    }
}

/* ---- in: from the client ---- */

static void push_in(struct tls_connection *connection, struct parley_bytes bytes) {
    const ssize_t count =
        send(connection->plain.fd, bytes.data, bytes.length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != EINTR) {
        connection->in.phase = TLS_OVER; /* it has no reader */
        drop(&connection->in);
        return;
    }
    const size_t taken = count > 0 ? (size_t)count : 0;
    if (!keep(&connection->in, bytes, taken)) {
        lose(connection);
        return;
    }
    if (taken < bytes.length) {
        connection->in.awaits = TLS_AWAITS_PLAIN_OUT;
    }
}

static void step_in(struct tls_connection *connection) {
    char *piece = connection->server->piece;
    if (connection->in.held != NULL) {
        push_in(connection, held(&connection->in));
        return;
    }
    ERR_clear_error();
    const int count = SSL_read(connection->ssl, piece, TLS_PIECE_BYTES);
    if (count > 0) {
        push_in(connection, (struct parley_bytes){piece, (size_t)count});
    } else {
        settle(connection, &connection->in, count);
    }
}

/* ---- out: to the client ---- */

static void push_out(struct tls_connection *connection, struct parley_bytes bytes) {
    ERR_clear_error();
    const int count = SSL_write(connection->ssl, bytes.data, (int)bytes.length);
    if (!keep(&connection->out, bytes, count > 0 ? (size_t)count : 0)) {
        lose(connection);
        return;
    }
    if (count <= 0) {
        settle(connection, &connection->out, count);
    } else if (connection->state == TLS_CLOSING) {
        tls_renew(connection);
    }
}

static void pull_out(struct tls_connection *connection) {
    char *piece = connection->server->piece;
    const ssize_t count = recv(connection->plain.fd, piece, TLS_PIECE_BYTES, MSG_DONTWAIT);
    if (count > 0) {
        push_out(connection, (struct parley_bytes){piece, (size_t)count});
    } else if (count < 0 && errno == EAGAIN) {
        connection->out.awaits = TLS_AWAITS_PLAIN_IN;
    } else if (count == 0 || errno != EINTR) {
        connection->out.phase = TLS_ENDING;
    }
}

/* Closing with unsent data resets the connection. */
static void reset_on_close(struct tls_connection *connection) {
    const struct linger none = {.l_onoff = 1};
    setsockopt(connection->net.fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
}

static void send_end(struct tls_connection *connection) {
    if (connection->is_broken) {
        connection->out.phase = TLS_OVER;
        return;
    }
    ERR_clear_error();
    const int result = SSL_shutdown(connection->ssl);
    if (result < 0) {
        settle(connection, &connection->out, result);
        return;
    }
    connection->out.phase = TLS_OVER;
    shutdown(connection->net.fd, SHUT_WR);
}

static void step_out(struct tls_connection *connection) {
    if (connection->out.held != NULL) {
        push_out(connection, held(&connection->out));
    } else if (connection->out.phase == TLS_ENDING) {
        send_end(connection);
    } else {
        pull_out(connection);
    }
}

/* ---- both ---- */

static bool can_go_on(const struct tls_flow *flow) {
    return flow->phase != TLS_OVER && flow->awaits == TLS_AWAITS_NOTHING;
}

static void move_in(struct tls_connection *connection) {
    for (int i = 0; i < PIECES_A_TURN && can_go_on(&connection->in); i++) {
        step_in(connection);
    }
}

static void move_out(struct tls_connection *connection) {
    for (int i = 0; i < PIECES_A_TURN && can_go_on(&connection->out); i++) {
        step_out(connection);
    }
}

/* Reads and discards data.  Returns: whether there may be more. */
static bool discard(struct tls_connection *connection) {
    char *piece = connection->server->piece;
    ssize_t count = 0;
    do {
        count = recv(connection->net.fd, piece, TLS_PIECE_BYTES, MSG_DONTWAIT);
        connection->discarded_bytes += count > 0 ? (size_t)count : 0;
    } while (count > 0 && connection->discarded_bytes < DISCARDED_BYTES_MAX);
    return count < 0 && errno == EAGAIN;
}

void tls_linger(struct tls_connection *connection) {
    tls_pump_close(connection);
    SSL_free(connection->ssl);
    connection->ssl = NULL;
    shutdown(connection->net.fd, SHUT_WR);
    tls_move(connection, TLS_LINGERING);
    if (!discard(connection)) {
        tls_end(connection);
    }
}

static void go_on_open(struct tls_connection *connection) {
    move_in(connection);
    if (connection->net_state == TLS_NET_LOST && connection->out.phase != TLS_OVER) {
        break_out(connection);
    }
    move_out(connection);
    if (can_go_on(&connection->in) || can_go_on(&connection->out)) {
        tls_queue_due(connection);
    }
}

/* Data that the client still sends would keep it from reading. */
static void go_on_closing(struct tls_connection *connection) {
    (void)discard(connection);
    move_out(connection);
    if (connection->out.phase == TLS_OVER && connection->is_broken) {
        reset_on_close(connection);
        tls_end(connection);
    } else if (connection->out.phase == TLS_OVER) {
        tls_linger(connection);
    } else if (can_go_on(&connection->out)) {
        tls_queue_due(connection);
    }
}

void tls_pump_go_on(struct tls_connection *connection) {
    if (connection->state == TLS_OPEN) {
        go_on_open(connection);
    } else if (connection->state == TLS_CLOSING) {
        go_on_closing(connection);
    } else if (!discard(connection)) {
        tls_end(connection);
    }
}

void tls_pump_flush(struct tls_connection *connection) {
    while (can_go_on(&connection->out)) {
        step_out(connection);
    }
}

/* ---- the pair ---- */

static void on_plain(struct reactor_watch *watch, uint32_t events) {
    struct tls_connection *connection = OWNER_OF(watch, struct tls_connection, plain);
    const bool is_closed = (events & EPOLLHUP) != 0;
    tls_resume(&connection->out, TLS_AWAITS_PLAIN_IN);
    if (is_closed || (events & EPOLLOUT) != 0) {
        tls_resume(&connection->in, TLS_AWAITS_PLAIN_OUT);
    }
    if (is_closed && connection->state == TLS_OPEN) {
        connection->in.phase = TLS_OVER;
        drop(&connection->in);
        tls_move(connection, TLS_CLOSING);
    }
    tls_queue_due(connection);
}

enum parley_status tls_pump_open(struct tls_connection *connection, int *out_plain_fd) {
    const int size = PLAIN_BUFFER_BYTES;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0) {
        return PARLEY_E_IO;
    }
    setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    connection->plain = (struct reactor_watch){.ready = on_plain, .fd = pair[0]};
    if (reactor_watch_add(connection->server->reactor, &connection->plain,
                          EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET) != PARLEY_OK) {
        close(pair[0]);
        close(pair[1]);
        connection->plain.fd = -1;
        return PARLEY_E_IO;
    }
    *out_plain_fd = connection->given_fd = pair[1];
    return PARLEY_OK;
}

void tls_pump_close(struct tls_connection *connection) {
    drop(&connection->in);
    drop(&connection->out);
    if (connection->plain.fd >= 0) {
        reactor_watch_remove(connection->server->reactor, &connection->plain);
        close(connection->plain.fd);
        connection->plain.fd = -1;
    }
}
