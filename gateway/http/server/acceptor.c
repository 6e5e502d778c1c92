/* SPDX-License-Identifier: Apache-2.0 */

/* Takes connections from the listening socket, refuses those of addresses that have too many, and
 * has TLS ended. It reads nothing of what clients send. */

#include "acceptor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <netinet/tcp.h>

#include "http.h"
#include "tls_server.h"

enum {
    ACCEPTS_A_TURN = 64, /* so that a flood of connections does not starve those that are open */
    RESOURCE_PAUSE_MS = 100,
    BACKLOG = 4096,
    PROBE_AFTER_S = 15, /* without a byte; again after as long … */
    PROBES_MAX = 4,     /* … and so often before a client that does not answer counts as
                           disconnected */
};

/* Sent to a client that does not speak TLS where it must. */
#define PLAIN_DETAIL "This port speaks TLS. Use https:// instead of http://.\n"
static const char plain_answer[] = "HTTP/1.1 400 Bad Request\r\n"
                                   "Connection: close\r\n"
                                   "Content-Type: text/plain\r\n"
                                   "Content-Length: 55\r\n"
                                   "\r\n" PLAIN_DETAIL;
_Static_assert(sizeof PLAIN_DETAIL - 1 == 55, "plain_answer says how long it is");

struct acceptor {
    struct reactor *reactor;
    struct acceptor_options options;
    struct tls_server *tls; /* NULL: plain TCP */
    struct reactor_watch listening;
    struct reactor_timer pause;
    unsigned open_count;
    bool is_listening, is_stopped;
};

/* ---- the listening socket ---- */

union socket_name {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* Returns: NULL, or the error in them. */
static const char *read_name(const char *address, unsigned port, union socket_name *out,
                             socklen_t *out_length) {
    *out = (union socket_name){.any.sa_family = AF_UNSPEC};
    if (port > UINT16_MAX) {
        return "a port is a number up to 65535";
    }
    if (inet_pton(AF_INET, address, &out->v4.sin_addr) == 1) {
        out->v4.sin_family = AF_INET;
        out->v4.sin_port = htons((uint16_t)port);
        *out_length = sizeof out->v4;
        return NULL;
    }
    if (inet_pton(AF_INET6, address, &out->v6.sin6_addr) == 1) {
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons((uint16_t)port);
        *out_length = sizeof out->v6;
        return NULL;
    }
    return "the address to listen on is not an IPv4 or IPv6 address";
}

static const char *explain(int error) {
    switch (error) {
    case EADDRINUSE:
        return "the port is in use: choose another, or stop what listens there";
    case EACCES:
        return "this port needs privileges: choose one from 1024 on";
    case EADDRNOTAVAIL:
        return "no interface of this machine has the address to listen on: choose another";
    default:
        return "the socket to listen on cannot be opened";
    }
}

/* Returns: a socket with that name; -1, with errno. */
static int bind_socket(const union socket_name *name, socklen_t length) {
    const int one = 1;
    const int fd = socket(name->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
                    bind(fd, &name->any, length) != 0)) {
        const int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* Makes the kernel check whether clients are still there, on each accepted connection. A stream
 * without content of the server's own (frames) writes nothing while nothing is stored, and would
 * never notice that its client has disconnected. */
static void probe_clients(int fd) {
    const int one = 1, seconds = PROBE_AFTER_S, count = PROBES_MAX;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

int http_listen(const char *address, unsigned port, unsigned *out_port, const char **out_error) {
    union socket_name name;
    socklen_t length;
    *out_error = read_name(address, port, &name, &length);
    if (*out_error != NULL) {
        return -1;
    }
    const int fd = bind_socket(&name, length);
    if (fd >= 0) {
        probe_clients(fd);
    }
    if (fd >= 0 && listen(fd, BACKLOG) == 0 && getsockname(fd, &name.any, &length) == 0) {
        *out_port = ntohs(name.any.sa_family == AF_INET ? name.v4.sin_port : name.v6.sin6_port);
        return fd;
    }
    *out_error = explain(errno);
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

const char *http_listen_fault(const char *address, unsigned port) {
    union socket_name name;
    socklen_t length;
    const char *fault = read_name(address, port, &name, &length);
    if (fault != NULL) {
        return fault;
    }
    const int fd = bind_socket(&name, length);
    if (fd < 0) {
        return errno == EADDRINUSE ? NULL : explain(errno);
    }
    close(fd);
    return NULL;
}

/* A TLS connection may have something to send after it was served, and its plain end is closed. */
static bool has_room(const struct acceptor *acceptor) {
    const unsigned max = acceptor->options.connections_max;
    return acceptor->open_count < max &&
           (acceptor->tls == NULL || tls_server_count(acceptor->tls) < max);
}

static void listen_if_there_is_room(struct acceptor *acceptor) {
    bool is_wanted = !acceptor->is_stopped && !acceptor->pause.is_armed && has_room(acceptor);
    if (is_wanted == acceptor->is_listening) {
        return;
    }
    if (!is_wanted) {
        reactor_watch_remove(acceptor->reactor, &acceptor->listening);
        acceptor->is_listening = false;
        return;
    }
    /* EXCLUSIVE: of the reactors that share the socket, a connection wakes one. */
    acceptor->is_listening = reactor_watch_add(acceptor->reactor, &acceptor->listening,
                                               EPOLLIN | EPOLLEXCLUSIVE) == PARLEY_OK;
    if (!acceptor->is_listening) {
        reactor_timer_set(acceptor->reactor, &acceptor->pause, RESOURCE_PAUSE_MS);
    }
}

static void end_pause(struct reactor_timer *timer) {
    struct acceptor *acceptor = OWNER_OF(timer, struct acceptor, pause);
    listen_if_there_is_room(acceptor);
}

void acceptor_release(struct acceptor *acceptor, struct tally_entry *opening) {
    tally_leave(opening);
    acceptor->open_count--;
    listen_if_there_is_room(acceptor);
}

/* ---- one connection ---- */

/* It cannot be served, and gets no answer. */
static void drop(struct acceptor *acceptor, const struct acceptor_connection *connection) {
    close(connection->fd);
    acceptor_release(acceptor, connection->opening);
}

/* Whether its address may have one more.  Sets connection->opening. */
static bool open_for_address(const struct acceptor *acceptor,
                             struct acceptor_connection *connection) {
    const struct limits *limits = acceptor->options.limits;
    if (limits == NULL) {
        return true;
    }
    const struct peer peer = peer_of(&connection->peer.any);
    const struct limit_sender sender = limits_sender(limits, LIMIT_ADDRESS, peer_network(&peer));
    return limits_open(&limits->connections, &sender, peer_is_loopback(&peer),
                       &connection->opening);
}

/* ---- TLS ---- */

/* The tag of a connection of which only TLS is known. */
static void begin_tls(struct acceptor *acceptor, struct acceptor_connection *connection) {
    struct acceptor_connection *tag = malloc(sizeof *tag);
    if (tag != NULL) {
        *tag = *connection;
    }
    if (tag == NULL || tls_server_add(acceptor->tls, connection->fd, tag) != PARLEY_OK) {
        free(tag);
        drop(acceptor, connection);
    }
}

static void on_opened(void *context, void *tag, int plain_fd, const char *name,
                      int64_t expires_at) {
    struct acceptor *acceptor = context;
    struct acceptor_connection connection = *(struct acceptor_connection *)tag;
    free(tag);
    connection.fd = plain_fd;
    connection.certificate = name;
    connection.certificate_expires_at = expires_at;
    acceptor->options.serve(acceptor->options.context, &connection);
}

static void on_closed(void *context, void *tag) {
    struct acceptor *acceptor = context;
    struct acceptor_connection *connection = tag;
    if (connection != NULL) { /* it was never opened */
        acceptor_release(acceptor, connection->opening);
        free(connection);
    }
    listen_if_there_is_room(acceptor);
}

static enum parley_status create_tls(struct acceptor *acceptor) {
    const struct acceptor_options *options = &acceptor->options;
    if (options->tls == NULL) {
        return PARLEY_OK;
    }
    return tls_server_create(acceptor->reactor,
                             &(struct tls_server_options){
                                 .context = options->tls,
                                 .handshake_timeout_ms = options->handshake_timeout_ms,
                                 .idle_timeout_ms = (int64_t)options->idle_timeout_s * 1000,
                                 .plain_answer = PARLEY_BYTES(plain_answer),
                                 .opened = on_opened,
                                 .closed = on_closed,
                                 .callback_context = acceptor,
                             },
                             &acceptor->tls);
}

void acceptor_break(struct acceptor *acceptor, int fd) {
    const struct linger none = {.l_onoff = 1};
    if (acceptor->tls != NULL) {
        tls_server_break(acceptor->tls, fd);
    } else {
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    }
}

void acceptor_renumber(struct acceptor *acceptor, int fd, int next_fd) {
    if (acceptor->tls != NULL) {
        tls_server_renumber(acceptor->tls, fd, next_fd);
    }
}

size_t acceptor_closing_count(const struct acceptor *acceptor) {
    return acceptor->tls != NULL ? tls_server_closing_count(acceptor->tls) : 0;
}

size_t acceptor_open_count(const struct acceptor *acceptor) {
    return acceptor->open_count;
}

struct tls_totals acceptor_tls_totals(const struct acceptor *acceptor) {
    return acceptor->tls != NULL ? tls_server_totals(acceptor->tls) : (struct tls_totals){0};
}

/* ---- accepting ---- */

/* Whether accept4 failed because of that connection, and the next one can be accepted. */
static bool is_passing(int error) {
    return error == EINTR || error == ECONNABORTED || error == EPROTO || error == ENETDOWN ||
           error == ENETUNREACH || error == EHOSTDOWN || error == EHOSTUNREACH || error == ENONET ||
           error == ENOPROTOOPT || error == EPERM;
}

/* With TLS, an answer to one that may not be open would cost a handshake. */
static void begin(struct acceptor *acceptor, struct acceptor_connection *connection) {
    const bool is_tls = acceptor->tls != NULL, is_open = open_for_address(acceptor, connection);
    if (is_open && is_tls) {
        begin_tls(acceptor, connection);
    } else if (is_open) {
        acceptor->options.serve(acceptor->options.context, connection);
    } else if (is_tls) {
        drop(acceptor, connection);
    } else {
        acceptor->options.refuse(acceptor->options.context, connection);
    }
}

static void accept_some(struct reactor_watch *watch, uint32_t events) {
    (void)events;
    struct acceptor *acceptor = OWNER_OF(watch, struct acceptor, listening);
    for (int i = 0; i < ACCEPTS_A_TURN && acceptor->is_listening; i++) {
        struct acceptor_connection connection = {
            .peer_length = sizeof connection.peer,
        };
        connection.fd = accept4(watch->fd, &connection.peer.any, &connection.peer_length,
                                SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (connection.fd < 0 && is_passing(errno)) {
            continue;
        }
        if (connection.fd < 0) {
            /* Without descriptors or memory the socket stays ready: trying at once would spin. */
            if (errno != EAGAIN) {
                reactor_timer_set(acceptor->reactor, &acceptor->pause, RESOURCE_PAUSE_MS);
            }
            break;
        }
        acceptor->open_count++;
        begin(acceptor, &connection);
        listen_if_there_is_room(acceptor);
    }
    listen_if_there_is_room(acceptor);
}

/* ---- lifecycle ---- */

enum parley_status acceptor_create(struct reactor *reactor, const struct acceptor_options *options,
                                   struct acceptor **out) {
    struct acceptor *acceptor = calloc(1, sizeof *acceptor);
    if (acceptor == NULL) {
        return PARLEY_E_MEMORY;
    }
    acceptor->reactor = reactor;
    acceptor->options = *options;
    acceptor->listening = (struct reactor_watch){.ready = accept_some, .fd = options->listen_fd};
    acceptor->pause.fire = end_pause;
    const enum parley_status status = create_tls(acceptor);
    if (status != PARLEY_OK) {
        free(acceptor);
        return status;
    }
    listen_if_there_is_room(acceptor);
    *out = acceptor;
    return PARLEY_OK;
}

void acceptor_stop(struct acceptor *acceptor) {
    acceptor->is_stopped = true;
    listen_if_there_is_room(acceptor);
    reactor_timer_clear(acceptor->reactor, &acceptor->pause);
    if (acceptor->tls != NULL) {
        tls_server_stop(acceptor->tls);
    }
}

void acceptor_destroy(struct acceptor *acceptor) {
    if (acceptor == NULL) {
        return;
    }
    acceptor_stop(acceptor);
    tls_server_destroy(acceptor->tls);
    free(acceptor);
}
