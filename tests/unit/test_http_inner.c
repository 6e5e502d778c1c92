/* SPDX-License-Identifier: Apache-2.0 */

/* Requests that a handler makes while it serves one: they are served as a client's would be. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http_fixture.h"

enum { BODY_BYTES = 2500 };

/* `bytes` of 'b' as the body; `of`: percent-encoded. */
static void ask(struct client *client, const char *of, size_t bytes, struct reply *reply) {
    char text[BODY_BYTES + 256], body[BODY_BYTES + 1];
    memset(body, 'b', bytes);
    body[bytes] = '\0';
    snprintf(text, sizeof text,
             "POST /inner?of=%s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s", of, bytes,
             body);
    client_send(client, text);
    client_receive(client, reply, false);
}

static const struct {
    const char *of;
    size_t body;
    const char *answer; /* then come `body` bytes of 'b' if it ends with "…" */
} rows[] = {
    {"/hello", 0, "200 whole text/plain - hello"},
    {"/hello", 3, "200 whole text/plain - hello"},
    {"/info%3Fa=b%2526c", 3,
     "200 whole text/plain GET, HEAD POST /info 3 probe=none a=b&c [a]=[b&c]"},
    {"/liveness", 0, "200 whole text/plain - live"},
    {"/nothing", 0, "404 whole text/plain - nothing"},
    {"/early", 9, "413 whole text/plain - too large"},
    {"/early-close", 9, "413 whole text/plain - too large"},
    {"/early-body", 9, "413 whole text/plain - too large"},
    {"/echo", 0, "200 whole application/octet-stream - "},
    {"/echo", BODY_BYTES, "200 whole application/octet-stream - …"},
    {"/slow", BODY_BYTES, "200 whole application/octet-stream - …"},
    {"/eager", 100, "200 whole application/octet-stream - …"},
    {"/late", 5, "200 whole text/plain - late"},
    {"/committed", 5, "200 whole text/plain - committed"},
    {"/large", 0, "200 whole text/plain - 3000000 bytes"},
    {"/ticks", 0, "200 whole text/plain - tick 1\ntick 2\n"},
    {"/late-ticks", 0, "200 whole text/plain - tick 1\ntick 2\n"},
    {"/live-ticks", 0, "200 whole text/plain - tick 1\ntick 2\n"},
    {"/abort", 0, "200 cut text/plain - part\n"},
    {"/live-abort", 0, "200 cut text/plain - part\n"},
    {"/inner%3Fof=/hello", 0, "200 whole text/plain - 200 whole text/plain - hello"},
    {"no%20path", 0, "no head"},
};

static void test_an_inner_request_is_served_as_a_clients_would_be(void **state) {
    struct app *app = *state;
    struct client client;
    client_open(&client, app);
    app_publish(app);
    app_publish(app);
    app_end_streams(app);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct reply reply;
        const char *more = strstr(rows[i].answer, "…");
        const size_t before =
            more != NULL ? (size_t)(more - rows[i].answer) : strlen(rows[i].answer);
        ask(&client, rows[i].of, rows[i].body, &reply);
        const size_t wanted = before + (more != NULL ? rows[i].body : 0);
        if (reply.status != 200 || reply.length != wanted ||
            memcmp(reply.body, rows[i].answer, before) != 0 ||
            strspn(reply.body + before, "b") != wanted - before) {
            fail_msg("%s: %u %.200s", rows[i].of, reply.status, reply.body);
        }
        reply_finish(&reply);
    }
    client_close(&client);
}

static void test_of_a_stream_that_is_too_long_the_beginning_is_there(void **state) {
    struct client client;
    struct reply reply;
    size_t bytes = 0;
    client_open(&client, *state);
    ask(&client, "/flood", 0, &reply);
    assert_int_equal(sscanf(reply.body, "200 cut text/plain - %zu bytes", &bytes), 1);
    assert_true(bytes >= INNER_BYTES_MAX && bytes < 2 * INNER_BYTES_MAX);
    reply_finish(&reply);
    client_close(&client);
}

static void test_what_is_kept_is_kept_with_the_clients_connection(void **state) {
    struct client client;
    struct reply reply;
    client_open(&client, *state);
    client_ask(&client, "GET /kept HTTP/1.1\r\nHost: x\r\n\r\n", 200, "1");
    ask(&client, "/kept", 0, &reply);
    assert_string_equal(reply.body, "200 whole text/plain - 2");
    reply_finish(&reply);
    client_ask(&client, "GET /kept HTTP/1.1\r\nHost: x\r\n\r\n", 200, "3");
    client_close(&client);
}

/* The outer handler and the inner one. */
static void test_a_client_that_is_gone_ends_both(void **state) {
    static const char *const targets[] = {"/never", "/stuck", "/ticks"};
    struct app *app = *state;
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        struct client client;
        char text[256];
        client_open(&client, app);
        snprintf(text, sizeof text,
                 "POST /inner?of=%s HTTP/1.1\r\nHost: x\r\nPrefer: wait=1\r\nContent-Length: "
                 "2\r\n\r\nbb",
                 targets[i]);
        client_send(&client, text);
        assert_true(app_has_active(app, 1));
        client_close(&client);
        assert_true(app_has_closed(app, 2 * (i + 1)));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        app_test(test_an_inner_request_is_served_as_a_clients_would_be),
        app_test(test_of_a_stream_that_is_too_long_the_beginning_is_there),
        app_test(test_what_is_kept_is_kept_with_the_clients_connection),
        app_test(test_a_client_that_is_gone_ends_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
