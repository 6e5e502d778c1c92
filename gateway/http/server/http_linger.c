/* SPDX-License-Identifier: Apache-2.0 */

/* Connections whose client is answered although it has more to send. To close one at once would
 * answer further data with a reset, which may discard the answer before the client has read it (RFC
 * 9112, section 9.6). So our half is closed, and further data is read and discarded, for a short
 * time and up to a limit. */

#include "http_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    LINGER_MS = 2000,
    LINGER_BYTES_MAX = 1 << 20,
    PIECE_BYTES = 4096,
};

struct http_linger {
    struct http_server *server;
    struct tally_entry *opening; /* of its connection */
    struct reactor_watch watch;
    int64_t due_ms;
    size_t discarded_bytes;
    TAILQ_ENTRY(http_linger) links;
};

/* Returns: whether there may be more. */
static bool discard(struct http_linger *linger) {
    char bytes[PIECE_BYTES];
    ssize_t count = 0;
    do {
        count = recvfrom(linger->watch.fd, bytes, sizeof bytes, MSG_DONTWAIT, NULL, NULL);
        linger->discarded_bytes += count > 0 ? (size_t)count : 0;
    } while (count > 0 && linger->discarded_bytes < LINGER_BYTES_MAX);
    return count < 0 && errno == EAGAIN;
}

static void end(struct http_linger *linger) {
    struct http_server *server = linger->server;
    reactor_watch_remove(server->reactor, &linger->watch);
    TAILQ_REMOVE(&server->lingering, linger, links);
    close(linger->watch.fd);
    server->lingering_count--;
    acceptor_release(server->acceptor, linger->opening);
    free(linger);
}

static void on_bytes(struct reactor_watch *watch, uint32_t events) {
    (void)events;
    struct http_linger *linger = OWNER_OF(watch, struct http_linger, watch);
    if (!discard(linger)) {
        end(linger);
    }
}

static void set_timer(struct http_server *server) {
    const struct http_linger *first = TAILQ_FIRST(&server->lingering);
    if (first != NULL && !server->linger_timer.is_armed) {
        reactor_timer_set(server->reactor, &server->linger_timer,
                          first->due_ms - reactor_now_ms(server->reactor));
    }
}

static void on_timeout(struct reactor_timer *timer) {
    struct http_server *server = OWNER_OF(timer, struct http_server, linger_timer);
    const int64_t now_ms = reactor_now_ms(server->reactor);
    struct http_linger *first;
    while ((first = TAILQ_FIRST(&server->lingering)) != NULL && first->due_ms <= now_ms) {
        end(first);
    }
    set_timer(server);
}

bool http_linger(struct http_server *server, int fd, struct tally_entry *opening) {
    struct http_linger *linger = malloc(sizeof *linger);
    if (linger == NULL) {
        return false;
    }
    *linger = (struct http_linger){
        .server = server,
        .opening = opening,
        .watch = {.ready = on_bytes, .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)},
        .due_ms = reactor_now_ms(server->reactor) + LINGER_MS,
    };
    shutdown(fd, SHUT_WR);
    if (linger->watch.fd < 0 || !discard(linger) ||
        reactor_watch_add(server->reactor, &linger->watch, EPOLLIN | EPOLLRDHUP) != PARLEY_OK) {
        if (linger->watch.fd >= 0) {
            close(linger->watch.fd);
        }
        free(linger);
        return false;
    }
    TAILQ_INSERT_TAIL(&server->lingering, linger, links);
    server->lingering_count++;
    set_timer(server);
    return true;
}

void http_linger_start(struct http_server *server) {
    TAILQ_INIT(&server->lingering);
    server->linger_timer.fire = on_timeout;
}

void http_linger_stop(struct http_server *server) {
    reactor_timer_clear(server->reactor, &server->linger_timer);
    struct http_linger *first;
    while ((first = TAILQ_FIRST(&server->lingering)) != NULL) {
        end(first);
    }
}
