/* SPDX-License-Identifier: Apache-2.0 */

/* Requests and their answers. Streams and many connections at once are in test_http_streams.c. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http_fixture.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

static void test_a_connection_serves_one_request_after_another(void **state) {
    struct app *app = *state;
    struct client client;
    client_open(&client, app);
    client_ask(&client, GET("/hello"), 200, "hello");
    client_ask(&client, GET("/nowhere"), 404, "nothing");
    client_ask(&client, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", 200,
               "abc");
    client_ask(&client, GET("/late"), 200, "late");
    client_ask(&client, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", 200, "");
    client_ask(&client,
               "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: CHUNKED\r\n\r\n"
               "3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nTrailer: t\r\n\r\n",
               200, "abcdefg");
    client_ask(&client, GET("/hello"), 200, "hello");
    client_close(&client);
    assert_true(app_has_complete(app, 4));
    assert_true(app_has_active(app, 0));
}

static void test_what_is_kept_is_the_connections_until_it_is_replaced_or_closed(void **state) {
    struct app *app = *state;
    struct client client, other;
    client_open(&client, app);
    client_open(&other, app);
    client_ask(&client, GET("/kept"), 200, "1");
    client_ask(&client, GET("/hello"), 200, "hello");
    client_ask(&client, GET("/kept"), 200, "2");
    client_ask(&other, GET("/kept"), 200, "1");
    client_ask(&client, "DELETE /kept HTTP/1.1\r\nHost: x\r\n\r\n", 200, "1");
    client_ask(&client, GET("/kept"), 200, "2");
    client_close(&other);
    client_close(&client);
}

static void test_the_path_stays_as_it_came_and_the_query_is_decoded(void **state) {
    struct app *app = *state;
    static const struct {
        const char *target, *told;
    } cases[] = {
        {"/info", "GET /info 0 probe=none a=none"},
        {"/info?a=1&a=2", "GET /info 0 probe=none a=1 [a]=[1] [a]=[2]"},
        {"/info?a", "GET /info 0 probe=none a= [a]=[]"},
        {"/info?b=x%20y+z%2f&stop&never=1", "GET /info 0 probe=none a=none [b]=[x y z/] [stop]=[]"},
        {"/info?a=%00b", "GET /info 0 probe=none a=\1b [a]=[\1b]"},
        {"http://localhost:1/info?a=1", "GET /info 0 probe=none a=1 [a]=[1]"},
        {"/%69nfo", "nothing"},
        {"/echo%2fx", "nothing"},
        {"http://localhost", "nothing"},
        {"*", "nothing"},
    };
    struct client client;
    client_open(&client, app);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char request[256];
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", cases[i].target);
        client_ask(&client, request, strcmp(cases[i].told, "nothing") == 0 ? 404 : 200,
                   cases[i].told);
    }
    client_close(&client);
}

static void test_a_request_knows_who_sends_it(void **state) {
    struct app *app = *state;
    struct client client;
    client_open(&client, app);
    client_ask(&client, GET("/peer"), 200, "127.0.0.1");
    client_close(&client);
}

static void test_headers_are_found_in_any_case_and_lengths_told(void **state) {
    struct app *app = *state;
    struct client client;
    client_open(&client, app);
    client_ask(&client, "GET /info HTTP/1.1\r\nhost: x\r\nX-prObe:  one\r\nX-Probe: two\r\n\r\n",
               200, "GET /info 0 probe=one a=none");
    client_ask(&client, "PUT /info HTTP/1.1\r\nHost: x\r\ncontent-length: 2\r\n\r\nxx", 200,
               "PUT /info 2 probe=none a=none");
    client_ask(&client,
               "PUT /info HTTP/1.1\r\nHost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 200,
               "PUT /info -1 probe=none a=none");
    client_close(&client);
}

static void ask_with_id(struct client *client, const char *id, char given[256]) {
    char request[512];
    struct reply reply;
    snprintf(request, sizeof request, "GET /hello HTTP/1.1\r\nHost: x\r\nX-Request-Id: %s\r\n\r\n",
             id);
    client_send(client, request);
    client_receive(client, &reply, false);
    assert_non_null(reply_header(&reply, "X-Request-Id", given));
    reply_finish(&reply);
}

static void test_a_good_request_id_is_kept_and_a_bad_one_replaced(void **state) {
    struct app *app = *state;
    struct client client;
    char given[256], again[256];
    client_open(&client, app);
    ask_with_id(&client, "abc-1~\"!", given);
    assert_string_equal(given, "abc-1~\"!");
    ask_with_id(&client, "not visible", given);
    assert_int_equal(strspn(given, "0123456789abcdef"), 32);
    assert_int_equal(strlen(given), 32);
    ask_with_id(&client, "\xc3\xa4", again);
    assert_int_equal(strlen(again), 32);
    assert_string_not_equal(given, again);
    char longest[130];
    memset(longest, 'x', sizeof longest);
    longest[129] = '\0';
    ask_with_id(&client, longest, given);
    assert_int_equal(strlen(given), 32);
    ask_with_id(&client, longest + 1, given);
    assert_string_equal(given, longest + 1);
    client_close(&client);
}

static void test_pipelined_requests_are_answered_in_order(void **state) {
    struct app *app = *state;
    enum { ROUNDS = 40 };
    struct client client;
    client_open(&client, app);
    for (int i = 0; i < ROUNDS; i++) {
        client_send(&client, GET("/hello"));
        client_send(&client, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
        client_send(&client, GET("/late"));
        client_send(&client, "POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nslow");
    }
    for (int i = 0; i < ROUNDS; i++) {
        client_ask(&client, "", 200, "hello");
        client_ask(&client, "", 200, "abc");
        client_ask(&client, "", 200, "late");
        client_ask(&client, "", 200, "slow");
    }
    client_close(&client);
}

static void send_bytewise(struct client *client, const char *text) {
    const int one = 1;
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    for (; *text != '\0'; text++) {
        assert_true(client_try_send(client, text, 1));
    }
}

static void test_a_client_may_send_one_byte_at_a_time(void **state) {
    struct app *app = *state;
    struct client client;
    for (int i = 0; i < 3; i++) {
        client_open(&client, app);
        send_bytewise(&client,
                      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                      "3\r\nabc\r\n0\r\n\r\n");
        client_ask(&client, "", 200, "abc");
        send_bytewise(&client, "POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
        client_ask(&client, "", 200, "abc");
        client_close(&client);
    }
}

static void test_head_gets_the_headers_alone(void **state) {
    struct app *app = *state;
    struct client client;
    struct reply reply;
    char value[256];
    client_open(&client, app);
    client_send(&client, "HEAD /info HTTP/1.1\r\nHost: x\r\n\r\n");
    client_receive(&client, &reply, true);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply_header(&reply, "Content-Length", value), "30");
    assert_string_equal(reply_header(&reply, "Allow", value), "GET, HEAD");
    assert_string_equal(reply_header(&reply, "Content-Type", value), "text/plain");
    assert_non_null(reply_header(&reply, "Date", value));
    assert_null(reply_header(&reply, "Server", value));
    reply_finish(&reply);
    client_ask(&client, GET("/hello"), 200, "hello");
    client_close(&client);
}

static void test_a_large_answer_arrives_whole(void **state) {
    struct app *app = *state;
    struct client client;
    struct reply reply;
    client_open(&client, app);
    for (int i = 0; i < 2; i++) {
        client_send(&client, GET("/large"));
        client_receive(&client, &reply, false);
        assert_true(reply.is_whole);
        assert_int_equal(reply.length, LARGE_BYTES);
        reply_finish(&reply);
    }
    client_close(&client);
}

static void test_http_1_0_is_answered_and_closed(void **state) {
    struct app *app = *state;
    struct client client;
    client_open(&client, app);
    client_ask(&client, "GET /late HTTP/1.0\r\n\r\n", 200, "late");
    assert_int_equal(client_receive_all(&client), 0);
    client_close(&client);
}

/* ---- heads that two readers may understand differently ---- */

#define POST "POST /echo HTTP/1.1\r\nHost: x\r\n"
#define CASE(text)                                                                                 \
    { text, sizeof text - 1 }

static void test_heads_that_can_be_read_in_two_ways_are_refused(void **state) {
    struct app *app = *state;
    static const struct {
        const char *text;
        size_t length;
    } cases[] = {
        CASE(POST "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
        CASE(POST "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
        CASE(POST "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"),
        CASE(POST "Content-Length: 3\r\ncontent-length: 4\r\n\r\nabc"),
        CASE(POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        CASE(POST "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
        CASE(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        CASE(POST "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        CASE(POST "Transfer-Encoding: identity\r\n\r\n"),
        CASE(POST "Transfer-Encoding: xchunked\r\n\r\n"),
        CASE(POST "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n"),
        CASE(POST "Transfer-Encoding:\r\n\r\n"),
        CASE("POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        CASE(POST "Content-Length : 3\r\n\r\nabc"),
        CASE(POST "Content-Length\t: 3\r\n\r\nabc"),
        CASE(POST "Content Length: 3\r\n\r\nabc"),
        CASE(POST ": no name\r\n\r\n"),
        CASE(POST "X-Caf\xc3\xa9: 1\r\n\r\n"),
        CASE(POST "X(1): 1\r\n\r\n"),
        CASE(POST "X-A: a\0b\r\n\r\n"),
        CASE(POST "X-A: \0Transfer-Encoding: chunked\r\n\r\n"),
        CASE(POST "X-A:\0\r\n\r\n"),
        CASE(POST "Content-Length: 3\0\r\n\r\nabc"),
        CASE(POST "X-A: a\rContent-Length: 3\r\n\r\nabc"),
        CASE(POST "X-A: a\nContent-Length: 3\r\n\r\nabc"),
        CASE(POST "X-A: a\r\n Content-Length: 3\r\n\r\nabc"),
        CASE(POST "X-A: a\r\n\tb\r\nContent-Length: 3\r\n\r\nabc"),
        CASE(POST " X-A: a\r\n\r\n"),
        CASE(POST "X-A: a\n\r\n"),
        CASE(POST "X-A: a\r\n\n"),
        CASE("GET /hello HTTP/1.1\nHost: x\r\n\r\n"),
        CASE("GET  /hello HTTP/1.1\r\nHost: x\r\n\r\n"),
        CASE("GET /hello\0/x HTTP/1.1\r\nHost: x\r\n\r\n"),
        CASE("GET /hello?a\0b HTTP/1.1\r\nHost: x\r\n\r\n"),
        CASE("G\0ET /hello HTTP/1.1\r\nHost: x\r\n\r\n"),
        CASE("G(T /hello HTTP/1.1\r\nHost: x\r\n\r\n"),
        CASE("GET /hello HTTP/1.1\r\n\n"),
        CASE("GET /hello HTTP/1.1\r\n\r\n"),
        CASE(POST "Host: y\r\nContent-Length: 3\r\n\r\nabc"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct client client;
        struct reply reply;
        char value[256];
        client_open(&client, app);
        assert_true(client_try_send(&client, cases[i].text, cases[i].length));
        client_receive(&client, &reply, false);
        if (reply.status != 400) {
            fail_msg("case %zu was not refused: %s", i, cases[i].text);
        }
        assert_string_equal(reply_header(&reply, "Content-Type", value),
                            "application/problem+json");
        assert_string_equal(reply_header(&reply, "Connection", value), "close");
        assert_non_null(reply_header(&reply, "X-Request-Id", value));
        assert_true(reply.length > 20);
        assert_int_equal(client_receive_all(&client), 0);
        assert_int_equal(client.length, 0);
        reply_finish(&reply);
        client_close(&client);
    }
    assert_true(app_has_active(app, 0));
    assert_true(app_has_complete(app, 0)); /* none of them was begun */
}

static void test_unusual_heads_that_mean_one_thing_are_served(void **state) {
    struct app *app = *state;
    static const char *const heads[] = {
        "",
        "X-Empty:\r\n",
        "X-Blank: \t \r\n",
        "X-A:\t1\t\r\n",
        "!#$%&'*+-.^_`|~09azAZ: token\r\n",
        "Cookie: a=b; c=\"d\"; e\r\nCookie: f=g\r\n",
        "X-Colons: a:b:c\r\nX-High: \xff\xfe\r\n",
        "Connection: keep-alive\r\nAccept: */*\r\nUser-Agent: test (x; y)\r\n",
    };
    struct client client;
    char request[4096];
    client_open(&client, app);
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        snprintf(request, sizeof request,
                 "POST /echo HTTP/1.1\r\nHost: x\r\n%sContent-Length: 3\r\n\r\nabc", heads[i]);
        client_ask(&client, request, 200, "abc");
        snprintf(request, sizeof request, "GET /hello?a=1&b=%%20 HTTP/1.1\r\nHost: x\r\n%s\r\n",
                 heads[i]);
        client_ask(&client, request, 200, "hello");
    }
    size_t length = 0;
    for (int i = 0; i < 60; i++) {
        length += (size_t)snprintf(request + length, sizeof request - length, "%sX-%d: %d\r\n",
                                   i == 0 ? "GET /hello HTTP/1.1\r\nHost: x\r\n" : "", i, i);
    }
    snprintf(request + length, sizeof request - length, "\r\n");
    client_ask(&client, request, 200, "hello");
    client_ask(&client, "GET /hello HTTP/1.0\r\n\r\n", 200, "hello"); /* no header at all */
    client_close(&client);
}

/* ---- answers before the body ---- */

static void test_an_early_answer_waits_for_a_big_body_and_reaches_the_client(void **state) {
    struct app *app = *state;
    static const struct {
        const char *path;
        unsigned status;
        const char *body;
    } early[] = {{"/early", 413, "too large"},
                 {"/early-body", 413, "too large"},
                 {"/nowhere", 404, "nothing"},
                 {"/committed", 200, "committed"}};
    struct client client;
    struct reply reply;
    char *body = malloc(LARGE_BYTES);
    assert_non_null(body);
    memset(body, 'x', LARGE_BYTES);
    client_open(&client, app);
    for (size_t i = 0; i < sizeof early / sizeof early[0]; i++) {
        char head[128];
        snprintf(head, sizeof head, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n",
                 early[i].path, LARGE_BYTES);
        client_send(&client, head);
        assert_true(client_try_send(&client, body, LARGE_BYTES));
        client_receive(&client, &reply, false);
        assert_int_equal(reply.status, early[i].status);
        assert_string_equal(reply.body, early[i].body);
        reply_finish(&reply);
    }
    client_ask(&client, GET("/hello"), 200, "hello");
    free(body);
    client_close(&client);
}

static void test_an_answer_that_closes_does_not_wait_for_the_body(void **state) {
    struct app *app = *state;
    struct client client;
    client_open(&client, app);
    client_ask(&client, "POST /early-close HTTP/1.1\r\nHost: x\r\nContent-Length: 999\r\n\r\n", 413,
               "too large");
    assert_int_equal(client_receive_all(&client), 0);
    client_close(&client);
    client_open(&client, app);
    client_ask(&client, GET("/early-close"), 413, "too large");
    assert_int_equal(client_receive_all(&client), 0);
    client_close(&client);
}

static void test_who_expects_a_continue_gets_it_or_the_refusal(void **state) {
    struct app *app = *state;
    struct client client;
    client_open(&client, app);
    client_send(
        &client,
        "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    assert_true(client_expect(&client, "HTTP/1.1 100 Continue\r\n\r\n"));
    client_ask(&client, "abc", 200, "abc");
    /* client_ask takes the first status line for the answer's: a 100 would fail here. */
    client_ask(
        &client,
        "POST /early HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: 3\r\n\r\n", 413,
        "too large");
    assert_int_equal(client_receive_all(&client), 0);
    client_close(&client);
}

/* ---- bodies that wait ---- */

static void fill(char *body, size_t length) {
    for (size_t i = 0; i < length; i++) {
        body[i] = (char)('a' + (i * 7 + i / 251) % 26);
    }
}

static void test_a_body_that_is_taken_bit_by_bit_loses_nothing(void **state) {
    struct app *app = *state;
    enum { LENGTH = 300 * 1000, CHUNK = 1234 };
    struct client client;
    struct reply reply;
    char *body = malloc(LENGTH);
    assert_non_null(body);
    fill(body, LENGTH);
    client_open(&client, app);
    for (int round = 0; round < 2; round++) {
        char head[128];
        snprintf(head, sizeof head, "POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n",
                 LENGTH);
        client_send(&client, head);
        assert_true(client_try_send(&client, body, LENGTH));
        client_receive(&client, &reply, false);
        assert_int_equal(reply.length, LENGTH);
        assert_memory_equal(reply.body, body, LENGTH);
        reply_finish(&reply);
        client_send(&client,
                    "POST /slow HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
        for (size_t at = 0; at < LENGTH; at += CHUNK) {
            size_t length = LENGTH - at < CHUNK ? LENGTH - at : CHUNK;
            snprintf(head, sizeof head, "%zx\r\n", length);
            client_send(&client, head);
            assert_true(client_try_send(&client, body + at, length));
            client_send(&client, "\r\n");
        }
        client_send(&client, "0\r\n\r\n");
        client_receive(&client, &reply, false);
        assert_int_equal(reply.length, LENGTH);
        assert_memory_equal(reply.body, body, LENGTH);
        reply_finish(&reply);
    }
    client_ask(&client, "POST /eager HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n0123456789",
               200, "0123456789");
    client_close(&client);
    free(body);
}

static void test_what_came_before_the_client_died_is_served(void **state) {
    struct app *app = *state;
    enum { SENT = 50 * 1000 };
    struct client client;
    char *body = malloc(SENT);
    assert_non_null(body);
    fill(body, SENT);
    client_open(&client, app);
    client_send(&client, "POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");
    assert_true(client_try_send(&client, body, SENT));
    client_close(&client);
    assert_true(app_has_broken(app, 1));
    assert_true(app_has_body_bytes(app, SENT));
    assert_true(app_has_active(app, 0));
    free(body);
}

static void test_a_client_that_vanishes_half_way_closes_its_request(void **state) {
    struct app *app = *state;
    struct client client;
    client_open(&client, app);
    client_send(&client, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
    assert_true(app_has_body_bytes(app, 3));
    assert_true(app_has_active(app, 1));
    client_close(&client);
    assert_true(app_has_broken(app, 1));
    assert_true(app_has_active(app, 0));
}

static void test_an_answer_after_the_client_has_gone_is_harmless(void **state) {
    struct app *app = *state;
    for (size_t i = 0; i < 20; i++) {
        struct client client;
        client_open(&client, app);
        client_send(&client, GET("/late"));
        client_close(&client);
        assert_true(app_has_closed(app, i + 1));
    }
    assert_true(app_has_active(app, 0));
}

/* ---- limits ---- */

static void allow_two(struct http_options *options) {
    options->connections_max = 2;
}

static void test_a_connection_beyond_the_limit_waits_for_another_to_close(void **state) {
    (void)state;
    struct app app;
    struct client first, second, third;
    app_start(&app, allow_two);
    client_open(&first, &app);
    client_ask(&first, GET("/hello"), 200, "hello");
    client_open(&second, &app); /* silent, and counted all the same */
    client_open(&third, &app);
    client_send(&third, GET("/hello"));
    client_ask(&first, GET("/late"), 200, "late");
    char byte;
    assert_int_equal(recv(third.fd, &byte, 1, MSG_DONTWAIT), -1);
    client_close(&second);
    client_ask(&third, "", 200, "hello");
    client_close(&first);
    client_open(&second, &app);
    client_ask(&second, GET("/hello"), 200, "hello");
    client_close(&second);
    client_close(&third);
    app_stop(&app);
}

static void time_out_soon(struct http_options *options) {
    options->idle_timeout_s = 5;
}

static void test_connections_on_which_nothing_moves_are_closed(void **state) {
    (void)state;
    static const char *const said[] = {
        "", "GET /ti", "GET /hello HTTP/1.1\r\nX-A", GET("/hello"),
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na"};
    enum { COUNT = sizeof said / sizeof said[0] };
    struct app app;
    struct client clients[COUNT], waiting;
    app_start(&app, time_out_soon);
    client_open(&waiting, &app);
    client_send(&waiting, GET("/ticks"));
    for (size_t i = 0; i < COUNT; i++) {
        client_open(&clients[i], &app);
        client_send(&clients[i], said[i]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        /* What was not read before makes it a reset. */
        assert_int_not_equal(client_receive_all(&clients[i]), EAGAIN);
        client_close(&clients[i]);
    }
    assert_true(app_has_closed(&app, 1)); /* the body that stalled */
    app_publish(&app);                    /* a stream that has nothing to say is not idle */
    assert_true(client_expect(&waiting, "tick 1\n"));
    client_close(&waiting);
    app_stop(&app);
}

/* Over TLS it is closed: that needs more of them after it was accepted. */
#ifndef HTTP_FIXTURE_TLS
static void test_without_descriptors_a_connection_waits_for_one(void **state) {
    struct app *app = *state;
    struct client client;
    struct rlimit before;
    client_open(&client, app);
    client_ask(&client, GET("/hello"), 200, "hello"); /* everything is warm */
    client_close(&client);
    assert_true(app_has_active(app, 0));
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    app_hold(app);
    client_open(&client, app);
    client_send(&client, GET("/hello"));
    int lowest = fcntl(client.fd, F_DUPFD, 0); /* so the next one is taken or above it */
    assert_true(lowest >= 0);
    struct rlimit none = {.rlim_cur = (rlim_t)lowest, .rlim_max = before.rlim_max};
    close(lowest);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    app_release(app);
    assert_true(app_is_asleep(app)); /* though the socket stays ready */
    char byte;
    assert_int_equal(recv(client.fd, &byte, 1, MSG_DONTWAIT), -1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    client_ask(&client, "", 200, "hello");
    client_close(&client);
}
#endif

static void test_several_servers_share_a_listening_socket(void **state) {
    (void)state;
    enum { COUNT = 60 };
    struct app first, second;
    struct client clients[COUNT];
    app_start(&first, allow_two);
    app_join(&second, &first);
    for (size_t i = 0; i < COUNT; i++) { /* the first can take but two of them */
        client_open(&clients[i], &first);
        client_send(&clients[i], GET("/hello"));
    }
    for (size_t i = 0; i < COUNT; i++) {
        client_ask(&clients[i], "", 200, "hello");
    }
    for (size_t i = 0; i < COUNT; i++) {
        client_close(&clients[i]);
    }
    app_stop(&second);
    app_stop(&first);
}

/* The end arrives together with data, which libmicrohttpd alone would not notice. */
static void test_a_client_that_ends_within_its_body_is_noticed_at_once(void **state) {
    struct app *app = *state;
    struct client client;
    client_open(&client, app);
    client_send(&client, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n");
    assert_true(app_has_active(app, 1)); /* the head was read by itself */
    app_hold(app);
    client_send(&client, "the beginning");
    client_close(&client);
    app_release(app);
    assert_true(app_has_active(app, 0));
}

static void test_listening_where_one_cannot_says_why(void **state) {
    (void)state;
    const char *error = NULL;
    unsigned port = 0, other = 0;
    int fd = http_listen("::1", 0, &port, &error);
    if (fd >= 0) { /* a machine may have no IPv6 */
        assert_int_not_equal(port, 0);
        close(fd);
    }
    fd = http_listen("127.0.0.1", 0, &port, &error);
    assert_true(fd >= 0);
    assert_int_equal(http_listen("127.0.0.1", port, &other, &error), -1);
    assert_non_null(strstr(error, "in use"));
    assert_int_equal(http_listen("127.0.0.1", 65536, &other, &error), -1);
    assert_int_equal(http_listen("localhost", 0, &other, &error), -1);
    assert_non_null(strstr(error, "address"));
    assert_int_equal(http_listen("192.0.2.1", 0, &other, &error), -1);
    assert_non_null(strstr(error, "interface"));
    assert_null(http_listen_fault("127.0.0.1", port)); /* perhaps by the server that is checked */
    assert_null(http_listen_fault("127.0.0.1", 0));
    assert_non_null(strstr(http_listen_fault("192.0.2.1", 0), "interface"));
    assert_non_null(http_listen_fault("localhost", 0));
    close(fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        app_test(test_a_connection_serves_one_request_after_another),
        app_test(test_what_is_kept_is_the_connections_until_it_is_replaced_or_closed),
        app_test(test_the_path_stays_as_it_came_and_the_query_is_decoded),
        app_test(test_a_request_knows_who_sends_it),
        app_test(test_headers_are_found_in_any_case_and_lengths_told),
        app_test(test_a_good_request_id_is_kept_and_a_bad_one_replaced),
        app_test(test_pipelined_requests_are_answered_in_order),
        app_test(test_a_client_may_send_one_byte_at_a_time),
        app_test(test_head_gets_the_headers_alone),
        app_test(test_a_large_answer_arrives_whole),
        app_test(test_http_1_0_is_answered_and_closed),
        app_test(test_heads_that_can_be_read_in_two_ways_are_refused),
        app_test(test_unusual_heads_that_mean_one_thing_are_served),
        app_test(test_an_early_answer_waits_for_a_big_body_and_reaches_the_client),
        app_test(test_an_answer_that_closes_does_not_wait_for_the_body),
        app_test(test_who_expects_a_continue_gets_it_or_the_refusal),
        app_test(test_a_body_that_is_taken_bit_by_bit_loses_nothing),
        app_test(test_what_came_before_the_client_died_is_served),
        app_test(test_a_client_that_vanishes_half_way_closes_its_request),
        app_test(test_an_answer_after_the_client_has_gone_is_harmless),
        cmocka_unit_test(test_a_connection_beyond_the_limit_waits_for_another_to_close),
        cmocka_unit_test(test_connections_on_which_nothing_moves_are_closed),
#ifndef HTTP_FIXTURE_TLS
        app_test(test_without_descriptors_a_connection_waits_for_one),
#endif
        cmocka_unit_test(test_several_servers_share_a_listening_socket),
        app_test(test_a_client_that_ends_within_its_body_is_noticed_at_once),
        cmocka_unit_test(test_listening_where_one_cannot_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
