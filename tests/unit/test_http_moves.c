/* SPDX-License-Identifier: Apache-2.0 */

/* Connections that have served requests, and then get one that stays open: they go on in the other
 * daemon, and nobody notices. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>

#include "http_fixture.h"

#define WAIT "Prefer: wait=9\r\n"
#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"
#define WAITING_GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n" WAIT "\r\n"
#define WAITING_POST(headers, body) "POST /echo HTTP/1.1\r\nHost: x\r\n" WAIT headers "\r\n" body

static void test_a_request_in_any_form_is_served_as_if_it_were_the_first(void **state) {
    struct app *app = *state;
    static const struct {
        const char *parts[3]; /* sent one after the other */
        const char *answer;
    } rows[] = {
        {{WAITING_GET("/hello")}, "hello"},
        {{WAITING_GET("/late")}, "late"},
        {{WAITING_POST("Content-Length: 5\r\n", "abcde")}, "abcde"},
        {{WAITING_POST("Content-Length: 5\r\n", "ab"), "cd", "e"}, "abcde"},
        {{"POST /ec", "ho HTTP/1.1\r\nHost: x\r\n" WAIT "Content-Length: 5\r\n\r", "\nabcde"},
         "abcde"},
        {{WAITING_POST("Transfer-Encoding: chunked\r\n", "2\r\nab\r\n"), "3\r\ncde\r\n0\r\n\r\n"},
         "abcde"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct client client;
        client_open(&client, app);
        client_ask(&client, GET("/hello"), 200, "hello");
        for (size_t j = 0; j < 3 && rows[i].parts[j] != NULL; j++) {
            client_send(&client, rows[i].parts[j]);
            app_read_count(app); /* a turn has passed */
        }
        client_ask(&client, "", 200, rows[i].answer);
        client_ask(&client, GET("/hello"), 200, "hello"); /* it goes on */
        client_close(&client);
        assert_true(app_has_active(app, 0));
    }
}

static void test_what_was_sent_after_it_follows(void **state) {
    struct app *app = *state;
    struct client client;
    client_open(&client, app);
    client_send(&client, GET("/hello") GET("/hello") WAITING_GET("/late") GET("/hello")
                             WAITING_POST("Content-Length: 5\r\n", "abcde") GET("/hello"));
    static const char *const answers[] = {"hello", "hello", "late", "hello", "abcde", "hello"};
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        client_ask(&client, "", 200, answers[i]);
    }
    client_close(&client);
}

static void test_a_body_that_waits_for_a_100_gets_it(void **state) {
    struct app *app = *state;
    struct client client;
    client_open(&client, app);
    client_ask(&client, GET("/hello"), 200, "hello");
    client_send(&client, WAITING_POST("Expect: 100-continue\r\nContent-Length: 5\r\n", ""));
    assert_true(client_expect(&client, "HTTP/1.1 100 Continue\r\n\r\n"));
    client_ask(&client, "abcde", 200, "abcde");
    client_close(&client);
}

static void test_what_is_known_of_the_connection_stays_known(void **state) {
    struct app *app = *state;
    struct client client;
    client_open(&client, app);
    client_ask(&client, GET("/peer"), 200, "127.0.0.1");
    client_ask(&client, GET("/kept"), 200, "1");
    client_ask(&client, WAITING_GET("/kept"), 200, "2");
    client_ask(&client, WAITING_GET("/peer"), 200, "127.0.0.1");
    client_ask(&client, GET("/kept"), 200, "3");
    client_close(&client);
}

static void allow_two(struct http_options *options) {
    options->connections_max = 2;
}

static void test_a_moved_connection_counts_once(void **state) {
    (void)state;
    struct app app;
    struct client other, client;
    app_start(&app, allow_two);
    client_open(&other, &app);
    client_ask(&other, GET("/hello"), 200, "hello");
    for (size_t i = 0; i < 5; i++) {
        client_open(&client, &app);
        client_ask(&client, GET("/hello"), 200, "hello");
        client_ask(&client, WAITING_GET("/hello"), 200, "hello");
        client_close(&client);
    }
    client_close(&other);
    app_stop(&app);
}

/* Only the daemon for streams watches those that wait. */
static void test_a_client_that_vanishes_while_it_waits_is_noticed(void **state) {
    struct app *app = *state;
    for (size_t i = 1; i <= 4; i++) {
        struct client client;
        client_open(&client, app);
        if (i % 2 == 0) {
            client_ask(&client, GET("/hello"), 200, "hello");
        } else {
            client_ask(&client, WAITING_GET("/hello"), 200, "hello");
        }
        client_send(&client, WAITING_GET("/never"));
        assert_true(app_has_active(app, 1));
        client_close(&client);
        assert_true(app_has_broken(app, i));
        assert_true(app_has_active(app, 0));
    }
}

static void test_a_client_that_closed_its_sending_half_is_asked_and_answered(void **state) {
    struct app *app = *state;
    struct client client;
    client_open(&client, app);
    client_ask(&client, WAITING_GET("/hello"), 200, "hello");
    app_hold(app); /* so that the end is there before the answer is due */
    client_send(&client, WAITING_GET("/late"));
    shutdown(client.fd, SHUT_WR);
    app_release(app);
    assert_int_equal(client_receive_all(&client), 0);
    assert_non_null(strstr(client.data, "HTTP/1.1 200 OK\r\n"));
    assert_non_null(strstr(client.data, "late"));
    client_close(&client);
}

/* A daemon that is stopped while one moves must not lose it. */
static void test_the_end_may_come_meanwhile(void **state) {
    (void)state;
    for (size_t i = 0; i < 10; i++) {
        struct app app;
        struct client clients[8];
        app_start(&app, NULL);
        for (size_t j = 0; j < 8; j++) {
            client_open(&clients[j], &app);
            client_ask(&clients[j], GET("/hello"), 200, "hello");
            client_send(&clients[j], WAITING_GET("/never"));
        }
        app_stop(&app);
        for (size_t j = 0; j < 8; j++) {
            client_close(&clients[j]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        app_test(test_a_request_in_any_form_is_served_as_if_it_were_the_first),
        app_test(test_what_was_sent_after_it_follows),
        app_test(test_a_body_that_waits_for_a_100_gets_it),
        app_test(test_what_is_known_of_the_connection_stays_known),
        cmocka_unit_test(test_a_moved_connection_counts_once),
        app_test(test_a_client_that_vanishes_while_it_waits_is_noticed),
        app_test(test_a_client_that_closed_its_sending_half_is_asked_and_answered),
        cmocka_unit_test(test_the_end_may_come_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
