/* SPDX-License-Identifier: Apache-2.0 */

/* A client that waits: it blocks its thread until the deadline, as the rest of `parley health`
 * does. */

#include "tls_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool fail(char error[TLS_ERROR_MAX], const char *what, const char *why) {
    snprintf(error, TLS_ERROR_MAX, "%s%s%s", what, why != NULL ? ": " : "", why != NULL ? why : "");
    return false;
}

static const char *last_reason(void) {
    const unsigned long code = ERR_peek_last_error();
    return code != 0 ? ERR_reason_error_string(code) : NULL;
}

/* ---- before the connection ---- */

static bool trust(SSL_CTX *ctx, const struct tls_client_options *options,
                  char error[TLS_ERROR_MAX]) {
    if (options->host == NULL) {
        return true;
    }
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    if (options->ca == NULL) {
        return SSL_CTX_set_default_verify_paths(ctx) == 1 ||
               fail(error, "the system's authorities cannot be read", last_reason());
    }
    return SSL_CTX_load_verify_file(ctx, options->ca) == 1 ||
           fail(error, options->ca, "does not hold certificates in PEM form");
}

static bool identify(SSL_CTX *ctx, const struct tls_client_options *options,
                     char error[TLS_ERROR_MAX]) {
    if (options->cert == NULL) {
        return true;
    }
    return (SSL_CTX_use_certificate_chain_file(ctx, options->cert) == 1 &&
            SSL_CTX_use_PrivateKey_file(ctx, options->key, SSL_FILETYPE_PEM) == 1) ||
           fail(error, "the certificate to show, or its key, cannot be used", last_reason());
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

static SSL *begin(int fd, const struct tls_client_options *options, char error[TLS_ERROR_MAX]) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    SSL *ssl = NULL;
    const bool is_ready = ctx != NULL && SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1 &&
                          trust(ctx, options, error) && identify(ctx, options, error);
    if (is_ready) {
        ssl = SSL_new(ctx);
        if (ssl == NULL || !name_host(ssl, options->host) || SSL_set_fd(ssl, fd) != 1) {
            fail(error, "TLS cannot be started", last_reason());
            SSL_free(ssl);
            ssl = NULL;
        }
    }
    SSL_CTX_free(ctx);
    return ssl;
}

/* ---- the connection ---- */

/* After an SSL function that returned `result`: waits until it can be called again.
 * Returns: false: it cannot, and `error` is set, or the connection is over. */
static bool await(SSL *ssl, int result, int64_t deadline_ms, char error[TLS_ERROR_MAX]) {
    const int what = SSL_get_error(ssl, result);
    if (what != SSL_ERROR_WANT_READ && what != SSL_ERROR_WANT_WRITE) {
        const long verified = SSL_get_verify_result(ssl);
        const char *why = verified != X509_V_OK       ? X509_verify_cert_error_string(verified)
                          : what == SSL_ERROR_SYSCALL ? "the server closed the connection"
                                                      : last_reason();
        return what == SSL_ERROR_ZERO_RETURN ? false : fail(error, "TLS failed", why);
    }
    struct pollfd fd = {.fd = SSL_get_fd(ssl),
                        .events = what == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT};
    const int64_t left_ms = deadline_ms - now_ms();
    const int count = left_ms > 0 ? poll(&fd, 1, (int)left_ms) : 0;
    return count > 0 || (count < 0 && errno == EINTR) || fail(error, strerror(ETIMEDOUT), NULL);
}

static bool exchange(SSL *ssl, const struct tls_client_options *options,
                     struct parley_bytes request, char *out, size_t size,
                     char error[TLS_ERROR_MAX]) {
    size_t used = 0;
    int result;
    ERR_clear_error();
    while ((result = SSL_connect(ssl)) != 1) {
        if (!await(ssl, result, options->deadline_ms, error)) {
            return false;
        }
    }
    while ((result = SSL_write(ssl, request.data, (int)request.length)) <= 0) {
        if (!await(ssl, result, options->deadline_ms, error)) {
            return false;
        }
    }
    while (used < size - 1) {
        result = SSL_read(ssl, out + used, (int)(size - 1 - used));
        if (result <= 0 && !await(ssl, result, options->deadline_ms, error)) {
            break;
        }
        used += result > 0 ? (size_t)result : 0;
    }
    out[used] = '\0';
    return error[0] == '\0';
}

bool tls_client_exchange(int fd, const struct tls_client_options *options,
                         struct parley_bytes request, char *out, size_t size,
                         char error[TLS_ERROR_MAX]) {
    error[0] = '\0';
    SSL *ssl = begin(fd, options, error);
    const bool is_done = ssl != NULL && exchange(ssl, options, request, out, size, error);
    if (is_done) {
        SSL_shutdown(ssl);
    }
    SSL_free(ssl);
    ERR_clear_error();
    return is_done;
}
