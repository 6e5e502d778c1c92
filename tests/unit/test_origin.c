/* SPDX-License-Identifier: Apache-2.0 */

/* Which hosts a server answers to, and whose pages it serves. HTTP is played by this file. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "origin_policy.h"

enum { HEADERS_MAX = 16 };

struct http_request {
    const char *method;
    const char *origin, *host, *fetch_site, *asked_method, *private_network;
    unsigned status;
    char headers[HEADERS_MAX][200];
    size_t header_count;
};

const char *http_request_method(const struct http_request *request) {
    return request->method;
}

const char *http_request_id(const struct http_request *request) {
    (void)request;
    return "r1";
}

const char *http_request_host(const struct http_request *request) {
    return request->host;
}

const char *http_request_header(const struct http_request *request, const char *name) {
    const struct {
        const char *name, *value;
    } all[] = {{"Origin", request->origin},
               {"Sec-Fetch-Site", request->fetch_site},
               {"Access-Control-Request-Method", request->asked_method},
               {"Access-Control-Request-Private-Network", request->private_network}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strcasecmp(all[i].name, name) == 0) {
            return all[i].value;
        }
    }
    return NULL;
}

void http_request_note(struct http_request *request, enum http_note note, unsigned char value) {
    (void)request;
    (void)note;
    (void)value;
}

void http_request_remark(struct http_request *request, enum http_remark remark,
                         struct parley_bytes text) {
    (void)request;
    (void)remark;
    (void)text;
}

void http_header(struct http_request *request, const char *name, const char *value) {
    assert_true(request->header_count < HEADERS_MAX);
    snprintf(request->headers[request->header_count++], sizeof request->headers[0], "%s: %s", name,
             value);
}

const char *http_request_query(const struct http_request *request, const char *name) {
    (void)request;
    (void)name;
    return NULL;
}

const struct http_encoding *http_request_encoding(const struct http_request *request) {
    static const struct http_encoding json = {.protocol = NULL};
    (void)request;
    return &json;
}

void http_respond(struct http_request *request, unsigned status, const char *content_type,
                  struct parley_bytes body) {
    (void)content_type;
    (void)body;
    assert_int_equal(request->status, 0);
    request->status = status;
}

static bool has(const struct http_request *request, const char *start) {
    for (size_t i = 0; i < request->header_count; i++) {
        if (strncmp(request->headers[i], start, strlen(start)) == 0) {
            return true;
        }
    }
    return false;
}

static const struct origin_policy loopback = {.address = "127.0.0.1", .is_loopback = true};
static const struct origin_policy loopback_named = {
    .address = "127.0.0.2", .is_loopback = true, .hosts = "parley.example,[fd00::1]"};
static const struct origin_policy everywhere = {.address = "0.0.0.0"};
static const struct origin_policy everywhere_named = {.address = "0.0.0.0",
                                                      .hosts = "parley.example"};
static const struct origin_policy console = {.address = "127.0.0.1",
                                             .is_loopback = true,
                                             .sites =
                                                 "http://localhost:3000,https://console.example"};

static void test_a_server_answers_to_its_own_names(void **state) {
    (void)state;
    static const struct {
        const struct origin_policy *policy;
        const char *host;
        bool is_known;
    } rows[] = {
        {&loopback, "localhost", true},
        {&loopback, "LocalHost:8080", true},
        {&loopback, "127.0.0.1:1", true},
        {&loopback, "[::1]", true},
        {&loopback, "[::1]:8080", true},
        {&loopback, "localhost:", true},
        {&loopback, "evil.example", false},
        {&loopback, "evil.example:8080", false},
        {&loopback, "localhost.evil.example", false},
        {&loopback, "localhost:8080.evil.example", false},
        {&loopback, "localhost:evil.example", false},
        {&loopback, "127.0.0.1.evil.example", false},
        {&loopback, "[::1].evil.example", false},
        {&loopback, "[::1", false},
        {&loopback, "[", false},
        {&loopback, "[]", false},
        {&loopback, "::1", false},
        {&loopback, "", false},
        {&loopback, ":8080", false},
        {&loopback, ",", false},
        {&loopback, "localhost,127.0.0.1", false},
        {&loopback, "user@localhost", false},
        {&loopback, "127.0.0.2", false},
        {&loopback, "0.0.0.0", false},
        {&loopback_named, "127.0.0.2:80", true},
        {&loopback_named, "localhost", true},
        {&loopback_named, "parley.example:443", true},
        {&loopback_named, "PARLEY.example", true},
        {&loopback_named, "[fd00::1]:80", true},
        {&loopback_named, "fd00::1", false},
        {&loopback_named, "a.parley.example", false},
        {&loopback_named, "parley.example,x", false},
        {&everywhere, "evil.example", true},
        {&everywhere, "", true},
        {&everywhere_named, "parley.example", true},
        {&everywhere_named, "localhost", true},
        {&everywhere_named, "evil.example", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (origin_is_host_known(rows[i].policy, rows[i].host) != rows[i].is_known) {
            fail_msg("%zu: %s", i, rows[i].host);
        }
    }
}

static void test_a_request_belongs_to_a_site(void **state) {
    (void)state;
    static const char self[] = "localhost:8080";
    static const struct {
        const char *origin, *host, *fetch_site;
        enum origin_site site;
    } rows[] = {
        {NULL, self, NULL, ORIGIN_OWN},
        {NULL, NULL, NULL, ORIGIN_OWN},
        {NULL, self, "none", ORIGIN_OWN},
        {NULL, self, "same-origin", ORIGIN_OWN},
        {NULL, self, "same-site", ORIGIN_FOREIGN},
        {NULL, self, "cross-site", ORIGIN_FOREIGN},
        {NULL, self, "", ORIGIN_FOREIGN},
        {"http://localhost:8080", self, "same-origin", ORIGIN_OWN},
        {"https://localhost:8080", self, NULL, ORIGIN_FOREIGN},
        {"http://LOCALHOST:8080", self, NULL, ORIGIN_OWN},
        {"http://localhost:3000", self, "same-site", ORIGIN_ALLOWED},
        {"https://console.example", self, "cross-site", ORIGIN_ALLOWED},
        {"http://console.example", self, NULL, ORIGIN_FOREIGN},
        {"https://console.example:8443", self, NULL, ORIGIN_FOREIGN},
        {"https://console.example.evil.example", self, NULL, ORIGIN_FOREIGN},
        {"https://evil.example", self, "cross-site", ORIGIN_FOREIGN},
        {"https://evil.example", self, "same-origin", ORIGIN_FOREIGN},
        {"http://localhost", self, NULL, ORIGIN_FOREIGN},
        {"http://localhost:80801", self, NULL, ORIGIN_FOREIGN},
        {"http://127.0.0.1:8080", self, NULL, ORIGIN_FOREIGN},
        {"http://localhost:8080", NULL, NULL, ORIGIN_FOREIGN},
        {"null", self, NULL, ORIGIN_FOREIGN},
        {"", self, NULL, ORIGIN_FOREIGN},
        {"http://localhost:3000,https://console.example", self, NULL, ORIGIN_FOREIGN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (origin_site(&console, rows[i].origin, rows[i].host, rows[i].fetch_site) !=
            rows[i].site) {
            fail_msg("%zu: %s", i, rows[i].origin != NULL ? rows[i].origin : rows[i].fetch_site);
        }
    }
}

static void test_a_page_of_another_scheme_is_of_another_site(void **state) {
    (void)state;
    static const struct origin_policy secure = {
        .address = "127.0.0.1", .is_loopback = true, .has_tls = true};
    static const struct {
        const struct origin_policy *policy;
        const char *origin, *host;
        enum origin_site site;
    } rows[] = {
        {&loopback, "http://localhost:80", "localhost:80", ORIGIN_OWN},
        {&loopback, "https://localhost:80", "localhost:80", ORIGIN_FOREIGN},
        {&loopback, "ftp://localhost:80", "localhost:80", ORIGIN_FOREIGN},
        {&loopback, "://localhost:80", "localhost:80", ORIGIN_FOREIGN},
        {&secure, "https://localhost:80", "localhost:80", ORIGIN_OWN},
        {&secure, "HTTPS://localhost:80", "localhost:80", ORIGIN_OWN},
        {&secure, "http://localhost:80", "localhost:80", ORIGIN_FOREIGN},
        /* A proxy that speaks HTTPS may be in front, under a name of --host. */
        {&loopback_named, "https://parley.example", "parley.example", ORIGIN_OWN},
        {&loopback_named, "https://parley.example:8443", "parley.example:8443", ORIGIN_OWN},
        {&loopback_named, "http://parley.example", "parley.example", ORIGIN_OWN},
        {&loopback_named, "https://localhost:80", "localhost:80", ORIGIN_FOREIGN},
        {&everywhere, "https://any.example", "any.example", ORIGIN_OWN},
        {&everywhere_named, "https://parley.example", "parley.example", ORIGIN_OWN},
        {&everywhere_named, "https://other.example", "other.example", ORIGIN_FOREIGN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (origin_site(rows[i].policy, rows[i].origin, rows[i].host, NULL) != rows[i].site) {
            fail_msg("%zu: %s", i, rows[i].origin);
        }
    }
}

static void test_another_host_is_told_so(void **state) {
    (void)state;
    struct http_request request = {.method = "GET", .host = "evil.example"};
    assert_false(origin_admit_host(&loopback, &request));
    assert_int_equal(request.status, 421);
    request = (struct http_request){.method = "GET"}; /* of HTTP/1.0 */
    assert_true(origin_admit_host(&loopback, &request));
    assert_int_equal(request.status, 0);
}

static void test_a_foreign_page_gets_403_but_for_what_is_open(void **state) {
    (void)state;
    struct http_request request = {
        .method = "POST", .host = "localhost:8080", .origin = "https://evil.example"};
    assert_false(origin_admit(&loopback, &request, false));
    assert_int_equal(request.status, 403);
    assert_false(has(&request, "Access-Control"));
    request.status = 0;
    request.method = "GET";
    assert_true(origin_admit(&loopback, &request, true));
    assert_false(has(&request, "Access-Control"));
    assert_true(has(&request, "Cross-Origin-Resource-Policy: same-origin"));
}

static void test_an_allowed_page_may_read_the_answer_and_its_headers(void **state) {
    (void)state;
    struct http_request request = {
        .method = "POST", .host = "localhost:8080", .origin = "https://console.example"};
    assert_true(origin_admit(&console, &request, false));
    assert_int_equal(request.status, 0);
    assert_true(has(&request, "Vary: Origin"));
    assert_true(has(&request, "Access-Control-Allow-Origin: https://console.example"));
    assert_true(has(&request, "Access-Control-Expose-Headers: X-Request-Id"));
    assert_false(has(&request, "Access-Control-Allow-Credentials"));
    request = (struct http_request){.method = "GET", .host = "localhost:8080"};
    assert_true(origin_admit(&console, &request, false));
    assert_true(has(&request, "Vary: Origin")); /* what is cached is not for every site */
    assert_false(has(&request, "Access-Control"));
}

static void test_a_question_before_a_request_is_answered_for_allowed_pages(void **state) {
    (void)state;
    struct http_request request = {.method = "OPTIONS",
                                   .host = "localhost:8080",
                                   .origin = "https://console.example",
                                   .asked_method = "POST",
                                   .private_network = "true"};
    origin_answer_options(&console, &request, "POST, OPTIONS");
    assert_int_equal(request.status, 204);
    assert_true(has(&request, "Allow: POST, OPTIONS"));
    assert_true(has(&request, "Access-Control-Allow-Methods: POST, OPTIONS"));
    assert_true(has(&request, "Access-Control-Allow-Headers: Authorization, Content-Type"));
    assert_true(has(&request, "Access-Control-Allow-Private-Network: true"));
    request.status = 0;
    request.header_count = 0;
    request.origin = "https://evil.example";
    origin_answer_options(&console, &request, "POST, OPTIONS");
    assert_int_equal(request.status, 204);
    assert_true(has(&request, "Allow: POST, OPTIONS"));
    assert_false(has(&request, "Access-Control"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_server_answers_to_its_own_names),
        cmocka_unit_test(test_a_request_belongs_to_a_site),
        cmocka_unit_test(test_a_page_of_another_scheme_is_of_another_site),
        cmocka_unit_test(test_another_host_is_told_so),
        cmocka_unit_test(test_a_foreign_page_gets_403_but_for_what_is_open),
        cmocka_unit_test(test_an_allowed_page_may_read_the_answer_and_its_headers),
        cmocka_unit_test(test_a_question_before_a_request_is_answered_for_allowed_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
