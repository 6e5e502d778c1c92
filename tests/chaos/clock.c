/* SPDX-License-Identifier: Apache-2.0 */
/* A clock that can be set: preloaded into a program, it shifts the time of day by as many seconds
 * as the file $CHAOS_CLOCK_FILE says. The monotonic clock is left alone, as it is where an
 * administrator sets the clock. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
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

typedef int timedwait_fn(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);

/* The newest: dlsym may find the one of before 2003, whose condition variables are others. */
static timedwait_fn *find_timedwait(void) {
    static const char *const versions[] = {"GLIBC_2.3.2", "GLIBC_2.17"}; /* x86-64; arm64 */
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        void *found = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", versions[i]);
        if (found != NULL) {
            return (timedwait_fn *)found;
        }
    }
    return (timedwait_fn *)dlsym(RTLD_NEXT, "pthread_cond_timedwait");
}

/* The kernel waits by its own clock: until a time of this one it would wait longer by the shift, a
 * day, say. A time of the monotonic clock, which is not shifted, is that since the start. */
int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until) {
    static timedwait_fn *timedwait;
    struct timespec real, shifted = *until;
    if (timedwait == NULL) {
        timedwait = find_timedwait();
    }
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &real);
    if (until->tv_sec > real.tv_sec / 2) {
        shifted.tv_sec -= offset();
    }
    return timedwait(condition, mutex, &shifted);
}
