/* SPDX-License-Identifier: Apache-2.0 */

#include "file_watch.h"

enum { LOOK_MS = 1000 };

static bool is_same_time(const struct timespec *a, const struct timespec *b) {
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool is_same(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           is_same_time(&a->st_mtim, &b->st_mtim) && is_same_time(&a->st_ctim, &b->st_ctim);
}

static void look(const char *path, struct stat *out) {
    if (stat(path, out) != 0) {
        *out = (struct stat){0};
    }
}

static void fire(struct reactor_timer *timer) {
    struct file_watch *watch = OWNER_OF(timer, struct file_watch, timer);
    struct stat now;
    look(watch->path, &now);
    reactor_timer_set(watch->reactor, timer, LOOK_MS);
    if (!is_same(&now, &watch->seen)) {
        watch->seen = now; /* before it is read: a change in between is seen next time */
        watch->changed(watch);
    }
}

void file_watch_init(struct file_watch *watch, const char *path) {
    *watch = (struct file_watch){.path = path, .timer = {.fire = fire}};
    look(path, &watch->seen);
}

void file_watch_start(struct file_watch *watch, struct reactor *reactor,
                      void (*changed)(struct file_watch *watch)) {
    watch->changed = changed;
    watch->reactor = reactor;
    reactor_timer_set(reactor, &watch->timer, LOOK_MS);
}

void file_watch_stop(struct file_watch *watch) {
    if (watch->reactor != NULL) {
        reactor_timer_clear(watch->reactor, &watch->timer);
    }
}
