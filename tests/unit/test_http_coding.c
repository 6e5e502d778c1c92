/* SPDX-License-Identifier: Apache-2.0 */

/* Compressed answers: whole ones, streams, and live ones, of which each piece can be read when it
 * arrives. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "decoder.h"
#include "http_fixture.h"

static struct coding_quota quota;

static void with_codings(struct http_options *options) {
    options->codings = &quota;
}

static int set_up(void **state) {
    struct app *app = calloc(1, sizeof *app);
    quota.max_bytes = 1 << 20;
    app_start(app, with_codings);
    *state = app;
    return 0;
}

static int tear_down(void **state) {
    app_stop(*state);
    free(*state);
    assert_int_equal(quota.used_bytes, 0);
    return 0;
}

static const enum coding codings[] = {CODING_GZIP, CODING_ZSTD};

static void ask(struct client *client, const struct app *app, const char *method, const char *path,
                const char *coding, const char *more) {
    char request[256];
    snprintf(request, sizeof request, "%s %s HTTP/1.1\r\nHost: x\r\nAccept-Encoding: %s\r\n%s\r\n",
             method, path, coding, more);
    client_open(client, app);
    client_send(client, request);
}

static void receive(struct client *client, struct reply *reply, bool is_head) {
    client_receive(client, reply, is_head);
    client_close(client);
}

/* The body of the reply, decompressed, with a NUL.  Owns: the caller's. */
static char *decode(enum coding coding, struct parley_bytes data, size_t *out_length) {
    enum { SIZE = FLOOD_BYTES + 1024 };
    char *text = malloc(SIZE + 1);
    struct decoder *decoder;
    assert_non_null(text);
    assert_int_equal(decoder_create(coding, &decoder), PARLEY_OK);
    assert_int_equal(decoder_read(decoder, &data, text, SIZE, out_length), DECODER_NO_FAULT);
    assert_int_equal(decoder_end(decoder), DECODER_NO_FAULT);
    decoder_destroy(decoder);
    text[*out_length] = '\0';
    return text;
}

static void assert_header(const struct reply *reply, const char *name, const char *wanted) {
    char value[256];
    const char *found = reply_header(reply, name, value);
    if (wanted == NULL) {
        assert_null(found);
    } else {
        assert_non_null(found);
        assert_string_equal(found, wanted);
    }
}

static void test_whole_answers_streams_and_live_ones_are_compressed(void **state) {
    struct app *app = *state;
    static const char *const paths[] = {"/large", "/flood", "/live-flood"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        for (size_t c = 0; c < 2; c++) {
            struct client client;
            struct reply reply;
            size_t length;
            ask(&client, app, "GET", paths[i], coding_name(codings[c]), "");
            receive(&client, &reply, false);
            assert_int_equal(reply.status, 200);
            assert_true(reply.is_whole);
            assert_header(&reply, "Content-Encoding", coding_name(codings[c]));
            assert_header(&reply, "Vary", "Accept-Encoding");
            assert_true(reply.length < FLOOD_BYTES / 20);
            char *text =
                decode(codings[c], (struct parley_bytes){reply.body, reply.length}, &length);
            assert_int_equal(length, i == 0 ? LARGE_BYTES : FLOOD_BYTES);
            assert_int_equal(strspn(text, "x"), length);
            free(text);
            reply_finish(&reply);
        }
    }
}

static void test_tiny_answers_and_other_clients_get_them_plain(void **state) {
    struct app *app = *state;
    static const struct {
        const char *path, *coding, *vary;
    } rows[] = {{"/hello", "gzip", NULL},
                {"/large", "br", "Accept-Encoding"},
                {"/large", "gzip;q=0", "Accept-Encoding"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct client client;
        struct reply reply;
        ask(&client, app, "GET", rows[i].path, rows[i].coding, "");
        receive(&client, &reply, false);
        assert_header(&reply, "Content-Encoding", NULL);
        assert_header(&reply, "Vary", rows[i].vary);
        assert_true(reply.is_whole);
        reply_finish(&reply);
    }
}

static void test_head_has_the_headers_of_get(void **state) {
    struct app *app = *state;
    struct client client;
    struct reply reply;
    app_publish(app);
    app_end_streams(app);
    ask(&client, app, "HEAD", "/live-ticks", "zstd", "");
    receive(&client, &reply, true);
    assert_header(&reply, "Content-Encoding", "zstd");
    assert_header(&reply, "Vary", "Accept-Encoding");
    reply_finish(&reply);
}

static void test_http_1_0_gets_it_plain(void **state) {
    struct app *app = *state;
    struct client client;
    app_publish(app);
    app_end_streams(app);
    client_open(&client, app);
    client_send(&client, "GET /live-ticks HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n");
    assert_true(client_expect(&client, "\r\n\r\ntick 1\n"));
    client_close(&client);
}

/* The next bytes, of what was received already and then of the socket. */
static void take(struct client *client, char *out, size_t length) {
    const size_t here = client->length < length ? client->length : length;
    memcpy(out, client->data, here);
    client->length -= here;
    memmove(client->data, client->data + here, client->length + 1);
    if (here < length) {
        assert_int_equal(recv(client->fd, out + here, length - here, MSG_WAITALL), length - here);
    }
}

/* What the next chunk holds, decompressed. */
static void expect_chunk(struct client *client, struct decoder *decoder, const char *wanted) {
    char chunk[1024], text[256];
    size_t length = 0, size;
    do {
        take(client, chunk + length++, 1);
    } while (chunk[length - 1] != '\n');
    size = strtoul(chunk, NULL, 16);
    assert_in_range(size, 1, sizeof chunk - 2);
    take(client, chunk, size + 2);
    struct parley_bytes input = {chunk, size};
    assert_int_equal(decoder_read(decoder, &input, text, sizeof text, &length), DECODER_NO_FAULT);
    assert_true(parley_bytes_equal((struct parley_bytes){text, length}, parley_bytes_of(wanted)));
}

static void test_each_line_can_be_read_before_the_next_is_there(void **state) {
    struct app *app = *state;
    struct client clients[2];
    struct decoder *decoders[2];
    for (size_t c = 0; c < 2; c++) {
        assert_int_equal(decoder_create(codings[c], &decoders[c]), PARLEY_OK);
        ask(&clients[c], app, "GET", "/live-ticks", coding_name(codings[c]), "");
        assert_true(client_expect(&clients[c], "Transfer-Encoding: chunked\r\n\r\n"));
    }
    for (int i = 1; i <= 3; i++) {
        char line[32];
        snprintf(line, sizeof line, "tick %d\n", i);
        app_publish(app);
        expect_chunk(&clients[0], decoders[0], line);
        expect_chunk(&clients[1], decoders[1], line);
    }
    for (size_t c = 0; c < 2; c++) {
        decoder_destroy(decoders[c]);
        client_close(&clients[c]);
    }
}

static void test_one_that_breaks_off_is_not_taken_for_whole(void **state) {
    struct app *app = *state;
    static const char *const paths[] = {"/abort", "/live-abort"};
    for (size_t i = 0; i < 2; i++) {
        struct client client;
        struct reply reply;
        ask(&client, app, "GET", paths[i], "gzip", "");
        receive(&client, &reply, false);
        assert_false(reply.is_whole);
        reply_finish(&reply);
    }
}

static void test_beyond_the_quota_answers_are_plain(void **state) {
    struct app *app = *state;
    quota.max_bytes = 1000;
    for (size_t c = 0; c < 2; c++) {
        struct client client;
        struct reply reply;
        ask(&client, app, "GET", "/live-flood", coding_name(codings[c]), "");
        receive(&client, &reply, false);
        assert_header(&reply, "Content-Encoding", NULL);
        assert_int_equal(reply.length, FLOOD_BYTES);
        reply_finish(&reply);
    }
}

int main(void) {
#define coding_test(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        coding_test(test_whole_answers_streams_and_live_ones_are_compressed),
        coding_test(test_tiny_answers_and_other_clients_get_them_plain),
        coding_test(test_head_has_the_headers_of_get),
        coding_test(test_http_1_0_gets_it_plain),
        coding_test(test_each_line_can_be_read_before_the_next_is_there),
        coding_test(test_one_that_breaks_off_is_not_taken_for_whole),
        coding_test(test_beyond_the_quota_answers_are_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
