/* SPDX-License-Identifier: Apache-2.0 */

/* Certificates, keys and the negotiated parameters. Each load makes an SSL_CTX of its own, with
 * ticket keys of its own: a session from before a reload is not resumed, so a client whose
 * authority was removed must show a certificate again.
 *
 * Nothing here asks for a passphrase, looks up names, or fetches revocation lists. */

#include "tls_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>

enum {
    SESSION_S = 3600,               /* how long one can be resumed */
    CERTIFICATES_BYTES_MAX = 32768, /* that a client may send */
    CHAIN_DEPTH_MAX = 8,
    KEY_FILE_BYTES_MAX = 65536,
};

/* TLS 1.2: of TLS 1.3, OpenSSL's own list has nothing else. */
static const char ciphers[] = "ECDHE+AESGCM:ECDHE+CHACHA20";

struct tls_context {
    struct tls_files files;
    BIO_METHOD *socket;   /* how connections read and write */
    pthread_mutex_t lock; /* protects the pointer below */
    SSL_CTX *current;
};

/* ---- errors ---- */

static enum parley_status fail(char error[TLS_ERROR_MAX], const char *path, const char *why) {
    snprintf(error, TLS_ERROR_MAX, "%s %s", path, why);
    ERR_clear_error();
    return PARLEY_E_IO;
}

/* Appends OpenSSL's reason, for errors without a sentence of ours. */
static enum parley_status fail_because(char error[TLS_ERROR_MAX], const char *path,
                                       const char *what) {
    const unsigned long code = ERR_peek_last_error();
    const char *reason = code != 0 ? ERR_reason_error_string(code) : NULL;
    snprintf(error, TLS_ERROR_MAX, "%s %s%s%s%s", path, what, reason != NULL ? " (" : "",
             reason != NULL ? reason : "", reason != NULL ? ")" : "");
    ERR_clear_error();
    return PARLEY_E_IO;
}

static enum parley_status fail_to_read(char error[TLS_ERROR_MAX], const char *path) {
    char why[128];
    snprintf(why, sizeof why, "cannot be read: %s", strerror(errno));
    return fail(error, path, why);
}

/* A named pipe would block a reload, and with it the reactor, until another process writes to
 * it. */
static enum parley_status open_regular(const char *path, char error[TLS_ERROR_MAX], int *out_fd) {
    struct stat file;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &file) != 0) {
        const enum parley_status status = fail_to_read(error, path);
        if (fd >= 0) {
            close(fd);
        }
        return status;
    }
    if (!S_ISREG(file.st_mode)) {
        close(fd);
        return fail(error, path, "is not a regular file");
    }
    *out_fd = fd;
    return PARLEY_OK;
}

/* OpenSSL reports a missing file in three lines; the system does it in one. */
static enum parley_status check_readable(const char *path, char error[TLS_ERROR_MAX]) {
    int fd;
    PARLEY_TRY(open_regular(path, error, &fd));
    close(fd);
    return PARLEY_OK;
}

/* ---- the key ---- */

/* OpenSSL would ask the terminal. */
/* NOLINTNEXTLINE(readability-non-const-parameter): OpenSSL's type */
static int give_no_passphrase(char *out, int size, int is_writing, void *context) {
    (void)out, (void)size, (void)is_writing, (void)context;
    return -1;
}

/* The group may read it, for a system's group of permitted users (0640). */
static enum parley_status check_mode(int fd, const char *path, char error[TLS_ERROR_MAX]) {
    struct stat file;
    if (fstat(fd, &file) != 0) {
        return fail_to_read(error, path);
    }
    if ((file.st_mode & (S_IRWXO | S_IWGRP)) != 0) {
        snprintf(error, TLS_ERROR_MAX,
                 "%s holds a private key, and other users may read or change it; run: chmod 600 %s",
                 path, path);
        return PARLEY_E_IO;
    }
    return PARLEY_OK;
}

/* The file read is the one that was checked, and leaves no copy in memory. */
static enum parley_status read_key(int fd, const char *path, char error[TLS_ERROR_MAX],
                                   EVP_PKEY **out) {
    char *text = OPENSSL_malloc(KEY_FILE_BYTES_MAX);
    ssize_t length = 0, count = 1;
    while (text != NULL && count > 0 && length < KEY_FILE_BYTES_MAX) {
        count = read(fd, text + length, (size_t)(KEY_FILE_BYTES_MAX - length));
        length += count > 0 ? count : 0;
    }
    enum parley_status status = text == NULL ? PARLEY_E_MEMORY : PARLEY_OK;
    if (status == PARLEY_OK && count < 0) {
        status = fail_to_read(error, path);
    }
    BIO *file = status == PARLEY_OK ? BIO_new_mem_buf(text, (int)length) : NULL;
    *out = file != NULL ? PEM_read_bio_PrivateKey(file, NULL, give_no_passphrase, NULL) : NULL;
    BIO_free(file);
    OPENSSL_clear_free(text, KEY_FILE_BYTES_MAX);
    if (status == PARLEY_OK && *out == NULL) {
        status = fail(error, path,
                      "is not a private key in PEM form without a passphrase; openssl pkey -in "
                      "FILE -out NEW removes a passphrase");
    }
    return status;
}

static enum parley_status use_key(SSL_CTX *ctx, const struct tls_files *files,
                                  char error[TLS_ERROR_MAX]) {
    const char *path = files->key;
    int fd;
    PARLEY_TRY(open_regular(path, error, &fd));
    EVP_PKEY *key = NULL;
    enum parley_status status = check_mode(fd, path, error);
    status = status == PARLEY_OK ? read_key(fd, path, error, &key) : status;
    close(fd);
    if (status == PARLEY_OK && SSL_CTX_use_PrivateKey(ctx, key) != 1) {
        const bool is_other = ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH ||
                              ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_TYPE_MISMATCH;
        status = is_other ? PARLEY_OK : fail_because(error, path, "cannot be used");
    }
    EVP_PKEY_free(key);
    if (status == PARLEY_OK && SSL_CTX_check_private_key(ctx) != 1) {
        snprintf(error, TLS_ERROR_MAX,
                 "the key in %s does not belong to the first certificate in %s: give the two that "
                 "were made together",
                 path, files->certificate);
        status = PARLEY_E_IO;
    }
    ERR_clear_error();
    return status;
}

/* ---- certificates ---- */

static enum parley_status use_certificate(SSL_CTX *ctx, const char *path,
                                          char error[TLS_ERROR_MAX]) {
    PARLEY_TRY(check_readable(path, error));
    if (SSL_CTX_use_certificate_chain_file(ctx, path) != 1) {
        return fail_because(error, path, "does not begin with a certificate that can be used");
    }
    return PARLEY_OK;
}

/* A certificate is requested and verified; the permissions of its name are not decided here. */
static enum parley_status use_client_ca(SSL_CTX *ctx, const struct tls_files *files,
                                        char error[TLS_ERROR_MAX]) {
    const char *path = files->client_ca;
    if (path == NULL) {
        return PARLEY_OK;
    }
    PARLEY_TRY(check_readable(path, error));
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(path);
    if (names == NULL || SSL_CTX_load_verify_file(ctx, path) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        return fail_because(error, path, "does not hold certificates in PEM form");
    }
    SSL_CTX_set_client_CA_list(ctx, names);
    SSL_CTX_set_verify_depth(ctx, CHAIN_DEPTH_MAX);
    SSL_CTX_set_max_cert_list(ctx, CERTIFICATES_BYTES_MAX);
    SSL_CTX_set_verify(
        ctx, SSL_VERIFY_PEER | (files->is_client_optional ? 0 : SSL_VERIFY_FAIL_IF_NO_PEER_CERT),
        NULL);
    return PARLEY_OK;
}

/* ---- negotiation ---- */

/* Clients that only support HTTP/2 get an alert that says so. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_length,
                           const unsigned char *offered, unsigned length, void *context) {
    static const unsigned char http_1_1[] = "\x08http/1.1";
    (void)ssl, (void)context;
    unsigned char *chosen;
    if (SSL_select_next_proto(&chosen, out_length, http_1_1, sizeof http_1_1 - 1, offered,
                              length) != OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

/* HTTP treats a client's end without close_notify as an ordinary end: its framing says whether a
 * request is complete (RFC 9112, section 9.8). */
static bool choose_options(SSL_CTX *ctx) {
    unsigned char session_context[SSL_MAX_SID_CTX_LENGTH];
    SSL_CTX_set_options(ctx, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA |
                                 SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                              SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(ctx, 1);                          /* a record in one read */
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF); /* the client keeps its ticket */
    SSL_CTX_set_timeout(ctx, SESSION_S);
    SSL_CTX_set_num_tickets(ctx, 1);
    SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, NULL);
    return SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1 &&
           SSL_CTX_set_cipher_list(ctx, ciphers) == 1 &&
           RAND_bytes(session_context, sizeof session_context) == 1 &&
           SSL_CTX_set_session_id_context(ctx, session_context, sizeof session_context) == 1;
}

static enum parley_status load(const struct tls_files *files, char error[TLS_ERROR_MAX],
                               SSL_CTX **out) {
    error[0] = '\0';
    ERR_clear_error();
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    enum parley_status status = ctx != NULL && choose_options(ctx) ? PARLEY_OK : PARLEY_E_MEMORY;
    status = status == PARLEY_OK ? use_certificate(ctx, files->certificate, error) : status;
    status = status == PARLEY_OK ? use_key(ctx, files, error) : status;
    status = status == PARLEY_OK ? use_client_ca(ctx, files, error) : status;
    if (status != PARLEY_OK) {
        if (status == PARLEY_E_MEMORY) {
            snprintf(error, TLS_ERROR_MAX, "out of memory");
        }
        SSL_CTX_free(ctx);
        return status;
    }
    *out = ctx;
    return PARLEY_OK;
}

/* ---- lifecycle ---- */

enum parley_status tls_context_create(const struct tls_files *files, char error[TLS_ERROR_MAX],
                                      struct tls_context **out) {
    SSL_CTX *ctx;
    PARLEY_TRY(load(files, error, &ctx));
    struct tls_context *context = malloc(sizeof *context);
    BIO_METHOD *socket = tls_socket_method();
    if (context == NULL || socket == NULL) {
        snprintf(error, TLS_ERROR_MAX, "out of memory");
        free(context);
        BIO_meth_free(socket);
        SSL_CTX_free(ctx);
        return PARLEY_E_MEMORY;
    }
    *context = (struct tls_context){.files = *files, .socket = socket, .current = ctx};
    pthread_mutex_init(&context->lock, NULL);
    *out = context;
    return PARLEY_OK;
}

enum parley_status tls_context_reload(struct tls_context *context, char error[TLS_ERROR_MAX]) {
    SSL_CTX *ctx;
    PARLEY_TRY(load(&context->files, error, &ctx));
    pthread_mutex_lock(&context->lock);
    SSL_CTX *before = context->current;
    context->current = ctx;
    pthread_mutex_unlock(&context->lock);
    SSL_CTX_free(before);
    return PARLEY_OK;
}

void tls_context_destroy(struct tls_context *context) {
    if (context == NULL) {
        return;
    }
    SSL_CTX_free(context->current);
    BIO_meth_free(context->socket);
    pthread_mutex_destroy(&context->lock);
    free(context);
}

SSL *tls_context_open(struct tls_context *context, struct tls_connection *connection) {
    pthread_mutex_lock(&context->lock);
    SSL *ssl = SSL_new(context->current);
    pthread_mutex_unlock(&context->lock);
    BIO *bio = ssl != NULL ? BIO_new(context->socket) : NULL;
    if (bio == NULL) {
        SSL_free(ssl);
        return NULL;
    }
    BIO_set_data(bio, connection);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_accept_state(ssl);
    return ssl;
}

const char *tls_library_version(void) {
    return OpenSSL_version(OPENSSL_VERSION_STRING);
}
