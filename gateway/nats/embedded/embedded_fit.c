/* SPDX-License-Identifier: Apache-2.0 */

/* See embedded_fit.h. From 2.10 on nats-server keeps the state of each stream in msgs/index.db, and
 * the marks of removed messages in its blocks; 2.9 knows neither. */

#include "embedded_fit.h"

#include <fcntl.h>
#include <fts.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAID_MAX = 128, PATIENCE_MS = 5000, NEW_MAJOR = 2, NEW_MINOR = 10 };

/* ---- the binary ---- */

static pid_t ask_version(const char *binary, int out_fd) {
    char name[] = "nats-server", option[] = "-v";
    char *const arguments[] = {name, option, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return -1;
    }
    if (posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO) != 0 ||
        posix_spawn(&pid, binary, &actions, NULL, arguments, environ) != 0) {
        pid = -1;
    }
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

/* Reads the first output of the program, with a NUL; "" if there is none in time. */
static void read_said(const char *binary, char said[SAID_MAX]) {
    int ends[2];
    said[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return;
    }
    const pid_t pid = ask_version(binary, ends[1]);
    close(ends[1]);
    struct pollfd wait = {.fd = ends[0], .events = POLLIN};
    if (pid > 0 && poll(&wait, 1, PATIENCE_MS) == 1) {
        const ssize_t length = read(ends[0], said, SAID_MAX - 1);
        said[length > 0 ? length : 0] = '\0';
    }
    close(ends[0]);
    if (pid > 0) {
        kill(pid, SIGKILL); /* it has printed it, or never will */
        waitpid(pid, NULL, 0);
    }
}

/* ---- the store ---- */

static bool is_index(const FTSENT *entry) {
    return entry->fts_info == FTS_F && strcmp(entry->fts_name, "index.db") == 0;
}

static bool has_index(const char *store) {
    char *path = strdup(store);
    char *const paths[] = {path, NULL};
    FTS *walk = path != NULL ? fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
    bool is_found = false;
    const FTSENT *entry;
    while (walk != NULL && !is_found && (entry = fts_read(walk)) != NULL) {
        is_found = is_index(entry);
    }
    if (walk != NULL) {
        fts_close(walk);
    }
    free(path);
    return is_found;
}

bool embedded_fits(const char *binary, const char *store, bool *is_old, char *error,
                   size_t error_size) {
    char said[SAID_MAX];
    unsigned major, minor, patch;
    *is_old = false;
    read_said(binary, said);
    const char *version = strstr(said, ": v");
    if (version == NULL || sscanf(version, ": v%u.%u.%u", &major, &minor, &patch) != 3) {
        return true;
    }
    *is_old = major < NEW_MAJOR || (major == NEW_MAJOR && minor < NEW_MINOR);
    if (!*is_old || !has_index(store)) {
        return true;
    }
    snprintf(error, error_size,
             "%s was written by nats-server 2.10 or newer, and nats-server %u.%u.%u (%s) would "
             "read it wrong: have a newer one found first in PATH, or start with another --data",
             store, major, minor, patch, binary);
    return false;
}
