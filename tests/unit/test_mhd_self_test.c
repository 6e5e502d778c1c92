/* SPDX-License-Identifier: Apache-2.0 */

/* The trial at the start, with a libmicrohttpd that works and with some that do not: functions of
 * its interface are replaced by this program's. */

#include <assert.h>
#include <dlfcn.h>
#include <microhttpd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "http.h"

enum fault { NO_FAULT, NEVER_RUNS, REFUSES_CONNECTIONS, ANSWERS_ITSELF, BEGINS_LATER };
static enum fault fault;

typedef enum MHD_Result add_fn(struct MHD_Daemon *, MHD_socket, const struct sockaddr *, socklen_t);
typedef enum MHD_Result run_fn(struct MHD_Daemon *);
typedef enum MHD_Result queue_fn(struct MHD_Connection *, unsigned, struct MHD_Response *);

static add_fn *add;
static run_fn *run;
static queue_fn *queue;

static void find(const char *name, void *out) {
    const void *function = dlsym(RTLD_NEXT, name);
    assert_non_null(function);
    memcpy(out, &function, sizeof function);
}

static int find_all(void **state) {
    (void)state;
    find("MHD_add_connection", &add);
    find("MHD_run", &run);
    find("MHD_queue_response", &queue);
    return 0;
}

/* What was added and waits for the next run, as libmicrohttpd 1.0 does it for several threads. */
static struct {
    struct MHD_Daemon *daemon;
    MHD_socket fd;
    struct sockaddr_storage address;
    socklen_t address_length;
} waiting[4];
static size_t waiting_count;

enum MHD_Result MHD_add_connection(struct MHD_Daemon *daemon, MHD_socket fd,
                                   const struct sockaddr *address, socklen_t address_length) {
    if (fault == REFUSES_CONNECTIONS) {
        close(fd);
        return MHD_NO;
    }
    if (fault == BEGINS_LATER) {
        assert(waiting_count < sizeof waiting / sizeof waiting[0]);
        waiting[waiting_count].daemon = daemon;
        waiting[waiting_count].fd = fd;
        waiting[waiting_count].address_length = address_length;
        memcpy(&waiting[waiting_count++].address, address, address_length);
        return MHD_YES;
    }
    return add(daemon, fd, address, address_length);
}

static void add_waiting(struct MHD_Daemon *daemon) {
    size_t kept = 0;
    for (size_t i = 0; i < waiting_count; i++) {
        if (waiting[i].daemon != daemon) {
            waiting[kept++] = waiting[i];
            continue;
        }
        (void)add(daemon, waiting[i].fd, (const void *)&waiting[i].address,
                  waiting[i].address_length);
    }
    waiting_count = kept;
}

enum MHD_Result MHD_run(struct MHD_Daemon *daemon) {
    if (fault == NEVER_RUNS) {
        return MHD_YES;
    }
    add_waiting(daemon);
    return run(daemon);
}

enum MHD_Result MHD_queue_response(struct MHD_Connection *connection, unsigned status,
                                   struct MHD_Response *response) {
    return queue(connection, fault == ANSWERS_ITSELF ? 400 : status, response);
}

enum { LONG_S = 120, SHORT_S = 1 }; /* the second where nothing comes however long it waits */

static bool is_served(enum fault with, char error[512]) {
    const struct http_options memory = {.request_memory_bytes = 8192, .stream_memory_bytes = 2048};
    fault = with;
    error[0] = '\0';
    const bool is_served =
        mhd_self_test(&memory, with == NEVER_RUNS ? SHORT_S : LONG_S, error, 512);
    fault = NO_FAULT;
    return is_served;
}

static void test_requests_of_every_kind_are_answered(void **state) {
    (void)state;
    char error[512];
    assert_true(is_served(NO_FAULT, error));
    assert_string_equal(error, "");
}

static void test_a_connection_may_begin_after_it_was_added(void **state) {
    (void)state;
    char error[512];
    assert_true(is_served(BEGINS_LATER, error));
}

static void expect_fault(enum fault with, const char *what) {
    char error[512];
    assert_false(is_served(with, error));
    assert_non_null(strstr(error, http_library_version()));
    assert_non_null(strstr(error, what));
}

static void test_a_library_that_answers_itself_is_named_with_its_answer(void **state) {
    (void)state;
    expect_fault(ANSWERS_ITSELF, "(GET) got the answer \"HTTP/1.1 400 Bad Request\"");
}

static void test_a_library_that_takes_no_connection_is_named(void **state) {
    (void)state;
    expect_fault(REFUSES_CONNECTIONS, "(GET) got no answer");
}

static void test_a_library_that_does_not_answer_is_named(void **state) {
    (void)state;
    expect_fault(NEVER_RUNS, "(GET) got no answer");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_of_every_kind_are_answered),
        cmocka_unit_test(test_a_connection_may_begin_after_it_was_added),
        cmocka_unit_test(test_a_library_that_answers_itself_is_named_with_its_answer),
        cmocka_unit_test(test_a_library_that_takes_no_connection_is_named),
        cmocka_unit_test(test_a_library_that_does_not_answer_is_named),
    };
    return cmocka_run_group_tests(tests, find_all, NULL);
}
