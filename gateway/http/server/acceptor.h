/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Accepts connections, and has their TLS ended. */

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include <parley/bytes.h>
#include <parley/status.h>

#include "sender_limits.h"
#include "reactor.h"
#include "tls_server.h"

struct acceptor;
struct tls_context;

/* A connection; nothing was read from it. */
struct acceptor_connection {
    int fd;                  /* with TLS: the plain end */
    const char *certificate; /* the name of the client's, borrowed during the call; NULL if it has
                                shown none */
    int64_t certificate_expires_at; /* Unix time */
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } peer;
    socklen_t peer_length;
    struct tally_entry *opening; /* of its address; NULL if it is not counted */
};

struct acceptor_options {
    int listen_fd; /* borrowed */
    unsigned connections_max;
    unsigned idle_timeout_s;      /* 0: no limit */
    struct limits *limits;        /* NULL: no limits */
    struct tls_context *tls;      /* NULL: plain TCP */
    int64_t handshake_timeout_ms; /* of TLS */
    /* Takes over the descriptor; acceptor_release reports its end, also from within this call. */
    void (*serve)(void *context, const struct acceptor_connection *connection);
    /* Its address has as many as it may. Takes over the descriptor like `serve`. */
    void (*refuse)(void *context, const struct acceptor_connection *connection);
    void *context;
};

enum parley_status acceptor_create(struct reactor *reactor, const struct acceptor_options *options,
                                   struct acceptor **out) PARLEY_MUST_CHECK;
/* One of the connections that were handed over is closed.  `opening`: that connection's. */
void acceptor_release(struct acceptor *acceptor, struct tally_entry *opening);
/* Marks that `fd` is about to be closed by its server, and that its client must not take the data
 * it got for complete: the client gets a reset. */
void acceptor_break(struct acceptor *acceptor, int fd);
/* The connection handed over as `fd` has the descriptor `next_fd` from now on. */
void acceptor_renumber(struct acceptor *acceptor, int fd, int next_fd);
/* Returns how many were closed by their servers, and have something left to send. */
size_t acceptor_closing_count(const struct acceptor *acceptor);
/* Returns how many are open: those that it has, and those that it has handed over. */
size_t acceptor_open_count(const struct acceptor *acceptor);
struct tls_totals acceptor_tls_totals(const struct acceptor *acceptor);
/* Accepts no further connection, and closes those that were not handed over. */
void acceptor_stop(struct acceptor *acceptor);
void acceptor_destroy(struct acceptor *acceptor);
