/* SPDX-License-Identifier: Apache-2.0 */

/* The main thread reads lines and begins calls; a call's thread writes its answer. A notification
 * that cancels a request closes it, which is how a server is told over HTTP: it is not passed on.
 */

#include "mcp_bridge.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <unistd.h>

#include <sodium.h>

#include "bearer.h"
#include "json_fields.h"
#include "rpc.h"
#include "terminal.h"

enum {
    SILENCE_MS = 45000, /* an answer that takes a while has a comment every 15 s */
    LINE_BYTES_MAX = 16 * 1024 * 1024,
    READ_BYTES = 64 * 1024,
    CALLS_MAX = 256, /* at a time; then standard input is not read */
    ACCEPTED = 202,
};

struct bridge {
    const struct mcp_bridge_options *options;
    pthread_mutex_t mutex; /* of all that follows, and of standard output */
    pthread_cond_t ended;  /* a call has */
    TAILQ_HEAD(, call) calls;
    size_t count;
    int idle_fd;    /* can be read when the last one has ended */
    bool is_unread; /* standard output cannot be written */
};

/* A message on its way. */
struct call {
    struct bridge *bridge;
    struct parley_buffer line, token;
    struct parley_arena arena; /* of … */
    struct rpc rpc;            /* … what the line says */
    char *headers[5];          /* that repeat it; NULL ends them */
    int cancel_fd;
    struct http_client client;
    TAILQ_ENTRY(call) links;
};

/* ---- standard output ---- */

static void write_all(struct bridge *bridge, struct parley_bytes text) {
    while (text.length > 0 && !bridge->is_unread) {
        const ssize_t written = write(STDOUT_FILENO, text.data, text.length);
        if (written < 0 && errno == EAGAIN) { /* its reader has made it so */
            (void)poll(&(struct pollfd){STDOUT_FILENO, POLLOUT, 0}, 1, -1);
        } else if (written < 0 && errno != EINTR) {
            bridge->is_unread = true;
        }
        const size_t done = written > 0 ? (size_t)written : 0;
        text = (struct parley_bytes){text.data + done, text.length - done};
    }
}

/* `text`: JSON without a line end. */
static void print_line(struct bridge *bridge, struct parley_bytes text) {
    pthread_mutex_lock(&bridge->mutex);
    write_all(bridge, text);
    write_all(bridge, PARLEY_BYTES("\n"));
    pthread_mutex_unlock(&bridge->mutex);
}

/* A request is answered; of a notification standard error says so. */
static void print_failure(const struct call *call, const char *message) {
    struct parley_buffer out;
    if (call->rpc.id.data == NULL) {
        terminal_error("a notification was not passed on: %s", message);
        return;
    }
    parley_buffer_init(&out);
    rpc_write_error(&out, &call->rpc,
                    &(const struct rpc_error){.code = RPC_INTERNAL_ERROR, .message = message});
    if (!out.has_failed) {
        print_line(call->bridge, parley_buffer_bytes(&out));
    }
    parley_buffer_finish(&out);
}

/* ---- the answer ---- */

/* Returns: false: it was cut off. */
static bool receive_all(struct call *call, struct parley_buffer *out) {
    struct parley_bytes piece;
    do {
        if (!http_client_receive(&call->client, SILENCE_MS, &piece)) {
            return false;
        }
        parley_buffer_append(out, piece);
    } while (piece.length > 0);
    return !out->has_failed;
}

/* Prints the data of the whole events, and forgets them. Each is one line. */
static void print_events(struct call *call, struct parley_buffer *received) {
    static const char data[] = "data: ";
    char *line = received->data;
    size_t left = received->length;
    for (char *end; left > 0 && (end = memchr(line, '\n', left)) != NULL;) {
        const size_t length = (size_t)(end - line);
        if (length >= sizeof data - 1 && memcmp(line, data, sizeof data - 1) == 0) {
            print_line(call->bridge,
                       (struct parley_bytes){line + sizeof data - 1, length - (sizeof data - 1)});
        }
        line = end + 1;
        left -= length + 1;
    }
    memmove(received->data, line, left);
    received->length = left;
}

static bool receive_events(struct call *call, struct parley_buffer *received) {
    struct parley_bytes piece;
    do {
        if (!http_client_receive(&call->client, SILENCE_MS, &piece)) {
            return false;
        }
        parley_buffer_append(received, piece);
        if (received->length > 0) {
            print_events(call, received);
        }
    } while (piece.length > 0);
    return !received->has_failed;
}

/* What failed before the message was read. */
static void print_problem(const struct call *call, struct parley_bytes document) {
    struct json_field detail = {.name = "detail"};
    struct parley_arena arena;
    char message[1024];
    parley_arena_init(&arena, 0);
    (void)json_fields_read(document, &detail, 1, &arena, NULL);
    snprintf(
        message, sizeof message, "The server answers %u: %.*s", call->client.status,
        (int)(detail.text.length < sizeof message / 2 ? detail.text.length : sizeof message / 2),
        detail.text.data != NULL ? detail.text.data : "");
    print_failure(call, message);
    parley_arena_finish(&arena);
}

static bool is_type(const char *type, const char *wanted) {
    return type != NULL && strncmp(type, wanted, strlen(wanted)) == 0;
}

/* Returns: false: it was cut off. */
static bool pass_answer_on(struct call *call, struct parley_buffer *received) {
    const char *type = http_client_header(&call->client, "Content-Type");
    if (is_type(type, "text/event-stream")) {
        return receive_events(call, received);
    }
    const bool is_json = is_type(type, "application/json");
    if (!receive_all(call, received)) {
        return false;
    }
    while (received->length > 0 && received->data[received->length - 1] == '\n') {
        received->length--;
    }
    if (is_json) {
        print_line(call->bridge, parley_buffer_bytes(received));
    } else if (call->client.status != ACCEPTED) {
        print_problem(call, parley_buffer_bytes(received));
    }
    return true;
}

/* ---- the request ---- */

/* Returns: false, with a reason. */
static bool take_token(struct call *call, const char **out, struct parley_buffer *error) {
    const struct mcp_bridge_options *options = call->bridge->options;
    *out = options->token;
    if (options->token_file == NULL) {
        return true;
    }
    const bool is_read = bearer_of_file(options->token_file, &call->token, error);
    parley_buffer_char(error, '\0');
    *out = call->token.data;
    return is_read;
}

static void exchange(struct call *call, struct parley_buffer *received) {
    const struct mcp_bridge_options *options = call->bridge->options;
    struct http_client_request request = {.path = options->path,
                                          .tls = options->tls,
                                          .media_type = "application/json",
                                          .headers = (const char *const *)call->headers,
                                          .body = parley_buffer_bytes(&call->line)};
    struct parley_buffer error;
    parley_buffer_init(&error);
    if (!take_token(call, &request.token, &error)) {
        print_failure(call, error.has_failed ? "Out of memory." : error.data);
    } else if (!http_client_init(&call->client)) {
        print_failure(call, "Out of memory.");
    } else {
        call->client.wake_fd = call->cancel_fd;
        const bool is_over = http_client_ask(&call->client, &options->url, &request, SILENCE_MS) &&
                             pass_answer_on(call, received);
        const bool is_cancelled = poll(&(struct pollfd){call->cancel_fd, POLLIN, 0}, 1, 0) == 1;
        if (!is_over && !is_cancelled) { /* who cancels wants no answer */
            print_failure(call, call->client.error);
        }
        http_client_finish(&call->client);
    }
    parley_buffer_finish(&error);
}

static void destroy(struct call *call) {
    for (char **header = call->headers; *header != NULL; header++) {
        free(*header);
    }
    if (call->cancel_fd >= 0) {
        close(call->cancel_fd);
    }
    parley_arena_finish(&call->arena);
    parley_buffer_finish(&call->token);
    parley_buffer_finish(&call->line);
    free(call);
}

static void *run(void *context) {
    struct call *call = context;
    struct bridge *bridge = call->bridge;
    struct parley_buffer received;
    parley_buffer_init(&received);
    exchange(call, &received);
    parley_buffer_finish(&received);
    pthread_mutex_lock(&bridge->mutex);
    TAILQ_REMOVE(&bridge->calls, call, links);
    bridge->count--;
    if (bridge->count == 0) {
        (void)eventfd_write(bridge->idle_fd, 1);
    }
    pthread_cond_signal(&bridge->ended);
    pthread_mutex_unlock(&bridge->mutex);
    destroy(call);
    return NULL;
}

/* ---- lines ---- */

static bool is_plain(struct parley_bytes text) {
    bool is_visible = text.length > 0 && text.data[0] != ' ' && text.data[text.length - 1] != ' ';
    for (size_t i = 0; i < text.length; i++) {
        is_visible = is_visible && text.data[i] >= ' ' && text.data[i] < 0x7F;
    }
    return is_visible && memcmp(text.data, "=?", text.length < 2 ? text.length : 2) != 0;
}

/* A value that is no plain text in a header goes there as =?base64?…?=.  Returns: NULL: no memory.
 */
static char *header_of(const char *name, struct parley_bytes value) {
    struct parley_buffer out;
    parley_buffer_init(&out);
    parley_buffer_format(&out, "%s: ", name);
    if (is_plain(value)) {
        parley_buffer_append(&out, value);
    } else {
        const size_t size = sodium_base64_ENCODED_LEN(value.length, sodium_base64_VARIANT_ORIGINAL);
        parley_buffer_text(&out, "=?base64?");
        if (parley_buffer_reserve(&out, size)) {
            sodium_bin2base64(out.data + out.length, size, (const unsigned char *)value.data,
                              value.length, sodium_base64_VARIANT_ORIGINAL);
            out.length += strlen(out.data + out.length);
        }
        parley_buffer_text(&out, "?=");
    }
    parley_buffer_char(&out, '\0');
    if (out.has_failed) {
        parley_buffer_finish(&out);
        return NULL;
    }
    return out.data;
}

/* Those that a request of a revision without a handshake must have.  Returns: false: no memory. */
static bool write_headers(struct call *call) {
    const struct rpc *rpc = &call->rpc;
    size_t count = 0;
    call->headers[count++] = strdup("Accept: application/json, text/event-stream");
    if (rpc->meta_version.data != NULL) {
        call->headers[count++] = header_of("MCP-Protocol-Version", rpc->meta_version);
        call->headers[count++] = header_of("Mcp-Method", rpc->method);
        if (rpc_names_something(rpc) && rpc->name.data != NULL) {
            call->headers[count++] = header_of("Mcp-Name", rpc->name);
        }
    }
    bool are_there = true;
    for (size_t i = 0; i < count; i++) {
        are_there = are_there && call->headers[i] != NULL;
    }
    return are_there;
}

/* Closes the request that a notification names. */
static void cancel(struct bridge *bridge, struct parley_bytes line) {
    struct json_field params = {.name = "params"}, id = {.name = "requestId"};
    struct parley_arena arena;
    struct call *call;
    parley_arena_init(&arena, 0);
    if (json_fields_read(line, &params, 1, &arena, NULL) == JSON_FIELDS_READ &&
        params.kind == PARLEY_OBJECT &&
        json_fields_read(params.raw, &id, 1, &arena, NULL) == JSON_FIELDS_READ) {
        pthread_mutex_lock(&bridge->mutex);
        TAILQ_FOREACH(call, &bridge->calls, links) {
            if (call->rpc.id.data != NULL && parley_bytes_equal(call->rpc.id, id.raw)) {
                (void)eventfd_write(call->cancel_fd, 1);
            }
        }
        pthread_mutex_unlock(&bridge->mutex);
    }
    parley_arena_finish(&arena);
}

static struct call *create(struct bridge *bridge, struct parley_bytes line) {
    struct rpc_error ignored; /* the server says what is wrong with it */
    struct call *call = calloc(1, sizeof *call);
    if (call == NULL) {
        return NULL;
    }
    call->bridge = bridge;
    parley_arena_init(&call->arena, 0);
    parley_buffer_init(&call->line);
    parley_buffer_init(&call->token);
    parley_buffer_append(&call->line, line);
    call->cancel_fd = eventfd(0, EFD_CLOEXEC);
    (void)rpc_read_body(parley_buffer_bytes(&call->line), &call->arena, &call->rpc, &ignored);
    if (call->line.has_failed || call->cancel_fd < 0 || !write_headers(call)) {
        destroy(call);
        return NULL;
    }
    return call;
}

/* Begins the call. Returns: false: it cannot, and was not begun. */
static bool begin(struct bridge *bridge, struct call *call) {
    pthread_t thread;
    pthread_mutex_lock(&bridge->mutex);
    while (bridge->count == CALLS_MAX) {
        pthread_cond_wait(&bridge->ended, &bridge->mutex);
    }
    eventfd_t ignored;
    if (bridge->count == 0) {
        (void)eventfd_read(bridge->idle_fd, &ignored);
    }
    TAILQ_INSERT_TAIL(&bridge->calls, call, links);
    bridge->count++;
    const bool has_begun = pthread_create(&thread, NULL, run, call) == 0;
    if (has_begun) {
        pthread_detach(thread);
    } else {
        TAILQ_REMOVE(&bridge->calls, call, links);
        bridge->count--;
    }
    pthread_mutex_unlock(&bridge->mutex);
    return has_begun;
}

/* Returns: false: nothing more can be done. */
static bool take_line(struct bridge *bridge, struct parley_bytes line) {
    if (strspn(line.data, " \t\r") >= line.length) {
        return true;
    }
    struct call *call = create(bridge, line);
    if (call == NULL) {
        terminal_error("%s", parley_status_text(PARLEY_E_MEMORY));
        return false;
    }
    if (parley_bytes_equal(call->rpc.method, PARLEY_BYTES("notifications/cancelled"))) {
        cancel(bridge, line);
        destroy(call);
        return true;
    }
    if (!begin(bridge, call)) {
        terminal_error("no thread can be started");
        destroy(call);
        return false;
    }
    return true;
}

/* The whole lines of what was read.  Returns: as take_line. */
static bool take_lines(struct bridge *bridge, struct parley_buffer *input) {
    char *line = input->data, *end;
    size_t left = input->length;
    while (left > 0 && (end = memchr(line, '\n', left)) != NULL) {
        const size_t length = (size_t)(end - line);
        *end = '\0';
        if (!take_line(bridge, (struct parley_bytes){line, length})) {
            return false;
        }
        line = end + 1;
        left -= length + 1;
    }
    memmove(input->data, line, left);
    input->length = left;
    return true;
}

/* ---- the loop ---- */

/* Waits until `fd` can be read.  Returns: false: standard output is closed. */
static bool wait_for(int fd) {
    struct pollfd fds[] = {{fd, POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
    while (poll(fds, 2, -1) < 0 && errno == EINTR) {
    }
    return (fds[1].revents & (POLLERR | POLLHUP)) == 0;
}

/* Returns: the exit status; -1: standard input has ended. */
static int read_lines(struct bridge *bridge, struct parley_buffer *input) {
    while (wait_for(STDIN_FILENO)) {
        if (input->length > LINE_BYTES_MAX || !parley_buffer_reserve(input, READ_BYTES)) {
            terminal_error("a line has more than 16 MiB");
            return EXIT_FAILURE;
        }
        const ssize_t count = read(STDIN_FILENO, input->data + input->length, READ_BYTES);
        if (count == 0 || (count < 0 && errno != EINTR)) {
            return -1;
        }
        input->length += count > 0 ? (size_t)count : 0;
        if (!take_lines(bridge, input)) {
            return EXIT_FAILURE;
        }
    }
    return EXIT_SUCCESS;
}

int mcp_bridge_run(const struct mcp_bridge_options *options) {
    struct bridge bridge = {.options = options,
                            .mutex = PTHREAD_MUTEX_INITIALIZER,
                            .ended = PTHREAD_COND_INITIALIZER,
                            .idle_fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)};
    struct parley_buffer input;
    TAILQ_INIT(&bridge.calls);
    parley_buffer_init(&input);
    int status = bridge.idle_fd >= 0 ? read_lines(&bridge, &input) : EXIT_FAILURE;
    if (status < 0) {
        status = EXIT_SUCCESS;
        const bool has_rest = input.length > 0 && parley_buffer_reserve(&input, 1);
        if (has_rest) { /* the last line has no end */
            input.data[input.length] = '\0';
            (void)take_line(&bridge, parley_buffer_bytes(&input));
        }
        (void)wait_for(bridge.idle_fd);
    }
    /* Its threads use what is on this stack. */
    _exit(status);
}
