/* SPDX-License-Identifier: Apache-2.0 */

/* A supervisor for one nats-server. It starts the child, notices its death by a pidfd on the
 * reactor, and starts it again on the same port, less and less often while it keeps dying. It does
 * not check whether the child still works: the bus probes it and reports that (embedded_replace);
 * nor does it wait for a restarted child to be ready, since the bus finds it by itself. Only the
 * first start is waited for, and only that may choose another port. */

#include "embedded.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <parley/buffer.h>

#include "embedded_blocks.h"
#include "embedded_fit.h"

enum {
    LOCK_PATIENCE_MS = 3000, /* a child of a parley that was just killed may still be exiting */
    START_PATIENCE_MS = 10000,
    START_TRIES = 3, /* of ports */
    START_GRACE_MS = 1000,
    STOP_PATIENCE_MS = 5000,
    POLL_MS = 20,
    BACKOFF_MIN_MS = 100,
    BACKOFF_MAX_MS = 5000,
    LIFE_LONG_ENOUGH_MS = 10000, /* to forget the lives before */
    LOG_CHECK_MS = 60 * 1000,
    LOG_BYTES_MAX = 16 * 1024 * 1024,
    TOKEN_BYTES = 24,
    FD_FLOOR = 10, /* our own are above this, so that the child's can be put at 0 to 3 */
    LOCK_FD_OF_CHILD = 3,
};

struct embedded {
    struct reactor *reactor;
    struct embedded_events events;
    char *data;   /* absolute */
    char *binary; /* absolute */
    char token[2 * TOKEN_BYTES + 1];
    char name[32]; /* of the server: shows that the answer comes from our child */
    char url[48];
    int port;
    int lock_fd, log_fd, null_fd;

    pid_t pid;                  /* 0 if there is none */
    struct reactor_watch death; /* its pidfd, -1 if there is none */
    struct reactor_timer restart;
    struct reactor_timer log_check;
    int64_t started_ms;
    int64_t backoff_ms;
    bool is_replaced; /* we killed it to start another */
    bool is_old;      /* nats-server is older than 2.10 */
};

static void pause_ms(int ms) {
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

/* ---- files ---- */

/* Opens a file of the data folder, far above the standard descriptors, and never through a link:
 * the data would be written to the target of the link. */
static int open_data(const struct embedded *embedded, const char *name, int flags) {
    char *path = NULL;
    if (asprintf(&path, "%s/%s", embedded->data, name) < 0) {
        return -1;
    }
    /* Without O_NONBLOCK a named pipe would block the start; on a file it has no effect. */
    int low = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    free(path);
    if (low < 0) {
        return -1;
    }
    int high = fcntl(low, F_DUPFD_CLOEXEC, FD_FLOOR);
    close(low);
    return high;
}

static char *path_of(const struct embedded *embedded, const char *name, const char *ending) {
    char *path = NULL;
    return asprintf(&path, "%s/%s%s", embedded->data, name, ending) >= 0 ? path : NULL;
}

/* Replaces the old file, of any kind and with any permissions, by a new one. */
static bool write_data(const struct embedded *embedded, const char *name,
                       struct parley_bytes text) {
    char *path = path_of(embedded, name, ""), *draft = path_of(embedded, name, ".new");
    bool is_written = false;
    if (path != NULL && draft != NULL) {
        unlink(draft); /* of a parley that was killed */
        const int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        is_written = fd >= 0 && write(fd, text.data, text.length) == (ssize_t)text.length;
        is_written = fd >= 0 && close(fd) == 0 && is_written && rename(draft, path) == 0;
    }
    free(path);
    free(draft);
    return is_written;
}

static bool lock_folder(struct embedded *embedded) {
    embedded->lock_fd = open_data(embedded, "lock", O_RDWR | O_CREAT);
    if (embedded->lock_fd < 0) {
        return false;
    }
    for (int64_t end_ms = reactor_clock_ms() + LOCK_PATIENCE_MS;;) {
        if (flock(embedded->lock_fd, LOCK_EX | LOCK_NB) == 0) {
            return true;
        }
        if ((errno != EWOULDBLOCK && errno != EINTR) || reactor_clock_ms() > end_ms) {
            return false;
        }
        pause_ms(POLL_MS);
    }
}

/* Adds a string as nats-server's configuration requires it. */
static void add_quoted(struct parley_buffer *text, const char *value) {
    parley_buffer_char(text, '"');
    for (; *value != '\0'; value++) {
        if (*value == '"' || *value == '\\') {
            parley_buffer_char(text, '\\');
        }
        parley_buffer_char(text, *value);
    }
    parley_buffer_char(text, '"');
}

static bool write_configuration(struct embedded *embedded) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_format(&text,
                         "# Written by parley at each start.\n"
                         "server_name: \"%s\"\n"
                         "host: \"127.0.0.1\"\n"
                         "port: %d\n"
                         "max_payload: 8388608\n"
                         /* The bytes that all readers together may leave unread for a moment. */
                         "max_pending: 268435456\n"
                         "authorization { token: \"%s\" }\n"
                         /* Otherwise it is three quarters of the space that is free now: started on
                          * a full disk, the server would refuse its own streams for as long as it
                          * runs. */
                         "jetstream { max_file: 1125899906842624, store_dir: ",
                         embedded->name, embedded->port, embedded->token);
    char *store = NULL;
    if (asprintf(&store, "%s/store", embedded->data) >= 0) {
        add_quoted(&text, store);
        free(store);
    }
    parley_buffer_text(&text, " }\n");
    const bool is_written = store != NULL && parley_buffer_status(&text) == PARLEY_OK &&
                            write_data(embedded, "nats.conf", parley_buffer_bytes(&text));
    parley_buffer_finish(&text);
    return is_written;
}

/* Publishes for other programs how to connect. */
static bool write_url(struct embedded *embedded) {
    char text[sizeof embedded->url + sizeof embedded->token];
    snprintf(text, sizeof text, "nats://%s@127.0.0.1:%d\n", embedded->token, embedded->port);
    return write_data(embedded, "nats.url", parley_bytes_of(text));
}

/* ---- whether the last child ended by itself ---- */

static bool ended_badly(const struct embedded *embedded) {
    struct stat status;
    return fstat(embedded->lock_fd, &status) == 0 && status.st_size > 0;
}

/* The note is on the disk before the child writes anything. A full disk prevents the note, but no
 * start. */
static void note_life(const struct embedded *embedded) {
    static const char text[] = "nats-server runs, or did not end by itself\n";
    if (pwrite(embedded->lock_fd, text, sizeof text - 1, 0) > 0) {
        fsync(embedded->lock_fd);
    }
}

/* The child's data is on the disk before that is noted: the power may fail later. */
static void note_end(const struct embedded *embedded) {
    if (syncfs(embedded->lock_fd) == 0 && ftruncate(embedded->lock_fd, 0) != 0) {
        /* Then the next start takes longer. */
    }
}

/* The log is the child's standard error, so that it has the reason of a crash as well. It is
 * written with O_APPEND: after it is emptied, it continues at its beginning. */
static void check_log(struct reactor_timer *timer) {
    struct embedded *embedded = OWNER_OF(timer, struct embedded, log_check);
    struct stat status;
    if (fstat(embedded->log_fd, &status) == 0 && status.st_size > LOG_BYTES_MAX &&
        ftruncate(embedded->log_fd, 0) != 0) {
        /* Then it keeps growing; the next check tries again. */
    }
    reactor_timer_set(embedded->reactor, timer, LOG_CHECK_MS);
}

/* ---- the binary and the port ---- */

static char *binary_in(const char *folder, size_t length) {
    char *path = NULL;
    if (length == 0 || asprintf(&path, "%.*s/nats-server", (int)length, folder) < 0) {
        return NULL;
    }
    if (access(path, X_OK) == 0) {
        return path;
    }
    free(path);
    return NULL;
}

static char *find_binary(const char *wanted) {
    if (wanted != NULL) {
        return access(wanted, X_OK) == 0 ? realpath(wanted, NULL) : NULL;
    }
    const char *folder = getenv("PATH");
    while (folder != NULL) {
        size_t length = strcspn(folder, ":");
        char *binary = binary_in(folder, length);
        if (binary != NULL) {
            return binary;
        }
        folder = folder[length] == ':' ? folder + length + 1 : NULL;
    }
    const char *others[] = {"/usr/sbin", "/usr/local/bin"};
    char *binary = NULL;
    for (size_t i = 0; binary == NULL && i < sizeof others / sizeof others[0]; i++) {
        binary = binary_in(others[i], strlen(others[i]));
    }
    return binary;
}

static void report_missing(const char *wanted, char *error, size_t error_size) {
    snprintf(error, error_size,
             "nats-server is not installed%s%s: install it (on Debian: apt install nats-server), "
             "or give the URL of a running one with --nats",
             wanted != NULL ? " at " : "", wanted != NULL ? wanted : "");
}

bool embedded_is_installed(char *error, size_t error_size) {
    char *binary = find_binary(NULL);
    const bool is_installed = binary != NULL;
    if (!is_installed) {
        report_missing(NULL, error, error_size);
    }
    free(binary);
    return is_installed;
}

static struct sockaddr_in loopback(int port) {
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* Another program may take it before the child does: hence the tries. */
static bool choose_port(struct embedded *embedded) {
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool has_port = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
                    getsockname(fd, (struct sockaddr *)&address, &size) == 0;
    if (fd >= 0) {
        close(fd);
    }
    embedded->port = ntohs(address.sin_port);
    snprintf(embedded->url, sizeof embedded->url, "nats://127.0.0.1:%d", embedded->port);
    return has_port;
}

/* Whether the server that answers there with INFO bears our name. */
static bool answers(const struct embedded *embedded) {
    struct sockaddr_in address = loopback(embedded->port);
    char said[1024];
    ssize_t length = -1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        poll(&wait, 1, 10 * POLL_MS) == 1) {
        length = recv(fd, said, sizeof said, 0);
    }
    if (fd >= 0) {
        close(fd);
    }
    return length > 0 && memmem(said, (size_t)length, "INFO ", 5) == said &&
           memmem(said, (size_t)length, embedded->name, strlen(embedded->name)) != NULL;
}

/* ---- the child ---- */

/* Runs in the child, after fork, in a program of many threads: only system calls are allowed. */
static _Noreturn void become_server(const struct embedded *embedded, pid_t parent,
                                    char *const arguments[]) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) { /* it died before we asked to die with it */
        _exit(1);
    }
    setsid(); /* the terminal's Ctrl-C is for parley, which ends us when it has drained */
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    dup2(embedded->null_fd, STDIN_FILENO);
    dup2(embedded->log_fd, STDOUT_FILENO);
    dup2(embedded->log_fd, STDERR_FILENO);
    dup2(embedded->lock_fd, LOCK_FD_OF_CHILD); /* held for its whole life */
    close_range(LOCK_FD_OF_CHILD + 1, ~0U, 0);
    execv(embedded->binary, arguments);
    _exit(127);
}

static bool spawn(struct embedded *embedded) {
    char *path = NULL;
    if (asprintf(&path, "%s/nats.conf", embedded->data) < 0) {
        return false;
    }
    char name[] = "nats-server", option[] = "-c";
    char *const arguments[] = {name, option, path, NULL};
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        become_server(embedded, parent, arguments);
    }
    free(path);
    if (pid < 0) {
        return false;
    }
    embedded->pid = pid;
    embedded->started_ms = reactor_clock_ms();
    embedded->is_replaced = false;
    embedded->death.fd = pidfd_open(pid, 0);
    return embedded->death.fd >= 0;
}

static bool is_dead(const struct embedded *embedded) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)embedded->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid != 0;
}

/* Waits for its end; returns its wait status. */
static int reap(struct embedded *embedded) {
    int status = 0;
    while (waitpid(embedded->pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (embedded->death.fd >= 0) {
        close(embedded->death.fd);
    }
    embedded->death.fd = -1;
    embedded->pid = 0;
    return status;
}

/* Returns: whether it ended by itself. */
static bool end_child(struct embedded *embedded) {
    kill(embedded->pid, SIGTERM);
    for (int64_t end_ms = reactor_clock_ms() + STOP_PATIENCE_MS;
         !is_dead(embedded) && reactor_clock_ms() < end_ms;) {
        pause_ms(POLL_MS);
    }
    kill(embedded->pid, SIGKILL); /* it may hang because of a full disk, and ignore SIGTERM */
    return WIFEXITED(reap(embedded));
}

/* ---- keeping it alive ---- */

static void complain(const struct embedded *embedded, const char *what, int64_t delay_ms) {
    char text[512];
    snprintf(text, sizeof text,
             "nats-server %s; it is started again in %d ms, and %s/nats.log may "
             "say why",
             what, (int)delay_ms, embedded->data);
    embedded->events.trouble(embedded->events.context, text);
}

static void restart_later(struct embedded *embedded, const char *what) {
    if (reactor_clock_ms() - embedded->started_ms > LIFE_LONG_ENOUGH_MS) {
        embedded->backoff_ms = BACKOFF_MIN_MS;
    }
    reactor_timer_set(embedded->reactor, &embedded->restart, embedded->backoff_ms);
    complain(embedded, what, embedded->backoff_ms);
    embedded->backoff_ms *= 2;
    if (embedded->backoff_ms > BACKOFF_MAX_MS) {
        embedded->backoff_ms = BACKOFF_MAX_MS;
    }
}

static void on_restart(struct reactor_timer *timer) {
    struct embedded *embedded = OWNER_OF(timer, struct embedded, restart);
    if (spawn(embedded) &&
        reactor_watch_add(embedded->reactor, &embedded->death, EPOLLIN) == PARLEY_OK) {
        if (embedded->events.restarted != NULL) {
            embedded->events.restarted(embedded->events.context);
        }
        return;
    }
    if (embedded->pid != 0) { /* it runs, but we should not notice its end */
        kill(embedded->pid, SIGKILL);
        reap(embedded);
    }
    restart_later(embedded, "could not be started");
}

static void on_death(struct reactor_watch *watch, uint32_t epoll_events) {
    (void)epoll_events;
    struct embedded *embedded = OWNER_OF(watch, struct embedded, death);
    reactor_watch_remove(embedded->reactor, watch);
    int status = reap(embedded);
    if (embedded->is_replaced) {
        reactor_timer_set(embedded->reactor, &embedded->restart, 0);
        return;
    }
    char what[64];
    if (WIFSIGNALED(status)) {
        snprintf(what, sizeof what, "was killed by signal %d", WTERMSIG(status));
    } else {
        snprintf(what, sizeof what, "ended with status %d", WEXITSTATUS(status));
    }
    restart_later(embedded, what);
}

void embedded_replace(struct embedded *embedded) {
    bool is_starting = reactor_clock_ms() - embedded->started_ms < START_GRACE_MS;
    if (embedded->pid != 0 && !is_starting) {
        embedded->is_replaced = true;
        kill(embedded->pid, SIGKILL);
    }
}

/* ---- creation ---- */

static bool first_start(struct embedded *embedded) {
    for (int tries = 0; tries < START_TRIES; tries++) {
        if (!choose_port(embedded) || !write_configuration(embedded) || !spawn(embedded)) {
            break;
        }
        int64_t end_ms = reactor_clock_ms() + START_PATIENCE_MS;
        while (!is_dead(embedded) && reactor_clock_ms() < end_ms) {
            if (answers(embedded)) {
                return true;
            }
            pause_ms(POLL_MS);
        }
        bool is_late = !is_dead(embedded);
        kill(embedded->pid, SIGKILL);
        reap(embedded);
        if (is_late) {
            break;
        }
    }
    if (embedded->pid != 0) {
        kill(embedded->pid, SIGKILL);
        reap(embedded);
    }
    return false;
}

static bool prepare(struct embedded *embedded, const struct embedded_options *options, char *error,
                    size_t error_size) {
    embedded->data = realpath(options->data, NULL);
    if (embedded->data == NULL) {
        snprintf(error, error_size, "the data folder %s cannot be used: %s", options->data,
                 strerror(errno));
        return false;
    }
    embedded->binary = find_binary(options->binary);
    if (embedded->binary == NULL) {
        report_missing(options->binary, error, error_size);
        return false;
    }
    if (!lock_folder(embedded)) {
        snprintf(error, error_size,
                 embedded->lock_fd < 0 || errno != EWOULDBLOCK
                     ? "the data folder %s cannot be written: give this user write permission, "
                       "or choose another folder with --data"
                     : "the data folder %s is in use by another parley: stop that one, or choose "
                       "another folder with --data",
                 embedded->data);
        return false;
    }
    embedded->log_fd = open_data(embedded, "nats.log", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    embedded->null_fd = null_fd >= 0 ? fcntl(null_fd, F_DUPFD_CLOEXEC, FD_FLOOR) : -1;
    close(null_fd);
    if (embedded->log_fd < 0 || embedded->null_fd < 0) {
        snprintf(error, error_size, "%s/nats.log cannot be written: %s", embedded->data,
                 strerror(errno));
        return false;
    }
    return true;
}

/* After: prepare: the folder is locked. */
static bool can_read_store(struct embedded *embedded, char *error, size_t error_size) {
    char *store = path_of(embedded, "store", "");
    const bool can_read = store == NULL || embedded_fits(embedded->binary, store, &embedded->is_old,
                                                         error, error_size);
    free(store);
    return can_read;
}

static void on_cut(void *context, const char *stream, uint64_t bytes) {
    const struct embedded *embedded = context;
    if (embedded->events.damaged != NULL) {
        embedded->events.damaged(embedded->events.context, stream, bytes);
    }
}

/* A nats-server before 2.10 that finds a message damaged cuts the file off there, but continues to
 * count from that message's sequence: messages that it then adds to the file, and acknowledges, it
 * never finds again. Started once more it counts right, if nothing was written before. So it is
 * started and ended before anything can connect to it. */
static bool start_to_repair(struct embedded *embedded) {
    char *store = path_of(embedded, "store", "");
    struct embedded_blocks *blocks = store != NULL ? embedded_blocks_note(store) : NULL;
    const bool is_started = blocks != NULL && first_start(embedded);
    if (is_started) {
        end_child(embedded);
        embedded_blocks_compare(blocks, on_cut, embedded);
    }
    embedded_blocks_free(blocks);
    free(store);
    return is_started;
}

static bool start(struct embedded *embedded) {
    const bool is_sound = !embedded->is_old || !ended_badly(embedded) || start_to_repair(embedded);
    note_life(embedded);
    if (!is_sound || !first_start(embedded)) {
        return false;
    }
    if (!write_url(embedded)) {
        end_child(embedded);
        return false;
    }
    return true;
}

static void make_secrets(struct embedded *embedded) {
    unsigned char random[TOKEN_BYTES];
    randombytes_buf(random, sizeof random);
    sodium_bin2hex(embedded->token, sizeof embedded->token, random, sizeof random);
    sodium_memzero(random, sizeof random);
    snprintf(embedded->name, sizeof embedded->name, "parley-%08x%08x", randombytes_random(),
             randombytes_random());
}

enum parley_status embedded_create(struct reactor *reactor, const struct embedded_options *options,
                                   const struct embedded_events *events, char *error,
                                   size_t error_size, struct embedded **out) {
    struct embedded *embedded = calloc(1, sizeof *embedded);
    if (embedded == NULL || sodium_init() < 0) {
        snprintf(error, error_size, "out of memory");
        free(embedded);
        return PARLEY_E_MEMORY;
    }
    embedded->reactor = reactor;
    embedded->events = *events;
    embedded->lock_fd = embedded->log_fd = embedded->null_fd = embedded->death.fd = -1;
    embedded->death.ready = on_death;
    embedded->restart.fire = on_restart;
    embedded->log_check.fire = check_log;
    embedded->backoff_ms = BACKOFF_MIN_MS;
    make_secrets(embedded);
    if (!prepare(embedded, options, error, error_size) ||
        !can_read_store(embedded, error, error_size)) {
        embedded_destroy(embedded);
        return PARLEY_E_IO;
    }
    if (!start(embedded) || reactor_watch_add(reactor, &embedded->death, EPOLLIN) != PARLEY_OK) {
        snprintf(error, error_size,
                 "nats-server (%s) does not start: see %s/nats.log, and check whether the disk "
                 "is full",
                 embedded->binary, embedded->data);
        embedded_destroy(embedded);
        return PARLEY_E_IO;
    }
    reactor_timer_set(reactor, &embedded->log_check, LOG_CHECK_MS);
    *out = embedded;
    return PARLEY_OK;
}

const char *embedded_url(const struct embedded *embedded) {
    return embedded->url;
}

const char *embedded_token(const struct embedded *embedded) {
    return embedded->token;
}

/* The server that it names no longer runs. */
static void remove_url(const struct embedded *embedded) {
    char *path = NULL;
    if (asprintf(&path, "%s/nats.url", embedded->data) >= 0) {
        unlink(path);
        free(path);
    }
}

static void close_if_open(int fd) {
    if (fd >= 0) {
        close(fd);
    }
}

void embedded_destroy(struct embedded *embedded) {
    if (embedded == NULL) {
        return;
    }
    reactor_timer_clear(embedded->reactor, &embedded->restart);
    reactor_timer_clear(embedded->reactor, &embedded->log_check);
    if (embedded->pid != 0) {
        reactor_watch_remove(embedded->reactor, &embedded->death);
        if (end_child(embedded)) {
            note_end(embedded);
        }
        remove_url(embedded);
    }
    close_if_open(embedded->log_fd);
    close_if_open(embedded->null_fd);
    close_if_open(embedded->lock_fd);
    sodium_memzero(embedded->token, sizeof embedded->token);
    free(embedded->data);
    free(embedded->binary);
    free(embedded);
}
