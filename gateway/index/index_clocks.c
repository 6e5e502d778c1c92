/* SPDX-License-Identifier: Apache-2.0 */

#include "index_clocks.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

void index_clocks_open(struct index_clocks *clocks) {
    clocks->waits_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
}

void index_clocks_close(struct index_clocks *clocks) {
    if (clocks->waits_fd >= 0) {
        close(clocks->waits_fd);
        clocks->waits_fd = -1;
    }
}

static int64_t read_clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The second number of the line: nanoseconds in the run queue. */
static int64_t read_waited(int fd) {
    char line[96], *end;
    const ssize_t length = fd >= 0 ? pread(fd, line, sizeof line - 1, 0) : 0;
    line[length > 0 ? length : 0] = '\0';
    (void)strtoll(line, &end, 10);
    return strtoll(end, NULL, 10);
}

void index_clocks_read(const struct index_clocks *clocks, struct index_pace_sample *out) {
    out->now = read_clock(CLOCK_MONOTONIC);
    out->process = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    out->own = read_clock(CLOCK_THREAD_CPUTIME_ID);
    out->waited = read_waited(clocks->waits_fd);
}

unsigned index_clocks_processors(void) {
    cpu_set_t set;
    const int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count > 0 ? (unsigned)count : 1;
}
