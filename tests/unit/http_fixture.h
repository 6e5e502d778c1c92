/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A server with a few routes on a reactor's thread, and clients that write bytes to sockets.
 *
 *   /hello      "hello", from the begin callback      /early        413, before the body
 *   /info       what the request looks like           /early-close  the same, and closes
 *   /peer       the client's address
 *   /certificate  the name of its certificate, or "none"
 *   /echo       the body                              /early-body   413, at the body's first piece
 *   /slow       the body, taken bit by bit            /ticks        a stream of app.published lines
 *   /eager      the same, woken from the callback     /late-ticks   the same, some time later
 *   /stuck      the body, nothing of it before app_end_streams
 *   /late       "late", some time after the end       /abort        a stream that breaks off
 *   /large      LARGE_BYTES of 'x'                    /flood        a stream of FLOOD_BYTES of 'x'
 *   /kept       how many requests the connection had here; DELETE counts anew
 *   /inner?of=TARGET  what a request of its own, with the same body, is answered with: "STATUS
 *                     whole|cut TYPE ALLOW BODY"
 *   /live-ticks, /live-late-ticks, /live-abort, /live-flood: the same, live
 *   /live-abort-body: breaks off at the body's first piece
 *   /live-echo: the body while it arrives, of which LIVE_BYTES may be under way
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "../lib/loop.h"
#include "http.h"

enum {
    LARGE_BYTES = 3 * 1000 * 1000,
    FLOOD_BYTES = 32 * 1000 * 1000, /* more than two sockets hold */
    INNER_BYTES_MAX = 1000 * 1000,  /* of a stream that /inner reads */
};

struct exchange;

/* Everything but the port is the reactor thread's. */
struct app {
    struct loop loop;
    int listen_fd;
    unsigned port;
    struct http_server *server;
    struct tls_context *tls;           /* NULL: plain TCP */
    struct commit *commit;             /* whose disk is always synced … */
    struct commit_queue *commit_queue; /* … for what asks for it */
    TAILQ_HEAD(, exchange) exchanges;
    size_t published; /* lines that each stream of /ticks has to show */
    bool is_over;     /* and then they end */
    size_t complete_count, broken_count, read_count;
    size_t closed_count;  /* complete or broken */
    size_t body_bytes;    /* taken by body callbacks */
    size_t longest_piece; /* of those */
    size_t offered_count; /* pieces that /stuck did not take … */
    size_t kept_bytes;    /* … and their bytes */
    struct reactor_turn turn;
    size_t turn_count;
};

/* Unlimited but for what `change` says (NULL: nothing). */
void app_start(struct app *app, void (*change)(struct http_options *options));
/* The same, beside another one on its listening socket. */
void app_join(struct app *app, const struct app *other);
void app_stop(struct app *app);

/* A test whose state is an unlimited app of its own. */
#define app_test(test) cmocka_unit_test_setup_teardown(test, app_set_up, app_tear_down)
int app_set_up(void **state);
int app_tear_down(void **state);

/* One more line for every stream. */
void app_publish(struct app *app);
void app_end_streams(struct app *app);
void app_drain(struct app *app);

/* Wait for it; false after LOOP_PATIENCE_MS. */
bool app_has_active(struct app *app, size_t count);
bool app_has_complete(struct app *app, size_t count);
bool app_has_broken(struct app *app, size_t count);
bool app_has_closed(struct app *app, size_t count);
bool app_has_body_bytes(struct app *app, size_t count);
bool app_has_offered(struct app *app, size_t count);
size_t app_read_count(struct app *app);
/* Watches the reactor for a moment.  Returns: whether it slept between its turns, which does not
 * depend on how busy the machine is. */
bool app_is_asleep(struct app *app);

/* Keeps the reactor from doing anything until app_release. */
void app_hold(struct app *app);
void app_release(struct app *app);

struct client {
    int fd;
    char *data; /* received and not used, NUL-terminated */
    size_t length, capacity;
};

struct reply {
    unsigned status;
    char head[2048];
    char *body; /* de-chunked, NUL-terminated */
    size_t length, capacity;
    bool is_whole; /* false: the connection ended before the body did */
};

void client_open(struct client *client, const struct app *app);
void client_close(struct client *client);
void client_send(struct client *client, const char *text);
/* Returns: false when the server has closed. */
bool client_try_send(struct client *client, const char *bytes, size_t length);
/* Receives until `text` is there, and drops everything up to its end. */
bool client_expect(struct client *client, const char *text);
/* Receives until the end, and leaves it in `data`.  Returns: 0, or the socket's error. */
int client_receive_all(struct client *client);
/* A whole answer; body is freed by reply_finish. `is_head`: it has no body. */
void client_receive(struct client *client, struct reply *reply, bool is_head);
void reply_finish(struct reply *reply);
/* NULL when there is none.  Owns: until the next call. */
const char *reply_header(const struct reply *reply, const char *name, char value[256]);

/* Sends, receives and checks the status and the body. */
void client_ask(struct client *client, const char *request, unsigned status, const char *body);
