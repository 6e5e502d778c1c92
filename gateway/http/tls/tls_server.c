/* SPDX-License-Identifier: Apache-2.0 */

/* A reactor's TLS connections: their events, their turns, their time limits and their number.
 *
 * All work that an event makes possible is done in the turn, once for each connection. A handshake
 * costs a signature, which takes up to a few milliseconds, so a turn does only as many of them as
 * fit a short time; the others have theirs in the next one, after open connections had their
 * turn. */

#include "tls_internal.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <openssl/err.h>

enum {
    ARRIVING_MAX = 512, /* handshakes that are not done; beyond it the oldest is closed */
    HANDSHAKES_TURN_NS = 3000000,
    LINGER_MS = 2000, /* as http_linger.c's */
};

/* ---- queues and their time limits ---- */

static struct tls_queue *queue_of(struct tls_connection *connection) {
    static const unsigned char queues[TLS_STATE_COUNT] = {
        [TLS_SILENT] = TLS_QUEUE_ARRIVING,     [TLS_HANDSHAKE] = TLS_QUEUE_ARRIVING,
        [TLS_OPEN] = TLS_QUEUE_OPEN,           [TLS_CLOSING] = TLS_QUEUE_CLOSING,
        [TLS_LINGERING] = TLS_QUEUE_LINGERING,
    };
    return &connection->server->queues[queues[connection->state]];
}

static void set_timer(struct tls_queue *queue) {
    struct reactor *reactor = queue->server->reactor;
    const struct tls_connection *first = TAILQ_FIRST(&queue->connections);
    if (first != NULL && queue->limit_ms > 0 && !queue->timer.is_armed) {
        reactor_timer_set(reactor, &queue->timer, first->due_ms - reactor_now_ms(reactor));
    }
}

static void on_timeout(struct reactor_timer *timer) {
    struct tls_queue *queue = OWNER_OF(timer, struct tls_queue, timer);
    const int64_t now_ms = reactor_now_ms(queue->server->reactor);
    struct tls_connection *first;
    while ((first = TAILQ_FIRST(&queue->connections)) != NULL && first->due_ms <= now_ms) {
        tls_end(first);
    }
    set_timer(queue);
}

static void enqueue(struct tls_connection *connection) {
    struct tls_queue *queue = queue_of(connection);
    connection->due_ms = reactor_now_ms(queue->server->reactor) + queue->limit_ms;
    TAILQ_INSERT_TAIL(&queue->connections, connection, links);
    queue->count++;
    set_timer(queue);
}

static void dequeue(struct tls_connection *connection) {
    struct tls_queue *queue = queue_of(connection);
    TAILQ_REMOVE(&queue->connections, connection, links);
    queue->count--;
}

void tls_renew(struct tls_connection *connection) {
    dequeue(connection);
    enqueue(connection);
}

void tls_move(struct tls_connection *connection, enum tls_state to) {
    static const unsigned char next[TLS_STATE_COUNT] = {
        [TLS_SILENT] = 1 << TLS_HANDSHAKE | 1 << TLS_LINGERING,
        [TLS_HANDSHAKE] = 1 << TLS_OPEN | 1 << TLS_LINGERING,
        [TLS_OPEN] = 1 << TLS_CLOSING,
        [TLS_CLOSING] = 1 << TLS_LINGERING,
        [TLS_LINGERING] = 0,
    };
    const bool is_allowed = (next[connection->state] >> to & 1) != 0;
    assert(is_allowed);
    (void)is_allowed; /* where asserts are left out */
    const bool is_within_limit = connection->state == TLS_SILENT && to == TLS_HANDSHAKE;
    if (is_within_limit) { /* one limit for both, from when it was accepted */
        connection->state = to;
        return;
    }
    dequeue(connection);
    connection->state = to;
    enqueue(connection);
}

/* ---- turns ---- */

static bool is_arriving(const struct tls_connection *connection) {
    return connection->state == TLS_SILENT || connection->state == TLS_HANDSHAKE;
}

static struct tls_list *due_list(struct tls_connection *connection) {
    struct tls_server *server = connection->server;
    return is_arriving(connection) ? &server->due_handshakes : &server->due;
}

void tls_queue_due(struct tls_connection *connection) {
    if (!connection->is_due) {
        connection->is_due = true;
        TAILQ_INSERT_TAIL(due_list(connection), connection, due_links);
    }
}

static void take_due(struct tls_connection *connection) {
    if (connection->is_due) {
        connection->is_due = false;
        TAILQ_REMOVE(due_list(connection), connection, due_links);
    }
}

static void run_handshakes(struct tls_server *server) {
    struct tls_connection *connection;
    const int64_t end_ns =
        TAILQ_EMPTY(&server->due_handshakes) ? 0 : reactor_clock_ns() + HANDSHAKES_TURN_NS;
    while ((connection = TAILQ_FIRST(&server->due_handshakes)) != NULL) {
        take_due(connection);
        tls_handshake_go_on(connection);
        if (reactor_clock_ns() >= end_ns) {
            break;
        }
    }
}

/* Those that have more to do than fits their part of a turn are due again, in the next one. */
static void run_turn(struct reactor_turn *turn) {
    struct tls_server *server = OWNER_OF(turn, struct tls_server, turn);
    struct tls_list due = TAILQ_HEAD_INITIALIZER(due);
    struct tls_connection *connection;
    TAILQ_CONCAT(&due, &server->due, due_links);
    while ((connection = TAILQ_FIRST(&due)) != NULL) {
        TAILQ_REMOVE(&due, connection, due_links);
        connection->is_due = false;
        tls_pump_go_on(connection);
    }
    run_handshakes(server);
}

static int64_t turn_timeout_ms(struct reactor_turn *turn) {
    const struct tls_server *server = OWNER_OF(turn, struct tls_server, turn);
    return TAILQ_EMPTY(&server->due) && TAILQ_EMPTY(&server->due_handshakes) ? -1 : 0;
}

/* ---- one connection ---- */

void tls_resume(struct tls_flow *flow, enum tls_await what) {
    if (flow->awaits == what) {
        flow->awaits = TLS_AWAITS_NOTHING;
    }
}

static void note_net(struct tls_connection *connection, uint32_t events) {
    if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
        connection->net_state = TLS_NET_LOST;
    } else if ((events & EPOLLRDHUP) != 0 && connection->net_state != TLS_NET_LOST) {
        connection->net_state = TLS_NET_ENDING;
    } else if ((events & EPOLLIN) != 0 && connection->net_state == TLS_NET_DRAINED) {
        connection->net_state = TLS_NET_READY;
    }
}

static void on_net(struct reactor_watch *watch, uint32_t events) {
    struct tls_connection *connection = OWNER_OF(watch, struct tls_connection, net);
    const bool is_lost = (events & (EPOLLERR | EPOLLHUP)) != 0;
    const bool is_readable = is_lost || (events & (EPOLLIN | EPOLLRDHUP)) != 0;
    note_net(connection, events);
    if (is_readable) {
        tls_resume(&connection->in, TLS_AWAITS_NET_IN);
        tls_resume(&connection->out, TLS_AWAITS_NET_IN);
    }
    if (is_lost || (events & EPOLLOUT) != 0) {
        tls_resume(&connection->in, TLS_AWAITS_NET_OUT);
        tls_resume(&connection->out, TLS_AWAITS_NET_OUT);
    }
    if (is_readable || connection->state != TLS_SILENT) {
        tls_queue_due(connection);
    }
}

static void make_room(struct tls_queue *arriving) {
    if (arriving->count >= ARRIVING_MAX) {
        tls_end(TAILQ_FIRST(&arriving->connections));
    }
}

enum parley_status tls_server_add(struct tls_server *server, int fd, void *tag) {
    make_room(&server->queues[TLS_QUEUE_ARRIVING]);
    struct tls_connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL) {
        return PARLEY_E_MEMORY;
    }
    connection->server = server;
    connection->tag = tag;
    connection->net = (struct reactor_watch){.ready = on_net, .fd = fd};
    connection->plain = (struct reactor_watch){.fd = -1};
    if (reactor_watch_add(server->reactor, &connection->net,
                          EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET) != PARLEY_OK) {
        free(connection);
        return PARLEY_E_MEMORY;
    }
    enqueue(connection);
    return PARLEY_OK;
}

void tls_end(struct tls_connection *connection) {
    struct tls_server *server = connection->server;
    void *tag = connection->tag;
    take_due(connection);
    dequeue(connection);
    tls_pump_close(connection);
    SSL_free(connection->ssl);
    ERR_clear_error();
    reactor_watch_remove(server->reactor, &connection->net);
    close(connection->net.fd);
    free(connection);
    server->totals.handshakes_failed += tag != NULL ? 1 : 0;
    server->options.closed(server->options.callback_context, tag);
}

/* ---- lifecycle ---- */

enum parley_status tls_server_create(struct reactor *reactor,
                                     const struct tls_server_options *options,
                                     struct tls_server **out) {
    struct tls_server *server = calloc(1, sizeof *server);
    if (server == NULL) {
        return PARLEY_E_MEMORY;
    }
    const int64_t limits_ms[TLS_QUEUE_COUNT] = {
        [TLS_QUEUE_ARRIVING] = options->handshake_timeout_ms,
        [TLS_QUEUE_CLOSING] = options->idle_timeout_ms,
        [TLS_QUEUE_LINGERING] = LINGER_MS,
    };
    server->reactor = reactor;
    server->options = *options;
    TAILQ_INIT(&server->due);
    TAILQ_INIT(&server->due_handshakes);
    for (size_t i = 0; i < TLS_QUEUE_COUNT; i++) {
        struct tls_queue *queue = &server->queues[i];
        *queue = (struct tls_queue){
            .server = server, .limit_ms = limits_ms[i], .timer.fire = on_timeout};
        TAILQ_INIT(&queue->connections);
    }
    server->turn = (struct reactor_turn){.run = run_turn, .timeout_ms = turn_timeout_ms};
    reactor_turn_add(reactor, &server->turn);
    *out = server;
    return PARLEY_OK;
}

static void end_all(struct tls_queue *queue) {
    struct tls_connection *first;
    while ((first = TAILQ_FIRST(&queue->connections)) != NULL) {
        tls_end(first);
    }
    reactor_timer_clear(queue->server->reactor, &queue->timer);
}

/* Searches from the newest on: an older one that had this descriptor has not noticed its end. */
static struct tls_connection *find_given(struct tls_server *server, int plain_fd) {
    struct tls_connection *connection;
    TAILQ_FOREACH_REVERSE(connection, &server->queues[TLS_QUEUE_OPEN].connections, tls_list,
                          links) {
        if (connection->given_fd == plain_fd) {
            break;
        }
    }
    return connection;
}

void tls_server_break(struct tls_server *server, int plain_fd) {
    struct tls_connection *connection = find_given(server, plain_fd);
    if (connection != NULL) {
        connection->is_broken = true;
    }
}

void tls_server_renumber(struct tls_server *server, int plain_fd, int next_fd) {
    struct tls_connection *connection = find_given(server, plain_fd);
    if (connection != NULL) {
        connection->given_fd = next_fd;
    }
}

void tls_server_stop(struct tls_server *server) {
    end_all(&server->queues[TLS_QUEUE_ARRIVING]);
}

struct tls_totals tls_server_totals(const struct tls_server *server) {
    return server->totals;
}

size_t tls_server_count(const struct tls_server *server) {
    size_t count = 0;
    for (size_t i = 0; i < TLS_QUEUE_COUNT; i++) {
        count += server->queues[i].count;
    }
    return count;
}

size_t tls_server_closing_count(const struct tls_server *server) {
    return server->queues[TLS_QUEUE_CLOSING].count;
}

void tls_server_destroy(struct tls_server *server) {
    if (server == NULL) {
        return;
    }
    struct tls_connection *connection;
    TAILQ_FOREACH(connection, &server->queues[TLS_QUEUE_OPEN].connections, links) {
        tls_pump_flush(connection);
    }
    TAILQ_FOREACH(connection, &server->queues[TLS_QUEUE_CLOSING].connections, links) {
        tls_pump_flush(connection);
    }
    for (size_t i = 0; i < TLS_QUEUE_COUNT; i++) {
        end_all(&server->queues[i]);
    }
    free(server);
}
