/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Requests of the commands that ask a server: http and https, no redirects, no proxies. A GET is
 * HTTP/1.0, so that the answer is not chunked: its end is that of the connection, and one that is
 * cut off ends with a reset, or over TLS without close_notify (docs/api.md#tls). A POST is
 * HTTP/1.1, and its connection is kept for the next one. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <parley/buffer.h>

#include "http_chunks.h"
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

/* How the body of an answer ends. */
enum http_client_framing {
    HTTP_CLIENT_UNTIL_CLOSE,
    HTTP_CLIENT_LENGTH,
    HTTP_CLIENT_CHUNKS,
    HTTP_CLIENT_ENDED, /* all of it was received */
};

struct http_client {
    unsigned status;
    char error[TLS_ERROR_MAX]; /* why a function has failed */

    /* Private. */
    int fd;
    int wake_fd; /* once it can be read, every wait ends with an error; -1: none */
    bool is_tls;
    bool is_kept; /* the connection can have another request once the body has ended */
    int64_t deadline_ms;
    struct tls_client tls;
    char head[HTTP_CLIENT_HEAD_MAX]; /* a string: the head, and what of the body came with it */
    size_t length, body;             /* of what was received; where the body's next byte is */
    enum http_client_framing framing;
    uint64_t left; /* of the body, with HTTP_CLIENT_LENGTH */
    struct http_chunks chunks;
    struct parley_bytes ready; /* data of chunks, in `head`, not given out yet */
    char text[HTTP_CLIENT_HEAD_MAX];
};

struct http_client_request {
    const char *path;
    const char *token;             /* NULL: none */
    struct tls_client_options tls; /* of https; the host is that of the certificate */
    const char *media_type;        /* of a POST's body; NULL: it is a GET */
    struct parley_bytes body;
};

void http_client_init(struct http_client *client);
/* Connects, sends the request, and reads the head of the answer, all within wait_ms.
 * Returns: false, with a reason in `error`. */
bool http_client_open(struct http_client *client, const struct http_client_url *url,
                      const struct http_client_request *request, int64_t wait_ms);
/* The same on the connection of the last request, if that was a POST, its answer was received to
 * its end, and the server has not closed the connection since. wait_ms is the time to connect, and
 * then for each piece of the body and for the head of the answer. */
bool http_client_ask(struct http_client *client, const struct http_client_url *url,
                     const struct http_client_request *request, int64_t wait_ms);
/* The value of a header of the answer, up to the end of its line; data NULL: it has none. */
struct parley_bytes http_client_header(const struct http_client *client, const char *name);
/* Receives a piece of the body, waiting until the deadline, or for wait_ms if that is not 0.
 * Returns: how many bytes; 0: it has ended; -1: it was cut off, with a reason in `error`. */
ssize_t http_client_receive(struct http_client *client, char *out, size_t size, int64_t wait_ms);
/* Receives the body as a string, or as much of it as there is room for; instead of
 * http_client_receive.  Owns: borrowed from the client. */
const char *http_client_body(struct http_client *client);
/* Prints, as an error message, `what`, the line with the status, the detail of a problem that the
 * body is, and `advice`. Reads the body, as http_client_body. */
void http_client_print_refusal(struct http_client *client, const char *what, const char *advice);
/* Closes the connection. The client can be used for another request. */
void http_client_finish(struct http_client *client);

/* ---- between http_client.c and http_body.c ---- */

/* Receives from the connection.  Returns: as http_client_receive. */
ssize_t http_client_receive_bytes(struct http_client *client, char *out, size_t size);
/* Notes why a function fails.  Returns: false. */
bool http_client_fail(struct http_client *client, const char *why);
/* Begins the body: its framing is in the head. */
bool http_body_begin(struct http_client *client);
