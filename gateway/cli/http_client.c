/* SPDX-License-Identifier: Apache-2.0 */

#include "http_client.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <jansson.h>

#include "reactor.h"
#include "terminal.h"

static bool fail(struct http_client *client, const char *why) {
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
        terminal_error("the URL has a user, password or token before '@', which others can see; "
                       "leave it out (check --rejected takes a token in the environment variable "
                       "PARLEY_TOKEN)");
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
    struct pollfd poll_fd = {.fd = fd, .events = events};
    for (;;) {
        const int64_t left_ms = client->deadline_ms - reactor_clock_ms();
        const int count = left_ms > 0 ? poll(&poll_fd, 1, (int)left_ms) : 0;
        if (count > 0) {
            return 0;
        }
        if (count == 0 || errno != EINTR) {
            return count == 0 ? ETIMEDOUT : errno;
        }
    }
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
    client->fd = fd;
    return 0;
}

static bool connect_any(struct http_client *client, const struct http_client_url *url) {
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *addresses;
    const int resolved = getaddrinfo(url->host, url->port, &hints, &addresses);
    if (resolved != 0) {
        return fail(client, gai_strerror(resolved));
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
    return error == 0 || fail(client, strerror(error));
}

/* A request is short enough for a new socket to take it at once. */
static bool send_all(struct http_client *client, struct parley_bytes bytes) {
    if (client->is_tls) {
        return tls_client_send(&client->tls, bytes) || fail(client, client->tls.error);
    }
    return send(client->fd, bytes.data, bytes.length, MSG_NOSIGNAL) == (ssize_t)bytes.length ||
           fail(client, strerror(EPIPE));
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
            fail(client, strerror(error));
            return -1;
        }
    }
}

static ssize_t receive_some(struct http_client *client, char *out, size_t size) {
    if (!client->is_tls) {
        return receive_plain(client, out, size);
    }
    client->tls.deadline_ms = client->deadline_ms;
    const ssize_t got = tls_client_receive(&client->tls, out, size);
    if (got < 0) {
        fail(client, client->tls.error);
    }
    return got;
}

/* ---- the request ---- */

static bool send_request(struct http_client *client, const struct http_client_url *url,
                         const struct http_client_request *request) {
    const bool is_6 = strchr(url->host, ':') != NULL;
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_format(&text, "GET %s HTTP/1.0\r\nHost: %s%s%s:%s\r\nConnection: close\r\n",
                         request->path, is_6 ? "[" : "", url->host, is_6 ? "]" : "", url->port);
    if (request->token != NULL) {
        parley_buffer_format(&text, "Authorization: Bearer %s\r\n", request->token);
    }
    parley_buffer_text(&text, "\r\n");
    const bool is_sent = parley_buffer_status(&text) == PARLEY_OK
                             ? send_all(client, parley_buffer_bytes(&text))
                             : fail(client, strerror(ENOMEM));
    parley_buffer_finish(&text);
    return is_sent;
}

/* ---- the answer ---- */

/* Reads on, up to the size of `head`.  Returns: false at the end, or if it failed. */
static bool read_more(struct http_client *client) {
    const size_t room = sizeof client->head - 1 - client->length;
    const ssize_t got =
        room > 0 ? receive_some(client, client->head + client->length, room) : (ssize_t)0;
    client->length += got > 0 ? (size_t)got : 0;
    client->head[client->length] = '\0';
    return got > 0;
}

static bool read_head(struct http_client *client) {
    const char *end;
    while ((end = strstr(client->head, "\r\n\r\n")) == NULL) {
        if (!read_more(client)) {
            return client->error[0] == '\0' ? fail(client, "the answer is not HTTP") : false;
        }
    }
    client->body = (size_t)(end + 4 - client->head);
    return sscanf(client->head, "HTTP/1.%*1[01] %3u", &client->status) == 1 ||
           fail(client, "the answer is not HTTP");
}

void http_client_init(struct http_client *client) {
    client->fd = -1;
    client->status = 0;
    client->is_tls = false;
    client->error[0] = client->head[0] = '\0';
    client->length = client->body = 0;
}

bool http_client_open(struct http_client *client, const struct http_client_url *url,
                      const struct http_client_request *request, int64_t wait_ms) {
    client->deadline_ms = client->tls.deadline_ms = reactor_clock_ms() + wait_ms;
    if (!connect_any(client, url)) {
        return false;
    }
    client->is_tls = url->is_tls;
    if (url->is_tls && !tls_client_open(&client->tls, client->fd, &request->tls)) {
        return fail(client, client->tls.error);
    }
    return send_request(client, url, request) && read_head(client);
}

ssize_t http_client_receive(struct http_client *client, char *out, size_t size, int64_t wait_ms) {
    const size_t here = client->length - client->body;
    if (here > 0) {
        const size_t taken = here < size ? here : size;
        memcpy(out, client->head + client->body, taken);
        client->body += taken;
        return (ssize_t)taken;
    }
    client->deadline_ms = wait_ms > 0 ? reactor_clock_ms() + wait_ms : client->deadline_ms;
    return receive_some(client, out, size);
}

const char *http_client_body(struct http_client *client) {
    while (read_more(client)) {
    }
    return client->head + client->body;
}

/* Appends the line with the status, and the detail of a problem that the body is. */
static void explain(struct http_client *client, struct parley_buffer *out) {
    json_t *problem = json_loads(http_client_body(client), JSON_DISABLE_EOF_CHECK, NULL);
    const char *detail = json_string_value(json_object_get(problem, "detail"));
    char status_line[128];
    snprintf(status_line, sizeof status_line, "%.*s", (int)strcspn(client->head, "\r\n"),
             client->head);
    terminal_append_clean(out, status_line);
    if (detail != NULL) {
        parley_buffer_text(out, ": ");
        terminal_append_clean(out, detail);
    }
    parley_buffer_char(out, '\0');
    json_decref(problem);
}

void http_client_print_refusal(struct http_client *client, const char *what, const char *advice) {
    struct parley_buffer why;
    parley_buffer_init(&why);
    explain(client, &why);
    terminal_error("%s: %s%s", what, why.has_failed ? "" : why.data, advice);
    parley_buffer_finish(&why);
}

void http_client_finish(struct http_client *client) {
    if (client->is_tls) {
        tls_client_close(&client->tls);
    }
    if (client->fd >= 0) {
        close(client->fd);
    }
}
