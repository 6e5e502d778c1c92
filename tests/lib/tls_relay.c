/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tls_relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/ssl.h>

enum { PIECE_BYTES = 16384 };

struct flow {
    char data[PIECE_BYTES];
    size_t offset, length;
    bool is_over;
};

struct relay {
    SSL *ssl;
    int net, plain;
    struct flow in, out; /* from the server, to it */
    bool has_reader;     /* of the plain end */
    LIST_ENTRY(relay) links;
};

/* Those whose threads run. The process ends after them, or what they hold would be lost. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    LIST_HEAD(, relay) relays;
} alive = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void wait_for_relays(void) {
    struct relay *relay;
    pthread_mutex_lock(&alive.lock);
    LIST_FOREACH(relay, &alive.relays, links) {
        shutdown(relay->net, SHUT_RDWR);
        shutdown(relay->plain, SHUT_RDWR);
    }
    while (!LIST_EMPTY(&alive.relays)) {
        pthread_cond_wait(&alive.changed, &alive.lock);
    }
    pthread_mutex_unlock(&alive.lock);
}

/* After OpenSSL has registered its own end, which then comes later. */
static void wait_at_exit(void) {
    atexit(wait_for_relays);
}

static void enter(struct relay *relay) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, wait_at_exit);
    pthread_mutex_lock(&alive.lock);
    LIST_INSERT_HEAD(&alive.relays, relay, links);
    pthread_mutex_unlock(&alive.lock);
}

static void leave(struct relay *relay) {
    pthread_mutex_lock(&alive.lock);
    LIST_REMOVE(relay, links);
    SSL_free(relay->ssl);
    close(relay->net);
    close(relay->plain);
    free(relay);
    OPENSSL_thread_stop(); /* what OpenSSL keeps for this thread */
    pthread_cond_signal(&alive.changed);
    pthread_mutex_unlock(&alive.lock);
}

/* Returns: whether something was done. */
static bool settle(struct relay *relay, struct flow *flow, int result) {
    const int error = SSL_get_error(relay->ssl, result);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
        return false;
    }
    flow->is_over = true;
    flow->length = 0;
    shutdown(relay->plain, flow == &relay->in ? SHUT_WR : SHUT_RD);
    return true;
}

static bool push_in(struct relay *relay) {
    struct flow *in = &relay->in;
    const ssize_t count =
        send(relay->plain, in->data + in->offset, in->length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0) {
        relay->has_reader = relay->has_reader && errno == EAGAIN;
        return false;
    }
    in->offset += (size_t)count;
    in->length -= (size_t)count;
    return true;
}

static bool move_in(struct relay *relay) {
    struct flow *in = &relay->in;
    if (in->length > 0) {
        return push_in(relay);
    }
    if (in->is_over) {
        return false;
    }
    const int count = SSL_read(relay->ssl, in->data, PIECE_BYTES);
    if (count <= 0) {
        return settle(relay, in, count);
    }
    in->offset = 0;
    in->length = (size_t)count;
    return true;
}

/* Whether the plain end was closed; what it sent before is sent all the same. */
static bool is_closed(const struct relay *relay) {
    struct pollfd fd = {.fd = relay->plain};
    return !relay->has_reader || (poll(&fd, 1, 0) > 0 && (fd.revents & POLLHUP) != 0);
}

/* Nothing more is read, as by a client that is gone; and if something came that it has not read,
 * what the server does not take of what it sent is dropped, as by a reset. */
static bool is_gone(const struct relay *relay, bool has_sent) {
    const bool is_reset = !relay->has_reader && !has_sent;
    return is_reset || (relay->out.is_over && is_closed(relay));
}

static bool move_out(struct relay *relay) {
    struct flow *out = &relay->out;
    if (out->is_over) {
        return false;
    }
    if (out->length == 0) {
        const ssize_t count = recv(relay->plain, out->data, PIECE_BYTES, MSG_DONTWAIT);
        if (count < 0 && errno == EAGAIN) {
            return false;
        }
        if (count <= 0) {
            out->is_over = true;
            SSL_shutdown(relay->ssl);
            return true;
        }
        out->offset = 0;
        out->length = (size_t)count;
    }
    const int count = SSL_write(relay->ssl, out->data + out->offset, (int)out->length);
    if (count <= 0) {
        return settle(relay, out, count);
    }
    out->offset += (size_t)count;
    out->length -= (size_t)count;
    return true;
}

static void wait_for_both(const struct relay *relay) {
    const bool is_full = relay->in.length > 0, is_empty = relay->out.length == 0;
    const bool is_read = !is_full && !relay->in.is_over, is_written = !is_empty;
    struct pollfd fds[] = {
        {.fd = relay->net, .events = (short)((is_read ? POLLIN : 0) | (is_written ? POLLOUT : 0))},
        {.fd = relay->plain,
         .events =
             (short)((is_full ? POLLOUT : 0) | (is_empty && !relay->out.is_over ? POLLIN : 0))},
    };
    if (fds[0].events == 0) {
        fds[0].fd = -1; /* an error would be reported again and again */
    }
    poll(fds, 2, -1);
}

static void *run(void *context) {
    struct relay *relay = context;
    SSL_connect(relay->ssl); /* what is wrong shows in what follows */
    fcntl(relay->net, F_SETFL, fcntl(relay->net, F_GETFL) | O_NONBLOCK);
    for (;;) {
        const bool has_sent = move_out(relay);
        if (is_gone(relay, has_sent)) {
            break;
        }
        const bool has_moved = move_in(relay) || has_sent;
        if (relay->in.is_over && relay->in.length == 0 && relay->out.is_over) {
            break;
        }
        if (!has_moved) {
            wait_for_both(relay);
        }
    }
    leave(relay);
    return NULL;
}

int tls_relay(int fd) {
    struct relay *relay = calloc(1, sizeof *relay);
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    int pair[2];
    pthread_t thread;
    signal(SIGPIPE, SIG_IGN);
    assert_non_null(relay);
    assert_non_null(ctx);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    /* Without tickets, whose being unread would make a client that closes one that resets. */
    SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION);
    SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
    relay->ssl = SSL_new(ctx);
    relay->net = fd;
    relay->plain = pair[0];
    relay->has_reader = true;
    SSL_CTX_free(ctx);
    SSL_set_fd(relay->ssl, fd);
    enter(relay);
    assert_int_equal(pthread_create(&thread, NULL, run, relay), 0);
    pthread_detach(thread);
    return pair[1];
}
