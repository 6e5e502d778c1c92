/* SPDX-License-Identifier: Apache-2.0 */

/* See tls_client.h. */

#include "tls_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "reactor.h"

static bool fail(struct tls_client *client, const char *what, const char *why) {
    snprintf(client->error, sizeof client->error, "%s%s%s", what, why != NULL ? ": " : "",
             why != NULL ? why : "");
    return false;
}

static const char *last_reason(void) {
    const unsigned long code = ERR_peek_last_error();
    return code != 0 ? ERR_reason_error_string(code) : NULL;
}

/* ---- before the connection ---- */

static bool trust(struct tls_client *client, SSL_CTX *ctx,
                  const struct tls_client_options *options) {
    if (options->host == NULL) {
        return true;
    }
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    if (options->ca == NULL) {
        return SSL_CTX_set_default_verify_paths(ctx) == 1 ||
               fail(client, "the system's authorities cannot be read", last_reason());
    }
    return SSL_CTX_load_verify_file(ctx, options->ca) == 1 ||
           fail(client, options->ca, "does not hold certificates in PEM form");
}

static bool identify(struct tls_client *client, SSL_CTX *ctx,
                     const struct tls_client_options *options) {
    if (options->cert == NULL) {
        return true;
    }
    return (SSL_CTX_use_certificate_chain_file(ctx, options->cert) == 1 &&
            SSL_CTX_use_PrivateKey_file(ctx, options->key, SSL_FILETYPE_PEM) == 1) ||
           fail(client, "the certificate to show, or its key, cannot be used", last_reason());
}

static bool name_host(SSL *ssl, const char *host) {
    unsigned char address[16];
    if (host == NULL) {
        return true;
    }
    if (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1) {
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    }
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

static bool begin(struct tls_client *client, int fd, const struct tls_client_options *options) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    bool is_ready = ctx != NULL && SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1 &&
                    trust(client, ctx, options) && identify(client, ctx, options);
    if (is_ready) {
        client->ssl = SSL_new(ctx);
        is_ready = client->ssl != NULL && name_host(client->ssl, options->host) &&
                   SSL_set_fd(client->ssl, fd) == 1;
    }
    SSL_CTX_free(ctx);
    if (!is_ready && client->error[0] == '\0') {
        fail(client, "TLS cannot be started", last_reason());
    }
    return is_ready;
}

/* ---- the connection ---- */

int tls_client_await(int fd, short events, int64_t deadline_ms, int wake_fd) {
    struct pollfd fds[] = {{.fd = fd, .events = events}, {.fd = wake_fd, .events = POLLIN}};
    for (;;) {
        const int64_t left_ms = deadline_ms - reactor_clock_ms();
        const int count =
            left_ms > 0 ? poll(fds, 2, left_ms < INT_MAX ? (int)left_ms : INT_MAX) : 0;
        if (count > 0) {
            return fds[1].revents != 0 ? ECANCELED : 0;
        }
        if (count == 0 || errno != EINTR) {
            return count == 0 ? ETIMEDOUT : errno;
        }
    }
}

/* After an SSL function that returned `result`: waits until it can be called again.
 * Returns: false: it cannot, and `error` is set, or the connection is over. */
static bool await(struct tls_client *client, int result) {
    const int what = SSL_get_error(client->ssl, result);
    if (what != SSL_ERROR_WANT_READ && what != SSL_ERROR_WANT_WRITE) {
        const long verified = SSL_get_verify_result(client->ssl);
        const char *why = verified != X509_V_OK       ? X509_verify_cert_error_string(verified)
                          : what == SSL_ERROR_SYSCALL ? "the server closed the connection"
                                                      : last_reason();
        return what == SSL_ERROR_ZERO_RETURN ? false : fail(client, "TLS failed", why);
    }
    const short events = what == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
    const int error =
        tls_client_await(SSL_get_fd(client->ssl), events, client->deadline_ms, client->wake_fd);
    return error == 0 || fail(client, strerror(error), NULL);
}

bool tls_client_open(struct tls_client *client, int fd, const struct tls_client_options *options) {
    client->ssl = NULL;
    client->error[0] = '\0';
    ERR_clear_error();
    bool is_open = begin(client, fd, options);
    for (int result; is_open && (result = SSL_connect(client->ssl)) != 1;) {
        is_open = await(client, result);
    }
    return is_open;
}

bool tls_client_send(struct tls_client *client, struct parley_bytes bytes) {
    int result;
    while ((result = SSL_write(client->ssl, bytes.data, (int)bytes.length)) <= 0) {
        if (!await(client, result)) {
            return false;
        }
    }
    return true;
}

ssize_t tls_client_receive(struct tls_client *client, char *out, size_t size) {
    int result;
    while ((result = SSL_read(client->ssl, out, (int)size)) <= 0) {
        if (!await(client, result)) {
            return client->error[0] == '\0' ? 0 : -1;
        }
    }
    return result;
}

void tls_client_close(struct tls_client *client) {
    if (client->ssl != NULL && client->error[0] == '\0') {
        SSL_shutdown(client->ssl);
    }
    SSL_free(client->ssl);
    ERR_clear_error();
}
