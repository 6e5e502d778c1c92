/* SPDX-License-Identifier: Apache-2.0 */

/* See http_fixture.h. The client deliberately knows just enough HTTP to read the answers. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "http_fixture.h"

#include "commit.h"
#include "http_head.h"
#include "http_inner.h"

#include <arpa/inet.h>
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <parley/buffer.h>

#ifdef HTTP_FIXTURE_TLS
#include "../lib/certificates.h"
#include "../lib/tls_relay.h"
#include "tls_context.h"
#endif

enum {
    WAIT_MS = LOOP_PATIENCE_MS,
    LATE_MS = 20,
    BIT_BYTES = 700,
    LIVE_BYTES = 20000,
    SHOWN_BYTES_MAX = 3000
};

/* ---- the server's side ---- */

/* One request. */
struct exchange {
    struct app *app;
    struct http_request *request;
    struct parley_buffer body;
    struct reactor_timer timer;
    struct http_inner *inner; /* of /inner */
    size_t allowance, shown;
    bool has_ended;  /* the body, of a live echo */
    bool is_probing; /* whether the client still reads, by saying something */
    TAILQ_ENTRY(exchange) links;
};

static struct exchange *exchange_of(struct reactor_timer *timer) {
    return (void *)((char *)timer - offsetof(struct exchange, timer));
}

static void closed(void *state, bool is_complete) {
    struct exchange *exchange = state;
    struct app *app = exchange->app;
    *(is_complete ? &app->complete_count : &app->broken_count) += 1;
    app->closed_count++;
    http_inner_destroy(exchange->inner);
    reactor_timer_clear(app->loop.reactor, &exchange->timer);
    TAILQ_REMOVE(&app->exchanges, exchange, links);
    parley_buffer_finish(&exchange->body);
    free(exchange);
}

static void serve(struct app *app, struct http_request *request,
                  const struct http_handler *handler) {
    struct exchange *exchange = calloc(1, sizeof *exchange);
    if (exchange == NULL) {
        abort();
    }
    exchange->app = app;
    exchange->request = request;
    parley_buffer_init(&exchange->body);
    TAILQ_INSERT_TAIL(&app->exchanges, exchange, links);
    http_request_serve(request, handler, exchange);
}

static size_t take_all(void *state, struct http_request *request, struct parley_bytes bytes) {
    (void)request;
    struct exchange *exchange = state;
    parley_buffer_append(&exchange->body, bytes);
    exchange->app->body_bytes += bytes.length;
    if (bytes.length > exchange->app->longest_piece) {
        exchange->app->longest_piece = bytes.length;
    }
    return bytes.length;
}

/* Takes nothing before app_end_streams. */
static size_t take_at_last(void *state, struct http_request *request, struct parley_bytes bytes) {
    struct exchange *exchange = state;
    if (exchange->app->is_over) {
        return take_all(state, request, bytes);
    }
    exchange->app->kept_bytes += bytes.length;
    exchange->app->offered_count++;
    return 0;
}

static void echo(void *state, struct http_request *request) {
    struct exchange *exchange = state;
    http_respond(request, 200, "application/octet-stream", parley_buffer_bytes(&exchange->body));
}

static void answer_committed(struct reactor_timer *timer) {
    const struct exchange *exchange = exchange_of(timer);
    http_commit(exchange->request);
    http_respond(exchange->request, 200, "text/plain", PARLEY_BYTES("committed"));
}

/* Takes nothing, and answers while the rest is held. */
static size_t answer_held(void *state, struct http_request *request, struct parley_bytes bytes) {
    struct exchange *exchange = state;
    (void)request, (void)bytes;
    exchange->timer.fire = answer_committed;
    reactor_timer_set(exchange->app->loop.reactor, &exchange->timer, 0);
    return 0;
}

static void allow_a_bit(struct reactor_timer *timer) {
    struct exchange *exchange = exchange_of(timer);
    exchange->allowance = BIT_BYTES;
    http_wake(exchange->request);
    http_wake(exchange->request);
}

static size_t take_a_bit(void *state, struct http_request *request, struct parley_bytes bytes) {
    struct exchange *exchange = state;
    if (bytes.length > exchange->allowance) {
        bytes.length = exchange->allowance;
        exchange->timer.fire = allow_a_bit;
        reactor_timer_set(exchange->app->loop.reactor, &exchange->timer, 0);
    }
    exchange->allowance -= bytes.length;
    return take_all(state, request, bytes);
}

static size_t take_one(void *state, struct http_request *request, struct parley_bytes bytes) {
    http_wake(request);
    bytes.length = 1;
    return take_all(state, request, bytes);
}

static void answer_late(struct reactor_timer *timer) {
    http_respond(exchange_of(timer)->request, 200, "text/plain", PARLEY_BYTES("late"));
}

static void set_late(void *state, struct http_request *request) {
    struct exchange *exchange = state;
    http_wake(request); /* has to be harmless */
    exchange->timer.fire = answer_late;
    reactor_timer_set(exchange->app->loop.reactor, &exchange->timer, LATE_MS);
}

static size_t refuse_body(void *state, struct http_request *request, struct parley_bytes bytes) {
    (void)state;
    (void)bytes;
    http_respond(request, 413, "text/plain", PARLEY_BYTES("too large"));
    http_respond(request, 200, "text/plain", PARLEY_BYTES("not too large"));
    return 0;
}

static ssize_t read_ticks(void *state, char *buffer, size_t size) {
    struct exchange *exchange = state;
    exchange->app->read_count++;
    if (exchange->is_probing) {
        exchange->is_probing = false;
        return snprintf(buffer, size, "still there?\n");
    }
    if (exchange->shown < exchange->app->published) {
        exchange->shown++;
        return snprintf(buffer, size, "tick %zu\n", exchange->shown);
    }
    return exchange->app->is_over ? HTTP_SOURCE_END : 0;
}

static void probe(void *state, struct http_request *request) {
    struct exchange *exchange = state;
    exchange->is_probing = true;
    http_wake(request);
}

static ssize_t read_abort(void *state, char *buffer, size_t size) {
    struct exchange *exchange = state;
    exchange->app->read_count++;
    return exchange->shown++ == 0 ? snprintf(buffer, size, "part\n") : HTTP_SOURCE_ABORT;
}

static ssize_t read_flood(void *state, char *buffer, size_t size) {
    struct exchange *exchange = state;
    size_t left = FLOOD_BYTES - exchange->shown;
    size_t length = size < left ? size : left;
    memset(buffer, 'x', length);
    exchange->shown += length;
    return length > 0 ? (ssize_t)length : HTTP_SOURCE_END;
}

static void open_ticks(void *state, struct http_request *request) {
    (void)state;
    http_header(request, "Cache-Control", "no-cache");
    http_respond_stream(request, 200, "text/plain", read_ticks);
}

static void answer_late_ticks(struct reactor_timer *timer) {
    open_ticks(NULL, exchange_of(timer)->request);
}

static void set_late_ticks(void *state, struct http_request *request) {
    (void)request;
    struct exchange *exchange = state;
    exchange->timer.fire = answer_late_ticks;
    reactor_timer_set(exchange->app->loop.reactor, &exchange->timer, LATE_MS);
}

static void open_abort(void *state, struct http_request *request) {
    (void)state;
    http_respond_stream(request, 200, "text/plain", read_abort);
}

static void open_flood(void *state, struct http_request *request) {
    (void)state;
    http_respond_stream(request, 200, "text/plain", read_flood);
}

static void open_live_ticks(void *state, struct http_request *request) {
    (void)state;
    http_header(request, "Cache-Control", "no-cache");
    http_respond_live(request, 200, "text/plain", read_ticks);
    http_respond(request, 500, "text/plain", PARLEY_BYTES("not the first answer"));
}

static void answer_late_live_ticks(struct reactor_timer *timer) {
    open_live_ticks(NULL, exchange_of(timer)->request);
}

static void set_late_live_ticks(void *state, struct http_request *request) {
    (void)request;
    struct exchange *exchange = state;
    exchange->timer.fire = answer_late_live_ticks;
    reactor_timer_set(exchange->app->loop.reactor, &exchange->timer, LATE_MS);
}

static void open_live_abort(void *state, struct http_request *request) {
    (void)state;
    http_respond_live(request, 200, "text/plain", read_abort);
}

static void open_live_flood(void *state, struct http_request *request) {
    (void)state;
    http_respond_live(request, 200, "text/plain", read_flood);
}

/* What has come and was not given back; the body waits while it is much. */
static ssize_t read_back(void *state, char *buffer, size_t size) {
    struct exchange *exchange = state;
    struct parley_buffer *body = &exchange->body;
    const size_t length = body->length < size ? body->length : size;
    if (length == 0) {
        return exchange->has_ended ? HTTP_SOURCE_END : 0;
    }
    memcpy(buffer, body->data, length);
    body->length -= length;
    memmove(body->data, body->data + length, body->length);
    http_wake(exchange->request);
    return (ssize_t)length;
}

static size_t take_live(void *state, struct http_request *request, struct parley_bytes bytes) {
    struct exchange *exchange = state;
    const size_t room = LIVE_BYTES - exchange->body.length;
    bytes.length = bytes.length < room ? bytes.length : room;
    take_all(state, request, bytes);
    http_respond_live(request, 200, "text/plain", read_back);
    if (bytes.length > 0) {
        http_wake(request);
    }
    return bytes.length;
}

static void end_live(void *state, struct http_request *request) {
    struct exchange *exchange = state;
    exchange->has_ended = true;
    http_respond_live(request, 200, "text/plain", read_back);
    http_wake(request);
}

/* Breaks off in the middle of the body. */
static size_t abort_live(void *state, struct http_request *request, struct parley_bytes bytes) {
    open_live_abort(state, request);
    return take_all(state, request, bytes);
}

static bool tell_option(void *context, const char *name, const char *value) {
    parley_buffer_format(context, " [%s]=[%s]", name, value);
    return strcmp(name, "stop") != 0;
}

static void tell(struct app *app, struct http_request *request) {
    (void)app;
    struct parley_buffer text;
    parley_buffer_init(&text);
    const char *probe = http_request_header(request, "x-PROBE");
    const char *option = http_request_query(request, "a");
    parley_buffer_format(&text, "%s %s %lld probe=%s a=%s", http_request_method(request),
                         http_request_path(request),
                         (long long)http_request_content_length(request),
                         probe != NULL ? probe : "none", option != NULL ? option : "none");
    http_request_each_query(request, tell_option, &text);
    http_header(request, "Allow", "GET, HEAD");
    http_respond(request, 200, "text/plain", parley_buffer_bytes(&text));
    parley_buffer_finish(&text);
}

static void tell_peer(struct app *app, struct http_request *request) {
    (void)app;
    char text[PEER_TEXT_MAX];
    peer_text(http_request_peer(request), text);
    http_respond(request, 200, "text/plain", parley_bytes_of(text));
}

static void tell_certificate(struct app *app, struct http_request *request) {
    (void)app;
    const char *name = http_request_certificate(request);
    const int64_t left_s = http_request_certificate_expires_at(request) - (int64_t)time(NULL);
    char text[128];
    snprintf(text, sizeof text, "%s%s", name != NULL ? name : "none",
             name == NULL                             ? ""
             : left_s >= 60 * 30 && left_s <= 60 * 60 ? " for an hour"
                                                      : " for another time");
    http_respond(request, 200, "text/plain", parley_bytes_of(text));
}

static void respond_large(struct app *app, struct http_request *request) {
    (void)app;
    char *text = malloc(LARGE_BYTES);
    if (text == NULL) {
        abort();
    }
    memset(text, 'x', LARGE_BYTES);
    http_respond(request, 200, "text/plain", (struct parley_bytes){text, LARGE_BYTES});
    free(text);
}

static void respond_early(struct app *app, struct http_request *request) {
    (void)app;
    http_respond(request, 413, "text/plain", PARLEY_BYTES("too large"));
}

static void respond_early_and_close(struct app *app, struct http_request *request) {
    http_close_after(request);
    respond_early(app, request);
}

static void respond_hello(struct app *app, struct http_request *request) {
    (void)app;
    http_respond(request, 200, "text/plain", PARLEY_BYTES("hello"));
}

static void tell_liveness(struct app *app, struct http_request *request) {
    (void)app;
    http_respond(request, 200, "text/plain",
                 parley_bytes_of(http_can_be_live(request) ? "live" : "whole"));
}

static void tell_inner(void *context, struct http_inner *inner,
                       const struct http_inner_answer *answer) {
    const struct exchange *exchange = context;
    const char *allowed = http_inner_header(inner, "allow");
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_format(&text, "%u %s %s %s ", answer->status, answer->is_whole ? "whole" : "cut",
                         answer->content_type != NULL ? answer->content_type : "none",
                         allowed != NULL ? allowed : "-");
    if (answer->body.length > SHOWN_BYTES_MAX) {
        parley_buffer_format(&text, "%zu bytes", answer->body.length);
    } else {
        parley_buffer_append(&text, answer->body);
    }
    http_respond(exchange->request, 200, "text/plain", parley_buffer_bytes(&text));
    parley_buffer_finish(&text);
}

static void ask_inner(void *state, struct http_request *request) {
    struct exchange *exchange = state;
    const struct http_inner_options options = {
        .method = "POST",
        .target = parley_bytes_of(http_request_query(request, "of")),
        .body = parley_buffer_bytes(&exchange->body),
        .answer_bytes_max = INNER_BYTES_MAX,
        .answered = tell_inner,
        .context = exchange};
    if (http_inner_create(request, &options, &exchange->inner) == PARLEY_OK) {
        http_inner_begin(exchange->inner);
    } else {
        http_respond(request, 200, "text/plain", PARLEY_BYTES("no head"));
    }
}

/* How many requests the connection has had here; DELETE counts anew. */
static void count_kept(struct app *app, struct http_request *request) {
    char text[16];
    int *count = http_request_kept(request);
    if (count == NULL || strcmp(http_request_method(request), "DELETE") == 0) {
        count = calloc(1, sizeof *count);
        if (count == NULL) {
            abort();
        }
        http_request_keep(request, count, free);
    }
    (void)app;
    snprintf(text, sizeof text, "%d", ++*count);
    http_respond(request, 200, "text/plain", parley_bytes_of(text));
}

static const struct route {
    const char *path;
    void (*begin)(struct app *app, struct http_request *request); /* or: */
    struct http_handler handler;
} routes[] = {
    {.path = "/hello", .begin = respond_hello},
    {.path = "/liveness", .begin = tell_liveness},
    {.path = "/info", .begin = tell},
    {.path = "/peer", .begin = tell_peer},
    {.path = "/certificate", .begin = tell_certificate},
    {.path = "/kept", .begin = count_kept},
    {.path = "/large", .begin = respond_large},
    {.path = "/early", .begin = respond_early},
    {.path = "/early-close", .begin = respond_early_and_close},
    {.path = "/echo", .handler = {.body = take_all, .end = echo, .closed = closed}},
    {.path = "/slow", .handler = {.body = take_a_bit, .end = echo, .closed = closed}},
    {.path = "/inner", .handler = {.body = take_all, .end = ask_inner, .closed = closed}},
    {.path = "/committed", .handler = {.body = answer_held, .closed = closed}},
    {.path = "/stuck", .handler = {.body = take_at_last, .end = echo, .closed = closed}},
    {.path = "/eager", .handler = {.body = take_one, .end = echo, .closed = closed}},
    {.path = "/late", .handler = {.end = set_late, .closed = closed}},
    {.path = "/never", .handler = {.closed = closed}},
    {.path = "/early-body", .handler = {.body = refuse_body, .end = echo, .closed = closed}},
    {.path = "/ticks", .handler = {.end = open_ticks, .half_closed = probe, .closed = closed}},
    {.path = "/late-ticks",
     .handler = {.end = set_late_ticks, .half_closed = probe, .closed = closed}},
    {.path = "/abort", .handler = {.end = open_abort, .closed = closed}},
    {.path = "/live-ticks",
     .handler = {.end = open_live_ticks, .half_closed = probe, .closed = closed}},
    {.path = "/live-late-ticks",
     .handler = {.end = set_late_live_ticks, .half_closed = probe, .closed = closed}},
    {.path = "/live-abort", .handler = {.end = open_live_abort, .closed = closed}},
    {.path = "/live-abort-body", .handler = {.body = abort_live, .closed = closed}},
    {.path = "/live-flood", .handler = {.end = open_live_flood, .closed = closed}},
    {.path = "/live-echo", .handler = {.body = take_live, .end = end_live, .closed = closed}},
    {.path = "/flood", .handler = {.end = open_flood, .closed = closed}},
};

static void begin(void *context, struct http_request *request) {
    struct app *app = context;
    if (http_request_header(request, "Accept-Encoding") != NULL) {
        http_compress(request);
    }
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        if (strcmp(http_request_path(request), routes[i].path) != 0) {
            continue;
        }
        if (routes[i].begin != NULL) {
            routes[i].begin(app, request);
        } else {
            serve(app, request, &routes[i].handler);
        }
        return;
    }
    http_respond(request, 404, "text/plain", PARLEY_BYTES("nothing"));
}

static void refuse(struct http_request *request, unsigned status, const char *detail) {
    http_respond(request, status, "application/problem+json", parley_bytes_of(detail));
}

static bool stays_open(const struct http_head *head) {
    return head->wait_s > 0 || strcmp(head->path, "/ticks") == 0 ||
           strcmp(head->path, "/live-ticks") == 0;
}

static void count_turn(struct reactor_turn *turn) {
    struct app *app = (void *)((char *)turn - offsetof(struct app, turn));
    app->turn_count++;
}

/* The same tests over TLS are other programs. */
#ifdef HTTP_FIXTURE_TLS
static void start_tls(struct app *app) {
    char folder[] = "/tmp/parley-test-XXXXXX", certificate[64], key[64], error[TLS_ERROR_MAX];
    assert_non_null(mkdtemp(folder));
    snprintf(certificate, sizeof certificate, "%s/cert.pem", folder);
    snprintf(key, sizeof key, "%s/key.pem", folder);
    struct certificate made =
        certificate_make(&(struct certificate_wanted){.common_name = "localhost"}, NULL);
    certificate_write(&made, certificate);
    certificate_write_key(&made, key);
    certificate_finish(&made);
    const struct tls_files files = {.certificate = certificate, .key = key};
    assert_int_equal(tls_context_create(&files, error, &app->tls), PARLEY_OK);
    unlink(certificate);
    unlink(key);
    rmdir(folder);
}

static void stop_tls(struct app *app) {
    tls_context_destroy(app->tls);
}

static int begin_tls(int fd) {
    return tls_relay(fd);
}
#else
static void start_tls(struct app *app) {
    app->tls = NULL;
}

static void stop_tls(struct app *app) {
    (void)app;
}

static int begin_tls(int fd) {
    return fd;
}
#endif

static int sync_nothing(int fd) {
    (void)fd;
    return 0;
}

static void on_synced(void *context, uint64_t ns) {
    (void)context, (void)ns;
}

static void start_commit(struct app *app) {
    const struct commit_options options = {
        .folder = "/", .sync = sync_nothing, .synced = on_synced};
    assert_int_equal(commit_create(&options, &app->commit), PARLEY_OK);
    assert_int_equal(commit_queue_create(app->commit, app->loop.reactor, &app->commit_queue),
                     PARLEY_OK);
}

static void start_on(struct app *app, int listen_fd, void (*change)(struct http_options *)) {
    struct http_options options = {
        .connections_max = 10000,
        .idle_timeout_s = 60,
        .request_memory_bytes = 8192,
        .stream_memory_bytes = 2048,
        .stays_open = stays_open,
        .refuse = refuse,
        .tls_handshake_timeout_ms = 60000,
    };
    start_tls(app);
    options.tls = app->tls;
    if (change != NULL) {
        change(&options);
    }
    TAILQ_INIT(&app->exchanges);
    loop_create(&app->loop);
    start_commit(app);
    options.commit = app->commit_queue;
    assert_int_equal(
        http_server_create(app->loop.reactor, listen_fd, &options, begin, app, &app->server),
        PARLEY_OK);
    app->turn.run = count_turn;
    reactor_turn_add(app->loop.reactor, &app->turn);
    loop_start(&app->loop);
}

void app_start(struct app *app, void (*change)(struct http_options *options)) {
    *app = (struct app){.listen_fd = -1};
    const char *error = NULL;
    app->listen_fd = http_listen("127.0.0.1", 0, &app->port, &error);
    assert_int_not_equal(app->listen_fd, -1);
    start_on(app, app->listen_fd, change);
}

void app_join(struct app *app, const struct app *other) {
    *app = (struct app){.listen_fd = -1, .port = other->port};
    start_on(app, other->listen_fd, NULL);
}

void app_stop(struct app *app) {
    loop_stop(&app->loop);
    http_server_destroy(app->server);
    commit_queue_destroy(app->commit_queue);
    commit_destroy(app->commit);
    stop_tls(app);
    assert_true(TAILQ_EMPTY(&app->exchanges));
    loop_destroy(&app->loop);
    if (app->listen_fd >= 0) {
        close(app->listen_fd);
    }
}

int app_set_up(void **state) {
    struct app *app = calloc(1, sizeof *app);
    assert_non_null(app);
    app_start(app, NULL);
    *state = app;
    return 0;
}

int app_tear_down(void **state) {
    app_stop(*state);
    free(*state);
    return 0;
}

static void wake_all(struct app *app) {
    struct exchange *exchange;
    TAILQ_FOREACH(exchange, &app->exchanges, links) {
        http_wake(exchange->request);
    }
}

static void publish(void *context) {
    struct app *app = context;
    app->published++;
    wake_all(app);
}

static void end_streams(void *context) {
    struct app *app = context;
    app->is_over = true;
    wake_all(app);
}

static void drain(void *context) {
    struct app *app = context;
    http_server_drain(app->server);
}

void app_publish(struct app *app) {
    loop_do(&app->loop, publish, app);
}

void app_end_streams(struct app *app) {
    loop_do(&app->loop, end_streams, app);
}

void app_drain(struct app *app) {
    loop_do(&app->loop, drain, app);
}

struct expectation {
    struct app *app;
    const size_t *counter; /* NULL: the server's own count */
    size_t count;
};

static bool is_met(void *context) {
    const struct expectation *expectation = context;
    size_t count = expectation->counter != NULL
                       ? *expectation->counter
                       : http_server_active_count(expectation->app->server);
    return count == expectation->count;
}

static bool has(struct app *app, const size_t *counter, size_t count) {
    struct expectation expectation = {app, counter, count};
    return loop_wait(&app->loop, is_met, &expectation, WAIT_MS);
}

bool app_has_active(struct app *app, size_t count) {
    return has(app, NULL, count);
}

bool app_has_complete(struct app *app, size_t count) {
    return has(app, &app->complete_count, count);
}

bool app_has_broken(struct app *app, size_t count) {
    return has(app, &app->broken_count, count);
}

bool app_has_closed(struct app *app, size_t count) {
    return has(app, &app->closed_count, count);
}

bool app_has_body_bytes(struct app *app, size_t count) {
    return has(app, &app->body_bytes, count);
}

bool app_has_offered(struct app *app, size_t count) {
    return has(app, &app->offered_count, count);
}

struct look {
    const struct app *app;
    size_t read_count, turn_count;
    size_t sleep_count; /* how often the reactor's thread has waited for something */
};

static void look_at(void *context) {
    struct look *look = context;
    look->read_count = look->app->read_count;
    look->turn_count = look->app->turn_count;
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    look->sleep_count = (size_t)usage.ru_nvcsw;
}

size_t app_read_count(struct app *app) {
    struct look look = {.app = app};
    loop_do(&app->loop, look_at, &look);
    return look.read_count;
}

bool app_is_asleep(struct app *app) {
    enum { PAUSES = 25, SLEEPLESS_TURNS_MAX = 25 };
    struct look before = {.app = app}, after = {.app = app};
    loop_do(&app->loop, look_at, &before);
    for (int i = 0; i < PAUSES; i++) {
        loop_pause();
    }
    loop_do(&app->loop, look_at, &after);
    const size_t turns = after.turn_count - before.turn_count;
    return turns <= after.sleep_count - before.sleep_count + SLEEPLESS_TURNS_MAX;
}

/* A hold is a semaphore that the reactor's thread waits for; one at a time. */
static sem_t held, released;

static void hold(void *context) {
    (void)context;
    sem_post(&held);
    while (sem_wait(&released) != 0) {
    }
}

void app_hold(struct app *app) {
    sem_init(&held, 0, 0);
    sem_init(&released, 0, 0);
    assert_int_equal(reactor_post(app->loop.reactor, hold, NULL), PARLEY_OK);
    while (sem_wait(&held) != 0) {
    }
}

static void go_on(void *context) {
    (void)context;
}

/* Returns once the reactor goes on: the next app_hold begins with the same semaphores. */
void app_release(struct app *app) {
    sem_post(&released);
    loop_do(&app->loop, go_on, NULL);
}

/* ---- the client's side ---- */

void client_open(struct client *client, const struct app *app) {
    *client = (struct client){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_int_not_equal(client->fd, -1);
    const struct timeval patience = {.tv_sec = WAIT_MS / 1000};
    const struct sockaddr_in name = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)app->port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    assert_int_equal(connect(client->fd, (const void *)&name, sizeof name), 0);
    client->fd = begin_tls(client->fd);
    setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(client->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    client->data = calloc(1, 1);
}

void client_close(struct client *client) {
    close(client->fd);
    free(client->data);
    client->data = NULL;
}

bool client_try_send(struct client *client, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t sent = send(client->fd, bytes, length, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        bytes += sent;
        length -= (size_t)sent;
    }
    return true;
}

void client_send(struct client *client, const char *text) {
    assert_true(client_try_send(client, text, strlen(text)));
}

/* Makes room for `length` bytes and a NUL, and more: big answers come in small pieces. */
static void grow(char **data, size_t *capacity, size_t length) {
    if (length < *capacity) {
        return;
    }
    *capacity = 2 * length + 1;
    *data = realloc(*data, *capacity);
    assert_non_null(*data);
}

/* Returns: 1, 0 at the end, or -1 with errno. */
static int receive_some(struct client *client) {
    enum { PIECE = 65536 };
    grow(&client->data, &client->capacity, client->length + PIECE);
    ssize_t length = recv(client->fd, client->data + client->length, PIECE, 0);
    client->length += length > 0 ? (size_t)length : 0;
    client->data[client->length] = '\0';
    return length > 0 ? 1 : (int)length;
}

static void drop(struct client *client, size_t length) {
    client->length -= length;
    memmove(client->data, client->data + length, client->length + 1);
}

bool client_expect(struct client *client, const char *text) {
    const char *found;
    while ((found = strstr(client->data, text)) == NULL) {
        if (receive_some(client) <= 0) {
            return false;
        }
    }
    drop(client, (size_t)(found - client->data) + strlen(text));
    return true;
}

int client_receive_all(struct client *client) {
    int result;
    while ((result = receive_some(client)) > 0) {
    }
    return result < 0 ? errno : 0;
}

const char *reply_header(const struct reply *reply, const char *name, char value[256]) {
    for (const char *line = reply->head; (line = strstr(line, "\r\n")) != NULL;) {
        line += 2;
        if (strncasecmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':') {
            line += strlen(name) + 2;
            snprintf(value, 256, "%.*s", (int)strcspn(line, "\r"), line);
            return value;
        }
    }
    return NULL;
}

static bool need(struct client *client, size_t length) {
    while (client->length < length) {
        if (receive_some(client) <= 0) {
            return false;
        }
    }
    return true;
}

static bool move_body(struct client *client, struct reply *reply, size_t length) {
    if (!need(client, length)) {
        return false;
    }
    grow(&reply->body, &reply->capacity, reply->length + length);
    memcpy(reply->body + reply->length, client->data, length);
    reply->length += length;
    reply->body[reply->length] = '\0';
    drop(client, length);
    return true;
}

static bool receive_chunks(struct client *client, struct reply *reply) {
    for (;;) {
        const char *end;
        while ((end = strstr(client->data, "\r\n")) == NULL) {
            if (receive_some(client) <= 0) {
                return false;
            }
        }
        size_t length = strtoul(client->data, NULL, 16);
        drop(client, (size_t)(end - client->data) + 2);
        if (!move_body(client, reply, length) || !need(client, 2)) {
            return false;
        }
        assert_memory_equal(client->data, "\r\n", 2);
        drop(client, 2);
        if (length == 0) {
            return true;
        }
    }
}

void client_receive(struct client *client, struct reply *reply, bool is_head) {
    *reply = (struct reply){.body = calloc(1, 1)};
    const char *end;
    while ((end = strstr(client->data, "\r\n\r\n")) == NULL) {
        assert_int_equal(receive_some(client), 1);
    }
    size_t length = (size_t)(end - client->data) + 4;
    assert_true(length < sizeof reply->head);
    memcpy(reply->head, client->data, length);
    drop(client, length);
    reply->status = (unsigned)strtoul(reply->head + strlen("HTTP/1.1 "), NULL, 10);
    char value[256];
    if (is_head) {
        reply->is_whole = true;
    } else if (reply_header(reply, "Transfer-Encoding", value) != NULL) {
        reply->is_whole = receive_chunks(client, reply);
    } else if (reply_header(reply, "Content-Length", value) != NULL) {
        reply->is_whole = move_body(client, reply, strtoul(value, NULL, 10));
    } else {
        reply->is_whole =
            client_receive_all(client) == 0 && move_body(client, reply, client->length);
    }
}

void reply_finish(struct reply *reply) {
    free(reply->body);
}

void client_ask(struct client *client, const char *request, unsigned status, const char *body) {
    struct reply reply;
    client_send(client, request);
    client_receive(client, &reply, strncmp(request, "HEAD", 4) == 0);
    assert_int_equal(reply.status, status);
    assert_true(reply.is_whole);
    assert_string_equal(reply.body, body);
    char value[256];
    assert_non_null(reply_header(&reply, "X-Request-Id", value));
    reply_finish(&reply);
}
