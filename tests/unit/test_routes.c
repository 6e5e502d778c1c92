/* SPDX-License-Identifier: Apache-2.0 */

/* Which address goes where, and which request line opens a stream. HTTP and what is behind the
 * routes are played by this file. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "describe_pages.h"
#include "routes.h"
#include "ingest.h"
#include "streams.h"

struct jetstream {
    bool is_ready, is_patient;
    const char *trouble, *remark;
};

struct http_request {
    const char *method, *path, *host;
    unsigned status;
    char allow[64], body[1024];
    char served[64]; /* by whom */
};

const char *http_request_id(const struct http_request *request) {
    (void)request;
    return "r1";
}

const char *http_request_method(const struct http_request *request) {
    return request->method;
}

const char *http_request_path(const struct http_request *request) {
    return request->path;
}

const char *http_request_header(const struct http_request *request, const char *name) {
    return strcmp(name, "Host") == 0 ? request->host : NULL;
}

int64_t http_request_content_length(const struct http_request *request) {
    (void)request;
    return 0;
}

void http_header(struct http_request *request, const char *name, const char *value) {
    if (strcmp(name, "Allow") == 0) {
        snprintf(request->allow, sizeof request->allow, "%s", value);
    }
}

void http_compress(struct http_request *request) {
    (void)request;
}

void http_respond(struct http_request *request, unsigned status, const char *content_type,
                  struct parley_bytes body) {
    assert_int_equal(request->status, 0);
    assert_string_equal(request->served, "");
    request->status = status;
    snprintf(request->body, sizeof request->body, "%.*s", (int)body.length,
             content_type != NULL ? body.data : "");
}

bool jetstream_is_ready(const struct jetstream *jetstream) {
    return jetstream->is_ready;
}

bool jetstream_is_patient(const struct jetstream *jetstream) {
    return jetstream->is_patient;
}

const char *jetstream_remark(const struct jetstream *jetstream, size_t number) {
    return number == 0 ? jetstream->remark : NULL;
}

const char *jetstream_trouble(const struct jetstream *jetstream) {
    return jetstream->trouble;
}

const char *jetstream_bar(const struct jetstream *jetstream) {
    (void)jetstream;
    return NULL;
}

static void note(struct http_request *request, const char *who,
                 const struct parley_protocol *protocol) {
    assert_int_equal(request->status, 0);
    snprintf(request->served, sizeof request->served, "%s %s", who,
             protocol != NULL ? protocol->name : "all");
}

void ingest_serve(struct gateway *gateway, struct http_request *request,
                  const struct parley_protocol *protocol, enum ingest_task task) {
    static const char *const names[] = {[INGEST_FORWARD] = "messages",
                                        [INGEST_VALIDATE] = "validate",
                                        [INGEST_CONVERT] = "convert"};
    (void)gateway;
    note(request, names[task], protocol);
}

void streams_serve(struct streams *streams, const struct limits *limits,
                   struct http_request *request, const struct parley_protocol *protocol) {
    (void)streams;
    (void)limits;
    note(request, "stream", protocol);
}

void describe_pages_serve(const struct describe_pages *pages, struct http_request *request,
                          enum describe_page page, const struct parley_protocol *protocol) {
    static const char *const names[] = {
        [DESCRIBE_SCRIPT] = "script",     [DESCRIBE_STYLE] = "style",
        [DESCRIBE_INDEX] = "index",       [DESCRIBE_PROTOCOLS] = "protocols",
        [DESCRIBE_PROTOCOL] = "protocol", [DESCRIBE_SCHEMA] = "schema",
        [DESCRIBE_RULES] = "rules",       [DESCRIBE_EXAMPLES] = "examples"};
    (void)pages;
    note(request, names[page], protocol);
}

/* ---- addresses ---- */

struct row {
    const char *method, *path;
    unsigned status;    /* 0: served by … */
    const char *served; /* … this */
};

static void check(struct gateway *gateway, const struct row *row, struct http_request *request) {
    *request = (struct http_request){.method = row->method, .path = row->path};
    gateway_begin(gateway, request);
    if (request->status != row->status ||
        strcmp(request->served, row->served != NULL ? row->served : "") != 0) {
        fail_msg("%s %s: %u %s", row->method, row->path, request->status, request->served);
    }
}

static void test_an_address_goes_to_whoever_serves_it(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"POST", "/v1/vlp/messages", 0, "messages vlp"},
        {"POST", "/v1/vlp/validate", 0, "validate vlp"},
        {"POST", "/v1/vlp/convert", 0, "convert vlp"},
        {"GET", "/v1/vlp/stream", 0, "stream vlp"},
        {"HEAD", "/v1/vlp/stream", 0, "stream vlp"},
        {"GET", "/v1/stream", 0, "stream all"},
        {"HEAD", "/v1/stream", 0, "stream all"},
        {"GET", "/v1/protocols", 0, "protocols all"},
        {"GET", "/v1/protocols/vlp", 0, "protocol vlp"},
        {"HEAD", "/v1/protocols/vlp", 0, "protocol vlp"},
        {"GET", "/v1/protocols/vlp/schema", 0, "schema vlp"},
        {"GET", "/v1/protocols/vlp/rules", 0, "rules vlp"},
        {"GET", "/v1/protocols/vlp/examples", 0, "examples vlp"},
        {"GET", "/", 0, "index all"},
        {"HEAD", "/", 0, "index all"},
        {"GET", "/page.js", 0, "script all"},
        {"GET", "/page.css", 0, "style all"},
        {"GET", "/livez", 200, NULL},
        {"GET", "/readyz", 200, NULL},
        {"GET", "/problems/internal", 200, NULL},
        {"GET", "/problems/nonesuch", 404, NULL},
        {"GET", "/problems/", 404, NULL},
        {"GET", "/problems/internal/", 404, NULL},
        {"GET", "", 404, NULL},
        {"GET", "*", 404, NULL},
        {"GET", "//", 404, NULL},
        {"GET", "/livez/", 404, NULL},
        {"GET", "/v1/stream/", 404, NULL},
        {"GET", "/v1/protocols/", 404, NULL},
        {"GET", "/v1/protocols/nope", 404, NULL},
        {"GET", "/v1/protocols/nope/schema", 404, NULL},
        {"GET", "/v1/protocols/vlp/", 404, NULL},
        {"GET", "/v1/protocols/vlp/messages", 404, NULL},
        {"GET", "/v1/protocols/messages", 404, NULL},
        {"GET", "/v1//stream", 404, NULL},
        {"GET", "/v1/VLP/stream", 404, NULL},
        {"GET", "/v1/vl/stream", 404, NULL},
        {"GET", "/v1/vlpx/stream", 404, NULL},
        {"GET", "/v1/vlp%2Fx/stream", 404, NULL},
        {"GET", "/v1/vlp/x/stream", 404, NULL},
        {"GET", "/v1/vlp/streams", 404, NULL},
        {"POST", "/v1/vlp/message", 404, NULL},
        {"POST", "/v1/convert", 404, NULL},
        {"POST", "/v1/messages", 404, NULL},
    };
    struct jetstream jetstream = {.is_ready = true};
    struct gateway gateway = {.jetstream = &jetstream};
    struct http_request request;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check(&gateway, &rows[i], &request);
    }
}

static void test_another_method_is_told_which_ones_there_are(void **state) {
    (void)state;
    static const struct {
        struct row row;
        const char *allow;
    } rows[] = {
        {{"GET", "/v1/vlp/messages", 405, NULL}, "POST, OPTIONS"},
        {{"HEAD", "/v1/vlp/validate", 405, NULL}, "POST, OPTIONS"},
        {{"GET", "/v1/vlp/convert", 405, NULL}, "POST, OPTIONS"},
        {{"POST", "/v1/vlp/stream", 405, NULL}, "GET, HEAD, OPTIONS"},
        {{"POST", "/v1/protocols", 405, NULL}, "GET, HEAD, OPTIONS"},
        {{"PUT", "/v1/protocols/vlp/schema", 405, NULL}, "GET, HEAD, OPTIONS"},
        {{"OPTIONS", "/v1/protocols/vlp/rules", 204, NULL}, "GET, HEAD, OPTIONS"},
        {{"DELETE", "/", 405, NULL}, "GET, HEAD, OPTIONS"},
        {{"get", "/", 405, NULL}, "GET, HEAD, OPTIONS"},
        {{"OPTIONS", "/v1/vlp/messages", 204, NULL}, "POST, OPTIONS"},
        {{"OPTIONS", "/v1/stream", 204, NULL}, "GET, HEAD, OPTIONS"},
        {{"OPTIONS", "/nowhere", 404, NULL}, ""},
        {{"OPTIONS", "*", 204, NULL}, "GET, HEAD, POST, OPTIONS"}, /* (contract 19) */
    };
    struct jetstream jetstream = {.is_ready = true};
    struct gateway gateway = {.jetstream = &jetstream};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct http_request request;
        check(&gateway, &rows[i].row, &request);
        assert_string_equal(request.allow, rows[i].allow);
    }
}

static void test_an_unknown_protocol_is_told_which_ones_there_are(void **state) {
    (void)state;
    struct gateway gateway = {0};
    struct http_request request;
    check(&gateway, &(struct row){"POST", "/v1/nope/messages", 404, NULL}, &request);
    assert_non_null(strstr(request.body, "`nope`"));
    assert_non_null(strstr(request.body, "vlp"));
}

static void test_a_long_path_is_only_not_found(void **state) {
    (void)state;
    struct gateway gateway = {0};
    struct http_request request;
    char path[6000] = "/v1/";
    memset(path + 4, 'x', 5000);
    check(&gateway, &(struct row){"GET", path, 404, NULL}, &request);
    memcpy(path + 5004, "/stream", 8);
    check(&gateway, &(struct row){"GET", path, 404, NULL}, &request);
}

static void test_while_draining_nothing_is_served_but_that_it_lives(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"POST", "/v1/vlp/messages", 503, NULL},
        {"POST", "/v1/vlp/validate", 503, NULL},
        {"POST", "/v1/vlp/convert", 503, NULL},
        {"GET", "/v1/stream", 503, NULL},
        {"GET", "/readyz", 503, NULL},
        {"GET", "/v1/vlp/stream", 503, NULL},
        {"GET", "/v1/protocols", 503, NULL},
        {"GET", "/v1/protocols/vlp/rules", 503, NULL},
        {"GET", "/problems/draining", 503, NULL},
        {"GET", "/", 503, NULL},
        {"GET", "/nowhere", 503, NULL},
        {"GET", "/v1/vlp/messages", 503, NULL},
        {"OPTIONS", "/v1/vlp/messages", 503, NULL},
        {"GET", "/livez", 200, NULL},
        {"HEAD", "/livez", 200, NULL},
    };
    struct jetstream jetstream = {.is_ready = true};
    struct gateway gateway = {.jetstream = &jetstream, .is_draining = true};
    struct http_request request;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check(&gateway, &rows[i], &request);
    }
}

/* Before anything else: a name that was pointed here learns nothing, not even that it drains. */
static void test_nothing_is_served_to_another_host(void **state) {
    (void)state;
    static const char *const rows[][2] = {{"POST", "/v1/vlp/messages"},
                                          {"GET", "/v1/stream"},
                                          {"GET", "/v1/protocols"},
                                          {"GET", "/"},
                                          {"GET", "/livez"},
                                          {"GET", "/readyz"},
                                          {"OPTIONS", "/v1/stream"},
                                          {"OPTIONS", "*"},
                                          {"GET", "/nowhere"},
                                          {"PUT", "/"}};
    struct jetstream jetstream = {.is_ready = true};
    struct gateway gateway = {.jetstream = &jetstream,
                              .origins = {.address = "127.0.0.1", .is_loopback = true},
                              .is_draining = true};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct http_request request = {
            .method = rows[i][0], .path = rows[i][1], .host = "evil.example"};
        gateway_begin(&gateway, &request);
        assert_int_equal(request.status, 421);
    }
}

static void test_it_is_ready_when_nats_is(void **state) {
    (void)state;
    struct jetstream jetstream = {.is_ready = false};
    struct gateway gateway = {.jetstream = &jetstream};
    struct http_request request;
    check(&gateway, &(struct row){"GET", "/readyz", 503, NULL}, &request);
    check(&gateway, &(struct row){"GET", "/livez", 200, NULL}, &request);
}

static void test_it_is_ready_once_nats_is_for_every_worker(void **state) {
    (void)state;
    struct jetstream jetstream = {.is_ready = true};
    atomic_uint away_count = 1;
    struct gateway gateway = {.jetstream = &jetstream, .away_count = &away_count};
    struct http_request request;
    check(&gateway, &(struct row){"GET", "/readyz", 503, NULL}, &request);
    atomic_store(&away_count, 0);
    check(&gateway, &(struct row){"GET", "/readyz", 200, NULL}, &request);
}

static void test_it_is_not_ready_while_a_stream_cannot_be_used_and_says_which(void **state) {
    (void)state;
    struct jetstream jetstream = {.is_ready = true, .trouble = "stream VLP is not ours"};
    struct gateway gateway = {.jetstream = &jetstream};
    struct http_request request;
    check(&gateway, &(struct row){"GET", "/readyz", 503, NULL}, &request);
    assert_non_null(strstr(request.body, jetstream.trouble));
}

/* (attack F8) */
static void test_it_is_ready_while_one_stream_is_full_and_says_which(void **state) {
    (void)state;
    struct jetstream jetstream = {.is_ready = true, .remark = "stream VLP is full"};
    struct gateway gateway = {.jetstream = &jetstream};
    struct http_request request;
    check(&gateway, &(struct row){"GET", "/readyz", 200, NULL}, &request);
    assert_string_equal(request.body, "ready\nbut: stream VLP is full\n");
}

/* ---- which request line opens a stream ---- */

/* In memory of just that size, for the address sanitizer. */
static int is_stream(const char *line, size_t length) {
    char *start = malloc(length);
    assert_non_null(start);
    memcpy(start, line, length);
    const int answer = gateway_is_stream((struct parley_bytes){start, length});
    free(start);
    return answer;
}

static void test_a_stream_is_told_by_the_first_bytes_that_suffice(void **state) {
    (void)state;
    static const struct {
        const char *line;
        int answer;
        size_t known_at; /* with so many bytes the answer is known, and with fewer it is not */
    } rows[] = {
        {"GET /v1/stream HTTP/1.1\r\n", 1, 15},
        {"GET /v1/stream?since=all HTTP/1.1\r\n", 1, 15},
        {"GET /v1/vlp/stream HTTP/1.1\r\n", 1, 19},
        {"GET /v1/vlp/stream?a=/ HTTP/1.1\r\n", 1, 19},
        {"GET /v1/nonesuch/stream HTTP/1.1\r\n", 1, 24},
        {"GET /v1/vlp/stream\r\n", 1, 19},
        {"GET /v1/vlp/stream\n", 1, 19},
        {"GET /v1/upstream HTTP/1.1\r\n", 0, 17},
        {"GET /v1/streams HTTP/1.1\r\n", 0, 16},
        {"GET /v1/stream/ HTTP/1.1\r\n", 0, 16},
        {"GET /v1/vlp/messages?x=/stream HTTP/1.1\r\n", 0, 21},
        {"GET /v1/ HTTP/1.1\r\n", 0, 9},
        {"GET /v1 HTTP/1.1\r\n", 0, 8},
        {"GET / HTTP/1.1\r\n", 0, 6},
        {"GET /livez HTTP/1.1\r\n", 0, 6},
        {"HEAD /v1/stream HTTP/1.1\r\n", 0, 1},
        {"POST /v1/vlp/messages HTTP/1.1\r\n", 0, 1},
        {"get /v1/stream HTTP/1.1\r\n", 0, 1},
        {"\r\nGET /v1/stream HTTP/1.1\r\n", 0, 1},
        {"\x16\x03\x01\x02", 0, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t length = 1; length <= strlen(rows[i].line); length++) {
            const int wanted = length < rows[i].known_at ? -1 : rows[i].answer;
            if (is_stream(rows[i].line, length) != wanted) {
                fail_msg("%.*s is not %d", (int)length, rows[i].line, wanted);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_address_goes_to_whoever_serves_it),
        cmocka_unit_test(test_another_method_is_told_which_ones_there_are),
        cmocka_unit_test(test_an_unknown_protocol_is_told_which_ones_there_are),
        cmocka_unit_test(test_a_long_path_is_only_not_found),
        cmocka_unit_test(test_while_draining_nothing_is_served_but_that_it_lives),
        cmocka_unit_test(test_nothing_is_served_to_another_host),
        cmocka_unit_test(test_it_is_ready_when_nats_is),
        cmocka_unit_test(test_it_is_ready_once_nats_is_for_every_worker),
        cmocka_unit_test(test_it_is_not_ready_while_a_stream_cannot_be_used_and_says_which),
        cmocka_unit_test(test_it_is_ready_while_one_stream_is_full_and_says_which),
        cmocka_unit_test(test_a_stream_is_told_by_the_first_bytes_that_suffice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
