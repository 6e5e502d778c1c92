/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A connection over TLS, for commands that ask a server. Its functions wait, each until the
 * deadline. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <parley/bytes.h>

#include "tls_context.h"

struct tls_client_options {
    const char *host; /* in the server's certificate; NULL: anybody is believed */
    const char *ca;   /* a PEM file of authorities; NULL: the system's */
    const char *cert; /* PEM files, for servers that ask for a certificate; NULL: none */
    const char *key;
};

struct tls_client {
    int64_t deadline_ms;       /* on CLOCK_MONOTONIC */
    int wake_fd;               /* once it can be read, nothing waits any more; -1: none */
    char error[TLS_ERROR_MAX]; /* a sentence, where a function has failed */
    struct ssl_st *ssl;        /* private */
};

/* Waits until a socket is ready for `events`, or until the deadline, or until `wake_fd` can be read
 * (-1: none).  Returns: 0, or an errno: ETIMEDOUT, ECANCELED. */
int tls_client_await(int fd, short events, int64_t deadline_ms, int wake_fd);

/* Does the handshake on `fd`, a connected socket in non-blocking mode.
 * Owns: `fd` is borrowed until tls_client_close, which is to be called whatever the result. */
bool tls_client_open(struct tls_client *client, int fd, const struct tls_client_options *options);
bool tls_client_send(struct tls_client *client, struct parley_bytes bytes);
/* Returns: how many bytes were received; 0: the server has ended the connection in the way of TLS;
 * -1: it failed, or was cut off. */
ssize_t tls_client_receive(struct tls_client *client, char *out, size_t size);
void tls_client_close(struct tls_client *client);
