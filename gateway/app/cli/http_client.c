/* SPDX-License-Identifier: Apache-2.0 */

#include "http_client.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "reactor.h"
#include "terminal.h"

/* ---- the URL ---- */

/* Skips http:// or https://.  Returns: NULL for any other scheme. */
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

/* ---- what libcurl reports ---- */

static void fail(struct http_client *client, const char *why) {
    snprintf(client->error, sizeof client->error, "%s", why);
    client->has_failed = client->is_over = true;
}

static size_t on_header(char *data, size_t size, size_t count, void *context) {
    struct http_client *client = context;
    const size_t length = size * count;
    if (length >= 5 && memcmp(data, "HTTP/", 5) == 0) {
        snprintf(client->status_line, sizeof client->status_line, "%.*s",
                 (int)strcspn(data, "\r\n"), data); /* a line ends it */
    } else if (length <= 2) {
        long status = 0;
        (void)curl_easy_getinfo(client->easy, CURLINFO_RESPONSE_CODE, &status);
        client->status = (unsigned)status;
        client->has_head = status / 100 != 1;
    }
    return length;
}

static size_t on_body(const char *data, size_t size, size_t count, void *context) {
    struct http_client *client = context;
    parley_buffer_append(&client->received, (struct parley_bytes){data, size * count});
    return client->received.has_failed ? 0 : size * count;
}

/* libcurl's own text of a connection that fails does not say why. */
static void on_end(struct http_client *client, CURLcode result) {
    long error = 0;
    client->is_over = true;
    if (result == CURLE_COULDNT_CONNECT) {
        (void)curl_easy_getinfo(client->easy, CURLINFO_OS_ERRNO, &error);
    }
    if (error != 0) {
        fail(client, strerror((int)error));
    } else if (result == CURLE_UNSUPPORTED_PROTOCOL || result == CURLE_WEIRD_SERVER_REPLY) {
        fail(client, "the answer is not HTTP"); /* libcurl takes it for HTTP/0.9 */
    } else if (result != CURLE_OK) {
        client->has_failed = true;
        if (client->error[0] == '\0') {
            fail(client, curl_easy_strerror(result));
        }
    }
}

/* Waits until something can be done, and does it. */
static void work(struct http_client *client) {
    struct curl_waitfd wake = {.fd = client->wake_fd, .events = CURL_WAIT_POLLIN};
    const int64_t left_ms = client->deadline_ms - reactor_clock_ms();
    int count;
    if (left_ms <= 0) {
        fail(client, strerror(ETIMEDOUT));
        return;
    }
    (void)curl_multi_poll(client->multi, &wake, client->wake_fd >= 0,
                          left_ms < INT_MAX ? (int)left_ms : INT_MAX, NULL);
    if (wake.revents != 0) {
        fail(client, strerror(ECANCELED));
        return;
    }
    (void)curl_multi_perform(client->multi, &count);
    const CURLMsg *message = curl_multi_info_read(client->multi, &count);
    if (message != NULL) {
        on_end(client, message->data.result);
    }
}

/* ---- the request ---- */

/* The brackets leave out a macro that compares the value's type with the option, which a compiler
 * knows here only once it has inlined this. */
static bool set(CURL *easy, CURLoption option, const void *value) {
    return (curl_easy_setopt)(easy, option, value) == CURLE_OK;
}

static bool set_number(CURL *easy, CURLoption option, long value) {
    return (curl_easy_setopt)(easy, option, value) == CURLE_OK;
}

/* With CURLOPT_CAINFO alone Debian's libcurl would still trust its folder of authorities. The
 * variable is OpenSSL's, which libcurl does not read. */
static bool set_tls(CURL *easy, const struct http_client_tls *tls) {
    const char *ca = tls->ca != NULL ? tls->ca : getenv("SSL_CERT_FILE");
    return set_number(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2) &&
           set_number(easy, CURLOPT_SSL_VERIFYPEER, !tls->trusts_any_server) &&
           set_number(easy, CURLOPT_SSL_VERIFYHOST, tls->trusts_any_server ? 0 : 2) &&
           (ca == NULL || (set(easy, CURLOPT_CAINFO, ca) && set(easy, CURLOPT_CAPATH, NULL))) &&
           set(easy, CURLOPT_SSLCERT, tls->cert) && set(easy, CURLOPT_SSLKEY, tls->key);
}

static bool set_url(CURL *easy, const struct http_client_url *url, const char *path) {
    const bool is_6 = strchr(url->host, ':') != NULL;
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_format(&text, "http%s://%s%s%s:%s%s", url->is_tls ? "s" : "", is_6 ? "[" : "",
                         url->host, is_6 ? "]" : "", url->port, path);
    parley_buffer_char(&text, '\0');
    const bool is_set = !text.has_failed && set(easy, CURLOPT_URL, text.data);
    parley_buffer_finish(&text);
    return is_set && set_number(easy, CURLOPT_PATH_AS_IS, 1) && set(easy, CURLOPT_PROXY, "") &&
           set_number(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
}

static bool add_header(struct http_client *client, const char *name, const char *value) {
    struct parley_buffer line;
    parley_buffer_init(&line);
    parley_buffer_format(&line, "%s%s", name, value);
    parley_buffer_char(&line, '\0');
    struct curl_slist *headers =
        line.has_failed ? NULL : curl_slist_append(client->headers, line.data);
    parley_buffer_finish(&line);
    client->headers = headers != NULL ? headers : client->headers;
    return headers != NULL;
}

static bool add_headers(struct http_client *client, const char *const *headers) {
    bool are_added = true;
    for (; headers != NULL && *headers != NULL && are_added; headers++) {
        are_added = add_header(client, *headers, "");
    }
    return are_added;
}

/* Without the header Expect, which would delay large bodies where a proxy does not answer it. */
static bool set_message(struct http_client *client, const struct http_client_request *request) {
    CURL *easy = client->easy;
    const bool is_post = request->media_type != NULL;
    return (!is_post || (add_header(client, "Content-Type: ", request->media_type) &&
                         add_header(client, "Expect:", "") &&
                         curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                                          (curl_off_t)request->body.length) == CURLE_OK &&
                         set(easy, CURLOPT_POSTFIELDS, request->body.data))) &&
           (request->token == NULL ||
            add_header(client, "Authorization: Bearer ", request->token)) &&
           add_headers(client, request->headers) && set(easy, CURLOPT_HTTPHEADER, client->headers);
}

static bool set_callbacks(struct http_client *client) {
    CURL *easy = client->easy;
    return set_number(easy, CURLOPT_NOSIGNAL, 1) && set(easy, CURLOPT_ERRORBUFFER, client->error) &&
           curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header) == CURLE_OK &&
           set(easy, CURLOPT_HEADERDATA, client) &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
           set(easy, CURLOPT_WRITEDATA, client);
}

/* ---- all of it ---- */

static void forget_request(struct http_client *client) {
    (void)curl_multi_remove_handle(client->multi, client->easy);
    curl_easy_reset(client->easy);
    curl_slist_free_all(client->headers);
    parley_buffer_clear(&client->received);
    client->headers = NULL;
    client->status = 0;
    client->error[0] = client->status_line[0] = client->text[0] = '\0';
    client->has_head = client->is_over = client->has_failed = client->is_given = false;
}

bool http_client_init(struct http_client *client) {
    client->wake_fd = -1;
    client->headers = NULL;
    parley_buffer_init(&client->received);
    client->multi = curl_multi_init();
    client->easy = curl_easy_init();
    return client->multi != NULL && client->easy != NULL;
}

/* A large body may take long as long as it moves. */
static void extend(struct http_client *client, int64_t wait_ms, curl_off_t *sent) {
    curl_off_t now_sent = 0;
    (void)curl_easy_getinfo(client->easy, CURLINFO_SIZE_UPLOAD_T, &now_sent);
    if (now_sent != *sent) {
        client->deadline_ms = reactor_clock_ms() + wait_ms;
    }
    *sent = now_sent;
}

bool http_client_ask(struct http_client *client, const struct http_client_url *url,
                     const struct http_client_request *request, int64_t wait_ms) {
    curl_off_t sent = 0;
    forget_request(client);
    client->deadline_ms = reactor_clock_ms() + wait_ms;
    if (!set_callbacks(client) || !set_url(client->easy, url, request->path) ||
        !set_tls(client->easy, &request->tls) || !set_message(client, request) ||
        curl_multi_add_handle(client->multi, client->easy) != CURLM_OK) {
        fail(client, strerror(ENOMEM));
    }
    while (!client->has_head && !client->is_over) {
        work(client);
        extend(client, wait_ms, &sent);
    }
    return client->has_head;
}

const char *http_client_header(const struct http_client *client, const char *name) {
    struct curl_header *header;
    return curl_easy_header(client->easy, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK
               ? header->value
               : NULL;
}

/* Bytes received before a failure are returned first. */
bool http_client_receive(struct http_client *client, int64_t wait_ms, struct parley_bytes *out) {
    client->deadline_ms = wait_ms > 0 ? reactor_clock_ms() + wait_ms : client->deadline_ms;
    if (client->is_given) {
        parley_buffer_clear(&client->received);
    }
    while (client->received.length == 0 && !client->is_over) {
        work(client);
    }
    client->is_given = true;
    *out = parley_buffer_bytes(&client->received);
    return out->length > 0 || !client->has_failed;
}

const char *http_client_body(struct http_client *client) {
    size_t length = strlen(client->text); /* that an earlier call has received */
    struct parley_bytes piece;
    while (length < sizeof client->text - 1 && http_client_receive(client, 0, &piece) &&
           piece.length > 0) {
        const size_t room = sizeof client->text - 1 - length;
        const size_t taken = piece.length < room ? piece.length : room;
        memcpy(client->text + length, piece.data, taken);
        length += taken;
    }
    client->text[length] = '\0';
    return client->text;
}

/* Appends the line with the status, and the detail of a problem that the body is. */
static void explain(struct http_client *client, struct parley_buffer *out) {
    json_t *problem = json_loads(http_client_body(client), JSON_DISABLE_EOF_CHECK, NULL);
    const char *detail = json_string_value(json_object_get(problem, "detail"));
    terminal_append_clean(out, client->status_line);
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
    if (client->multi != NULL && client->easy != NULL) {
        forget_request(client);
    }
    curl_easy_cleanup(client->easy);
    (void)curl_multi_cleanup(client->multi);
    parley_buffer_finish(&client->received);
}
