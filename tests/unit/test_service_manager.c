/* SPDX-License-Identifier: Apache-2.0 */

/* What a service manager is told. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "service_manager.h"

/* A manager's socket: an abstract one, whose first byte is NUL, or a file. */
static int bind_manager(const char *name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", name);
    if (name[0] == '@') {
        address.sun_path[0] = '\0';
    }
    const socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, length), 0);
    assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
    return fd;
}

static void assert_is_told(int fd, const char *state) {
    char text[128] = "";
    const ssize_t length = recv(fd, text, sizeof text - 1, 0);
    assert_int_equal(length, strlen(state));
    assert_string_equal(text, state);
}

static void test_the_manager_is_told_at_a_file(void **state) {
    char folder[] = "/tmp/parley-notify-XXXXXX", path[64];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/socket", folder);
    const int fd = bind_manager(path);
    assert_true(service_manager_tell("READY=1"));
    assert_true(service_manager_tell("STOPPING=1"));
    assert_is_told(fd, "READY=1");
    assert_is_told(fd, "STOPPING=1");
    close(fd);
    unlink(path);
    rmdir(folder);
}

static void test_the_manager_is_told_at_an_abstract_name(void **state) {
    char name[64];
    (void)state;
    snprintf(name, sizeof name, "@parley-test-%ld", (long)getpid());
    const int fd = bind_manager(name);
    assert_true(service_manager_tell("READY=1"));
    assert_is_told(fd, "READY=1");
    close(fd);
}

static void test_without_a_manager_nobody_is_told(void **state) {
    (void)state;
    unsetenv("NOTIFY_SOCKET");
    assert_true(service_manager_tell("READY=1"));
    setenv("NOTIFY_SOCKET", "", 1);
    assert_true(service_manager_tell("READY=1"));
}

static void test_a_name_that_is_no_socket_is_an_error(void **state) {
    char long_name[256];
    (void)state;
    memset(long_name, 'x', sizeof long_name);
    long_name[0] = '/';
    long_name[sizeof long_name - 1] = '\0';
    const struct {
        const char *name;
        int error;
    } cases[] = {{"relative", EINVAL}, {long_name, EINVAL}, {"/nonexistent/socket", ENOENT}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        setenv("NOTIFY_SOCKET", cases[i].name, 1);
        assert_false(service_manager_tell("READY=1"));
        assert_int_equal(errno, cases[i].error);
    }
}

static void test_a_manager_that_reads_nothing_is_not_waited_for(void **state) {
    char name[64];
    (void)state;
    snprintf(name, sizeof name, "@parley-test-full-%ld", (long)getpid());
    const int fd = bind_manager(name);
    bool is_told = true;
    for (unsigned i = 0; i < 100000 && is_told; i++) {
        is_told = service_manager_tell("READY=1");
    }
    assert_false(is_told);
    assert_int_equal(errno, EAGAIN);
    close(fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_manager_is_told_at_a_file),
        cmocka_unit_test(test_the_manager_is_told_at_an_abstract_name),
        cmocka_unit_test(test_without_a_manager_nobody_is_told),
        cmocka_unit_test(test_a_name_that_is_no_socket_is_an_error),
        cmocka_unit_test(test_a_manager_that_reads_nothing_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
