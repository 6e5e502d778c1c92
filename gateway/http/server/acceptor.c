/* SPDX-License-Identifier: Apache-2.0 */

/* Takes connections from the listening socket and looks at the first bytes of each, without
 * reading them, to decide which daemon it belongs to. It deliberately parses nothing: the
 * options define how a stream begins, and the server of a connection reads it from its
 * first byte. */

#include "acceptor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <unistd.h>

#include <netinet/tcp.h>

#include "http.h"
#include "tls_server.h"

enum {
    ACCEPTS_A_TURN = 64, /* so that a flood of connections does not starve those that are open */
    LOOK_BYTES = 256,    /* whatever is longer without being a stream's start is a request */
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

/* A connection whose kind is not known so far. */
struct newcomer {
    struct acceptor *acceptor;
    struct acceptor_connection connection;
    struct reactor_watch watch;
    int64_t due_ms; /* when it is closed if it is silent, and handed over if it speaks */
    TAILQ_ENTRY(newcomer) links;
};

struct acceptor {
    struct reactor *reactor;
    struct acceptor_options options;
    struct tls_server *tls; /* NULL: plain TCP */
    struct reactor_watch listening;
    struct reactor_timer pause;
    struct reactor_timer idle; /* for the first of the newcomers */
    /* In the order in which their time is up. */
    TAILQ_HEAD(newcomer_list, newcomer) silent, speaking;
    unsigned open_count; /* newcomers and those handed over */
    bool is_listening, is_stopped;
};

enum kind { KIND_SILENT, KIND_UNKNOWN, KIND_REQUEST, KIND_STREAM, KIND_GONE };

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

/* ---- newcomers ---- */

static enum kind look(const struct acceptor *acceptor, int fd, bool is_ended) {
    char start[LOOK_BYTES];
    ssize_t length = recvfrom(fd, start, sizeof start, MSG_PEEK | MSG_DONTWAIT, NULL, NULL);
    if (length < 0) {
        return errno == EAGAIN ? KIND_SILENT : KIND_GONE;
    }
    if (length == 0) {
        return KIND_GONE;
    }
    if (acceptor->options.is_stream == NULL) {
        return KIND_REQUEST;
    }
    int is_stream = acceptor->options.is_stream((struct parley_bytes){start, (size_t)length});
    if (is_stream < 0 && length < LOOK_BYTES && !is_ended) {
        return KIND_UNKNOWN;
    }
    return is_stream > 0 ? KIND_STREAM : KIND_REQUEST;
}

static void settle(struct acceptor *acceptor, struct acceptor_connection *connection,
                   enum kind kind) {
    if (kind == KIND_GONE) {
        close(connection->fd);
        acceptor_release(acceptor, connection->opening);
    } else {
        connection->is_stream = kind == KIND_STREAM;
        acceptor->options.serve(acceptor->options.context, connection);
    }
    free(connection->certificate);
}

static struct newcomer_list *list_of(struct newcomer *newcomer) {
    struct acceptor *acceptor = newcomer->acceptor;
    return newcomer->connection.spoke_ms > 0 ? &acceptor->speaking : &acceptor->silent;
}

static void forget(struct newcomer *newcomer) {
    struct acceptor *acceptor = newcomer->acceptor;
    reactor_watch_remove(acceptor->reactor, &newcomer->watch);
    TAILQ_REMOVE(list_of(newcomer), newcomer, links);
    free(newcomer);
}

/* Returns the one whose time is up first, of those whose time is limited. */
static struct newcomer *next_due(const struct acceptor *acceptor) {
    const struct acceptor_options *options = &acceptor->options;
    struct newcomer *silent = options->idle_timeout_s > 0 ? TAILQ_FIRST(&acceptor->silent) : NULL;
    struct newcomer *speaking =
        options->head_timeout_ms > 0 ? TAILQ_FIRST(&acceptor->speaking) : NULL;
    if (silent == NULL || speaking == NULL) {
        return silent != NULL ? silent : speaking;
    }
    return silent->due_ms <= speaking->due_ms ? silent : speaking;
}

static void set_idle_timer(struct acceptor *acceptor) {
    const struct newcomer *next = next_due(acceptor);
    if (next != NULL) {
        const int64_t wait_ms = next->due_ms - reactor_now_ms(acceptor->reactor);
        reactor_timer_set(acceptor->reactor, &acceptor->idle, wait_ms > 0 ? wait_ms : 0);
    }
}

/* The data announced by the first bytes must be complete within the time of a head, however long
 * the connection was silent. */
static void note_speech(struct newcomer *newcomer) {
    struct acceptor *acceptor = newcomer->acceptor;
    if (newcomer->connection.spoke_ms > 0) {
        return;
    }
    const int64_t now_ms = reactor_now_ms(acceptor->reactor);
    TAILQ_REMOVE(&acceptor->silent, newcomer, links);
    newcomer->connection.spoke_ms = now_ms;
    newcomer->due_ms = now_ms + acceptor->options.head_timeout_ms;
    TAILQ_INSERT_TAIL(&acceptor->speaking, newcomer, links);
    set_idle_timer(acceptor);
}

static void look_again(struct reactor_watch *watch, uint32_t events) {
    struct newcomer *newcomer = OWNER_OF(watch, struct newcomer, watch);
    struct acceptor *acceptor = newcomer->acceptor;
    bool is_ended = (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    enum kind kind = look(acceptor, newcomer->connection.fd, is_ended);
    if (kind == KIND_UNKNOWN && !is_ended) {
        note_speech(newcomer);
        return;
    }
    if (kind == KIND_SILENT && !is_ended) {
        return;
    }
    struct acceptor_connection connection = newcomer->connection;
    forget(newcomer);
    settle(acceptor, &connection, kind <= KIND_UNKNOWN ? KIND_GONE : kind);
}

/* Those that speak get an answer: that their head is late. */
static void close_idle(struct reactor_timer *timer) {
    struct acceptor *acceptor = OWNER_OF(timer, struct acceptor, idle);
    int64_t now_ms = reactor_now_ms(acceptor->reactor);
    struct newcomer *next;
    while ((next = next_due(acceptor)) != NULL && next->due_ms <= now_ms) {
        struct acceptor_connection connection = next->connection;
        forget(next);
        settle(acceptor, &connection, connection.spoke_ms > 0 ? KIND_REQUEST : KIND_GONE);
    }
    set_idle_timer(acceptor);
}

static void wait_for_bytes(struct acceptor *acceptor, struct acceptor_connection *connection,
                           enum kind kind) {
    struct newcomer *newcomer = malloc(sizeof *newcomer);
    if (newcomer == NULL) {
        settle(acceptor, connection, KIND_GONE);
        return;
    }
    *newcomer = (struct newcomer){
        .acceptor = acceptor,
        .connection = *connection,
        .watch = {.ready = look_again, .fd = connection->fd},
        .due_ms =
            reactor_now_ms(acceptor->reactor) + (int64_t)acceptor->options.idle_timeout_s * 1000,
    };
    TAILQ_INSERT_TAIL(&acceptor->silent, newcomer, links);
    /* Edge-triggered: bytes that were looked at and left must not wake it again. */
    if (reactor_watch_add(acceptor->reactor, &newcomer->watch, EPOLLIN | EPOLLRDHUP | EPOLLET) !=
        PARLEY_OK) {
        forget(newcomer);
        settle(acceptor, connection, KIND_GONE);
        return;
    }
    if (kind == KIND_UNKNOWN) {
        note_speech(newcomer);
    } else if (!acceptor->idle.is_armed) {
        set_idle_timer(acceptor);
    }
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

static void begin_plain(struct acceptor *acceptor, struct acceptor_connection *connection) {
    const enum kind kind = look(acceptor, connection->fd, false);
    if (kind <= KIND_UNKNOWN) {
        wait_for_bytes(acceptor, connection, kind);
    } else {
        settle(acceptor, connection, kind);
    }
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
        settle(acceptor, connection, KIND_GONE);
    }
}

static void on_opened(void *context, void *tag, int plain_fd, const char *name,
                      int64_t expires_at) {
    struct acceptor *acceptor = context;
    struct acceptor_connection connection = *(struct acceptor_connection *)tag;
    free(tag);
    connection.fd = plain_fd;
    connection.certificate = name != NULL ? strdup(name) : NULL;
    connection.certificate_expires_at = expires_at;
    if (name != NULL && connection.certificate == NULL) {
        settle(acceptor, &connection, KIND_GONE);
        return;
    }
    begin_plain(acceptor, &connection);
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
        begin_plain(acceptor, connection);
    } else if (is_tls) {
        settle(acceptor, connection, KIND_GONE);
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
    acceptor->idle.fire = close_idle;
    TAILQ_INIT(&acceptor->silent);
    TAILQ_INIT(&acceptor->speaking);
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
    reactor_timer_clear(acceptor->reactor, &acceptor->idle);
    struct newcomer_list *const lists[] = {&acceptor->silent, &acceptor->speaking};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct newcomer *first;
        while ((first = TAILQ_FIRST(lists[i])) != NULL) {
            struct acceptor_connection connection = first->connection;
            forget(first);
            settle(acceptor, &connection, KIND_GONE);
        }
    }
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
