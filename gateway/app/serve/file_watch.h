/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Notices that a file has become another one. It is looked at once a second, by its path: that
 * sees editors that write in place, atomic renames, and the symbolic links by which Kubernetes
 * changes a mounted secret, and costs a system call. */

#include <stdbool.h>
#include <sys/stat.h>

#include "reactor.h"

/* Owns: the caller embeds it; zeroed is valid and does not watch. */
struct file_watch {
    const char *path;
    void (*changed)(struct file_watch *watch);
    struct reactor *reactor;
    struct reactor_timer timer;
    struct stat seen; /* zeroed: there was no file */
};

/* Remembers how the file is now: before it is read for the first time.
 * Owns: `path` is borrowed until file_watch_stop. */
void file_watch_init(struct file_watch *watch, const char *path);
/* Calls `changed` when the file changes, appears or is removed. Owns: the reactor is borrowed until
 * file_watch_stop. */
void file_watch_start(struct file_watch *watch, struct reactor *reactor,
                      void (*changed)(struct file_watch *watch));
void file_watch_stop(struct file_watch *watch);
