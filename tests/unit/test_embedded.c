/* SPDX-License-Identifier: Apache-2.0 */

/* The embedded nats-server: a real one in a folder of the test's own, killed, frozen and left
 * behind in every way that can be thought of. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/jetstream_world.h"
#include "../lib/nats_client.h"
#include "embedded.h"

struct den {
    char folder[64];
    struct loop loop;
    struct embedded *embedded;
    struct jetstream *jetstream;
    unsigned troubles;
    char trouble[512], error[512];
    int port;
    bool is_running;
    struct jetstream_ack ack;
    unsigned acks;
    unsigned aways; /* since expect_away */
    enum jetstream_publish published;
};

static void on_trouble(void *context, const char *error) {
    struct den *den = context;
    den->troubles++;
    snprintf(den->trouble, sizeof den->trouble, "%s", error);
}

static int set_up(void **state) {
    struct den *den = calloc(1, sizeof *den);
    assert_non_null(den);
    snprintf(den->folder, sizeof den->folder, "/tmp/parley \"test\\XXXXXX");
    assert_non_null(mkdtemp(den->folder));
    *state = den;
    return 0;
}

static enum parley_status create(struct den *den, const char *binary) {
    const struct embedded_options options = {.data = den->folder, .binary = binary};
    const struct embedded_events events = {.trouble = on_trouble, .context = den};
    loop_create(&den->loop);
    enum parley_status status = embedded_create(den->loop.reactor, &options, &events, den->error,
                                                sizeof den->error, &den->embedded);
    if (status != PARLEY_OK) {
        loop_destroy(&den->loop);
        return status;
    }
    den->port = atoi(strrchr(embedded_url(den->embedded), ':') + 1);
    return status;
}

static void ignore(void *context) {
    (void)context;
}
static void on_away(void *context) {
    ((struct den *)context)->aways++;
}
static void ignore_error(void *context, const char *error) {
    (void)context;
    (void)error;
}

static const struct jetstream_stream STREAM = {.name = "VLP", .subjects = "vlp.>"};

static void replace(void *context) {
    struct den *den = context;
    embedded_replace(den->embedded);
}

static void start(struct den *den, bool is_probing) {
    if (create(den, NULL) != PARLEY_OK) {
        fail_msg("%s", den->error);
    }
    const struct jetstream_options options = {
        .bus = {.urls = embedded_url(den->embedded), .token = embedded_token(den->embedded)},
        .streams = &STREAM,
        .stream_count = 1,
        .replicas = 1,
        .dedupe_window_ms = 120000,
        .ack_timeout_ms = LOOP_PATIENCE_MS / 2,
        .in_flight_count_max = 100,
        .in_flight_bytes_max = 1000000,
        .is_probing = is_probing,
    };
    const struct jetstream_events events = {.ready = ignore,
                                            .away = on_away,
                                            .unusable = ignore_error,
                                            .unresponsive = replace,
                                            .context = den};
    assert_int_equal(jetstream_create(den->loop.reactor, &options, &events, &den->jetstream),
                     PARLEY_OK);
    loop_start(&den->loop);
    den->is_running = true;
}

static void stop_server(struct den *den) {
    loop_stop(&den->loop);
    jetstream_destroy(den->jetstream);
    embedded_destroy(den->embedded);
    loop_destroy(&den->loop);
    den->is_running = false;
}

static int tear_down(void **state) {
    struct den *den = *state;
    if (den->is_running) {
        stop_server(den);
    }
    remove_folder(den->folder);
    free(den);
    return 0;
}

/* The process ids of the children of `parent` that are called nats-server; returns the newest. */
static pid_t child_of(pid_t parent) {
    DIR *proc = opendir("/proc");
    pid_t found = 0;
    for (struct dirent *entry; (entry = readdir(proc)) != NULL;) {
        char path[300], name[64];
        int ppid = 0;
        snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file == NULL) {
            continue;
        }
        if (fscanf(file, "%*d (%63[^)]) %*c %d", name, &ppid) == 2 && ppid == parent &&
            strcmp(name, "nats-server") == 0) {
            pid_t pid = (pid_t)atoi(entry->d_name);
            found = pid > found ? pid : found;
        }
        fclose(file);
    }
    closedir(proc);
    return found;
}

static bool is_ready(void *context) {
    return jetstream_is_ready(((struct den *)context)->jetstream);
}
static void expect_away(void *context) {
    ((struct den *)context)->aways = 0;
}
static bool was_away(void *context) {
    return ((struct den *)context)->aways > 0;
}
static bool has_ack(void *context) {
    return ((struct den *)context)->acks > 0;
}

static void on_ack(void *context, const struct jetstream_ack *ack) {
    struct den *den = context;
    den->acks++;
    den->ack = *ack;
}

static void publish(void *context) {
    struct den *den = context;
    den->acks = 0;
    const struct jetstream_message message = {.subject = "vlp.safe.claim",
                                              .payload = PARLEY_BYTES("{}")};
    den->published = jetstream_publish(den->jetstream, &message, on_ack, den);
}

static uint64_t store(struct den *den) {
    loop_do(&den->loop, publish, den);
    assert_int_equal(den->published, JETSTREAM_PUBLISHED);
    assert_true(loop_wait(&den->loop, has_ack, den, LOOP_PATIENCE_MS));
    assert_int_equal(den->ack.outcome, JETSTREAM_STORED);
    return den->ack.sequence;
}

static void wait_ready(struct den *den) {
    if (!loop_wait(&den->loop, is_ready, den, LOOP_PATIENCE_MS)) {
        fail_msg("never ready: %s", den->trouble);
    }
}

static void test_it_starts_and_stores(void **state) {
    struct den *den = *state;
    start(den, false);
    wait_ready(den);
    assert_int_equal(store(den), 1);
    assert_int_equal(den->troubles, 0);
}

static void test_it_takes_eight_megabytes(void **state) {
    struct den *den = *state;
    start(den, false);
    wait_ready(den);
    assert_int_equal(jetstream_max_payload_bytes(den->jetstream), 8 * 1024 * 1024);
}

static void test_its_secrets_are_for_its_owner_only(void **state) {
    struct den *den = *state;
    start(den, false);
    const char *files[] = {"nats.conf", "nats.url"};
    for (size_t i = 0; i < 2; i++) {
        char path[128];
        struct stat status;
        snprintf(path, sizeof path, "%s/%s", den->folder, files[i]);
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_mode & 0777, 0600);
    }
    char path[128], url[256] = "", expected[256];
    snprintf(path, sizeof path, "%s/nats.url", den->folder);
    FILE *file = fopen(path, "r");
    assert_non_null(fgets(url, sizeof url, file));
    fclose(file);
    snprintf(expected, sizeof expected, "nats://%s@127.0.0.1:%d\n", embedded_token(den->embedded),
             den->port);
    assert_string_equal(url, expected);
    /* And it is the key: nobody comes in without it. */
    natsConnection *connection = NULL;
    assert_int_not_equal(natsConnection_ConnectTo(&connection, embedded_url(den->embedded)),
                         NATS_OK);
    url[strcspn(url, "\n")] = '\0';
    jsCtx *context = NULL;
    nats_client_connect(url, &connection, &context);
    jsCtx_Destroy(context);
    natsConnection_Destroy(connection);
}

static void link_to(const struct den *den, const char *name, const char *target) {
    char path[192];
    snprintf(path, sizeof path, "%s/%s", den->folder, name);
    assert_int_equal(symlink(target, path), 0);
}

/* (attack F11) */
static void test_its_files_are_never_written_through_links(void **state) {
    struct den *den = *state;
    char victim[] = "/tmp/parley-victim-XXXXXX", text[16] = "";
    const int fd = mkstemp(victim);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "precious", 8), 8);
    static const char *const replaced[] = {"nats.conf", "nats.url", "nats.conf.new"};
    for (size_t i = 0; i < sizeof replaced / sizeof replaced[0]; i++) {
        link_to(den, replaced[i], victim);
    }
    start(den, false);
    wait_ready(den);
    stop_server(den);
    link_to(den, "nats.url.new", victim);
    static const char *const refused[] = {"lock", "nats.log"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        char path[192];
        snprintf(path, sizeof path, "%s/%s", den->folder, refused[i]);
        unlink(path);
        link_to(den, refused[i], victim);
        assert_int_equal(create(den, NULL), PARLEY_E_IO);
        assert_non_null(strstr(den->error, "cannot be written"));
        unlink(path);
    }
    assert_int_equal(pread(fd, text, sizeof text, 0), 8);
    assert_string_equal(text, "precious");
    close(fd);
    unlink(victim);
}

static void test_the_store_survives_a_restart_of_both(void **state) {
    struct den *den = *state;
    start(den, false);
    wait_ready(den);
    assert_int_equal(store(den), 1);
    stop_server(den);
    assert_int_equal(child_of(getpid()), 0);
    start(den, false);
    wait_ready(den);
    assert_int_equal(store(den), 2);
}

static off_t size_of_lock(const struct den *den) {
    char path[128];
    struct stat status;
    snprintf(path, sizeof path, "%s/lock", den->folder);
    assert_int_equal(stat(path, &status), 0);
    return status.st_size;
}

static void test_the_lock_is_empty_after_a_child_that_ended_by_itself(void **state) {
    struct den *den = *state;
    start(den, false);
    assert_true(size_of_lock(den) > 0);
    stop_server(den);
    assert_int_equal(size_of_lock(den), 0);
}

static void test_a_killed_child_is_restarted_on_its_port_with_its_store(void **state) {
    struct den *den = *state;
    start(den, false);
    wait_ready(den);
    for (uint64_t sequence = 1; sequence <= 3; sequence++) {
        assert_int_equal(store(den), sequence);
        pid_t child = child_of(getpid());
        assert_true(child > 0);
        loop_do(&den->loop, expect_away, den);
        kill(child, SIGKILL);
        assert_true(loop_wait(&den->loop, was_away, den, LOOP_PATIENCE_MS));
        wait_ready(den);
        assert_int_not_equal(child_of(getpid()), child);
        assert_int_equal(den->troubles, sequence);
        assert_non_null(strstr(den->trouble, "signal 9"));
    }
    assert_true(nats_server_answers(den->port));
    assert_int_equal(store(den), 4);
}

static void test_a_second_one_in_the_same_folder_is_refused(void **state) {
    struct den *den = *state;
    start(den, false);
    struct den second = {0};
    memcpy(second.folder, den->folder, sizeof second.folder);
    struct loop_nap nap;
    loop_nap_begin(&nap);
    assert_int_equal(create(&second, NULL), PARLEY_E_IO);
    assert_true(loop_nap_ms(&nap) < 6000);
    assert_non_null(strstr(second.error, den->folder));
    assert_non_null(strstr(second.error, "another parley"));
    wait_ready(den);
    assert_int_equal(store(den), 1);
}

/* A parley of its own: says its port through the pipe and waits to be killed. */
static void be_parley(struct den *den, int pipe_fd) {
    if (create(den, NULL) != PARLEY_OK ||
        write(pipe_fd, &den->port, sizeof den->port) != sizeof den->port) {
        _exit(1);
    }
    for (;;) {
        pause();
    }
}

static pid_t fork_parley(struct den *den) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t parley = fork();
    if (parley == 0) {
        be_parley(den, ends[1]);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &den->port, sizeof den->port), sizeof den->port);
    close(ends[0]);
    return parley;
}

static void test_a_killed_parley_takes_its_child_along(void **state) {
    struct den *den = *state;
    pid_t parley = fork_parley(den);
    pid_t child = child_of(parley);
    assert_true(child > 0);
    assert_true(nats_server_answers(den->port));
    kill(parley, SIGKILL);
    waitpid(parley, NULL, 0);
    for (int tries = 0; kill(child, 0) == 0 && tries < LOOP_PATIENCE_MS / 2; tries++) {
        loop_pause();
        waitpid(child, NULL, WNOHANG); /* it is ours by now (main) */
    }
    assert_int_equal(kill(child, 0), -1);
    assert_int_equal(errno, ESRCH);
    /* And the folder is free for the next, at once. */
    start(den, false);
    wait_ready(den);
    assert_int_equal(store(den), 1);
}

static int open_files_of(pid_t pid, const char *ending) {
    char path[64];
    int count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char link[400], target[512];
        snprintf(link, sizeof link, "%s/%s", path, entry->d_name);
        ssize_t length = readlink(link, target, sizeof target - 1);
        if (length > 0) {
            target[length] = '\0';
            const char *at = strstr(target, ending);
            count += at != NULL && strcmp(at, ending) == 0;
        }
    }
    closedir(folder);
    return count;
}

static void test_the_child_inherits_no_files_but_the_lock(void **state) {
    struct den *den = *state;
    char path[128];
    snprintf(path, sizeof path, "%s/leak", den->folder);
    int leak = open(path, O_WRONLY | O_CREAT, 0600); /* not O_CLOEXEC */
    start(den, false);
    pid_t child = child_of(getpid());
    assert_int_equal(open_files_of(child, "/leak"), 0);
    assert_int_equal(open_files_of(child, "/lock"), 1);
    assert_int_equal(getsid(child), child);
    close(leak);
}

/* This very program as the child: writes its signal mask beside the configuration, and ends. (A
 * nats-server or a shell would change it first.) */
static int be_child(const char *configuration) {
    char path[256];
    sigset_t mask;
    snprintf(path, sizeof path, "%.*s/mask", (int)(strrchr(configuration, '/') - configuration),
             configuration);
    FILE *file = fopen(path, "w");
    if (file == NULL || sigprocmask(SIG_BLOCK, NULL, &mask) != 0) {
        return 1;
    }
    fprintf(file, "%d %d", sigismember(&mask, SIGTERM), sigismember(&mask, SIGINT));
    fclose(file);
    return 0;
}

static void test_the_child_inherits_no_signal_mask(void **state) {
    struct den *den = *state;
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGINT);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    assert_int_equal(create(den, "/proc/self/exe"), PARLEY_E_IO);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    char path[128], line[64] = "";
    snprintf(path, sizeof path, "%s/mask", den->folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    fclose(file);
    assert_string_equal(line, "0 0");
}

static void test_a_frozen_child_is_replaced(void **state) {
    struct den *den = *state;
    start(den, true);
    wait_ready(den);
    assert_int_equal(store(den), 1);
    pid_t child = child_of(getpid());
    loop_do(&den->loop, expect_away, den);
    kill(child, SIGSTOP);
    assert_true(loop_wait(&den->loop, was_away, den, LOOP_PATIENCE_MS));
    wait_ready(den);
    assert_int_not_equal(child_of(getpid()), child);
    assert_int_equal(store(den), 2);
    assert_int_equal(den->troubles, 0); /* it was meant */
}

/* Once it is connected: an attempt that is frozen within its greeting is given up, and leaks. */
static void test_a_frozen_child_does_not_outlive_its_parley(void **state) {
    struct den *den = *state;
    start(den, false);
    wait_ready(den);
    pid_t child = child_of(getpid());
    kill(child, SIGSTOP);
    stop_server(den);
    assert_int_equal(kill(child, 0), -1);
}

static void test_a_missing_binary_is_told(void **state) {
    struct den *den = *state;
    assert_int_equal(create(den, "/nonexistent/nats-server"), PARLEY_E_IO);
    assert_non_null(strstr(den->error, "not installed"));
    assert_non_null(strstr(den->error, "/nonexistent/nats-server"));
}

/* nats-server under a version that it does not have. */
static void write_binary(const struct den *den, const char *version, char path[128]) {
    snprintf(path, 128, "%s/disguised", den->folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file,
            "#!/bin/sh\n"
            "[ \"$1\" != -v ] || { echo 'nats-server: v%s' && exit; }\n"
            "PATH=$PATH:/usr/sbin exec nats-server \"$@\"\n",
            version);
    fclose(file);
    assert_int_equal(chmod(path, 0700), 0);
}

static void write_index(const struct den *den) {
    static const char inside[] = "/store/jetstream/$G/streams/VLP/msgs/index.db";
    char path[192];
    const int length = snprintf(path, sizeof path, "%s%s", den->folder, inside);
    for (char *at = path + length - strlen(inside) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
        *at = '/';
    }
    fclose(fopen(path, "w"));
}

/* 2.9 would open it, and have back what was removed. */
static void test_a_store_of_a_newer_server_is_not_opened_by_an_older_one(void **state) {
    static const struct {
        const char *version;
        bool has_index, is_opened;
    } cases[] = {{"2.9.10", false, true}, {"2.9.10", true, false}, {"1.4.1", true, false},
                 {"2.10.0", true, true},  {"2.15.1", true, true},  {"3.0.0-dev", true, true},
                 {"dev", true, true}};
    struct den *den = *state;
    char path[128];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_binary(den, cases[i].version, path);
        if (cases[i].has_index) {
            write_index(den);
        }
        const enum parley_status status = create(den, path);
        assert_int_equal(status, cases[i].is_opened ? PARLEY_OK : PARLEY_E_IO);
        if (cases[i].is_opened) {
            embedded_destroy(den->embedded);
            loop_destroy(&den->loop);
        } else {
            assert_non_null(strstr(den->error, "written by nats-server 2.10 or newer"));
            assert_non_null(strstr(den->error, cases[i].version));
        }
    }
}

static void test_a_binary_that_dies_is_told_and_frees_the_folder(void **state) {
    struct den *den = *state;
    assert_int_equal(create(den, "/bin/false"), PARLEY_E_IO);
    assert_non_null(strstr(den->error, "does not start"));
    start(den, false);
    wait_ready(den);
}

static void test_a_folder_that_is_not_there_is_told(void **state) {
    struct den *den = *state;
    rmdir(den->folder);
    assert_int_equal(create(den, NULL), PARLEY_E_IO);
    assert_non_null(strstr(den->error, den->folder));
}

static bool is_refused(void *context) {
    struct den *den = context;
    if (den->acks > 0 && den->ack.outcome != JETSTREAM_STORED) {
        return true;
    }
    if (den->acks > 0 || den->published != JETSTREAM_PUBLISHED) {
        publish(den);
    }
    return false;
}

static bool is_stored_again(void *context) {
    struct den *den = context;
    if (den->acks > 0 && den->ack.outcome == JETSTREAM_STORED) {
        return true;
    }
    if (den->acks > 0 || den->published != JETSTREAM_PUBLISHED) {
        publish(den);
    }
    return false;
}

/* Until a server other than `former` answers. */
static void wait_for_another(const struct den *den, pid_t former) {
    for (int tries = 0; child_of(getpid()) == former || !nats_server_answers(den->port); tries++) {
        assert_true(tries < LOOP_PATIENCE_MS / 2);
        loop_pause();
    }
}

/* On a file system of 16 MB, in a mount namespace of this process. */
static void test_a_full_disk_is_survived(void **state) {
    struct den *den = *state;
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", den->folder, "tmpfs", 0, "size=16m") != 0) {
        skip(); /* takes a privilege */
    }
    start(den, true);
    wait_ready(den);
    assert_int_equal(store(den), 1);
    char path[128];
    snprintf(path, sizeof path, "%s/filler", den->folder);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    static const char zeros[65536];
    while (write(fd, zeros, sizeof zeros) > 0) {
    }
    close(fd);
    const pid_t child = child_of(getpid());
    loop_do(&den->loop, expect_away, den);
    loop_do(&den->loop, publish, den);
    assert_true(loop_wait(&den->loop, is_refused, den, LOOP_PATIENCE_MS));
    /* Found out, and replaced by one that starts while the disk is full. */
    assert_true(loop_wait(&den->loop, was_away, den, LOOP_PATIENCE_MS));
    wait_for_another(den, child);
    unlink(path);
    /* It may still find out what it could not write before. */
    loop_do(&den->loop, publish, den);
    assert_true(loop_wait(&den->loop, is_stored_again, den, LOOP_PATIENCE_MS));
    assert_true(den->ack.sequence >= 2);
    stop_server(den);
    assert_int_equal(umount(den->folder), 0);
}

static bool has_troubles(void *context) {
    return ((struct den *)context)->troubles >= 4;
}

/* Its configuration spoilt, the child dies at each start: it must be tried less and less often. */
static void test_a_child_that_keeps_dying_is_started_less_and_less_often(void **state) {
    struct den *den = *state;
    start(den, false);
    char path[128];
    snprintf(path, sizeof path, "%s/nats.conf", den->folder);
    FILE *file = fopen(path, "w");
    fputs("port: wrong\n", file);
    fclose(file);
    long before = js_world_now_ms();
    kill(child_of(getpid()), SIGKILL);
    assert_true(loop_wait(&den->loop, has_troubles, den, LOOP_PATIENCE_MS));
    assert_true(js_world_now_ms() - before >= 100 + 200 + 400);
    assert_non_null(strstr(den->trouble, "status 1"));
    assert_non_null(strstr(den->trouble, "nats.log"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char *argv[]) {
    if (argc == 3 && strcmp(argv[1], "-c") == 0) {
        return be_child(argv[2]);
    }
    /* Orphans come to this process: in a container, process 1 may wait for none. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const struct CMUnitTest tests[] = {
        TEST(test_it_starts_and_stores),
        TEST(test_it_takes_eight_megabytes),
        TEST(test_its_secrets_are_for_its_owner_only),
        TEST(test_its_files_are_never_written_through_links),
        TEST(test_the_store_survives_a_restart_of_both),
        TEST(test_the_lock_is_empty_after_a_child_that_ended_by_itself),
        TEST(test_a_killed_child_is_restarted_on_its_port_with_its_store),
        TEST(test_a_second_one_in_the_same_folder_is_refused),
        TEST(test_a_killed_parley_takes_its_child_along),
        TEST(test_the_child_inherits_no_files_but_the_lock),
        TEST(test_the_child_inherits_no_signal_mask),
        TEST(test_a_frozen_child_is_replaced),
        TEST(test_a_frozen_child_does_not_outlive_its_parley),
        TEST(test_a_missing_binary_is_told),
        TEST(test_a_store_of_a_newer_server_is_not_opened_by_an_older_one),
        TEST(test_a_binary_that_dies_is_told_and_frees_the_folder),
        TEST(test_a_folder_that_is_not_there_is_told),
        TEST(test_a_child_that_keeps_dying_is_started_less_and_less_often),
        TEST(test_a_full_disk_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
