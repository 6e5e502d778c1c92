/* SPDX-License-Identifier: Apache-2.0 */

/* See crowd.h. */

#include "crowd.h"

#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum {
    OTHER_FILES = 64, /* besides the readers' */
    OPENING_MAX = 64, /* that wait for their heads at a time, so that no queue overflows */
    EVENTS_MAX = 256,
    OPEN_WAIT_MS = 10000,
    READ_BYTES = 64 * 1024,
};

static void raise_file_limit(size_t count) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        err(1, "getrlimit");
    }
    if (limit.rlim_max < count + OTHER_FILES) {
        errx(1, "%zu readers need a limit of open files (ulimit -Hn) above %llu", count,
             (unsigned long long)limit.rlim_max);
    }
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        err(1, "setrlimit");
    }
}

uint64_t crowd_read(struct reader *reader) {
    static char data[READ_BYTES];
    uint64_t before = reader->answer.line_count;
    ssize_t count = recv(reader->fd, data, sizeof data, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    if (count <= 0) {
        errx(1, "the connection of a reader has ended");
    }
    chunked_take(&reader->answer, data, (size_t)count);
    return reader->answer.line_count - before;
}

static void open_one(struct crowd *crowd, struct reader *reader, const char *port,
                     const char *target) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = reader};
    reader->fd = client_connect(port);
    client_send_get(reader->fd, port, target);
    if (epoll_ctl(crowd->epoll_fd, EPOLL_CTL_ADD, reader->fd, &event) != 0) {
        err(1, "epoll_ctl");
    }
}

static void take_heads(struct crowd *crowd) {
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(crowd->epoll_fd, events, EVENTS_MAX, OPEN_WAIT_MS);
    if (count <= 0) {
        errx(1, "only %zu of %zu readers were answered", crowd->open_count, crowd->count);
    }
    for (int i = 0; i < count; i++) {
        struct reader *reader = events[i].data.ptr;
        bool was_open = chunked_has_head(&reader->answer);
        crowd_read(reader);
        crowd->open_count += !was_open && chunked_has_head(&reader->answer) ? 1 : 0;
    }
}

void crowd_open(struct crowd *crowd, const char *port, const char *target, size_t count) {
    raise_file_limit(count);
    *crowd = (struct crowd){.count = count,
                            .epoll_fd = epoll_create1(EPOLL_CLOEXEC),
                            .readers = calloc(count, sizeof *crowd->readers)};
    if (crowd->epoll_fd < 0 || crowd->readers == NULL) {
        err(1, "opening %zu readers", count);
    }
    size_t begun = 0;
    while (crowd->open_count < count) {
        while (begun < count && begun - crowd->open_count < OPENING_MAX) {
            open_one(crowd, &crowd->readers[begun++], port, target);
        }
        take_heads(crowd);
    }
}
