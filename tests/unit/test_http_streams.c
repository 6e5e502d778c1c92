/* SPDX-License-Identifier: Apache-2.0 */

/* Streams, many connections at once, and how a server ends. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http_fixture.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

/* ---- one stream ---- */

static void test_a_stream_shows_its_headers_at_once_and_each_line_when_it_is_there(void **state) {
    struct app *app = *state;
    struct client client;
    client_open(&client, app);
    client_send(&client, GET("/ticks"));
    assert_true(client_expect(&client, "HTTP/1.1 200"));
    assert_true(client_expect(&client, "Transfer-Encoding: chunked"));
    assert_true(client_expect(&client, "\r\n\r\n"));
    for (int i = 1; i <= 3; i++) {
        char line[32];
        snprintf(line, sizeof line, "tick %d\n", i);
        assert_int_equal(client.length, 0);
        app_publish(app);
        assert_true(client_expect(&client, line));
        assert_true(client_expect(&client, "\r\n"));
    }
    app_end_streams(app);
    assert_true(client_expect(&client, "0\r\n\r\n"));
    assert_true(app_has_complete(app, 1));
    client_ask(&client, GET("/hello"), 200, "hello"); /* the connection lives on */
    client_close(&client);
}

static void test_a_stream_may_follow_a_request_on_its_connection(void **state) {
    struct app *app = *state;
    static const char *const paths[] = {GET("/ticks"), GET("/late-ticks")};
    struct client client;
    struct reply reply;
    char value[256];
    app_publish(app);
    client_open(&client, app);
    for (size_t i = 0; i < 2; i++) {
        client_ask(&client, GET("/hello"), 200, "hello");
        client_send(&client, paths[i]);
        assert_true(app_has_active(app, 1));
        if (i == 0) {
            app_publish(app);
            app_end_streams(app);
        }
        client_receive(&client, &reply, false);
        assert_true(reply.is_whole);
        assert_string_equal(reply.body, "tick 1\ntick 2\n");
        assert_string_equal(reply_header(&reply, "Cache-Control", value), "no-cache");
        assert_non_null(reply_header(&reply, "X-Request-Id", value));
        reply_finish(&reply);
    }
    client_ask(&client, GET("/hello"), 200, "hello");
    client_close(&client);
}

static void test_a_client_that_vanishes_from_an_idle_stream_is_noticed(void **state) {
    struct app *app = *state;
    struct client fresh, kept;
    client_open(&fresh, app);
    client_open(&kept, app);
    client_ask(&kept, GET("/hello"), 200, "hello");
    client_send(&fresh, GET("/ticks"));
    client_send(&kept, GET("/ticks"));
    assert_true(client_expect(&fresh, "\r\n\r\n"));
    assert_true(client_expect(&kept, "\r\n\r\n"));
    assert_true(app_has_active(app, 2));
    client_close(&fresh);
    assert_true(app_has_broken(app, 1));
    assert_true(app_has_active(app, 1));
    /* This time it has something unread, so that its end is a reset. */
    app_publish(app);
    char byte;
    assert_int_equal(recv(kept.fd, &byte, 1, MSG_PEEK), 1);
    client_close(&kept);
    assert_true(app_has_broken(app, 2));
    assert_true(app_has_active(app, 0));
    app_publish(app);
}

static void allow_two(struct http_options *options) {
    options->connections_max = 2;
}

static void test_a_client_that_vanishes_makes_room_for_another(void **state) {
    (void)state;
    struct app app;
    struct client other, client;
    app_start(&app, allow_two);
    client_open(&other, &app);
    client_send(&other, GET("/ticks"));
    for (size_t i = 1; i <= 5; i++) {
        client_open(&client, &app);
        client_send(&client, GET("/ticks"));
        assert_true(client_expect(&client, "\r\n\r\n"));
        client_close(&client);
        assert_true(app_has_broken(&app, i));
    }
    client_close(&other);
    app_stop(&app);
}

static void test_a_client_that_vanishes_before_its_stream_opens_is_noticed(void **state) {
    struct app *app = *state;
    struct client client;
    for (size_t i = 1; i <= 10; i++) {
        client_open(&client, app);
        client_send(&client, GET("/late-ticks"));
        assert_true(app_has_active(app, 1));
        client_close(&client);
        assert_true(app_has_broken(app, i));
        assert_true(app_has_active(app, 0));
    }
}

static void test_a_stream_that_breaks_off_is_not_taken_for_whole(void **state) {
    struct app *app = *state;
    struct client client;
    struct reply reply;
    client_open(&client, app);
    client_send(&client, GET("/abort"));
    client_receive(&client, &reply, false);
    assert_int_equal(reply.status, 200);
    assert_false(reply.is_whole);
    assert_string_equal(reply.body, "part\n");
    assert_int_equal(client_receive_all(&client), 0); /* closed, and at once */
    assert_true(app_has_broken(app, 1));
    reply_finish(&reply);
    client_close(&client);
    /* HTTP/1.0 takes a closed connection for a whole answer. */
    client_open(&client, app);
    client_send(&client, "GET /abort HTTP/1.0\r\n\r\n");
    assert_int_equal(client_receive_all(&client), ECONNRESET);
    assert_true(app_has_broken(app, 2));
    client_close(&client);
}

static void test_a_stream_to_http_1_0_ends_with_its_connection(void **state) {
    struct app *app = *state;
    struct client idle, client;
    client_open(&idle, app); /* one that has been in the same daemon for longer */
    client_ask(&idle, GET("/ticks-of-nothing"), 404, "nothing");
    client_open(&client, app);
    client_send(&client, "GET /ticks HTTP/1.0\r\n\r\n");
    assert_true(client_expect(&client, "\r\n\r\n"));
    app_publish(app);
    assert_true(client_expect(&client, "tick 1\n"));
    app_end_streams(app);
    assert_int_equal(client_receive_all(&client), 0);
    assert_int_equal(client.length, 0);
    assert_true(app_has_complete(app, 1));
    client_close(&client);
    client_close(&idle);
}

static void test_head_of_a_stream_gets_headers_and_nothing_is_read(void **state) {
    struct app *app = *state;
    struct client client;
    app_publish(app);
    client_open(&client, app);
    client_send(&client, "HEAD /ticks HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true(client_expect(&client, "HTTP/1.1 200"));
    assert_true(client_expect(&client, "\r\n\r\n"));
    assert_int_equal(client_receive_all(&client), 0);
    assert_int_equal(client.length, 0);
    assert_int_equal(app_read_count(app), 0);
    assert_true(app_has_complete(app, 1));
    client_close(&client);
}

static void test_a_slow_reader_gets_everything(void **state) {
    struct app *app = *state;
    struct client client, other;
    struct reply reply;
    client_open(&client, app);
    client_send(&client, GET("/flood"));
    assert_true(app_has_active(app, 1)); /* it stays so: more than the sockets hold */
    client_open(&other, app);
    client_ask(&other, GET("/hello"), 200, "hello");
    client_close(&other);
    client_receive(&client, &reply, false);
    assert_true(reply.is_whole);
    assert_int_equal(reply.length, FLOOD_BYTES);
    assert_int_equal(strspn(reply.body, "x"), FLOOD_BYTES);
    reply_finish(&reply);
    client_close(&client);
}

static void test_the_kind_of_a_connection_is_told_however_its_bytes_come(void **state) {
    struct app *app = *state;
    struct client client;
    app_publish(app);
    static const char *const pieces[] = {"G", "ET /t", "icks HTTP/1.1\r\nHost: ", "x\r\n\r\n"};
    client_open(&client, app);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        assert_true(app_has_active(app, 0));
        client_send(&client, pieces[i]);
    }
    assert_true(client_expect(&client, "tick 1\n"));
    client_close(&client);
    client_open(&client, app);
    client_send(&client, "GET /");
    assert_true(app_has_active(app, 0));
    client_send(&client, "hello HTTP/1.1\r\nHost: x\r\n\r\n");
    client_ask(&client, "", 200, "hello");
    client_close(&client);
    client_open(&client, app); /* who says half a word and leaves is forgotten */
    client_send(&client, "GE");
    client_close(&client);
    client_open(&client, app);
    client_close(&client);
    assert_true(app_has_broken(app, 1));
}

/* ---- many ---- */

static void ask_at_one_instant(struct app *app, struct client *clients, size_t count) {
    app_hold(app);
    for (size_t i = 0; i < count; i++) {
        client_send(&clients[i], GET("/hello"));
    }
    app_release(app);
    for (size_t i = 0; i < count; i++) {
        client_ask(&clients[i], "", 200, "hello");
    }
}

/* libmicrohttpd's own loop waits for ever when exactly 128 events, or a multiple, come at once. */
static void test_any_number_of_connections_may_become_ready_at_once(void **state) {
    struct app *app = *state;
    static const size_t counts[] = {127, 128, 129, 255, 256, 257, 384};
    enum { MOST = 384 };
    struct client clients[MOST];
    for (size_t n = 0; n < sizeof counts / sizeof counts[0]; n++) {
        for (size_t i = 0; i < counts[n]; i++) {
            client_open(&clients[i], app);
        }
        ask_at_one_instant(app, clients, counts[n]); /* as newcomers */
        ask_at_one_instant(app, clients, counts[n]); /* and on kept connections */
        app_hold(app);
        for (size_t i = 0; i < counts[n]; i++) {
            client_send(&clients[i], GET("/late"));
        }
        app_release(app);
        for (size_t i = 0; i < counts[n]; i++) {
            client_ask(&clients[i], "", 200, "late");
            client_close(&clients[i]);
        }
    }
}

static size_t stream_count(void) {
    enum { WANTED = 2000, SPARE = 200 };
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    assert_true(limit.rlim_cur > 2 * SPARE);
    size_t possible = (size_t)(limit.rlim_cur - SPARE) / 2; /* both ends are ours */
    return possible < WANTED ? possible : WANTED;
}

static void test_thousands_of_waiting_streams_stand_beside_requests(void **state) {
    struct app *app = *state;
    enum { ROUNDS = 3, REQUESTS = 200 };
    size_t count = stream_count();
    struct client client, *streams = calloc(count, sizeof *streams);
    assert_non_null(streams);
    for (size_t i = 0; i < count; i++) {
        client_open(&streams[i], app);
        client_send(&streams[i], GET("/ticks"));
    }
    assert_true(app_has_active(app, count));
    client_open(&client, app);
    for (int round = 1; round <= ROUNDS; round++) {
        size_t reads = app_read_count(app);
        for (int i = 0; i < REQUESTS; i++) {
            client_ask(&client, GET("/hello"), 200, "hello");
        }
        if (round > 1) { /* all of them wait, and a request is none of their business */
            assert_int_equal(app_read_count(app), reads);
        }
        char line[32];
        snprintf(line, sizeof line, "tick %d\n", round);
        app_publish(app);
        client_ask(&client, GET("/hello"), 200, "hello");
        for (size_t i = 0; i < count; i++) {
            assert_true(client_expect(&streams[i], line));
        }
        /* Each was asked for the line and found out that there is no more. */
        while (app_read_count(app) != count * (size_t)(2 * round + 1)) {
            loop_pause();
        }
    }
    for (size_t i = 0; i < count; i++) {
        client_close(&streams[i]);
    }
    assert_true(app_has_broken(app, count));
    client_close(&client);
    free(streams);
}

/* ---- the end ---- */

static void test_draining_finishes_what_was_begun_and_counts_nothing_new(void **state) {
    struct app *app = *state;
    struct client idle, silent, late, stream, body, fresh;
    struct reply reply;
    char value[256];
    client_open(&idle, app);
    client_ask(&idle, GET("/hello"), 200, "hello");
    client_open(&silent, app);
    client_open(&stream, app);
    client_send(&stream, GET("/ticks"));
    client_open(&body, app);
    client_send(&body, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na");
    assert_true(app_has_body_bytes(app, 1));
    client_open(&late, app);
    client_send(&late, GET("/late"));
    assert_true(app_has_active(app, 3));
    app_drain(app);
    client_receive(&late, &reply, false);
    assert_string_equal(reply.body, "late");
    assert_string_equal(reply_header(&reply, "Connection", value), "close");
    assert_int_equal(client_receive_all(&late), 0);
    reply_finish(&reply);
    client_ask(&body, "bc", 200, "abc");
    assert_int_equal(client_receive_all(&body), 0);
    app_publish(app);
    assert_true(client_expect(&stream, "tick 1\n"));
    assert_true(app_has_active(app, 1));
    app_end_streams(app);
    assert_true(client_expect(&stream, "0\r\n\r\n"));
    assert_true(app_has_active(app, 0));
    assert_true(app_has_broken(app, 0));
    client_close(&late);
    client_close(&stream);
    client_close(&body);
    /* Requests are answered all the same, one a connection, and nothing waits for them. */
    client_ask(&idle, GET("/hello"), 200, "hello");
    assert_int_equal(client_receive_all(&idle), 0);
    client_ask(&silent, GET("/hello"), 200, "hello");
    assert_int_equal(client_receive_all(&silent), 0);
    client_open(&fresh, app);
    client_send(&fresh, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na");
    assert_true(app_has_body_bytes(app, 4));
    assert_true(app_has_active(app, 0));
    client_ask(&fresh, "bc", 200, "abc");
    assert_int_equal(client_receive_all(&fresh), 0);
    client_close(&idle);
    client_close(&silent);
    client_close(&fresh);
}

/* That nothing stays behind is the address sanitizer's to say. */
static void test_a_server_may_be_destroyed_with_everything_open(void **state) {
    (void)state;
    static const char *const said[] = {
        "",
        "GET /tic",
        "GET /hello HTTP/1.1\r\nHost",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na",
        "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n",
        "POST /eager HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\nabc",
        "POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na",
        GET("/never"),
        GET("/ticks"),
        GET("/ticks"),
        GET("/flood"),
        GET("/hello") GET("/ticks"),
        "GET /ticks HTTP/1.0\r\n\r\n",
    };
    enum { COUNT = sizeof said / sizeof said[0], UNBEGUN = 3 };
    struct app app;
    struct client clients[COUNT + 1];
    app_start(&app, NULL);
    for (size_t i = 0; i < COUNT; i++) {
        client_open(&clients[i], &app);
        client_send(&clients[i], said[i]);
    }
    client_open(&clients[COUNT], &app);
    client_send(&clients[COUNT],
                "POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n");
    char *body = calloc(1, 100000);
    assert_non_null(body);
    assert_true(client_try_send(&clients[COUNT], body, 100000));
    free(body);
    assert_true(app_has_active(&app, COUNT + 1 - UNBEGUN));
    while (!app_is_asleep(&app)) { /* once /slow and /eager have had what there is */
    }
    app_stop(&app);
    for (size_t i = 0; i <= COUNT; i++) {
        assert_int_not_equal(client_receive_all(&clients[i]), EAGAIN);
        client_close(&clients[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        app_test(test_a_stream_shows_its_headers_at_once_and_each_line_when_it_is_there),
        app_test(test_a_stream_may_follow_a_request_on_its_connection),
        app_test(test_a_client_that_vanishes_from_an_idle_stream_is_noticed),
        cmocka_unit_test(test_a_client_that_vanishes_makes_room_for_another),
        app_test(test_a_client_that_vanishes_before_its_stream_opens_is_noticed),
        app_test(test_a_stream_that_breaks_off_is_not_taken_for_whole),
        app_test(test_a_stream_to_http_1_0_ends_with_its_connection),
        app_test(test_head_of_a_stream_gets_headers_and_nothing_is_read),
        app_test(test_a_slow_reader_gets_everything),
        app_test(test_the_kind_of_a_connection_is_told_however_its_bytes_come),
        app_test(test_any_number_of_connections_may_become_ready_at_once),
        app_test(test_thousands_of_waiting_streams_stand_beside_requests),
        app_test(test_draining_finishes_what_was_begun_and_counts_nothing_new),
        cmocka_unit_test(test_a_server_may_be_destroyed_with_everything_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
