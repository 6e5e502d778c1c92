/* SPDX-License-Identifier: Apache-2.0 */

/* The beginning of a connection. Nothing is allocated for it before its first byte, which also
 * shows whether it speaks TLS at all. */

#include "tls_internal.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <openssl/err.h>

/* ---- its first byte ---- */

/* No record of TLS begins with a letter, and each request of HTTP does. */
static bool is_plain_text(char first) {
    return (first >= 'A' && first <= 'Z') || (first >= 'a' && first <= 'z');
}

static void refuse_plain_text(struct tls_connection *connection) {
    const struct parley_bytes answer = connection->server->options.plain_answer;
    /* A new socket takes this much at once. */
    (void)!send(connection->net.fd, answer.data, answer.length, MSG_DONTWAIT | MSG_NOSIGNAL);
    tls_linger(connection);
}

/* Returns: whether there is a handshake to continue. */
static bool begin(struct tls_connection *connection) {
    char first;
    const ssize_t count = recv(connection->net.fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN) {
        return false;
    }
    if (count <= 0) {
        tls_end(connection);
        return false;
    }
    if (is_plain_text(first)) {
        refuse_plain_text(connection);
        return false;
    }
    connection->ssl = tls_context_open(connection->server->options.context, connection);
    if (connection->ssl == NULL) {
        tls_end(connection);
        return false;
    }
    tls_move(connection, TLS_HANDSHAKE);
    return true;
}

/* ---- its end ---- */

/* A session that is resumed is not verified again. */
static bool is_still_valid(const X509 *certificate) {
    return X509_cmp_current_time(X509_get0_notAfter(certificate)) > 0;
}

/* Returns: Unix time. */
static int64_t end_of(const X509 *certificate) {
    struct tm end;
    return ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) == 1 ? (int64_t)timegm(&end) : 1;
}

static void open_plain(struct tls_connection *connection) {
    const struct tls_server_options *options = &connection->server->options;
    const X509 *certificate = SSL_get0_peer_certificate(connection->ssl);
    const int one = 1;
    char name[TLS_NAME_MAX] = "";
    void *tag = connection->tag;
    int plain_fd;
    if ((certificate != NULL && !is_still_valid(certificate)) ||
        tls_pump_open(connection, &plain_fd) != PARLEY_OK) {
        tls_linger(connection);
        return;
    }
    if (certificate != NULL) {
        tls_name_read(certificate, name);
    }
    setsockopt(connection->net.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    connection->tag = NULL;
    connection->server->totals.handshakes_done++;
    tls_move(connection, TLS_OPEN);
    tls_pump_go_on(connection); /* so that a request that came along is found at once */
    options->opened(options->callback_context, tag, plain_fd, certificate != NULL ? name : NULL,
                    certificate != NULL ? end_of(certificate) : 0);
}

void tls_handshake_go_on(struct tls_connection *connection) {
    if (connection->state == TLS_SILENT && !begin(connection)) {
        return;
    }
    ERR_clear_error();
    const int result = SSL_do_handshake(connection->ssl);
    if (result == 1) {
        open_plain(connection);
        return;
    }
    const int error = SSL_get_error(connection->ssl, result);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
        tls_linger(connection);
    }
}
