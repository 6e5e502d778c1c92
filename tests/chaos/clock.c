/* SPDX-License-Identifier: Apache-2.0 */
/* A clock that can be set: preloaded into a program, it shifts the time of day by as many seconds
 * as the file $CHAOS_CLOCK_FILE says. The monotonic clock is left alone, as it is where an
 * administrator sets the clock. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* Read at each call: the file is a few bytes, and in the page cache. Nothing here allocates, since
 * allocators ask for the time. */
static time_t offset(void) {
    const char *path = getenv("CHAOS_CLOCK_FILE");
    char text[32] = "";
    const int file = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) {
        return 0;
    }
    const ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    return length > 0 ? strtol(text, NULL, 10) : 0;
}

int clock_gettime(clockid_t id, struct timespec *out) {
    const int result = (int)syscall(SYS_clock_gettime, id, out);
    if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
        out->tv_sec += offset();
    }
    return result;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL) {
        *out = now.tv_sec;
    }
    return now.tv_sec;
}
