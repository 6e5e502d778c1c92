/* SPDX-License-Identifier: Apache-2.0 */

#include "http_client.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "reactor.h"
#include "terminal.h"

bool http_client_fail(struct http_client *client, const char *why) {
    snprintf(client->error, sizeof client->error, "%s", why);
    return false;
}

/* ---- the URL ---- */

/* Skips http:// or https://.  Returns: NULL: neither. */
static const char *skip_scheme(const char *url, bool *out_is_tls) {
    *out_is_tls = strncmp(url, "https://", 8) == 0;
    return *out_is_tls ? url + 8 : strncmp(url, "http://", 7) == 0 ? url + 7 : NULL;
}

static bool read_url(const char *url, struct http_client_url *out) {
    const char *host = skip_scheme(url, &out->is_tls);
    if (host == NULL) {
        return false;
    }
    const bool has_brackets = host[0] == '[';
    host += has_brackets;
    const size_t length = strcspn(host, has_brackets ? "]" : ":/");
    if (length == 0 || length >= sizeof out->host || (has_brackets && host[length] != ']')) {
        return false;
    }
    memcpy(out->host, host, length);
    out->host[length] = '\0';
    const char *rest = host + length + has_brackets;
    snprintf(out->port, sizeof out->port, "%s", out->is_tls ? "443" : "80");
    if (rest[0] == ':') {
        const size_t digits = strspn(rest + 1, "0123456789");
        if (digits == 0 || digits > 5) {
            return false;
        }
        memcpy(out->port, rest + 1, digits);
        out->port[digits] = '\0';
        rest += 1 + digits;
    }
    out->path = rest;
    return (rest[0] == '/' || rest[0] == '\0') && strpbrk(rest, " \r\n") == NULL &&
           strpbrk(out->host, " \r\n@") == NULL;
}

bool http_client_read_url(const char *url, struct http_client_url *out) {
    if (read_url(url, out)) {
        return true;
    }
    if (strchr(url, '@') != NULL) { /* it may have a password, and errors reach the logs of CI */
        terminal_error(
            "the URL has a user, password or token before '@', which others can see; "
            "leave it out (pipe takes a token in the environment variable PARLEY_TOKEN)");
    } else {
        terminal_error("'%s' is not an http:// or https:// URL of a server; expected one such as "
                       "http://127.0.0.1:8080",
                       url);
    }
    return false;
}

/* ---- the connection ---- */

/* Waits until the socket is ready for `events`.  Returns: 0, or an errno. */
static int await(const struct http_client *client, int fd, short events) {
    return tls_client_await(fd, events, client->deadline_ms, client->wake_fd);
}

static int connect_one(struct http_client *client, const struct addrinfo *address) {
    const int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return errno;
    }
    int error = connect(fd, address->ai_addr, address->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
        error = await(client, fd, POLLOUT);
        socklen_t size = sizeof error;
        if (error == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
            error = errno;
        }
    }
    if (error != 0) {
        close(fd);
        return error;
    }
    const int yes = 1; /* a head and its body are two writes */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    client->fd = fd;
    return 0;
}

static bool connect_any(struct http_client *client, const struct http_client_url *url) {
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *addresses;
    const int resolved = getaddrinfo(url->host, url->port, &hints, &addresses);
    if (resolved != 0) {
        return http_client_fail(client, gai_strerror(resolved));
    }
    int error = ETIMEDOUT;
    for (const struct addrinfo *at = addresses;
         at != NULL && reactor_clock_ms() < client->deadline_ms; at = at->ai_next) {
        error = connect_one(client, at);
        if (error == 0) {
            break;
        }
    }
    freeaddrinfo(addresses);
    return error == 0 || http_client_fail(client, strerror(error));
}

static bool send_plain(struct http_client *client, struct parley_bytes bytes) {
    while (bytes.length > 0) {
        const ssize_t sent = send(client->fd, bytes.data, bytes.length, MSG_NOSIGNAL);
        const int error = sent >= 0                           ? 0
                          : errno == EAGAIN || errno == EINTR ? await(client, client->fd, POLLOUT)
                                                              : errno;
        if (error != 0) {
            return http_client_fail(client, strerror(error));
        }
        const size_t count = sent > 0 ? (size_t)sent : 0;
        bytes = (struct parley_bytes){bytes.data + count, bytes.length - count};
    }
    return true;
}

static bool send_all(struct http_client *client, struct parley_bytes bytes) {
    if (!client->is_tls) {
        return send_plain(client, bytes);
    }
    client->tls.deadline_ms = client->deadline_ms;
    return tls_client_send(&client->tls, bytes) || http_client_fail(client, client->tls.error);
}

static ssize_t receive_plain(struct http_client *client, char *out, size_t size) {
    for (;;) {
        int error = await(client, client->fd, POLLIN);
        const ssize_t got = error == 0 ? recv(client->fd, out, size, 0) : -1;
        if (got >= 0) {
            return got;
        }
        error = error == 0 ? errno : error;
        if (error != EAGAIN && error != EINTR) {
            http_client_fail(client, strerror(error));
            return -1;
        }
    }
}

ssize_t http_client_receive_bytes(struct http_client *client, char *out, size_t size) {
    if (!client->is_tls) {
        return receive_plain(client, out, size);
    }
    client->tls.deadline_ms = client->deadline_ms;
    const ssize_t got = tls_client_receive(&client->tls, out, size);
    if (got < 0) {
        http_client_fail(client, client->tls.error);
    }
    return got;
}

/* ---- the request ---- */

static void write_head(struct parley_buffer *out, const struct http_client_url *url,
                       const struct http_client_request *request) {
    const bool is_6 = strchr(url->host, ':') != NULL, is_post = request->media_type != NULL;
    parley_buffer_format(out, "%s %s HTTP/1.%d\r\nHost: %s%s%s:%s\r\n", is_post ? "POST" : "GET",
                         request->path, is_post, is_6 ? "[" : "", url->host, is_6 ? "]" : "",
                         url->port);
    if (is_post) {
        parley_buffer_format(out, "Content-Type: %s\r\nContent-Length: %zu\r\n",
                             request->media_type, request->body.length);
    } else {
        parley_buffer_text(out, "Connection: close\r\n");
    }
    if (request->token != NULL) {
        parley_buffer_format(out, "Authorization: Bearer %s\r\n", request->token);
    }
    parley_buffer_text(out, "\r\n");
}

static bool send_head(struct http_client *client, const struct http_client_url *url,
                      const struct http_client_request *request) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    write_head(&text, url, request);
    const bool is_sent = parley_buffer_status(&text) == PARLEY_OK
                             ? send_all(client, parley_buffer_bytes(&text))
                             : http_client_fail(client, strerror(ENOMEM));
    parley_buffer_finish(&text);
    return is_sent;
}

/* In pieces, so that a large body may take long as long as it moves. */
static bool send_body(struct http_client *client, struct parley_bytes body, int64_t wait_ms) {
    enum { PIECE = 65536 };
    bool is_sent = true;
    for (size_t at = 0; is_sent && at < body.length; at += PIECE) {
        const size_t left = body.length - at;
        is_sent =
            send_all(client, (struct parley_bytes){body.data + at, left < PIECE ? left : PIECE});
        client->deadline_ms = reactor_clock_ms() + wait_ms;
    }
    return is_sent;
}

/* ---- the head of the answer ---- */

/* Reads on, up to the size of `head`.  Returns: false at the end, or if it failed. */
static bool read_more(struct http_client *client) {
    const size_t room = sizeof client->head - 1 - client->length;
    const ssize_t got = room > 0
                            ? http_client_receive_bytes(client, client->head + client->length, room)
                            : (ssize_t)0;
    client->length += got > 0 ? (size_t)got : 0;
    client->head[client->length] = '\0';
    return got > 0;
}

static bool read_one_head(struct http_client *client) {
    const char *end;
    while ((end = strstr(client->head, "\r\n\r\n")) == NULL) {
        if (!read_more(client)) {
            return client->error[0] == '\0' &&
                   http_client_fail(client, client->length == 0 ? "the connection was closed"
                                                                : "the answer is not HTTP");
        }
    }
    client->body = (size_t)(end + 4 - client->head);
    return sscanf(client->head, "HTTP/1.%*1[01] %3u", &client->status) == 1 ||
           http_client_fail(client, "the answer is not HTTP");
}

/* After any interim answers (1xx). */
static bool read_head(struct http_client *client) {
    bool is_read = read_one_head(client);
    while (is_read && client->status / 100 == 1) {
        client->length -= client->body;
        memmove(client->head, client->head + client->body, client->length + 1);
        is_read = read_one_head(client);
    }
    return is_read && http_body_begin(client);
}

struct parley_bytes http_client_header(const struct http_client *client, const char *name) {
    const size_t length = strlen(name);
    const char *line = strstr(client->head, "\r\n"), *end = client->head + client->body;
    for (; line != NULL && line + 2 < end; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, length) == 0 && line[2 + length] == ':') {
            const char *value = line + 2 + length + 1;
            value += strspn(value, " \t");
            return (struct parley_bytes){value, strcspn(value, "\r\n")};
        }
    }
    return (struct parley_bytes){0};
}

/* ---- all of it ---- */

static void forget_answer(struct http_client *client) {
    client->status = 0;
    client->is_kept = false;
    client->error[0] = client->head[0] = '\0';
    client->length = client->body = 0;
    client->framing = HTTP_CLIENT_UNTIL_CLOSE;
    client->ready = (struct parley_bytes){0};
}

void http_client_init(struct http_client *client) {
    client->fd = client->wake_fd = -1;
    client->is_tls = false;
    forget_answer(client);
}

static bool connect_to(struct http_client *client, const struct http_client_url *url,
                       const struct http_client_request *request) {
    client->tls.deadline_ms = client->deadline_ms;
    client->tls.wake_fd = client->wake_fd;
    if (!connect_any(client, url)) {
        return false;
    }
    client->is_tls = url->is_tls;
    return !url->is_tls || tls_client_open(&client->tls, client->fd, &request->tls) ||
           http_client_fail(client, client->tls.error);
}

bool http_client_open(struct http_client *client, const struct http_client_url *url,
                      const struct http_client_request *request, int64_t wait_ms) {
    client->deadline_ms = reactor_clock_ms() + wait_ms;
    return connect_to(client, url, request) && send_head(client, url, request) && read_head(client);
}

/* What a server sends between two answers is its end of the connection. */
static bool can_be_used_again(const struct http_client *client) {
    struct pollfd fd = {.fd = client->fd, .events = POLLIN};
    return client->fd >= 0 && client->is_kept && client->framing == HTTP_CLIENT_ENDED &&
           client->body == client->length && poll(&fd, 1, 0) == 0;
}

/* A server that refuses a request may answer before it has read all of it, and close. */
static bool read_refusal(struct http_client *client) {
    char why[sizeof client->error];
    memcpy(why, client->error, sizeof why);
    client->error[0] = '\0';
    if (read_head(client) && client->status >= 400) {
        client->is_kept = false;
        return true;
    }
    return http_client_fail(client, why);
}

bool http_client_ask(struct http_client *client, const struct http_client_url *url,
                     const struct http_client_request *request, int64_t wait_ms) {
    const bool is_open = can_be_used_again(client);
    if (!is_open) {
        http_client_finish(client);
    }
    forget_answer(client);
    client->deadline_ms = reactor_clock_ms() + wait_ms;
    if ((!is_open && !connect_to(client, url, request)) || !send_head(client, url, request)) {
        return false;
    }
    return send_body(client, request->body, wait_ms) ? read_head(client) : read_refusal(client);
}

void http_client_finish(struct http_client *client) {
    if (client->is_tls) {
        tls_client_close(&client->tls);
    }
    if (client->fd >= 0) {
        close(client->fd);
    }
    client->fd = -1;
    client->is_tls = false;
}
