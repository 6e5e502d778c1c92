/* SPDX-License-Identifier: Apache-2.0 */

/* The bytes of requests: how much a head may hold, what a length is, and how chunks are framed. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "http_fixture.h"
#include "http_head.h"
#include "../lib/rounds.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"
#define POST "POST /echo HTTP/1.1\r\nHost: x\r\n"
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"
#define CASE(text)                                                                                 \
    { text, sizeof text - 1 }

struct bytes {
    const char *text;
    size_t length;
};

static void open_eager(struct client *client, const struct app *app) {
    const int one = 1;
    client_open(client, app);
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

/* The answer is the last one of its connection, and nothing comes after it. */
static void expect_last(struct client *client, unsigned status, const char *request) {
    struct reply reply;
    char value[256];
    client_receive(client, &reply, false);
    if (reply.status != status) {
        fail_msg("%u instead of %u to: %.300s", reply.status, status, request);
    }
    assert_string_equal(reply_header(&reply, "Connection", value), "close");
    assert_string_equal(reply_header(&reply, "Content-Type", value), "application/problem+json");
    assert_non_null(reply_header(&reply, "X-Request-Id", value));
    assert_true(reply.is_whole);
    client_receive_all(client);
    if (client->length > 0) {
        fail_msg("more than one answer to: %.300s\n%s", request, client->data);
    }
    reply_finish(&reply);
}

/* ---- the size of heads ---- */

/* A head of `length` bytes, of which its line has `line_length` (0: as few as it can).
 * Owns: malloc. */
static char *head_of(const char *path, size_t line_length, size_t length) {
    char *head = malloc(length + 1);
    assert_non_null(head);
    size_t at = (size_t)sprintf(head, "GET %s?x=", path);
    const size_t rest = sizeof " HTTP/1.1\r\n" - 1;
    while (at + rest < line_length) {
        head[at++] = 'l';
    }
    at += (size_t)sprintf(head + at, " HTTP/1.1\r\nHost: x\r\n");
    for (int i = 0; at + 4 < length; i++) {
        const size_t room = length - at - 4;
        const size_t field = room < 300 ? room : 200; /* none is too short for its name */
        const int name = sprintf(head + at, "X-%03d: ", i);
        memset(head + at + name, 'f', field - (size_t)name);
        memcpy(head + at + field, "\r\n", 2);
        at += field + (room < 300 ? 2 : 2);
    }
    memcpy(head + at, "\r\n", 3);
    assert_int_equal(strlen(head), length);
    return head;
}

static const char *const sides[] = {"/hello", "/ticks"}; /* of requests, of streams */

static void send_head(struct app *app, const char *path, size_t line_length, size_t length,
                      unsigned status, bool is_first) {
    struct client client;
    open_eager(&client, app);
    if (!is_first) {
        client_ask(&client, "HEAD /info HTTP/1.1\r\nHost: x\r\n\r\n", 200, "");
    }
    char *head = head_of(path, line_length, length);
    assert_true(client_try_send(&client, head, length));
    if (status != 200) {
        expect_last(&client, status, head);
    } else {
        assert_true(client_expect(&client, "HTTP/1.1 200 OK\r\n"));
    }
    free(head);
    client_close(&client);
}

/* (contract 6, attack F5) */
static void test_a_head_may_have_16_kib_wherever_it_goes(void **state) {
    struct app *app = *state;
    static const struct {
        size_t line_length, length;
        unsigned status;
    } rows[] = {
        {0, 4000, 200},
        {0, 4096, 200},
        {0, 7900, 200},
        {0, 8000, 200},
        {0, 8192, 200},
        {0, HTTP_HEAD_USUAL, 200},
        {4000, 5000, 200},
        {16000, HTTP_HEAD_USUAL, 200},
        {0, HTTP_HEAD_USUAL + 1, 431},
        {0, 20000, 431},
        {8000, 20000, 431},
        {17000, 17100, 414},
        {20000, 30000, 414},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t side = 0; side < sizeof sides / sizeof sides[0]; side++) {
            for (int is_first = 0; is_first <= 1; is_first++) {
                send_head(app, sides[side], rows[i].line_length, rows[i].length, rows[i].status,
                          is_first == 1);
            }
        }
    }
    app_end_streams(app);
}

static void test_a_head_that_has_no_end_is_refused_before_it_ends(void **state) {
    struct app *app = *state;
    static const struct {
        const char *start;
        unsigned status;
    } rows[] = {
        {"GET /hello HTTP/1.1\r\nHost: x\r\nX-Long: ", 431},
        {"GET /ticks HTTP/1.1\r\nHost: x\r\nX-Long: ", 431},
        {"GET /hello?", 414},
        {"GET /ticks?", 414},
    };
    char piece[HTTP_HEAD_USUAL];
    memset(piece, 'x', sizeof piece);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct client client;
        open_eager(&client, app);
        client_send(&client, rows[i].start);
        client_try_send(&client, piece, sizeof piece);
        expect_last(&client, rows[i].status, rows[i].start);
        client_close(&client);
    }
}

static void test_a_head_that_is_hopeless_is_refused_before_it_ends(void **state) {
    struct app *app = *state;
    static const struct bytes rows[] = {
        CASE("GET /hello HTTP/1.1\n"),
        CASE("GET /hello HTTP/1.1\r\nHost: x\n"),
        CASE("GET /hello HTTP/1.1\r\nX: \0"),
        CASE("\x16\x03\x01\x02"), /* TLS */
        CASE("{\"id\":1}\r\n"),
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct client client;
        open_eager(&client, app);
        assert_true(client_try_send(&client, rows[i].text, rows[i].length));
        expect_last(&client, 400, rows[i].text);
        client_close(&client);
    }
}

static char *repeated(const char *start, const char *part, size_t count, const char *end) {
    const size_t length = strlen(part);
    char *text = malloc(strlen(start) + count * length + strlen(end) + 1);
    assert_non_null(text);
    char *at = text + sprintf(text, "%s", start);
    for (size_t i = 0; i < count; i++, at += length) {
        memcpy(at, part, length);
    }
    strcpy(at, end);
    return text;
}

/* (attack F5, F1) */
static void test_more_options_or_headers_than_there_can_be_are_refused(void **state) {
    struct app *app = *state;
    static const char line[] = " HTTP/1.1\r\nHost: x\r\n\r\n";
    static const struct {
        const char *start, *part;
        size_t count;
        const char *end;
        unsigned status;
    } rows[] = {
        {"GET /hello?", "&", 64, line, 200},
        {"GET /hello?", "&", 65, line, 414},
        {"GET /hello?", "&", 500, line, 414},
        {"GET /ticks?", "&", 1500, line, 414},
        {"POST /echo?", "strict=true&", 200, line, 414},
        {"GET /ticks?", "strict=true&", 200, line, 414},
        {"GET /hello HTTP/1.1\r\nHost: x\r\n", "A:\r\n", 127, "\r\n", 200},
        {"GET /hello HTTP/1.1\r\nHost: x\r\n", "A:\r\n", 128, "\r\n", 431},
        {"GET /hello HTTP/1.1\r\nHost: x\r\n", "A:\r\n", 3000, "\r\n", 431},
        {"GET /ticks HTTP/1.1\r\nHost: x\r\n", "A:\r\n", 3000, "\r\n", 431},
        {"GET /hello HTTP/1.1\r\nHost: x\r\nCookie: ", "a=b;", 2000, "\r\n\r\n", 200},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct client client;
        char *request = repeated(rows[i].start, rows[i].part, rows[i].count, rows[i].end);
        open_eager(&client, app);
        if (rows[i].status == 200) {
            client_ask(&client, request, 200, "hello");
        } else {
            client_send(&client, request);
            expect_last(&client, rows[i].status, request);
        }
        free(request);
        client_close(&client);
    }
}

static void test_a_large_head_is_followed_by_others_on_its_connection(void **state) {
    struct app *app = *state;
    struct client client;
    open_eager(&client, app);
    for (int i = 0; i < 5; i++) {
        char *head = head_of("/hello", 0, HTTP_HEAD_USUAL - (size_t)i);
        client_ask(&client, head, 200, "hello");
        client_ask(&client, POST "Content-Length: 3\r\n\r\nabc", 200, "abc");
        free(head);
    }
    client_close(&client);
}

/* ---- what a head may say ---- */

/* (contract 15, attack F6; contract 19) */
#define EIGHT_EMPTY_LINES "\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n"

static void test_a_head_that_cannot_be_is_refused_once(void **state) {
    struct app *app = *state;
    static const struct {
        const char *text;
        unsigned status;
    } rows[] = {
        {POST "Content-Length: abc\r\n\r\nabc", 400},
        {POST "Content-Length: \r\n\r\nabc", 400},
        {POST "Content-Length:\r\n\r\nabc", 400},
        {POST "Content-Length: 36893488147419103232\r\n\r\nabc", 400},
        {POST "Content-Length: 9223372036854775808\r\n\r\nabc", 400},
        {POST "Content-Length: +5\r\n\r\nabcde", 400},
        {POST "Content-Length: -1\r\n\r\nabc", 400},
        {POST "Content-Length: 12a\r\n\r\nabc", 400},
        {POST "Content-Length: 0x3\r\n\r\nabc", 400},
        {POST "Content-Length: 3, 3\r\n\r\nabc", 400},
        {POST "Content-Length: 1 2\r\n\r\nabc", 400},
        {POST "Content-Length: 3.0\r\n\r\nabc", 400},
        {POST "Content-Type: a/b\r\nContent-Length: 3\r\ncontent-type: a/b\r\n\r\nabc", 400},
        {POST "Idempotency-Key: a\r\nContent-Length: 3\r\nidempotency-key: b\r\n\r\nabc", 400},
        {POST "Authorization: Bearer a\r\nContent-Length: 3\r\nauthorization: Bearer a\r\n\r\nabc",
         400},
        {POST "Expect: foo\r\nContent-Length: 3\r\n\r\nabc", 417},
        {POST "Expect: 100-continue, foo\r\nContent-Length: 3\r\n\r\nabc", 417},
        {POST "Expect:\r\nContent-Length: 3\r\n\r\nabc", 417},
        {"GET /hello HTTP/2.0\r\nHost: x\r\n\r\n", 505},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
        {"GET /hello HTTP/0.9\r\nHost: x\r\n\r\n", 505},
        {"GET /hello HTTP/1.10\r\nHost: x\r\n\r\n", 400},
        {"GET /hello http/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET /hello\r\nHost: x\r\n\r\n", 400},
        {"GET /hello \r\nHost: x\r\n\r\n", 400},
        {"GET\r\n\r\n", 400},
        {"hello, is anybody there?\r\n\r\n", 400},
        {"GET /a b HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET\t/hello HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET /hello HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n", 400},
        {"GET /hello HTTP/1.1\r\nHost: x\r\nX: \x01\r\n\r\n", 400},
        {"GET /hello HTTP/1.1\r\nHost: x\r\nX: \x7f\r\n\r\n", 400},
        {EIGHT_EMPTY_LINES "\r\n" GET("/hello"), 400}, /* or it might send them for ever */
        {EIGHT_EMPTY_LINES "\r\n", 400},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct client client;
        open_eager(&client, app);
        client_ask(&client, GET("/hello"), 200, "hello");
        client_send(&client, rows[i].text);
        client_try_send(&client, GET("/hello"), sizeof GET("/hello") - 1);
        expect_last(&client, rows[i].status, rows[i].text);
        client_close(&client);
    }
}

static void test_blanks_around_a_value_are_not_of_it(void **state) {
    struct app *app = *state;
    static const char *const requests[] = {
        POST "Content-Length: 3 \r\n\r\nabc",
        POST "Content-Length:\t 3\t \r\n\r\nabc",
        POST "Content-Length:3\r\n\r\nabc",
        POST "Content-Length: 0000000000000000000000003\r\n\r\nabc",
        POST "Transfer-Encoding: chunked \r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        POST "Transfer-Encoding:\tChunked\t\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        POST "Content-Length: 3\r\nConnection: keep-alive , x\r\n\r\nabc",
    };
    struct client client;
    open_eager(&client, app);
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        client_ask(&client, requests[i], 200, "abc");
    }
    client_close(&client);
}

static void test_a_connection_is_kept_as_its_client_asks(void **state) {
    struct app *app = *state;
    static const struct {
        const char *request;
        bool is_kept;
    } rows[] = {
        {"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", true},
        {"GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", false},
        {"GET /hello HTTP/1.1\r\nHost: x\r\nConnection: TE ,\tCLOSE\r\n\r\n", false},
        {"GET /hello HTTP/1.1\r\nHost: x\r\nConnection: x\r\nConnection: close\r\n\r\n", false},
        {"GET /hello HTTP/1.1\r\nHost: x\r\nConnection: closed\r\n\r\n", true},
        {"GET /hello HTTP/1.0\r\n\r\n", false},
        {"GET /hello HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct client client;
        client_open(&client, app);
        client_ask(&client, rows[i].request, 200, "hello");
        if (rows[i].is_kept) {
            client_ask(&client, GET("/hello"), 200, "hello");
        } else {
            assert_int_equal(client_receive_all(&client), 0);
        }
        client_close(&client);
    }
}

static void test_empty_lines_before_a_request_are_skipped(void **state) {
    struct app *app = *state;
    struct client client;
    open_eager(&client, app);
    client_ask(&client, "\r\n" GET("/hello"), 200, "hello");
    client_ask(&client, "\r\n\r\n\r\n" POST "Content-Length: 3\r\n\r\nabc", 200, "abc");
    client_ask(&client, "\r\n" GET("/hello") "\r\n", 200, "hello");
    client_ask(&client, GET("/hello"), 200, "hello");
    client_ask(&client, EIGHT_EMPTY_LINES GET("/hello"), 200, "hello");
    client_ask(&client, EIGHT_EMPTY_LINES GET("/hello"), 200, "hello");
    client_ask(&client, GET("/hello"), 200, "hello");
    client_close(&client);
}

/* ---- chunks ---- */

#define SMUGGLED GET("/hello")

/* (attack F3) */
static const struct {
    struct bytes bytes;
    const char *echoed; /* NULL: 400 */
} bodies[] = {
    {CASE("0\r\n\r\n"), ""},
    {CASE("3\r\nabc\r\n0\r\n\r\n"), "abc"},
    {CASE("1\r\na\r\n2\r\nbc\r\n0\r\n\r\n"), "abc"},
    {CASE("0003\r\nabc\r\n000\r\n\r\n"), "abc"},
    {CASE("A\r\n0123456789\r\n0\r\n\r\n"), "0123456789"},
    {CASE("a\r\n01234\r\n789\r\n0\r\n\r\n"), "01234\r\n789"},
    {CASE("2\r\n\n\n\r\n0\r\n\r\n"), "\n\n"},
    {CASE("3;a=b\r\nabc\r\n0;c\r\n\r\n"), "abc"},
    {CASE("3;a=\"b;c\"\r\nabc\r\n0\r\n\r\n"), "abc"},
    {CASE("3; a = b\r\nabc\r\n0\r\n\r\n"), "abc"},
    {CASE("3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n"), "abc"},
    {CASE("3\r\nabc\r\n0\r\nA: 1\r\nB:\r\nC: \t \r\n\r\n"), "abc"},

    /* bare LF */
    {CASE("3\nabc\r\n0\r\n\r\n"), NULL},
    {CASE("3\r\nabc\n0\r\n\r\n"), NULL},
    {CASE("3\r\nabc\r\n0\n\r\n"), NULL},
    {CASE("3\r\nabc\r\n0\r\n\n"), NULL},
    {CASE("3\nabc\n0\n\n"), NULL},
    {CASE("3;\nabc\r\n0\r\n\r\n"), NULL},
    {CASE("3;a=b\nabc\r\n0\r\n\r\n"), NULL},
    {CASE("3;a\nb\r\nabc\r\n0\r\n\r\n"), NULL},
    {CASE("3\r\nabc\r\n0;\n\r\n"), NULL},
    {CASE("3\r\nabc\r\n0;\n\r\n" SMUGGLED), NULL},
    {CASE("3\r\nabc\r\n0\r\nX-Sum: 1\n\r\n"), NULL},
    {CASE("3\r\nabc\r\n0\r\n\nX-Sum: 1\r\n\r\n"), NULL},

    /* bare CR, and other bytes that no line can have */
    {CASE("3\rabc\r\n0\r\n\r\n"), NULL},
    {CASE("3\r\r\nabc\r\n0\r\n\r\n"), NULL},
    {CASE("3;a\rb\r\nabc\r\n0\r\n\r\n"), NULL},
    {CASE("3;a\0b\r\nabc\r\n0\r\n\r\n"), NULL},
    {CASE("3\r\nabc\r0\r\n\r\n"), NULL},
    {CASE("3\r\nabc\r\n0\r\nX: \0\r\n\r\n"), NULL},
    {CASE("3\r\nabc\r\n0\r\nX: a\rb\r\n\r\n"), NULL},

    /* sizes */
    {CASE("\r\nabc\r\n0\r\n\r\n"), NULL},
    {CASE(";a\r\nabc\r\n0\r\n\r\n"), NULL},
    {CASE("zz\r\nabc\r\n0\r\n\r\n"), NULL},
    {CASE("0x3\r\nabc\r\n0\r\n\r\n"), NULL},
    {CASE("+3\r\nabc\r\n0\r\n\r\n"), NULL},
    {CASE("-3\r\nabc\r\n0\r\n\r\n"), NULL},
    {CASE(" 3\r\nabc\r\n0\r\n\r\n"), NULL},
    {CASE("3 \r\nabc\r\n0\r\n\r\n"), NULL},
    {CASE("3 ;a\r\nabc\r\n0\r\n\r\n"), NULL},
    {CASE("3_\r\nabc\r\n0\r\n\r\n"), NULL},
    {CASE("fffffffffffffffff\r\nabc\r\n0\r\n\r\n"), NULL},
    {CASE("10000000000000003\r\nabc\r\n0\r\n\r\n"), NULL},
    {CASE("2\r\nabc\r\n0\r\n\r\n"), NULL},
    {CASE("4\r\nabc\r\n0\r\n\r\n"), NULL},

    /* trailers */
    {CASE("3\r\nabc\r\n0\r\nX-Sum: 1\r\n folded\r\n\r\n"), NULL},
    {CASE("3\r\nabc\r\n0\r\n\tfolded: 1\r\n\r\n"), NULL},
    {CASE("3\r\nabc\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n"), NULL},
    {CASE("3\r\nabc\r\n0\r\ncontent-length: 3\r\n\r\n"), NULL},
    {CASE("3\r\nabc\r\n0\r\nX: 1\r\nHost: y\r\n\r\n"), NULL},
    {CASE("3\r\nabc\r\n0\r\nX Sum: 1\r\n\r\n"), NULL},
    {CASE("3\r\nabc\r\n0\r\nX-Sum : 1\r\n\r\n"), NULL},
    {CASE("3\r\nabc\r\n0\r\n: 1\r\n\r\n"), NULL},
    {CASE("3\r\nabc\r\n0\r\nno colon\r\n\r\n"), NULL},
    {CASE("3\r\nabc\r\n0\r\n" SMUGGLED), NULL},
};
enum { BODY_COUNT = sizeof bodies / sizeof bodies[0] };

static void expect_body(struct client *client, size_t row) {
    const char *text = bodies[row].bytes.text;
    if (bodies[row].echoed == NULL) {
        client_try_send(client, SMUGGLED, sizeof SMUGGLED - 1);
        expect_last(client, 400, text);
        return;
    }
    client_ask(client, "", 200, bodies[row].echoed);
    client_ask(client, GET("/hello"), 200, "hello");
}

static void test_chunks_are_framed_to_the_letter(void **state) {
    struct app *app = *state;
    for (size_t i = 0; i < BODY_COUNT; i++) {
        struct client client;
        open_eager(&client, app);
        client_send(&client, CHUNKED);
        client_try_send(&client, bodies[i].bytes.text, bodies[i].bytes.length);
        expect_body(&client, i);
        client_close(&client);
    }
}

static void test_so_they_are_byte_by_byte(void **state) {
    struct app *app = *state;
    for (size_t i = 0; i < BODY_COUNT; i++) {
        struct client client;
        open_eager(&client, app);
        client_send(&client, CHUNKED);
        for (size_t at = 0; at < bodies[i].bytes.length; at++) {
            client_try_send(&client, bodies[i].bytes.text + at, 1);
        }
        expect_body(&client, i);
        client_close(&client);
    }
}

#ifdef HTTP_FIXTURE_TLS
enum { CUTS = 10 }; /* of a body: each takes a handshake */
#else
enum { CUTS = 1000 };
#endif

/* In two reads, wherever the first one ends: the reactor is held until each piece has come. */
static void test_so_they_are_cut_anywhere(void **state) {
    struct app *app = *state;
    for (size_t i = 0; i < BODY_COUNT; i++) {
        const struct bytes bytes = bodies[i].bytes;
        const size_t stride = test_stride(bytes.length, CUTS);
        for (size_t cut = 1 + i % stride; cut < bytes.length; cut += stride) {
            struct client client;
            open_eager(&client, app);
            app_hold(app);
            client_send(&client, CHUNKED);
            client_try_send(&client, bytes.text, cut);
            app_release(app);
            app_read_count(app); /* a turn has passed */
            client_try_send(&client, bytes.text + cut, bytes.length - cut);
            expect_body(&client, i);
            client_close(&client);
        }
    }
}

/* (attack F1) */
static void test_a_line_of_a_chunk_that_has_no_end_is_refused(void **state) {
    struct app *app = *state;
    static const char *const starts[] = {"5;", "0\r\nX-Long: ", "0\r\n", "5", "00"};
    static const char *const fillers[] = {"e", "e", "A: 1\r\n", "5", "0"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        struct client client;
        char *body = repeated(starts[i], fillers[i], 9000, "");
        open_eager(&client, app);
        client_send(&client, CHUNKED);
        client_try_send(&client, body, strlen(body));
        expect_last(&client, 400, body);
        free(body);
        client_close(&client);
    }
    assert_true(app_has_active(app, 0));
}

static void test_chunks_of_any_size_arrive_whole(void **state) {
    struct app *app = *state;
    enum { LENGTH = 40000 };
    static const size_t sizes[] = {1, 2, 3, 7, 100, 4095, 4096, 9999, LENGTH};
    static const char *const extensions[] = {"", ";x", ";a-signature=0123456789abcdef"};
    char *body = malloc(LENGTH + 1), *sent = malloc(LENGTH * 64);
    assert_true(body != NULL && sent != NULL);
    for (size_t i = 0; i < LENGTH; i++) {
        body[i] = (char)('a' + i % 26);
    }
    body[LENGTH] = '\0';
    struct client client;
    open_eager(&client, app);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t length = (size_t)sprintf(sent, CHUNKED);
        for (size_t at = 0; at < LENGTH; at += sizes[i]) {
            const size_t size = LENGTH - at < sizes[i] ? LENGTH - at : sizes[i];
            length += (size_t)sprintf(sent + length, "%zX%s\r\n%.*s\r\n", size, extensions[i % 3],
                                      (int)size, body + at);
        }
        length += (size_t)sprintf(sent + length, "0\r\nX-Sum: 1\r\n\r\n");
        assert_true(client_try_send(&client, sent, length));
        client_ask(&client, "", 200, body);
    }
    client_close(&client);
    free(body);
    free(sent);
}

/* ---- what a broken body does to its answer ---- */

static void test_a_body_that_breaks_leaves_its_live_answer_unfinished(void **state) {
    struct app *app = *state;
    struct client client;
    open_eager(&client, app);
    client_send(&client, "POST /live-echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
                         "chunked\r\n\r\n3\r\nabc\r\n");
    assert_true(client_expect(&client, "abc\r\n"));
    client_send(&client, "3\nabc\r\n0\r\n\r\n" SMUGGLED);
    client_receive_all(&client);
    assert_string_equal(client.data, "");
    client_close(&client);
    assert_true(app_has_broken(app, 1));
}

static void test_a_live_answer_that_has_not_begun_is_400_instead(void **state) {
    struct app *app = *state;
    struct client client;
    open_eager(&client, app);
    client_send(&client, "POST /live-echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
                         "chunked\r\n\r\n3\nabc\r\n0\r\n\r\n" SMUGGLED);
    expect_last(&client, 400, "live");
    client_close(&client);
    assert_true(app_has_active(app, 0));
}

static void test_after_an_early_answer_a_body_that_breaks_closes(void **state) {
    struct app *app = *state;
    struct client client;
    struct reply reply;
    char value[256];
    open_eager(&client, app);
    client_send(&client, "POST /early HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                         "3\nabc\r\n0\r\n\r\n" SMUGGLED);
    client_receive(&client, &reply, false);
    assert_int_equal(reply.status, 413);
    assert_string_equal(reply_header(&reply, "Connection", value), "close");
    client_receive_all(&client);
    assert_string_equal(client.data, "");
    reply_finish(&reply);
    client_close(&client);
}

/* What comes after the answer is read, so that no reset takes the answer away. */
static void test_a_client_that_sends_on_after_a_refusal_can_read_it(void **state) {
    struct app *app = *state;
    static const struct {
        const char *start;
        unsigned status;
    } rows[] = {
        {"GET /hello\n", 400},
        {CHUNKED "3\nabc\r\n", 400},
        {"POST /early-close HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n", 413},
    };
    static const char piece[50000] = "x";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct client client;
        struct reply reply;
        open_eager(&client, app);
        client_send(&client, rows[i].start);
        assert_true(app_has_active(app, 0));
        for (int j = 0; j < 3; j++) {
            assert_true(client_try_send(&client, piece, sizeof piece));
            app_read_count(app); /* a turn has passed */
        }
        client_receive(&client, &reply, false);
        assert_int_equal(reply.status, rows[i].status);
        assert_true(client_try_send(&client, piece, sizeof piece));
        assert_int_equal(client_receive_all(&client), 0);
        reply_finish(&reply);
        client_close(&client);
    }
}

/* ---- one after another ---- */

static void test_requests_that_come_at_once_are_answered_in_order_up_to_a_bad_one(void **state) {
    struct app *app = *state;
    static const char bad[] = POST "Content-Length: x\r\n\r\n" SMUGGLED;
    struct client client;
    open_eager(&client, app);
    client_send(&client, GET("/late") POST "Content-Length: 3\r\n\r\nabc" CHUNKED
                                           "3\r\nabc\r\n0\r\nX: 1\r\n\r\n" GET("/hello"));
    client_send(&client, bad);
    client_ask(&client, "", 200, "late");
    client_ask(&client, "", 200, "abc");
    client_ask(&client, "", 200, "abc");
    client_ask(&client, "", 200, "hello");
    expect_last(&client, 400, bad);
    client_close(&client);
}

static void test_a_long_row_of_requests_is_served_to_its_end(void **state) {
    struct app *app = *state;
    enum { COUNT = 3000 };
    struct client client;
    open_eager(&client, app);
    char *row = repeated("", POST "Content-Length: 3\r\n\r\nabc" GET("/hello"), COUNT, "");
    assert_true(client_try_send(&client, row, strlen(row)));
    for (int i = 0; i < COUNT; i++) {
        client_ask(&client, "", 200, "abc");
        client_ask(&client, "", 200, "hello");
    }
    free(row);
    client_close(&client);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        app_test(test_a_head_may_have_16_kib_wherever_it_goes),
        app_test(test_a_head_that_has_no_end_is_refused_before_it_ends),
        app_test(test_a_head_that_is_hopeless_is_refused_before_it_ends),
        app_test(test_more_options_or_headers_than_there_can_be_are_refused),
        app_test(test_a_large_head_is_followed_by_others_on_its_connection),
        app_test(test_a_head_that_cannot_be_is_refused_once),
        app_test(test_blanks_around_a_value_are_not_of_it),
        app_test(test_a_connection_is_kept_as_its_client_asks),
        app_test(test_empty_lines_before_a_request_are_skipped),
        app_test(test_chunks_are_framed_to_the_letter),
        app_test(test_so_they_are_byte_by_byte),
        app_test(test_so_they_are_cut_anywhere),
        app_test(test_a_line_of_a_chunk_that_has_no_end_is_refused),
        app_test(test_chunks_of_any_size_arrive_whole),
        app_test(test_a_body_that_breaks_leaves_its_live_answer_unfinished),
        app_test(test_a_live_answer_that_has_not_begun_is_400_instead),
        app_test(test_after_an_early_answer_a_body_that_breaks_closes),
        app_test(test_a_client_that_sends_on_after_a_refusal_can_read_it),
        app_test(test_requests_that_come_at_once_are_answered_in_order_up_to_a_bad_one),
        app_test(test_a_long_row_of_requests_is_served_to_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
