/* SPDX-License-Identifier: Apache-2.0 */

/* Bodies that do not come whole with their head: they are read in long pieces into one buffer of
 * the server, on whatever connection they come, and what their handlers do not take is bounded. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "http_fixture.h"

#define HEAD(path) "POST " path " HTTP/1.1\r\nHost: x\r\n"

/* A whole request, and the body in it. */
struct post {
    char *text, *body;
    size_t length, body_length;
};

/* `chunk_size` 0: of announced length. */
static struct post make_post(const char *path, size_t body_length, size_t chunk_size) {
    enum { HEAD_BYTES_MAX = 256, CHUNK_FRAME_MAX = 20 };
    const size_t chunk_count = chunk_size > 0 ? body_length / chunk_size + 1 : 0;
    struct post post = {
        .text = malloc(HEAD_BYTES_MAX + body_length + (chunk_count + 1) * CHUNK_FRAME_MAX),
        .body = malloc(body_length + 1),
        .body_length = body_length,
    };
    assert_true(post.text != NULL && post.body != NULL);
    for (size_t i = 0; i < body_length; i++) {
        post.body[i] = (char)('a' + (i * 7 + i / 251) % 26);
    }
    post.body[body_length] = '\0';
    post.length = (size_t)sprintf(post.text, "POST %s HTTP/1.1\r\nHost: x\r\n", path);
    if (chunk_size == 0) {
        post.length += (size_t)sprintf(post.text + post.length, "Content-Length: %zu\r\n\r\n%s",
                                       body_length, post.body);
        return post;
    }
    post.length += (size_t)sprintf(post.text + post.length, "Transfer-Encoding: chunked\r\n\r\n");
    for (size_t at = 0; at < body_length; at += chunk_size) {
        const size_t size = body_length - at < chunk_size ? body_length - at : chunk_size;
        post.length += (size_t)sprintf(post.text + post.length, "%zx\r\n%.*s\r\n", size, (int)size,
                                       post.body + at);
    }
    post.length += (size_t)sprintf(post.text + post.length, "0\r\n\r\n");
    return post;
}

static void finish_post(struct post *post) {
    free(post->text);
    free(post->body);
}

/* Sends what fits into its socket while the server is held, which then finds much at once, and the
 * rest. */
static void send_to_held(struct app *app, struct client *client, const struct post *post) {
    enum { ARRIVED_BYTES_MIN = 24 * 1024, ROOM_BYTES = 128 * 1024 };
    const int room = ROOM_BYTES;
    int unread = 0;
    setsockopt(client->fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    app_hold(app);
    const ssize_t sent = send(client->fd, post->text, post->length, MSG_DONTWAIT | MSG_NOSIGNAL);
    assert_true(sent >= ARRIVED_BYTES_MIN);
    while (ioctl(client->fd, SIOCOUTQ, &unread) == 0 && sent - unread < ARRIVED_BYTES_MIN) {
        loop_pause();
    }
    app_release(app);
    assert_true(client_try_send(client, post->text + (size_t)sent, post->length - (size_t)sent));
}

static void test_a_long_body_is_read_in_long_pieces_on_any_connection(void **state) {
    (void)state;
    enum { BODY_BYTES = 200000, PIECE_BYTES_MIN = 16 * 1024 };
    static const size_t chunk_sizes[] = {0, 100, 65524, BODY_BYTES};
    for (size_t i = 0; i < sizeof chunk_sizes / sizeof chunk_sizes[0]; i++) {
        struct post post = make_post("/echo", BODY_BYTES, chunk_sizes[i]);
        struct app app;
        struct client client;
        app_start(&app, NULL);
        client_open(&client, &app);
        for (size_t round = 0; round < 3; round++) {
            app.longest_piece = 0;
            send_to_held(&app, &client, &post);
            client_ask(&client, "", 200, post.body);
            assert_true(app.longest_piece >= PIECE_BYTES_MIN);
            client_ask(&client, HEAD("/echo") "Content-Length: 3\r\n\r\nabc", 200, "abc");
        }
        client_close(&client);
        app_stop(&app);
        finish_post(&post);
    }
}

/* Beyond 8 MiB that nobody has taken, pieces are of 4 KiB. */
static void test_what_handlers_do_not_take_is_bounded(void **state) {
    (void)state;
    enum {
        COUNT = 300,
        BODY_BYTES = 66000,
        KEPT_BYTES_MAX = (8 << 20) + (64 << 10) + COUNT * 4096
    };
    struct post posts[2] = {make_post("/stuck", BODY_BYTES, 0),
                            make_post("/stuck", BODY_BYTES, 1000)};
    struct client clients[COUNT];
    struct app app;
    app_start(&app, NULL);
    for (size_t i = 0; i < COUNT; i++) {
        client_open(&clients[i], &app);
        send_to_held(&app, &clients[i], &posts[i % 2]);
    }
    assert_true(app_has_offered(&app, COUNT));
    assert_true(app.kept_bytes <= KEPT_BYTES_MAX);
    app_end_streams(&app);
    for (size_t i = 0; i < COUNT; i++) {
        client_ask(&clients[i], "", 200, posts[i % 2].body);
        client_close(&clients[i]);
    }
    assert_true(app_has_active(&app, 0));
    app_stop(&app);
    finish_post(&posts[0]);
    finish_post(&posts[1]);
}

/* A client need not wait for its 100. */
static void test_a_body_may_begin_before_its_100_continue(void **state) {
    struct app *app = *state;
    static const char *const requests[][2] = {
        {HEAD("/echo") "Expect: 100-continue\r\nContent-Length: 6\r\n\r\nabc", "def"},
        {HEAD("/echo") "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab",
         "c\r\n3\r\ndef\r\n0\r\n\r\n"},
        {HEAD("/slow") "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
         "3\r\ndef\r\n0\r\n\r\n"},
    };
    struct client client;
    client_open(&client, app);
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        client_send(&client, requests[i][0]);
        assert_true(client_expect(&client, "HTTP/1.1 100 Continue\r\n\r\n"));
        client_ask(&client, requests[i][1], 200, "abcdef");
    }
    client_close(&client);
}

/* What follows a body is the next request, however much of it was read with the body. */
static void test_requests_that_follow_a_long_body_are_served(void **state) {
    struct app *app = *state;
    enum { BODY_BYTES = 100000, COUNT = 20 };
    static const size_t chunk_sizes[] = {0, 5000};
    for (size_t i = 0; i < 2; i++) {
        struct post post = make_post("/echo", BODY_BYTES, chunk_sizes[i]);
        struct client client;
        client_open(&client, app);
        for (size_t round = 0; round < COUNT; round++) {
            assert_true(client_try_send(&client, post.text, post.length));
            client_send(&client, HEAD("/echo") "Content-Length: 3\r\n\r\nabc");
            client_ask(&client, "", 200, post.body);
            client_ask(&client, "", 200, "abc");
        }
        client_close(&client);
        finish_post(&post);
    }
}

static void idle_out_soon(struct http_options *options) {
    options->idle_timeout_s = 6;
}

/* libmicrohttpd, which closes idle connections, has to notice each piece. */
static void test_a_body_that_comes_slowly_is_not_idle(void **state) {
    (void)state;
    enum { COUNT = 30, PAUSES = 125 }; /* longer than the timeout, and than its second more */
    struct app app;
    struct client client;
    app_start(&app, idle_out_soon);
    client_open(&client, &app);
    client_send(&client, HEAD("/echo") "Content-Length: 30\r\n\r\n");
    for (size_t i = 0; i < COUNT; i++) {
        client_send(&client, "x");
        assert_true(app_has_body_bytes(&app, i + 1));
        for (int pause = 0; pause < PAUSES && i + 1 < COUNT; pause++) {
            loop_pause();
        }
    }
    client_ask(&client, "", 200, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
    client_close(&client);
    app_stop(&app);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_long_body_is_read_in_long_pieces_on_any_connection),
        cmocka_unit_test(test_what_handlers_do_not_take_is_bounded),
        app_test(test_a_body_may_begin_before_its_100_continue),
        app_test(test_requests_that_follow_a_long_body_are_served),
        cmocka_unit_test(test_a_body_that_comes_slowly_is_not_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
