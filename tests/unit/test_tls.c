/* SPDX-License-Identifier: Apache-2.0 */

/* TLS in front of a server: handshakes, ends, and clients that keep to nothing. That HTTP is served
 * as without TLS is shown by the tests named …_over_tls. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "http_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/ssl.h>

#include "../lib/certificates.h"
#include "tls_context.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"
#define GET_AND_CLOSE(path) "GET " path " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

/* ---- the server's certificates, and its clients' ---- */

static struct {
    char folder[64], certificate[128], key[128], client_ca[128];
    struct certificate server, authority, client, expired, stranger;
    struct tls_context *context, *verifying, *asking;
} its;

static struct tls_context *load(bool is_verifying, bool is_optional) {
    struct tls_context *context;
    char error[TLS_ERROR_MAX];
    const struct tls_files files = {its.certificate, its.key, is_verifying ? its.client_ca : NULL,
                                    is_optional};
    assert_int_equal(tls_context_create(&files, error, &context), PARLEY_OK);
    return context;
}

/* Both ends of many connections are this process's. */
static void raise_file_limit(void) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static int set_up_all(void **state) {
    (void)state;
    raise_file_limit();
    signal(SIGPIPE, SIG_IGN); /* of the clients here */
    snprintf(its.folder, sizeof its.folder, "/tmp/parley-test-XXXXXX");
    assert_non_null(mkdtemp(its.folder));
    snprintf(its.certificate, sizeof its.certificate, "%s/cert.pem", its.folder);
    snprintf(its.key, sizeof its.key, "%s/key.pem", its.folder);
    snprintf(its.client_ca, sizeof its.client_ca, "%s/ca.pem", its.folder);
    its.server = certificate_make(&(struct certificate_wanted){.common_name = "localhost"}, NULL);
    its.authority = certificate_make(
        &(struct certificate_wanted){.common_name = "authority", .is_authority = 1}, NULL);
    its.client =
        certificate_make(&(struct certificate_wanted){.common_name = "agent-7"}, &its.authority);
    its.expired = certificate_make(
        &(struct certificate_wanted){.common_name = "agent-8", .ends_s = -60}, &its.authority);
    its.stranger = certificate_make(&(struct certificate_wanted){.common_name = "agent-7"}, NULL);
    certificate_write(&its.server, its.certificate);
    certificate_write_key(&its.server, its.key);
    certificate_write(&its.authority, its.client_ca);
    its.context = load(false, false);
    its.verifying = load(true, false);
    its.asking = load(true, true);
    return 0;
}

static int tear_down_all(void **state) {
    (void)state;
    struct certificate *const all[] = {&its.server, &its.authority, &its.client, &its.expired,
                                       &its.stranger};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        certificate_finish(all[i]);
    }
    tls_context_destroy(its.context);
    tls_context_destroy(its.verifying);
    tls_context_destroy(its.asking);
    unlink(its.certificate);
    unlink(its.key);
    unlink(its.client_ca);
    return rmdir(its.folder);
}

static void with_tls(struct http_options *options) {
    options->tls = its.context;
}

static void with_certificates(struct http_options *options) {
    options->tls = its.verifying;
}

static void with_optional_certificates(struct http_options *options) {
    options->tls = its.asking;
}

static void with_hasty_handshakes(struct http_options *options) {
    options->tls = its.context;
    options->tls_handshake_timeout_ms = 200;
}

static void with_little_patience(struct http_options *options) {
    options->tls = its.context;
    options->idle_timeout_s = 5;
}

/* ---- a client ---- */

struct secure {
    struct client plain; /* its socket */
    SSL *ssl;
};

struct secure_wanted {
    const struct certificate *certificate; /* NULL: none */
    SSL_SESSION *session;                  /* to resume; NULL: none */
    const char *ciphers;                   /* of TLS 1.2; NULL: all */
    int version;                           /* 0: any */
};

/* Returns: whether the handshake succeeded. In TLS 1.3 the server may still refuse afterwards. */
static bool secure_open(struct secure *client, const struct app *app,
                        const struct secure_wanted *wanted) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    assert_non_null(ctx);
    if (wanted != NULL && wanted->certificate != NULL) {
        assert_int_equal(SSL_CTX_use_certificate(ctx, wanted->certificate->x509), 1);
        assert_int_equal(SSL_CTX_use_PrivateKey(ctx, wanted->certificate->key), 1);
    }
    if (wanted != NULL && wanted->version != 0) {
        SSL_CTX_set_security_level(ctx, 0);
        SSL_CTX_set_min_proto_version(ctx, wanted->version);
        SSL_CTX_set_max_proto_version(ctx, wanted->version);
    }
    if (wanted != NULL && wanted->ciphers != NULL) {
        SSL_CTX_set_security_level(ctx, 0);
        assert_int_equal(SSL_CTX_set_cipher_list(ctx, wanted->ciphers), 1);
    }
    client_open(&client->plain, app);
    client->ssl = SSL_new(ctx);
    SSL_CTX_free(ctx);
    assert_non_null(client->ssl);
    assert_int_equal(SSL_set_fd(client->ssl, client->plain.fd), 1);
    if (wanted != NULL && wanted->session != NULL) {
        assert_int_equal(SSL_set_session(client->ssl, wanted->session), 1);
    }
    return SSL_connect(client->ssl) == 1;
}

static void secure_close(struct secure *client) {
    SSL_free(client->ssl);
    client_close(&client->plain);
}

static void secure_send(struct secure *client, const char *text) {
    assert_int_equal(SSL_write(client->ssl, text, (int)strlen(text)), (int)strlen(text));
}

/* Receives up to the end.  Returns: SSL_get_error at it; what came is in *out, NUL-terminated, and
 * for the caller to free. */
static int secure_receive(struct secure *client, char **out, size_t *out_length) {
    size_t capacity = 65536, length = 0;
    char *text = malloc(capacity);
    int count;
    while ((count = SSL_read(client->ssl, text + length, (int)(capacity - length - 1))) > 0) {
        length += (size_t)count;
        if (capacity - length < 32768) {
            capacity *= 2;
            text = realloc(text, capacity);
            assert_non_null(text);
        }
    }
    text[length] = '\0';
    *out = text;
    if (out_length != NULL) {
        *out_length = length;
    }
    return SSL_get_error(client->ssl, count);
}

/* Asks for something, and expects it as the last of the answer, and then close_notify. */
static void secure_ask(struct secure *client, const char *request, const char *expected) {
    char *answer;
    size_t length;
    secure_send(client, request);
    assert_int_equal(secure_receive(client, &answer, &length), SSL_ERROR_ZERO_RETURN);
    assert_true(length > strlen(expected));
    assert_string_equal(answer + length - strlen(expected), expected);
    free(answer);
}

static void assert_serves(const struct app *app) {
    struct secure client;
    assert_true(secure_open(&client, app, NULL));
    secure_ask(&client, GET_AND_CLOSE("/hello"), "hello");
    secure_close(&client);
}

/* ---- what is negotiated ---- */

static void test_tls_1_2_and_1_3_are_spoken_with_good_ciphers_only(void **state) {
    (void)state;
    static const struct {
        int version;
        const char *ciphers;
        bool is_spoken;
    } cases[] = {
        {TLS1_3_VERSION, NULL, true},
        {TLS1_2_VERSION, NULL, true},
        {TLS1_2_VERSION, "ECDHE+AESGCM", true},
        {TLS1_2_VERSION, "ECDHE+CHACHA20", true},
        {TLS1_2_VERSION, "ECDHE-ECDSA-AES128-SHA256", false}, /* not authenticated encryption */
        {TLS1_2_VERSION, "ECDHE-ECDSA-AES256-SHA", false},
        {TLS1_2_VERSION, "AECDH-AES128-SHA:ECDHE-ECDSA-NULL-SHA", false},
        {TLS1_1_VERSION, NULL, false},
        {TLS1_VERSION, NULL, false},
    };
    struct app app;
    app_start(&app, with_tls);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct secure_wanted wanted = {.version = cases[i].version,
                                             .ciphers = cases[i].ciphers};
        struct secure client;
        if (secure_open(&client, &app, &wanted) != cases[i].is_spoken) {
            fail_msg("case %zu", i);
        }
        secure_close(&client);
    }
    app_stop(&app);
}

static void test_a_client_is_told_that_only_http_1_1_is_spoken(void **state) {
    (void)state;
    static const struct {
        const char *offered;
        bool is_spoken;
    } cases[] = {{"\x02h2\x08http/1.1", true}, {"\x08http/1.1", true}, {"\x02h2", false}};
    struct app app;
    app_start(&app, with_tls);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct client plain;
        SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
        client_open(&plain, &app);
        SSL_CTX_set_alpn_protos(ctx, (const unsigned char *)cases[i].offered,
                                (unsigned)strlen(cases[i].offered));
        SSL *ssl = SSL_new(ctx);
        SSL_set_fd(ssl, plain.fd);
        assert_int_equal(SSL_connect(ssl) == 1, cases[i].is_spoken);
        SSL_free(ssl);
        SSL_CTX_free(ctx);
        client_close(&plain);
    }
    app_stop(&app);
}

static void test_plain_http_is_answered_in_plain_text(void **state) {
    (void)state;
    struct app app;
    struct client client;
    app_start(&app, with_tls);
    client_open(&client, &app);
    client_send(&client, GET("/hello"));
    assert_int_equal(client_receive_all(&client), 0);
    assert_non_null(strstr(client.data, "HTTP/1.1 400 Bad Request\r\n"));
    assert_non_null(strstr(client.data, "https://"));
    client_close(&client);
    assert_serves(&app);
    app_stop(&app);
}

/* ---- clients' certificates ---- */

static void test_a_client_needs_a_certificate_of_the_authority(void **state) {
    (void)state;
    static const struct {
        const struct certificate *certificate;
        bool is_let_in;
    } cases[] = {{&its.client, true}, {NULL, false}, {&its.expired, false}, {&its.stranger, false}};
    struct app app;
    app_start(&app, with_certificates);
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            struct secure client;
            char *answer = NULL;
            const struct secure_wanted wanted = {.certificate = cases[i].certificate,
                                                 .version = version};
            if (secure_open(&client, &app, &wanted)) {
                SSL_write(client.ssl, GET_AND_CLOSE("/certificate"),
                          sizeof GET_AND_CLOSE("/certificate") - 1);
                secure_receive(&client, &answer, NULL);
            }
            assert_int_equal(answer != NULL && strstr(answer, "cn:agent-7") != NULL,
                             cases[i].is_let_in);
            free(answer);
            secure_close(&client);
        }
    }
    app_stop(&app);
}

static void test_a_certificate_can_be_optional(void **state) {
    (void)state;
    struct app app;
    struct secure client;
    app_start(&app, with_optional_certificates);
    assert_true(secure_open(&client, &app, NULL));
    secure_ask(&client, GET_AND_CLOSE("/certificate"), "none");
    secure_close(&client);
    assert_true(secure_open(&client, &app, &(struct secure_wanted){.certificate = &its.client}));
    secure_ask(&client, GET_AND_CLOSE("/certificate"), "cn:agent-7 for an hour");
    secure_close(&client);
    const struct secure_wanted stranger = {.certificate = &its.stranger, .version = TLS1_2_VERSION};
    assert_false(secure_open(&client, &app, &stranger));
    secure_close(&client);
    app_stop(&app);
}

static void test_a_session_is_resumed_with_its_certificate_until_a_reload(void **state) {
    (void)state;
    struct app app;
    struct secure client;
    char error[TLS_ERROR_MAX];
    app_start(&app, with_certificates);
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        struct secure_wanted wanted = {.certificate = &its.client, .version = version};
        assert_true(secure_open(&client, &app, &wanted));
        secure_ask(&client, GET_AND_CLOSE("/certificate"), "cn:agent-7 for an hour");
        SSL_shutdown(client.ssl); /* a session that breaks off is not resumed */
        wanted.session = SSL_get1_session(client.ssl);
        secure_close(&client);
        assert_true(secure_open(&client, &app, &wanted));
        assert_true(SSL_session_reused(client.ssl));
        secure_ask(&client, GET_AND_CLOSE("/certificate"), "cn:agent-7 for an hour");
        secure_close(&client);
        assert_int_equal(tls_context_reload(its.verifying, error), PARLEY_OK);
        assert_true(secure_open(&client, &app, &wanted));
        assert_false(SSL_session_reused(client.ssl));
        secure_ask(&client, GET_AND_CLOSE("/certificate"), "cn:agent-7 for an hour");
        secure_close(&client);
        SSL_SESSION_free(wanted.session);
    }
    app_stop(&app);
}

/* ---- ends ---- */

static void test_a_half_that_is_closed_either_way_leaves_the_answer(void **state) {
    (void)state;
    struct app app;
    app_start(&app, with_tls);
    for (int i = 0; i < 2; i++) {
        struct secure client;
        char *answer;
        size_t length;
        assert_true(secure_open(&client, &app, NULL));
        secure_send(&client, GET("/late"));
        if (i == 0) {
            SSL_shutdown(client.ssl); /* close_notify */
        }
        shutdown(client.plain.fd, SHUT_WR);
        secure_receive(&client, &answer, &length);
        assert_non_null(strstr(answer, "\r\n\r\nlate"));
        free(answer);
        secure_close(&client);
    }
    app_stop(&app);
}

static void test_a_body_that_is_cut_off_is_not_whole(void **state) {
    (void)state;
    struct app app;
    struct secure client;
    app_start(&app, with_tls);
    for (size_t i = 1; i <= 2; i++) {
        assert_true(secure_open(&client, &app, NULL));
        secure_send(&client, i == 1
                                 ? "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf"
                                 : "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
                                   "chunked\r\n\r\n4\r\nhalf\r\n");
        assert_true(app_has_active(&app, 1));
        secure_close(&client); /* without close_notify */
        assert_true(app_has_broken(&app, i));
    }
    app_stop(&app);
}

static void test_an_answer_that_breaks_off_is_not_ended_with_close_notify(void **state) {
    (void)state;
    struct app app;
    struct secure client;
    char *answer;
    app_start(&app, with_tls);
    assert_true(secure_open(&client, &app, NULL));
    secure_send(&client, "GET /abort HTTP/1.0\r\n\r\n");
    assert_int_not_equal(secure_receive(&client, &answer, NULL), SSL_ERROR_ZERO_RETURN);
    free(answer);
    secure_close(&client);
    app_stop(&app);
}

static void test_a_client_that_resets_is_noticed(void **state) {
    (void)state;
    struct app app;
    app_start(&app, with_tls);
    static const char *const paths[] = {GET("/ticks"), GET("/live-ticks"), GET("/live-flood"),
                                        GET("/flood")};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct secure client;
        const struct linger none = {.l_onoff = 1};
        assert_true(secure_open(&client, &app, NULL));
        secure_send(&client, paths[i]);
        assert_true(app_has_active(&app, 1));
        setsockopt(client.plain.fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
        secure_close(&client);
        assert_true(app_has_broken(&app, i + 1));
    }
    app_stop(&app);
}

static void test_a_client_that_reads_nothing_is_broken_off(void **state) {
    (void)state;
    struct app app;
    app_start(&app, with_little_patience);
    static const char *const paths[] = {GET("/live-flood"), GET("/flood")};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct secure client;
        assert_true(secure_open(&client, &app, NULL));
        secure_send(&client, paths[i]);
        assert_true(app_has_broken(&app, i + 1));
        secure_close(&client);
    }
    app_stop(&app);
}

/* ---- clients that keep to nothing ---- */

static bool is_closed(struct client *client) {
    char byte;
    return recv(client->fd, &byte, 1, 0) <= 0;
}

static void test_a_handshake_that_is_not_finished_is_closed(void **state) {
    (void)state;
    static const char *const said[] = {"", "\x16", "\x16\x03\x01\x02\x00\x01"};
    struct app app;
    app_start(&app, with_hasty_handshakes);
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        struct client client;
        client_open(&client, &app);
        client_try_send(&client, said[i], strlen(said[i]));
        assert_true(is_closed(&client));
        client_close(&client);
    }
    app_stop(&app);
}

static void test_of_too_many_handshakes_the_oldest_gives_way(void **state) {
    (void)state;
    enum { COUNT = 600 };
    static struct client clients[COUNT];
    struct app app;
    app_start(&app, with_tls);
    for (size_t i = 0; i < COUNT; i++) {
        client_open(&clients[i], &app);
        client_try_send(&clients[i], "\x16\x03\x01", 3);
    }
    assert_true(is_closed(&clients[0]));
    assert_serves(&app);
    for (size_t i = 0; i < COUNT; i++) {
        client_close(&clients[i]);
    }
    app_stop(&app);
}

static void test_bytes_at_random_are_survived(void **state) {
    (void)state;
    struct app app;
    app_start(&app, with_tls);
    srandom(1);
    for (int i = 0; i < 300; i++) {
        struct client client;
        char bytes[600] = "\x16\x03\x01\x01\x00\x01\x00\x00\xfc\x03\x03";
        const size_t from = (size_t)random() % 12, length = from + (size_t)random() % 500;
        for (size_t at = from; at < length; at++) {
            bytes[at] = (char)random();
        }
        client_open(&client, &app);
        client_try_send(&client, bytes, length);
        client_close(&client);
    }
    assert_serves(&app);
    app_stop(&app);
}

static void test_records_at_random_end_a_connection(void **state) {
    (void)state;
    struct app app;
    app_start(&app, with_tls);
    srandom(2);
    for (int i = 0; i < 50; i++) {
        struct secure client;
        char bytes[64] = "\x17\x03\x03\x00\x20";
        for (size_t at = 5; at < sizeof bytes; at++) {
            bytes[at] = (char)random();
        }
        assert_true(secure_open(&client, &app, NULL));
        client_try_send(&client.plain, bytes, sizeof bytes);
        secure_close(&client);
    }
    assert_serves(&app);
    assert_true(app_has_active(&app, 0));
    app_stop(&app);
}

static void test_a_server_may_be_destroyed_in_every_state(void **state) {
    (void)state;
    struct app app;
    struct client silent, begun;
    struct secure idle, asking, streaming;
    app_start(&app, with_tls);
    client_open(&silent, &app);
    client_open(&begun, &app);
    client_try_send(&begun, "\x16\x03\x01", 3);
    assert_true(secure_open(&idle, &app, NULL));
    assert_true(secure_open(&asking, &app, NULL));
    secure_send(&asking, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf");
    assert_true(secure_open(&streaming, &app, NULL));
    secure_send(&streaming, GET("/live-flood"));
    assert_true(app_has_active(&app, 2));
    app_stop(&app);
    client_close(&silent);
    client_close(&begun);
    secure_close(&idle);
    secure_close(&asking);
    secure_close(&streaming);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tls_1_2_and_1_3_are_spoken_with_good_ciphers_only),
        cmocka_unit_test(test_a_client_is_told_that_only_http_1_1_is_spoken),
        cmocka_unit_test(test_plain_http_is_answered_in_plain_text),
        cmocka_unit_test(test_a_client_needs_a_certificate_of_the_authority),
        cmocka_unit_test(test_a_certificate_can_be_optional),
        cmocka_unit_test(test_a_session_is_resumed_with_its_certificate_until_a_reload),
        cmocka_unit_test(test_a_half_that_is_closed_either_way_leaves_the_answer),
        cmocka_unit_test(test_a_body_that_is_cut_off_is_not_whole),
        cmocka_unit_test(test_an_answer_that_breaks_off_is_not_ended_with_close_notify),
        cmocka_unit_test(test_a_client_that_resets_is_noticed),
        cmocka_unit_test(test_a_client_that_reads_nothing_is_broken_off),
        cmocka_unit_test(test_a_handshake_that_is_not_finished_is_closed),
        cmocka_unit_test(test_of_too_many_handshakes_the_oldest_gives_way),
        cmocka_unit_test(test_bytes_at_random_are_survived),
        cmocka_unit_test(test_records_at_random_end_a_connection),
        cmocka_unit_test(test_a_server_may_be_destroyed_in_every_state),
    };
    return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
