/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One GET, for the commands that ask a server: http and https, no redirects, no proxies. It is
 * HTTP/1.0, so that the answer is not chunked: its end is that of the connection, and one that is
 * cut off ends with a reset, or over TLS without close_notify (docs/api.md#tls). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <parley/buffer.h>

#include "tls_client.h"

struct http_client_url {
    char host[256];
    char port[8];
    const char *path; /* with the query; "": none.  Owns: borrowed from the URL */
    bool is_tls;
};

/* http://HOST[:PORT][/PATH] or http://[ADDR6][:PORT][/PATH], or https.
 * Returns: false, after an error message, which does not repeat a password in the URL. */
bool http_client_read_url(const char *url, struct http_client_url *out);

enum { HTTP_CLIENT_HEAD_MAX = 16384 };

struct http_client {
    unsigned status;
    char error[TLS_ERROR_MAX]; /* why a function has failed */

    /* Private. */
    int fd;
    bool is_tls;
    int64_t deadline_ms;
    struct tls_client tls;
    char head[HTTP_CLIENT_HEAD_MAX]; /* a string: the head, and what of the body came with it */
    size_t length, body;             /* of what was received; where the body's next byte is */
};

struct http_client_request {
    const char *path;
    const char *token;             /* NULL: none */
    struct tls_client_options tls; /* of https; the host is that of the certificate */
};

void http_client_init(struct http_client *client);
/* Connects, sends the request, and reads the head of the answer, all within wait_ms.
 * Returns: false, with a reason in `error`. */
bool http_client_open(struct http_client *client, const struct http_client_url *url,
                      const struct http_client_request *request, int64_t wait_ms);
/* Receives a piece of the body, waiting until the deadline, or for wait_ms if that is not 0.
 * Returns: how many bytes; 0: it has ended; -1: it was cut off, with a reason in `error`. */
ssize_t http_client_receive(struct http_client *client, char *out, size_t size, int64_t wait_ms);
/* Receives the body as a string, or as much of it as there is room for; instead of
 * http_client_receive.  Owns: borrowed from the client. */
const char *http_client_body(struct http_client *client);
/* Prints, as an error message, `what`, the line with the status, the detail of a problem that the
 * body is, and `advice`. Reads the body, as http_client_body. */
void http_client_print_refusal(struct http_client *client, const char *what, const char *advice);
void http_client_finish(struct http_client *client);
