/* SPDX-License-Identifier: Apache-2.0 */

/* Answers that leave while their request still arrives, or for as long as anybody reads them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http_fixture.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"
#define POST(path, more) "POST " path " HTTP/1.1\r\nHost: x\r\n" more "\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n"

/* ---- streams ---- */

static void test_it_shows_its_headers_at_once_and_each_line_when_it_is_there(void **state) {
    (void)state;
    static const char *const requests[] = {GET("/live-ticks"), GET("/live-late-ticks"),
                                           GET("/hello") GET("/live-ticks")};
    for (size_t n = 0; n < sizeof requests / sizeof requests[0]; n++) {
        struct app app;
        struct client client;
        app_start(&app, NULL);
        client_open(&client, &app);
        client_send(&client, requests[n]);
        if (strstr(requests[n], "/hello") != NULL) {
            client_ask(&client, "", 200, "hello");
        }
        assert_true(client_expect(&client, "HTTP/1.1 200 OK\r\nDate: "));
        assert_true(client_expect(&client, " GMT\r\nConnection: close\r\n"));
        assert_true(client_expect(&client, "Cache-Control: no-cache\r\n"));
        assert_true(client_expect(
            &client, "Content-Type: text/plain\r\nX-Content-Type-Options: nosniff\r\n"));
        assert_true(client_expect(&client, "X-Request-Id: "));
        assert_true(client_expect(&client, "\r\nTransfer-Encoding: chunked\r\n\r\n"));
        for (int i = 1; i <= 3; i++) {
            char line[32];
            assert_int_equal(client.length, 0);
            app_publish(&app);
            snprintf(line, sizeof line, "7\r\ntick %d\n\r\n", i);
            assert_true(client_expect(&client, line));
        }
        app_end_streams(&app);
        assert_true(client_expect(&client, "0\r\n\r\n"));
        assert_int_equal(client_receive_all(&client), 0);
        assert_int_equal(client.length, 0);
        assert_true(app_has_active(&app, 0));
        assert_true(app_has_broken(&app, 0));
        client_close(&client);
        app_stop(&app);
    }
}

static void test_all_that_waits_leaves_as_one_chunk(void **state) {
    struct app *app = *state;
    struct client client;
    for (int i = 0; i < 3; i++) {
        app_publish(app);
    }
    client_open(&client, app);
    client_send(&client, GET("/live-ticks"));
    assert_true(client_expect(&client, "\r\n\r\n15\r\ntick 1\ntick 2\ntick 3\n\r\n"));
    app_end_streams(app);
    assert_int_equal(client_receive_all(&client), 0);
    assert_string_equal(client.data, "0\r\n\r\n");
    client_close(&client);
}

static void test_what_cannot_be_live_is_a_stream_all_the_same(void **state) {
    struct app *app = *state;
    struct client client;
    app_publish(app);
    app_end_streams(app);
    client_open(&client, app);
    client_send(&client, "GET /live-ticks HTTP/1.0\r\n\r\n");
    assert_true(client_expect(&client, "\r\n\r\ntick 1\n"));
    assert_int_equal(client_receive_all(&client), 0);
    client_close(&client);
    client_open(&client, app);
    client_send(&client, "HEAD /live-ticks HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(client_expect(&client, "\r\n\r\n"));
    assert_int_equal(client_receive_all(&client), 0);
    assert_int_equal(client.length, 0);
    assert_true(app_has_complete(app, 2));
    client_close(&client);
}

static void test_a_client_that_vanishes_is_noticed(void **state) {
    struct app *app = *state;
    static const char *const requests[] = {GET("/live-ticks"), GET("/live-late-ticks")};
    struct client client;
    app_publish(app);
    for (size_t i = 0; i < 8; i++) {
        client_open(&client, app);
        client_send(&client, requests[i % 2]);
        if (i % 4 < 2) { /* with something unread, else its end is a reset */
            assert_true(client_expect(&client, "tick 1\n\r\n"));
        }
        assert_true(app_has_active(app, 1));
        client_close(&client);
        assert_true(app_has_broken(app, i + 1));
        assert_true(app_has_active(app, 0));
    }
}

static void test_one_that_breaks_off_is_not_taken_for_whole(void **state) {
    struct app *app = *state;
    static const char *const requests[] = {GET("/live-abort"),
                                           POST("/live-abort-body", "Content-Length: 3\r\n") "abc"};
    struct client client;
    struct reply reply;
    for (size_t i = 0; i < 2; i++) {
        client_open(&client, app);
        client_send(&client, requests[i]);
        client_receive(&client, &reply, false);
        assert_int_equal(reply.status, 200);
        assert_false(reply.is_whole);
        assert_string_equal(reply.body, "part\n");
        assert_int_equal(client_receive_all(&client), 0);
        assert_true(app_has_broken(app, i + 1));
        reply_finish(&reply);
        client_close(&client);
    }
}

static void test_a_slow_reader_gets_everything(void **state) {
    struct app *app = *state;
    struct client client, other;
    struct reply reply;
    client_open(&client, app);
    client_send(&client, GET("/live-flood"));
    assert_true(app_has_active(app, 1));
    while (!app_is_asleep(app)) {
    }
    client_open(&other, app);
    client_ask(&other, GET("/hello"), 200, "hello");
    client_close(&other);
    client_receive(&client, &reply, false);
    assert_true(reply.is_whole);
    assert_int_equal(reply.length, FLOOD_BYTES);
    assert_int_equal(strspn(reply.body, "x"), FLOOD_BYTES);
    assert_true(app_has_complete(app, 1));
    reply_finish(&reply);
    client_close(&client);
}

static void wait_some_seconds(struct http_options *options) {
    options->idle_timeout_s = 5;
}

static void test_a_client_that_never_reads_is_broken_off_and_one_that_waits_is_not(void **state) {
    (void)state;
    struct app app;
    struct client idle, stuck;
    app_start(&app, wait_some_seconds);
    client_open(&idle, &app);
    client_send(&idle, GET("/live-ticks"));
    client_open(&stuck, &app);
    client_send(&stuck, GET("/live-flood"));
    assert_true(app_has_broken(&app, 1));
    assert_true(app_has_active(&app, 1));
    app_publish(&app);
    assert_true(client_expect(&idle, "tick 1\n"));
    client_close(&idle);
    client_close(&stuck);
    app_stop(&app);
}

static void test_what_was_sent_behind_the_request_does_not_cost_the_answer(void **state) {
    struct app *app = *state;
    struct client client;
    client_open(&client, app);
    client_send(&client, GET("/live-ticks"));
    assert_true(client_expect(&client, "\r\n\r\n"));
    char *more = calloc(1, 100000);
    assert_non_null(more);
    memset(more, 'G', 100000);
    assert_true(client_try_send(&client, more, 100000));
    free(more);
    app_publish(app);
    app_end_streams(app);
    assert_true(app_has_complete(app, 1));
    assert_int_equal(client_receive_all(&client), 0);
    assert_string_equal(client.data, "7\r\ntick 1\n\r\n0\r\n\r\n");
    client_close(&client);
}

/* ---- while the body arrives ---- */

static void test_each_line_is_answered_before_the_next_one_is_sent(void **state) {
    (void)state;
    static const struct {
        const char *head, *before;
    } cases[] = {
        {POST("/live-echo", CHUNKED), "HTTP/1.1 200 OK"},
        {POST("/live-echo", CHUNKED "Expect: 100-continue\r\n"),
         "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK"},
    };
    for (size_t n = 0; n < 2; n++) {
        struct app app;
        struct client client;
        app_start(&app, NULL);
        client_open(&client, &app);
        client_send(&client, cases[n].head);
        for (int i = 0; i < 5; i++) {
            client_send(&client, "5\r\nline\n\r\n");
            if (i == 0) {
                assert_true(client_expect(&client, cases[n].before));
            }
            assert_true(client_expect(&client, "5\r\nline\n\r\n"));
        }
        assert_true(app_has_active(&app, 1));
        client_send(&client, "0\r\n\r\n");
        assert_int_equal(client_receive_all(&client), 0);
        assert_string_equal(client.data, "0\r\n\r\n");
        assert_true(app_has_complete(&app, 1));
        client_close(&client);
        app_stop(&app);
    }
}

static void test_a_body_of_announced_length_is_answered_while_it_arrives(void **state) {
    struct app *app = *state;
    struct client client;
    client_open(&client, app);
    client_send(&client, POST("/live-echo", "Content-Length: 6\r\n") "abc");
    assert_true(client_expect(&client, "3\r\nabc\r\n"));
    client_send(&client, "def");
    assert_true(client_expect(&client, "3\r\ndef\r\n0\r\n\r\n"));
    assert_int_equal(client_receive_all(&client), 0);
    client_close(&client);
    client_open(&client, app);
    client_send(&client, POST("/live-echo", "Content-Length: 0\r\n"));
    assert_true(client_expect(&client, "\r\n\r\n0\r\n\r\n"));
    assert_int_equal(client_receive_all(&client), 0);
    client_close(&client);
}

/* Sends chunks of the body until the server takes no more.  Returns: how many bytes of body. */
static size_t send_until_stopped(struct client *client, size_t most) {
    enum { PIECE = 10000 };
    static char chunk[PIECE + 16];
    int length = snprintf(chunk, sizeof chunk, "%x\r\n", PIECE);
    memset(chunk + length, 'y', PIECE);
    chunk[length + PIECE] = '\r';
    chunk[length + PIECE + 1] = '\n';
    const size_t size = (size_t)length + PIECE + 2;
    const struct timeval patience = {.tv_usec = 300000};
    setsockopt(client->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    size_t sent = 0;
    while (sent < most) {
        size_t done = 0;
        while (done < size) {
            ssize_t count = send(client->fd, chunk + done, size - done, MSG_NOSIGNAL);
            if (count <= 0) {
                return sent; /* within a chunk: this body has no end any more */
            }
            done += (size_t)count;
        }
        sent += PIECE;
    }
    return sent;
}

static void test_who_does_not_read_the_answer_cannot_go_on_sending(void **state) {
    struct app *app = *state;
    enum { MOST = 200 * 1000 * 1000 };
    struct client client, other;
    client_open(&client, app);
    client_send(&client, POST("/live-echo", CHUNKED));
    const size_t sent = send_until_stopped(&client, MOST);
    assert_true(sent > 0 && sent < MOST);
    while (!app_is_asleep(app)) {
    }
    client_open(&other, app);
    client_ask(&other, GET("/hello"), 200, "hello");
    client_close(&other);
    client_close(&client);
    assert_true(app_has_broken(app, 1));
}

struct sender {
    struct client *client;
    size_t count;
};

static void *send_chunks(void *context) {
    struct sender *sender = context;
    static char chunk[5000 + 10];
    int length = snprintf(chunk, sizeof chunk, "%x\r\n", 5000);
    memset(chunk + length, 'z', 5000);
    chunk[length + 5000] = '\r';
    chunk[length + 5001] = '\n';
    for (size_t i = 0; i < sender->count; i++) {
        client_try_send(sender->client, chunk, (size_t)length + 5000 + 2);
    }
    client_try_send(sender->client, "0\r\n\r\n", 5);
    shutdown(sender->client->fd, SHUT_WR); /* which is its half of the connection alone */
    return NULL;
}

static void test_a_large_body_comes_back_whole_though_its_client_closes_its_half(void **state) {
    struct app *app = *state;
    struct client client;
    struct reply reply;
    pthread_t thread;
    struct sender sender = {&client, 4000};
    client_open(&client, app);
    client_send(&client, POST("/live-echo", CHUNKED));
    assert_int_equal(pthread_create(&thread, NULL, send_chunks, &sender), 0);
    client_receive(&client, &reply, false);
    pthread_join(thread, NULL);
    assert_true(reply.is_whole);
    assert_int_equal(reply.length, 5000 * sender.count);
    assert_int_equal(strspn(reply.body, "z"), reply.length);
    assert_int_equal(client_receive_all(&client), 0);
    assert_true(app_has_complete(app, 1));
    reply_finish(&reply);
    client_close(&client);
}

static void test_what_was_sent_before_its_client_went_is_taken(void **state) {
    struct app *app = *state;
    struct client client;
    client_open(&client, app);
    client_send(&client, POST("/live-echo", CHUNKED) "3\r\nabc\r\n");
    assert_true(client_expect(&client, "3\r\nabc\r\n"));
    client_send(&client, "3\r\ndef\r\n3\r\nghi\r\n");
    client_close(&client);
    assert_true(app_has_broken(app, 1));
    assert_true(app_has_body_bytes(app, 9));
}

static void test_breaking_off_within_a_body_lets_the_client_see_it(void **state) {
    struct app *app = *state;
    struct client client;
    client_open(&client, app);
    client_send(&client, POST("/live-abort-body", CHUNKED) "3\r\nabc\r\n");
    assert_int_equal(client_receive_all(&client), 0);
    assert_non_null(strstr(client.data, "\r\n\r\n5\r\npart\n\r\n"));
    assert_null(strstr(client.data, "0\r\n\r\n"));
    client_send(&client, "3\r\ndef\r\n0\r\n\r\n");
    assert_true(app_has_broken(app, 1));
    client_close(&client);
}

/* ---- the end ---- */

static void test_draining_lets_it_finish(void **state) {
    struct app *app = *state;
    struct client stream, body;
    client_open(&stream, app);
    client_send(&stream, GET("/live-ticks"));
    assert_true(client_expect(&stream, "\r\n\r\n"));
    client_open(&body, app);
    client_send(&body, POST("/live-echo", CHUNKED) "1\r\na\r\n");
    assert_true(client_expect(&body, "1\r\na\r\n"));
    app_drain(app);
    app_publish(app);
    assert_true(client_expect(&stream, "tick 1\n"));
    client_send(&body, "1\r\nb\r\n0\r\n\r\n");
    assert_true(client_expect(&body, "1\r\nb\r\n0\r\n\r\n"));
    app_end_streams(app);
    assert_int_equal(client_receive_all(&stream), 0);
    assert_int_equal(client_receive_all(&body), 0);
    assert_true(app_has_complete(app, 2));
    client_close(&stream);
    client_close(&body);
}

static void test_a_server_may_be_destroyed_with_everything_open(void **state) {
    (void)state;
    static const char *const said[] = {
        GET("/live-ticks"),
        GET("/live-ticks"),
        GET("/live-flood"),
        GET("/hello") GET("/live-ticks"),
        POST("/live-echo", CHUNKED),
        POST("/live-echo", CHUNKED) "3\r\nab",
        POST("/live-echo", "Content-Length: 3\r\nExpect: 100-continue\r\n"),
        POST("/live-abort-body", CHUNKED) "3\r\nabc\r\n",
    };
    enum { COUNT = sizeof said / sizeof said[0] };
    struct app app;
    struct client clients[COUNT + 1];
    app_start(&app, NULL);
    for (size_t i = 0; i < COUNT; i++) {
        client_open(&clients[i], &app);
        client_send(&clients[i], said[i]);
    }
    client_open(&clients[COUNT], &app);
    client_send(&clients[COUNT], POST("/live-echo", CHUNKED));
    send_until_stopped(&clients[COUNT], 200 * 1000 * 1000);
    assert_true(app_has_active(&app, COUNT + 1));
    while (!app_is_asleep(&app)) {
    }
    app_stop(&app);
    for (size_t i = 0; i <= COUNT; i++) {
        assert_int_not_equal(client_receive_all(&clients[i]), EAGAIN);
        client_close(&clients[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_shows_its_headers_at_once_and_each_line_when_it_is_there),
        app_test(test_all_that_waits_leaves_as_one_chunk),
        app_test(test_what_cannot_be_live_is_a_stream_all_the_same),
        app_test(test_a_client_that_vanishes_is_noticed),
        app_test(test_one_that_breaks_off_is_not_taken_for_whole),
        app_test(test_a_slow_reader_gets_everything),
        cmocka_unit_test(test_a_client_that_never_reads_is_broken_off_and_one_that_waits_is_not),
        app_test(test_what_was_sent_behind_the_request_does_not_cost_the_answer),
        cmocka_unit_test(test_each_line_is_answered_before_the_next_one_is_sent),
        app_test(test_a_body_of_announced_length_is_answered_while_it_arrives),
        app_test(test_who_does_not_read_the_answer_cannot_go_on_sending),
        app_test(test_a_large_body_comes_back_whole_though_its_client_closes_its_half),
        app_test(test_what_was_sent_before_its_client_went_is_taken),
        app_test(test_breaking_off_within_a_body_lets_the_client_see_it),
        app_test(test_draining_lets_it_finish),
        cmocka_unit_test(test_a_server_may_be_destroyed_with_everything_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
