/* SPDX-License-Identifier: Apache-2.0 */

/* Clients that take too long to send a request or send too much of it, and addresses with too many
 * connections. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <string.h>
#include <sys/socket.h>

#include "http_fixture.h"
#include "sender_limits.h"

#define POST(path) "POST " path " HTTP/1.1\r\nHost: x\r\n"
#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"
#define LATE "HTTP/1.1 408 "

enum { PATIENT_S = 3600, HASTY_MS = 300, FAST_BYTES = 1 << 20 };

/* ---- heads ---- */

static void want_heads_soon(struct http_options *options) {
    options->idle_timeout_s = PATIENT_S;
    options->head_timeout_ms = HASTY_MS;
}

static void test_a_head_that_is_not_whole_in_time_is_refused(void **state) {
    (void)state;
    static const char *const starts[] = {"G", "GET /ti", "GET /hello HTTP/1.1\r\n",
                                         "POST /echo HTTP/1.1\r\nHost: x\r\nX-A: ",
                                         "GET /hello HTTP/1.1\r\nHost: x\r\n\r\nGET /hel"};
    enum { COUNT = sizeof starts / sizeof starts[0] };
    struct app app;
    struct client clients[COUNT];
    app_start(&app, want_heads_soon);
    for (size_t i = 0; i < COUNT; i++) {
        client_open(&clients[i], &app);
        client_send(&clients[i], starts[i]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(client_expect(&clients[i], LATE));
        client_receive_all(&clients[i]); /* and it is closed */
        client_close(&clients[i]);
    }
    app_stop(&app);
}

/* However much of it keeps coming. */
static void test_a_head_that_comes_byte_by_byte_is_refused(void **state) {
    (void)state;
    struct app app;
    struct client client;
    app_start(&app, want_heads_soon);
    client_open(&client, &app);
    client_send(&client, "GET /hello HTTP/1.1\r\nX-A: ");
    struct pollfd answer = {.fd = client.fd, .events = POLLIN};
    while (poll(&answer, 1, 0) == 0 && client_try_send(&client, "x", 1)) {
        loop_pause();
    }
    assert_true(client_expect(&client, LATE));
    client_close(&client);
    app_stop(&app);
}

static void test_silence_before_a_head_is_not_refused(void **state) {
    (void)state;
    struct app app;
    struct client silent, other;
    app_start(&app, want_heads_soon);
    client_open(&silent, &app);
    client_open(&other, &app);
    client_ask(&other, GET("/hello"), 200, "hello");
    client_send(&other, "GET");
    assert_true(client_expect(&other, LATE));
    client_ask(&silent, GET("/hello"), 200, "hello");
    client_close(&other);
    client_close(&silent);
    app_stop(&app);
}

/* ---- bodies ---- */

static void want_bodies_fast(struct http_options *options) {
    options->idle_timeout_s = 1;
    options->body_rate_bytes = FAST_BYTES;
}

static void test_a_body_that_is_slower_than_its_rate_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *head, *piece;
    } rows[] = {
        {POST("/echo") "Content-Length: 1000000\r\n\r\n", "x"},
        {POST("/echo") "Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct app app;
        struct client client;
        app_start(&app, want_bodies_fast);
        client_open(&client, &app);
        client_send(&client, rows[i].head);
        struct pollfd answer = {.fd = client.fd, .events = POLLIN};
        while (poll(&answer, 1, 0) == 0 &&
               client_try_send(&client, rows[i].piece, strlen(rows[i].piece))) {
            loop_pause();
        }
        assert_true(client_expect(&client, LATE));
        client_close(&client);
        app_stop(&app);
    }
}

static void test_a_body_that_stalls_is_refused(void **state) {
    (void)state;
    struct app app;
    struct client client;
    app_start(&app, want_bodies_fast);
    client_open(&client, &app);
    client_send(&client, POST("/echo") "Content-Length: 10\r\n\r\nabc");
    assert_true(client_expect(&client, LATE));
    client_receive_all(&client);
    client_close(&client);
    app_stop(&app);
}

static void want_bodies_fast_but_not_at_once(struct http_options *options) {
    options->idle_timeout_s = 6;
    options->body_rate_bytes = FAST_BYTES;
}

/* A chunked body whose answer comes meanwhile may be as slow as it likes, and a body that the
 * server itself does not read is not slow. */
static void test_conversations_and_bodies_that_have_to_wait_are_not_refused(void **state) {
    (void)state;
    enum { COUNT = 160, PAUSES = 25 }; /* 8 s: the rate counts a second after the idle timeout */
    struct app app;
    struct client live, stuck;
    app_start(&app, want_bodies_fast_but_not_at_once);
    client_open(&live, &app);
    client_open(&stuck, &app);
    client_send(&live, POST("/live-echo") "Transfer-Encoding: chunked\r\n\r\n");
    client_send(&stuck, POST("/stuck") "Content-Length: 3\r\n\r\na");
    assert_true(app_has_offered(&app, 1));
    for (size_t i = 0; i < COUNT; i++) {
        client_send(&live, "1\r\nx\r\n");
        assert_true(client_expect(&live, "x"));
        for (int pause = 0; pause < PAUSES; pause++) {
            loop_pause();
        }
    }
    app_end_streams(&app);
    client_ask(&stuck, "bc", 200, "abc");
    client_close(&stuck);
    client_close(&live);
    app_stop(&app);
}

/* ---- sizes ---- */

enum { HEAD_BYTES = 1024, BODY_BYTES = 10 };

static void want_little(struct http_options *options) {
    options->head_bytes_max = HEAD_BYTES;
    options->body_bytes_max = BODY_BYTES;
}

static void test_what_is_larger_than_configured_is_refused(void **state) {
    (void)state;
    static char long_target[HEAD_BYTES + 100], long_field[HEAD_BYTES + 100];
    memset(long_target, 'x', HEAD_BYTES);
    memset(long_field, 'x', HEAD_BYTES);
    memcpy(long_target, "GET /", 5);
    memcpy(long_field, "GET /hello HTTP/1.1\r\nX-A: ", 26);
    strcpy(long_target + HEAD_BYTES, " HTTP/1.1\r\nHost: x\r\n\r\n");
    strcpy(long_field + HEAD_BYTES, "\r\nHost: x\r\n\r\n");
    static const struct {
        const char *text, *answer;
    } rows[] = {
        {long_target, "HTTP/1.1 414 "},
        {long_field, "HTTP/1.1 431 "},
        {POST("/echo") "Content-Length: 10\r\n\r\n0123456789", "HTTP/1.1 200 "},
        {POST("/echo") "Content-Length: 11\r\n\r\n01234567890", "HTTP/1.1 413 "},
        {POST("/echo") "Content-Length: 11\r\n\r\n", "HTTP/1.1 413 "},
        {POST("/echo") "Content-Length: 11\r\nExpect: 100-continue\r\n\r\n", "HTTP/1.1 413 "},
        {POST("/echo") "Transfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n",
         "HTTP/1.1 200 "},
        {POST("/echo") "Transfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n6\r\n567890\r\n",
         "HTTP/1.1 413 "},
    };
    struct app app;
    app_start(&app, want_little);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct client client;
        client_open(&client, &app);
        client_send(&client, rows[i].text);
        assert_true(client_expect(&client, rows[i].answer));
        client_close(&client);
    }
    app_stop(&app);
}

static void test_a_live_answer_breaks_off_when_its_body_is_too_large(void **state) {
    (void)state;
    struct app app;
    struct client client;
    app_start(&app, want_little);
    client_open(&client, &app);
    client_send(&client, POST("/live-echo") "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n");
    assert_true(client_expect(&client, "ab"));
    client_send(&client, "9\r\ncdefghijk\r\n0\r\n\r\n");
    client_receive_all(&client);
    assert_null(strstr(client.data, "0\r\n\r\n"));
    client_close(&client);
    assert_true(app_has_broken(&app, 1));
    app_stop(&app);
}

/* ---- connections of one address ---- */

enum { EACH = 2 };
#define FULL "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 4\r\n\r\nfull"

static struct limits limits;

static void limit_addresses(struct http_options *options) {
    options->limits = &limits;
    options->full_answer = PARLEY_BYTES(FULL);
}

/* Whether its address may have that one, too. */
static bool is_served(struct client *client, const struct app *app) {
    client_open(client, app);
    client_try_send(client, GET("/hello"), strlen(GET("/hello")));
    return client_expect(client, "HTTP/1.1 200");
}

static void wait_for_room(struct client *client, const struct app *app) {
    while (!is_served(client, app)) {
        client_close(client);
        loop_pause();
    }
}

static void test_an_address_has_so_many_connections(void **state) {
    (void)state;
    static const struct limits_options options = {.connections_max = 100, .connections_each = EACH};
    struct app app;
    struct client clients[EACH], refused;
    assert_int_equal(limits_init(&limits, &options), PARLEY_OK);
    app_start(&app, limit_addresses);
    for (size_t i = 0; i < EACH; i++) {
        assert_true(is_served(&clients[i], &app));
    }
    client_open(&refused, &app);
    client_try_send(&refused, GET("/hello"), strlen(GET("/hello")));
    assert_int_equal(client_receive_all(&refused), 0);
    assert_string_equal(refused.data, FULL);
    client_close(&refused);
    client_close(&clients[0]);
    wait_for_room(&clients[0], &app);
    for (size_t i = 0; i < EACH; i++) {
        client_close(&clients[i]);
    }
    app_stop(&app);
    assert_int_equal(tally_sender_count(limits.connections.tally), 0);
    limits_finish(&limits);
}

/* Refused, silent, broken off, streams: none is counted once it is gone. */
static void test_all_connections_of_an_address_are_counted_down(void **state) {
    (void)state;
    static const struct limits_options options = {.connections_max = 100, .connections_each = 100};
    static const char *const said[] = {"",
                                       "GET /ti",
                                       GET("/ticks"),
                                       "nonsense\r\n\r\n",
                                       GET("/late"),
                                       POST("/echo") "Content-Length: 9\r\n\r\nabc"};
    enum { COUNT = sizeof said / sizeof said[0] };
    struct app app;
    struct client clients[2 * COUNT];
    assert_int_equal(limits_init(&limits, &options), PARLEY_OK);
    app_start(&app, limit_addresses);
    for (size_t i = 0; i < 2 * COUNT; i++) {
        client_open(&clients[i], &app);
        client_try_send(&clients[i], said[i % COUNT], strlen(said[i % COUNT]));
    }
    for (size_t i = 0; i < COUNT; i++) { /* and the others with the server */
        client_close(&clients[i]);
    }
    app_stop(&app);
    assert_int_equal(tally_sender_count(limits.connections.tally), 0);
    limits_finish(&limits);
    for (size_t i = COUNT; i < 2 * COUNT; i++) {
        client_close(&clients[i]);
    }
}

int main(void) {
    if (sodium_init() < 0) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_head_that_is_not_whole_in_time_is_refused),
        cmocka_unit_test(test_a_head_that_comes_byte_by_byte_is_refused),
        cmocka_unit_test(test_silence_before_a_head_is_not_refused),
        cmocka_unit_test(test_a_body_that_is_slower_than_its_rate_is_refused),
        cmocka_unit_test(test_a_body_that_stalls_is_refused),
        cmocka_unit_test(test_conversations_and_bodies_that_have_to_wait_are_not_refused),
        cmocka_unit_test(test_what_is_larger_than_configured_is_refused),
        cmocka_unit_test(test_a_live_answer_breaks_off_when_its_body_is_too_large),
        cmocka_unit_test(test_an_address_has_so_many_connections),
        cmocka_unit_test(test_all_connections_of_an_address_are_counted_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
