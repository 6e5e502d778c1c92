/* SPDX-License-Identifier: Apache-2.0 */

/* A connection's socket as OpenSSL sees it. Its own socket BIO would raise SIGPIPE, and would read
 * once more after each read that drained the socket. */

#include "tls_internal.h"

#include <errno.h>
#include <limits.h>
#include <sys/socket.h>

#include <openssl/bio.h>

static int retry(BIO *bio, int flags) {
    BIO_set_flags(bio, flags | BIO_FLAGS_SHOULD_RETRY);
    return -1;
}

static int read_socket(BIO *bio, char *out, int size) {
    struct tls_connection *connection = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (connection->net_state == TLS_NET_DRAINED) {
        return retry(bio, BIO_FLAGS_READ);
    }
    ssize_t count;
    do {
        count = recv(connection->net.fd, out, (size_t)size, MSG_DONTWAIT);
    } while (count < 0 && errno == EINTR);
    /* An end that came together with the last bytes makes no event of its own. */
    if (count < (ssize_t)size && connection->net_state == TLS_NET_READY) {
        connection->net_state = TLS_NET_DRAINED;
    }
    connection->has_net_ended = count == 0;
    return count < 0 && errno == EAGAIN ? retry(bio, BIO_FLAGS_READ) : (int)count;
}

static int write_socket(BIO *bio, const char *data, int length) {
    const struct tls_connection *connection = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    ssize_t count;
    do {
        count = send(connection->net.fd, data, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (count < 0 && errno == EINTR);
    return count < 0 && errno == EAGAIN ? retry(bio, BIO_FLAGS_WRITE) : (int)count;
}

static long control(BIO *bio, int command, long number, void *pointer) {
    (void)number, (void)pointer;
    const struct tls_connection *connection = BIO_get_data(bio);
    switch (command) {
    case BIO_CTRL_FLUSH:
        return 1;
    case BIO_CTRL_EOF:
        return connection->has_net_ended;
    default:
        return 0;
    }
}

BIO_METHOD *tls_socket_method(void) {
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "parley connection");
    if (method != NULL && BIO_meth_set_read(method, read_socket) == 1 &&
        BIO_meth_set_write(method, write_socket) == 1 && BIO_meth_set_ctrl(method, control) == 1) {
        return method;
    }
    BIO_meth_free(method);
    return NULL;
}
