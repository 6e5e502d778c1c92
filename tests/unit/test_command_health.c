/* SPDX-License-Identifier: Apache-2.0 */

/* `parley health` against servers that answer in their own ways: each is a child process. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"

/* What a run said on standard error, and what the server was asked. */
struct asked {
    int status;
    char error[1024];
    char request[1024];
};

static int listen_somewhere(unsigned *out_port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *out_port = ntohs(address.sin_port);
    return fd;
}

/* Takes one connection, tells `to` what was asked, and answers; NULL: says nothing until the
 * client goes. */
static _Noreturn void serve_one(int listener, int to, const char *answer) {
    char request[1024];
    const int fd = accept(listener, NULL, NULL);
    const ssize_t got = read(fd, request, sizeof request);
    if (got <= 0 || write(to, request, (size_t)got) != got) {
        _exit(1);
    }
    if (answer != NULL && write(fd, answer, strlen(answer)) < 0) {
        _exit(1);
    }
    if (answer == NULL) {
        while (read(fd, request, sizeof request) > 0) {
        }
    }
    _exit(0);
}

static int run_health_with(int argc, const char *const *argv, char *error, size_t size) {
    fflush(stderr);
    const int saved = dup(STDERR_FILENO), file = memfd_create("captured", 0);
    assert_true(dup2(file, STDERR_FILENO) >= 0);
    const int status = command_health(argc, (char **)(uintptr_t)argv);
    fflush(stderr);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    const ssize_t got = pread(file, error, size - 1, 0);
    assert_true(got >= 0);
    error[got] = '\0';
    close(saved);
    close(file);
    return status;
}

static int run_health(const char *url, char *error, size_t size) {
    const char *argv[] = {url, NULL};
    return run_health_with(url != NULL, argv, error, size);
}

/* Asks a server that answers once; NULL: it says nothing. */
static void ask_once(struct asked *asked, const char *answer, int argc, const char *const *argv,
                     int listener) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t server = fork();
    assert_true(server >= 0);
    if (server == 0) {
        serve_one(listener, ends[1], answer);
    }
    close(ends[1]);
    asked->status = run_health_with(argc, argv, asked->error, sizeof asked->error);
    const ssize_t got = read(ends[0], asked->request, sizeof asked->request - 1);
    asked->request[got > 0 ? got : 0] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(server, NULL, 0), server);
}

/* The command gives up after 2 s, which a busy machine may need for any answer: it is asked again.
 * Closes `listener`. */
static void ask_with(struct asked *asked, const char *answer, int argc, const char *const *argv,
                     int listener) {
    enum { TRIES_MAX = 60 };
    int tries = 0;
    do {
        ask_once(asked, answer, argc, argv, listener);
    } while (answer != NULL && strstr(asked->error, "Connection timed out") != NULL &&
             ++tries < TRIES_MAX);
    close(listener);
}

/* `url`: a format with the port; NULL: the address is in PARLEY_LISTEN. */
static void ask(struct asked *asked, const char *answer, const char *listen_format,
                const char *url_format) {
    unsigned port;
    char url[256], listen_on[64];
    const char *argv[] = {NULL, NULL};
    const int listener = listen_somewhere(&port);
    if (listen_format != NULL) {
        snprintf(listen_on, sizeof listen_on, "%s:%u", listen_format, port);
        setenv("PARLEY_LISTEN", listen_on, 1);
    } else {
        snprintf(url, sizeof url, "http://127.0.0.1:%u%s", port, url_format);
        argv[0] = url;
    }
    ask_with(asked, answer, argv[0] != NULL, argv, listener);
    unsetenv("PARLEY_LISTEN");
}

/* The address is in a configuration file, which is named by the variable or by --config. */
static void ask_by_file(struct asked *asked, bool is_variable) {
    unsigned port;
    char path[] = "/tmp/parley-health-XXXXXX", text[64];
    const int listener = listen_somewhere(&port), file = mkstemp(path);
    const int length = snprintf(text, sizeof text, "{\"listen\":\":%u\",\"replicas\":1}", port);
    assert_int_equal(write(file, text, (size_t)length), length);
    close(file);
    setenv("PARLEY_CONFIG", is_variable ? path : "/nowhere", 1);
    const char *argv[] = {"--config", path, NULL};
    ask_with(asked, "HTTP/1.1 200 OK\r\n\r\n{}", is_variable ? 0 : 2, argv, listener);
    unsetenv("PARLEY_CONFIG");
    unlink(path);
}

static void assert_says(const char *text, const char *part) {
    if (strstr(text, part) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", text, part);
    }
}

#define READY "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

static void test_a_ready_server_is_success(void **state) {
    (void)state;
    struct asked asked;
    ask(&asked, READY, NULL, "");
    assert_int_equal(asked.status, 0);
    assert_string_equal(asked.error, "");
    assert_int_equal(strncmp(asked.request, "GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:", 38), 0);
}

static void test_a_path_of_its_own_is_asked(void **state) {
    (void)state;
    struct asked asked;
    ask(&asked, READY, NULL, "/livez");
    assert_int_equal(asked.status, 0);
    assert_says(asked.request, "GET /livez ");
    ask(&asked, READY, NULL, "/");
    assert_says(asked.request, "GET /readyz ");
}

static void test_the_server_is_found_by_its_own_variable(void **state) {
    (void)state;
    struct asked asked;
    static const char *const addresses[] = {"", "127.0.0.1", "0.0.0.0"};
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        ask(&asked, READY, addresses[i], NULL);
        assert_string_equal(asked.error, "");
        assert_int_equal(asked.status, 0);
    }
}

static void test_a_server_that_is_not_ready_says_why(void **state) {
    (void)state;
    struct asked asked;
    ask(&asked,
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\n\r\n"
        "{\"status\":503,\"detail\":\"NATS is \\u001baway\"}",
        NULL, "");
    assert_int_equal(asked.status, 1);
    assert_says(asked.error, "503 Service Unavailable: NATS is \\x1baway\n");
    ask(&asked, "HTTP/1.1 404 Not Found\r\n\r\nnothing", NULL, "");
    assert_int_equal(asked.status, 1);
    assert_says(asked.error, "is not ready: HTTP/1.1 404 Not Found\n");
}

static void test_what_is_no_http_is_a_failure(void **state) {
    (void)state;
    struct asked asked;
    ask(&asked, "220 mail.example ESMTP\r\n", NULL, "");
    assert_int_equal(asked.status, 1);
    assert_says(asked.error, "is not HTTP");
    ask(&asked, "", NULL, "");
    assert_int_equal(asked.status, 1);
}

static void test_a_silent_server_is_not_waited_for_long(void **state) {
    (void)state;
    struct asked asked;
    ask(&asked, NULL, NULL, "");
    assert_int_equal(asked.status, 1);
    assert_says(asked.error, ": Connection timed out");
}

static void test_nobody_there_is_a_failure(void **state) {
    (void)state;
    unsigned port;
    char url[64], error[256];
    close(listen_somewhere(&port));
    snprintf(url, sizeof url, "http://127.0.0.1:%u", port);
    assert_int_equal(run_health(url, error, sizeof error), 1);
    assert_says(error, ": Connection refused");
}

static void test_what_is_no_url_is_usage(void **state) {
    (void)state;
    char error[512];
    static const char *const wrong[] = {"ftp://a",          "a:80",          "http://",
                                        "http://:80",       "http://a:",     "http://a:123456",
                                        "http://[::1",      "http://[::1]x", "http://a/b c",
                                        "http://a/\r\nX: y"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(run_health(wrong[i], error, sizeof error), 2);
        assert_says(error, "is not an http:// or https:// URL");
    }
    setenv("PARLEY_LISTEN", ":0", 1);
    assert_int_equal(run_health(NULL, error, sizeof error), 2);
    assert_says(error, "chosen at start");
    setenv("PARLEY_LISTEN", "nowhere", 1);
    assert_int_equal(run_health(NULL, error, sizeof error), 2);
    unsetenv("PARLEY_LISTEN");
}

/* (contract 19) */
static void test_the_server_is_found_by_its_configuration_file(void **state) {
    (void)state;
    for (int is_variable = 0; is_variable < 2; is_variable++) {
        struct asked asked;
        ask_by_file(&asked, is_variable);
        assert_int_equal(asked.status, 0);
    }
}

static void test_a_configuration_file_that_cannot_be_read_is_usage(void **state) {
    (void)state;
    char error[512];
    setenv("PARLEY_CONFIG", "/nowhere", 1);
    assert_int_equal(run_health(NULL, error, sizeof error), 2);
    assert_says(error, "/nowhere");
    unsetenv("PARLEY_CONFIG");
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_ready_server_is_success),
        cmocka_unit_test(test_a_path_of_its_own_is_asked),
        cmocka_unit_test(test_the_server_is_found_by_its_own_variable),
        cmocka_unit_test(test_a_server_that_is_not_ready_says_why),
        cmocka_unit_test(test_what_is_no_http_is_a_failure),
        cmocka_unit_test(test_a_silent_server_is_not_waited_for_long),
        cmocka_unit_test(test_nobody_there_is_a_failure),
        cmocka_unit_test(test_what_is_no_url_is_usage),
        cmocka_unit_test(test_the_server_is_found_by_its_configuration_file),
        cmocka_unit_test(test_a_configuration_file_that_cannot_be_read_is_usage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
