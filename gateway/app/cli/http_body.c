/* SPDX-License-Identifier: Apache-2.0 */

/* The body of an answer, however it is framed, and what it says when the request was refused. */

#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "http_client.h"
#include "reactor.h"
#include "terminal.h"

/* ---- how it ends ---- */

static bool is_word(struct parley_bytes value, const char *word) {
    return value.length == strlen(word) && strncasecmp(value.data, word, value.length) == 0;
}

static bool read_length(struct http_client *client, struct parley_bytes value) {
    enum { DIGITS_MAX = 18 };
    client->left = 0;
    for (size_t i = 0; i < value.length; i++) {
        if (value.data[i] < '0' || value.data[i] > '9' || i == DIGITS_MAX) {
            return http_client_fail(client, "the answer's Content-Length is not a number");
        }
        client->left = client->left * 10 + (uint64_t)(value.data[i] - '0');
    }
    client->framing = client->left > 0 ? HTTP_CLIENT_LENGTH : HTTP_CLIENT_ENDED;
    return true;
}

bool http_body_begin(struct http_client *client) {
    const struct parley_bytes length = http_client_header(client, "Content-Length");
    client->is_kept = strncmp(client->head, "HTTP/1.1", 8) == 0 &&
                      !is_word(http_client_header(client, "Connection"), "close");
    if (is_word(http_client_header(client, "Transfer-Encoding"), "chunked")) {
        client->framing = HTTP_CLIENT_CHUNKS;
        client->chunks = (struct http_chunks){0};
        return true;
    }
    return length.data == NULL || read_length(client, length);
}

/* ---- its bytes ---- */

/* First what came with the head. */
static ssize_t receive_plain(struct http_client *client, char *out, size_t size) {
    const size_t here = client->length - client->body;
    if (here == 0) {
        return http_client_receive_bytes(client, out, size);
    }
    const size_t taken = here < size ? here : size;
    memcpy(out, client->head + client->body, taken);
    client->body += taken;
    return (ssize_t)taken;
}

static ssize_t cut_off(struct http_client *client) {
    http_client_fail(client, "the answer was cut off");
    return -1;
}

static ssize_t receive_counted(struct http_client *client, char *out, size_t size) {
    const ssize_t got = receive_plain(client, out, size < client->left ? size : client->left);
    if (got == 0) {
        return cut_off(client);
    }
    client->left -= got > 0 ? (uint64_t)got : 0;
    client->framing = client->left == 0 ? HTTP_CLIENT_ENDED : client->framing;
    return got;
}

/* More of a chunked body, after what is in `head` and not read yet.  Returns: false: it failed. */
static bool fill(struct http_client *client) {
    client->length -= client->body;
    memmove(client->head, client->head + client->body, client->length);
    client->body = 0;
    const ssize_t got = http_client_receive_bytes(client, client->head + client->length,
                                                  sizeof client->head - 1 - client->length);
    client->length += got > 0 ? (size_t)got : 0;
    return got > 0 || (got == 0 && cut_off(client) >= 0);
}

/* Takes the next data out of what is in `head`.  Returns: false: more of it is needed. */
static bool gather(struct http_client *client) {
    size_t used;
    client->ready = http_chunks_gather(&client->chunks, client->head + client->body,
                                       client->length - client->body, &used);
    client->body += used;
    return client->ready.length > 0 || client->chunks.phase == HTTP_CHUNKS_END ||
           client->chunks.fault != NULL;
}

static ssize_t receive_chunked(struct http_client *client, char *out, size_t size) {
    while (client->ready.length == 0 && !gather(client)) {
        if (!fill(client)) {
            return -1;
        }
    }
    if (client->chunks.fault != NULL) {
        http_client_fail(client, client->chunks.fault);
        return -1;
    }
    if (client->ready.length == 0) {
        client->framing = HTTP_CLIENT_ENDED;
        return 0;
    }
    const size_t taken = client->ready.length < size ? client->ready.length : size;
    memcpy(out, client->ready.data, taken);
    client->ready = (struct parley_bytes){client->ready.data + taken, client->ready.length - taken};
    return (ssize_t)taken;
}

ssize_t http_client_receive(struct http_client *client, char *out, size_t size, int64_t wait_ms) {
    client->deadline_ms = wait_ms > 0 ? reactor_clock_ms() + wait_ms : client->deadline_ms;
    switch (client->framing) {
    case HTTP_CLIENT_UNTIL_CLOSE:
        return receive_plain(client, out, size);
    case HTTP_CLIENT_LENGTH:
        return receive_counted(client, out, size);
    case HTTP_CLIENT_CHUNKS:
        return receive_chunked(client, out, size);
    case HTTP_CLIENT_ENDED:
        break;
    }
    return 0;
}

const char *http_client_body(struct http_client *client) {
    size_t length = 0;
    ssize_t got = 1;
    while (got > 0 && length < sizeof client->text - 1) {
        got =
            http_client_receive(client, client->text + length, sizeof client->text - 1 - length, 0);
        length += got > 0 ? (size_t)got : 0;
    }
    client->text[length] = '\0';
    return client->text;
}

/* ---- a refusal ---- */

/* Appends the line with the status, and the detail of a problem that the body is. */
static void explain(struct http_client *client, struct parley_buffer *out) {
    char status_line[128];
    snprintf(status_line, sizeof status_line, "%.*s", (int)strcspn(client->head, "\r\n"),
             client->head);
    json_t *problem = json_loads(http_client_body(client), JSON_DISABLE_EOF_CHECK, NULL);
    const char *detail = json_string_value(json_object_get(problem, "detail"));
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
