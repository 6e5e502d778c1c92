/* SPDX-License-Identifier: Apache-2.0 */

/* publish URL FILE [by-all-means]: what nats.c can do at best. It publishes each line of FILE to
 * JetStream, a window of them at a time, waits for all acks, and prints how many were stored and
 * refused, and the seconds that it took, of the clock and of the processor. It validates nothing,
 * and the file lies in memory before the clock starts. */

#include "bare_nats.h"

#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WINDOW = 4096, EVENTS_MAX = 8 };

struct publisher {
    struct bare_nats *nats;
    const char *next, *end;
    uint32_t published_count, stored_count, refused_count;
};

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double cpu_s(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

static void acked(void *context, uint32_t slot, bool is_stored) {
    (void)slot;
    struct publisher *publisher = context;
    publisher->stored_count += is_stored ? 1 : 0;
    publisher->refused_count += is_stored ? 0 : 1;
}

static uint32_t waiting_count(const struct publisher *publisher) {
    return publisher->published_count - publisher->stored_count - publisher->refused_count;
}

static void fill_window(struct publisher *publisher) {
    while (publisher->next < publisher->end && waiting_count(publisher) < WINDOW) {
        size_t rest = (size_t)(publisher->end - publisher->next);
        const char *newline = memchr(publisher->next, '\n', rest);
        size_t length = newline != NULL ? (size_t)(newline - publisher->next) : rest;
        bare_nats_publish(publisher->nats, publisher->published_count++, publisher->next, length);
        publisher->next += length + (newline != NULL ? 1 : 0);
    }
}

static void publish_all(struct publisher *publisher, int loop) {
    while (publisher->next < publisher->end || waiting_count(publisher) > 0) {
        struct epoll_event events[EVENTS_MAX];
        fill_window(publisher);
        bare_nats_write(publisher->nats);
        int count = epoll_wait(loop, events, EVENTS_MAX, -1);
        for (int i = 0; i < count; i++) {
            bare_nats_read(publisher->nats, events[i].events);
        }
    }
}

static void read_file(struct publisher *publisher, const char *name) {
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) {
        err(1, "%s", name);
    }
    size_t length = (size_t)status.st_size;
    publisher->next = mmap(NULL, length, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (publisher->next == MAP_FAILED) {
        err(1, "%s", name);
    }
    publisher->end = publisher->next + length;
    close(fd);
}

int main(int argc, char **argv) {
    struct publisher publisher = {0};
    bool is_by_all_means = bare_nats_is_by_all_means(argc, argv, 3, "publish NATS-URL FILE");
    int loop = epoll_create1(EPOLL_CLOEXEC);
    if (loop < 0) {
        err(1, "epoll_create1");
    }
    read_file(&publisher, argv[2]);
    publisher.nats = bare_nats_open(argv[1], loop, is_by_all_means, acked, &publisher);
    double start = now_s(), cpu_start = cpu_s();
    publish_all(&publisher, loop);
    printf("%u %u %.6f %.6f\n", publisher.stored_count, publisher.refused_count, now_s() - start,
           cpu_s() - cpu_start);
    return 0;
}
