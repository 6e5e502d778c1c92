/* SPDX-License-Identifier: Apache-2.0 */

/* parley relies on more of libmicrohttpd, as seen in 0.9.75, 1.0.1 and 1.0.10, than its header
 * promises. So before clients are served a server of its own answers some requests, which fail
 * where one of these properties does not hold:
 *
 *   - It reads from a connection by `recv`, which is parley's (mhd_recv.c, ADR 9), and calls back
 *     for the data read before it reads from another connection.
 *   - NOTIFY_STARTED comes before the first request of a connection: from MHD_add_connection, or
 *     from a later MHD_run (0.9.77 to 1.0.10, without MHD_USE_NO_THREAD_SAFETY). The connection's
 *     descriptor is known then (mhd_arrival.c). It reads from a new connection without an event,
 *     for the head of a moved one has come already (mhd_handover.c).
 *   - It accepts the head that http_head_write makes, at the level of strictness that it has by
 *     itself: 1.0 wants a Host.
 *   - A connection that is suspended and resumed is read from without an event (http_look_again).
 *   - A request that waits for an answer (MHD_queue_response) at the end of its body may be
 *     suspended there and resumed later.
 *   - An answer that parley writes itself (live_response.c) is not followed by another.
 *
 * The server has a thread, so that one that hangs is noticed. */

#include "http.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "http_head.h"

enum {
    ANSWER_MAX = 2048,
    BODY_MAX = 16,
};

struct trial {
    struct reactor *reactor;
    struct http_server *server;
    pthread_t thread;
    unsigned patience_s;
    int listen_fd, client_fd;
    union {
        struct sockaddr any;
        struct sockaddr_un local;
    } name;
    socklen_t name_length;
    /* The thread's: of the present request. */
    struct http_request *request; /* NULL when it has ended */
    char body[BODY_MAX];
    size_t body_length;
    bool has_given;
};

struct trial_step {
    bool is_new; /* on a connection of its own, like those after it */
    const char *name, *request, *answer_end;
};

#define HEAD(line) line " HTTP/1.1\r\nHost: trial\r\n"
static const struct trial_step steps[] = {
    {true, "GET", HEAD("GET /now") "\r\n", "\r\n\r\nnow"},
    {false, "a second GET on a connection", HEAD("GET /now") "\r\n", "\r\n\r\nnow"},
    {false, "POST", HEAD("POST /later") "Content-Length: 4\r\n\r\nbody", "\r\n\r\nbody"},
    {false, "POST in chunks",
     HEAD("POST /later") "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
     "\r\n\r\nbody"},
    {false, "GET of a stream on a connection that moves", HEAD("GET /stream?moved") "\r\n",
     "\r\n3\r\nend\r\n0\r\n\r\n"},
    {true, "GET of a stream", HEAD("GET /stream") "\r\n", "\r\n3\r\nend\r\n0\r\n\r\n"},
    {true, "POST with a live answer", HEAD("POST /live") "Content-Length: 4\r\n\r\nbody",
     "\r\n3\r\nend\r\n0\r\n\r\n"},
};

/* ---- the server ---- */

static size_t take(void *state, struct http_request *request, struct parley_bytes bytes) {
    (void)request;
    struct trial *trial = state;
    const size_t room = BODY_MAX - trial->body_length;
    const size_t taken = bytes.length < room ? bytes.length : room;
    memcpy(trial->body + trial->body_length, bytes.data, taken);
    trial->body_length += taken;
    return bytes.length;
}

static void answer_later(void *context) {
    struct trial *trial = context;
    if (trial->request != NULL) {
        http_respond(trial->request, 200, "text/plain",
                     (struct parley_bytes){trial->body, trial->body_length});
    }
}

static void end(void *state, struct http_request *request) {
    struct trial *trial = state;
    trial->request = request;
    if (reactor_post(trial->reactor, answer_later, trial) != PARLEY_OK) {
        http_respond(request, 500, NULL, PARLEY_BYTES(""));
    }
}

static void forget(void *state, bool is_complete) {
    (void)is_complete;
    ((struct trial *)state)->request = NULL;
}

static ssize_t give_end(void *state, char *buffer, size_t size) {
    struct trial *trial = state;
    const struct parley_bytes text = PARLEY_BYTES("end");
    if (trial->has_given || size < text.length) {
        return HTTP_SOURCE_END;
    }
    trial->has_given = true;
    memcpy(buffer, text.data, text.length);
    return (ssize_t)text.length;
}

static void begin(void *context, struct http_request *request) {
    static const struct http_handler later = {.body = take, .end = end, .closed = forget};
    static const struct http_handler stream = {.closed = forget};
    struct trial *trial = context;
    const char *path = http_request_path(request);
    trial->body_length = 0;
    trial->has_given = false;
    if (strcmp(path, "/now") == 0) {
        http_respond(request, 200, "text/plain", PARLEY_BYTES("now"));
    } else if (strcmp(path, "/later") == 0) {
        http_request_serve(request, &later, trial);
    } else {
        const bool is_live = strcmp(path, "/live") == 0;
        http_request_serve(request, &stream, trial);
        (is_live ? http_respond_live : http_respond_stream)(request, 200, "text/plain", give_end);
    }
}

static bool stays_open(const struct http_head *head) {
    return strcmp(head->path, "/stream") == 0;
}

static void *serve(void *context) {
    struct trial *trial = context;
    reactor_run(trial->reactor);
    return NULL;
}

/* On a socket without a file, whose name the kernel makes up. */
static bool listen_locally(struct trial *trial) {
    trial->name.local.sun_family = AF_UNIX;
    trial->name_length = sizeof trial->name;
    trial->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return trial->listen_fd >= 0 &&
           bind(trial->listen_fd, &trial->name.any, sizeof trial->name.local.sun_family) == 0 &&
           listen(trial->listen_fd, 8) == 0 &&
           getsockname(trial->listen_fd, &trial->name.any, &trial->name_length) == 0;
}

static enum parley_status open_trial(struct trial *trial, const struct http_options *memory) {
    const struct http_options options = {
        .connections_max = 16,
        .idle_timeout_s = 2 * trial->patience_s,
        .request_memory_bytes = memory->request_memory_bytes,
        .stream_memory_bytes = memory->stream_memory_bytes,
        .stays_open = stays_open,
    };
    if (!listen_locally(trial)) {
        return PARLEY_E_IO;
    }
    PARLEY_TRY(reactor_create(&trial->reactor));
    return http_server_create(trial->reactor, trial->listen_fd, &options, begin, trial,
                              &trial->server);
}

static void close_trial(struct trial *trial) {
    http_server_destroy(trial->server);
    if (trial->reactor != NULL) {
        reactor_destroy(trial->reactor);
    }
    if (trial->listen_fd >= 0) {
        close(trial->listen_fd);
    }
    if (trial->client_fd >= 0) {
        close(trial->client_fd);
    }
    free(trial);
}

/* ---- its client ---- */

static bool connect_to(struct trial *trial) {
    const struct timeval patience = {.tv_sec = trial->patience_s};
    if (trial->client_fd >= 0) {
        close(trial->client_fd);
    }
    trial->client_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return trial->client_fd >= 0 &&
           setsockopt(trial->client_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
           connect(trial->client_fd, &trial->name.any, trial->name_length) == 0;
}

static bool ends_with(const char *text, size_t length, const char *end) {
    const size_t end_length = strlen(end);
    return length >= end_length && memcmp(text + length - end_length, end, end_length) == 0;
}

/* Returns: whether the answer was as expected; *out: the bytes read. */
static bool ask(const struct trial *trial, const struct trial_step *step, char out[ANSWER_MAX]) {
    const size_t request_length = strlen(step->request);
    size_t length = 0;
    out[0] = '\0';
    if (send(trial->client_fd, step->request, request_length, MSG_NOSIGNAL) !=
        (ssize_t)request_length) {
        return false;
    }
    while (length + 1 < ANSWER_MAX && !ends_with(out, length, step->answer_end)) {
        const ssize_t count =
            recvfrom(trial->client_fd, out + length, ANSWER_MAX - 1 - length, 0, NULL, NULL);
        if (count <= 0) {
            return false;
        }
        length += (size_t)count;
        out[length] = '\0';
    }
    return strncmp(out, "HTTP/1.1 200 ", 13) == 0;
}

static bool ask_all(struct trial *trial, char *error, size_t size) {
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        char answer[ANSWER_MAX];
        if (steps[i].is_new && !connect_to(trial)) {
            snprintf(error, size, "a socket for the trial request cannot be opened: %s",
                     strerror(errno));
            return false;
        }
        if (!ask(trial, &steps[i], answer)) {
            const bool is_silent = answer[0] == '\0';
            snprintf(error, size,
                     "libmicrohttpd %s does not work as parley needs it to: a trial request (%s) "
                     "got %s%.*s%s. Install a version from 0.9.75 to 1.0.10, or build parley anew "
                     "with this one",
                     http_library_version(), steps[i].name,
                     is_silent ? "no answer" : "the answer \"", (int)strcspn(answer, "\r\n"),
                     answer, is_silent ? "" : "\"");
            return false;
        }
    }
    return true;
}

/* Returns: false when the thread hangs; it has the trial then, and ends with the process. */
static bool stop_serving(struct trial *trial) {
    struct timespec until;
    reactor_stop(trial->reactor);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += trial->patience_s;
    return pthread_timedjoin_np(trial->thread, NULL, &until) == 0;
}

bool mhd_self_test(const struct http_options *memory, unsigned patience_s, char *error,
                   size_t size) {
    struct trial *trial = calloc(1, sizeof *trial);
    if (trial == NULL) {
        snprintf(error, size, "out of memory");
        return false;
    }
    trial->patience_s = patience_s;
    trial->listen_fd = trial->client_fd = -1;
    enum parley_status status = open_trial(trial, memory);
    if (status == PARLEY_OK && pthread_create(&trial->thread, NULL, serve, trial) != 0) {
        status = PARLEY_E_MEMORY;
    }
    if (status != PARLEY_OK) {
        snprintf(error, size, "the trial server cannot be started: %s", parley_status_text(status));
        close_trial(trial);
        return false;
    }
    bool is_served = ask_all(trial, error, size);
    if (stop_serving(trial)) {
        close_trial(trial);
    } else if (is_served) {
        snprintf(error, size, "libmicrohttpd %s hangs after some trial requests",
                 http_library_version());
        is_served = false;
    }
    return is_served;
}
