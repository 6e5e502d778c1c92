/* SPDX-License-Identifier: Apache-2.0 */

/* What a service manager is told. */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
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
    assert_true(service_manager_tell("READY=1", 0));
    assert_true(service_manager_tell("STOPPING=1", 0));
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
    assert_true(service_manager_tell("READY=1", 0));
    assert_is_told(fd, "READY=1");
    close(fd);
}

static void test_without_a_manager_nobody_is_told(void **state) {
    (void)state;
    unsetenv("NOTIFY_SOCKET");
    assert_true(service_manager_tell("READY=1", 0));
    setenv("NOTIFY_SOCKET", "", 1);
    assert_true(service_manager_tell("READY=1", 0));
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
        assert_false(service_manager_tell("READY=1", 0));
        assert_int_equal(errno, cases[i].error);
    }
}

/* A manager whose queue is full. */
static int bind_full_manager(void) {
    char name[64];
    snprintf(name, sizeof name, "@parley-test-full-%ld", (long)getpid());
    const int fd = bind_manager(name);
    bool is_told = true;
    for (unsigned i = 0; i < 100000 && is_told; i++) {
        is_told = service_manager_tell("STATUS=busy", 0);
    }
    assert_false(is_told);
    assert_int_equal(errno, EAGAIN);
    return fd;
}

static void test_a_manager_that_reads_nothing_is_waited_for_with_a_bound(void **state) {
    (void)state;
    const int fd = bind_full_manager();
    assert_false(service_manager_tell("READY=1", 0));
    assert_int_equal(errno, EAGAIN);
    assert_false(service_manager_tell("READY=1", 1));
    assert_int_equal(errno, EAGAIN);
    close(fd);
}

struct slow_manager {
    int fd;
    pid_t teller;
    atomic_bool is_telling, is_over;
    bool has_heard;
};

/* Whether the thread sleeps, as it does while its send waits. */
static bool sleeps(pid_t thread) {
    char path[64], letter = '\0';
    snprintf(path, sizeof path, "/proc/self/task/%ld/stat", (long)thread);
    FILE *file = fopen(path, "re");
    const bool is_read = file != NULL && fscanf(file, "%*d (%*[^)]) %c", &letter) == 1;
    if (file != NULL) {
        fclose(file);
    }
    return is_read && letter == 'S';
}

/* Reads only once the other thread waits for it. */
static void *read_late(void *context) {
    struct slow_manager *manager = context;
    char text[128];
    while (!atomic_load(&manager->is_over) &&
           !(atomic_load(&manager->is_telling) && sleeps(manager->teller))) {
        sched_yield();
    }
    for (bool is_last = false; !manager->has_heard && !is_last;) {
        is_last = atomic_load(&manager->is_over); /* all that was sent is there now */
        for (ssize_t length; (length = recv(manager->fd, text, sizeof text, 0)) > 0;) {
            manager->has_heard |= length == (ssize_t)strlen("READY=1") &&
                                  memcmp(text, "READY=1", (size_t)length) == 0;
        }
    }
    return NULL;
}

static void test_a_manager_that_reads_late_is_told(void **state) {
    (void)state;
    struct slow_manager manager = {.fd = bind_full_manager(), .teller = getpid()};
    pthread_t reader;
    assert_int_equal(pthread_create(&reader, NULL, read_late, &manager), 0);
    atomic_store(&manager.is_telling, true);
    const bool is_told = service_manager_tell("READY=1", 60000);
    atomic_store(&manager.is_over, true);
    pthread_join(reader, NULL);
    assert_true(is_told);
    assert_true(manager.has_heard);
    close(manager.fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_manager_is_told_at_a_file),
        cmocka_unit_test(test_the_manager_is_told_at_an_abstract_name),
        cmocka_unit_test(test_without_a_manager_nobody_is_told),
        cmocka_unit_test(test_a_name_that_is_no_socket_is_an_error),
        cmocka_unit_test(test_a_manager_that_reads_nothing_is_waited_for_with_a_bound),
        cmocka_unit_test(test_a_manager_that_reads_late_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
