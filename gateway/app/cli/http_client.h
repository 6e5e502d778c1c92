/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Requests of the commands that ask a server, by libcurl: HTTP/1.1, over TLS from 1.2 on, without
 * redirects and proxies. The connection is kept for the next request.
 * Threads: one at a time for each client. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <curl/curl.h>

#include <parley/buffer.h>

struct http_client_url {
    char host[256];
    char port[8];
    const char *path; /* with the query; "" if absent.  Owns: borrowed from the URL */
    bool is_tls;
};

/* Reads http://HOST[:PORT][/PATH] or http://[ADDR6][:PORT][/PATH], or https.
 * Returns: false, after an error message, which does not repeat a password in the URL. */
bool http_client_read_url(const char *url, struct http_client_url *out);

/* PEM files; NULL if absent. */
struct http_client_tls {
    const char *ca;         /* the authorities; NULL for the system's */
    const char *cert;       /* the certificate to show to a server that asks for one … */
    const char *key;        /* … and its private key */
    bool trusts_any_server; /* the server's certificate is not verified */
};

struct http_client_request {
    const char *path;
    const char *token; /* NULL if absent */
    struct http_client_tls tls;
    const char *media_type;     /* of a POST's body; NULL for a GET */
    const char *const *headers; /* more of them, "Name: value"; NULL ends them; NULL: none */
    struct parley_bytes body;
};

struct http_client {
    unsigned status;
    char error[CURL_ERROR_SIZE]; /* why a function has failed */
    int wake_fd; /* once it can be read, the request fails; -1 if absent. Set after http_client_init
                  */

    /* Private. */
    CURLM *multi;
    CURL *easy;
    struct curl_slist *headers;
    int64_t deadline_ms;
    bool has_head, is_over, has_failed; /* of the present request */
    char status_line[128];
    struct parley_buffer received; /* of the body … */
    bool is_given;                 /* … and the caller has seen it */
    char text[16384];
};

/* Returns: false without memory. http_client_finish is to be called whatever the result. */
bool http_client_init(struct http_client *client);
/* Sends the request, and reads the head of the answer. wait_ms is the time to connect, and then for
 * each piece of the body and for the head.
 * Owns: the request is borrowed until the next one, or until http_client_finish.
 * Returns: false, with a reason in `error`. */
bool http_client_ask(struct http_client *client, const struct http_client_url *url,
                     const struct http_client_request *request, int64_t wait_ms);
/* Returns the value of the answer's header, or NULL.  Owns: borrowed until the next request. */
const char *http_client_header(const struct http_client *client, const char *name);
/* Waits for a piece of the body, for up to wait_ms or, if that is 0, until the time limit of the
 * head; an empty one is the end. Owns: *out is borrowed until the next call. Returns: false, with a
 * reason in `error`, if the answer was cut off or the time has passed. */
bool http_client_receive(struct http_client *client, int64_t wait_ms, struct parley_bytes *out);
/* Receives the body as a string, or its first 16 KiB, instead of http_client_receive; a second call
 * returns it again.  Owns: borrowed from the client. */
const char *http_client_body(struct http_client *client);
/* Prints, as an error message, `what`, the line with the status, the detail of a problem that the
 * body is, and `advice`. Reads the body, as http_client_body. */
void http_client_print_refusal(struct http_client *client, const char *what, const char *advice);
void http_client_finish(struct http_client *client);
