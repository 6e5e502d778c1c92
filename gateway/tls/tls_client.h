/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One request over TLS, for `parley health`. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <parley/bytes.h>

#include "tls_context.h"

struct tls_client_options {
    const char *host; /* in the server's certificate; NULL: anybody is believed */
    const char *ca;   /* a PEM file of authorities; NULL: the system's */
    const char *cert; /* PEM files, for servers that ask for a certificate; NULL: none */
    const char *key;
    int64_t deadline_ms; /* on CLOCK_MONOTONIC */
};

/* Speaks TLS on `fd`, a connected socket in non-blocking mode: sends `request`, and receives up to
 * the end or until `out` is full. It is a string then.
 * Returns: false, with a sentence in `error`. */
bool tls_client_exchange(int fd, const struct tls_client_options *options,
                         struct parley_bytes request, char *out, size_t size,
                         char error[TLS_ERROR_MAX]);
