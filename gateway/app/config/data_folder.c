/* SPDX-License-Identifier: Apache-2.0 */

/* Creates and checks the data folder. The folders above it are not checked: a user who can write
 * there can remove the folder, but cannot add files to it. */

#include "data_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool make_one(const char *path) {
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static bool make_all(const char *folder) {
    char path[4096];
    if (snprintf(path, sizeof path, "%s", folder) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return false;
    }
    for (char *at = path + 1; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            if (!make_one(path)) {
                return false;
            }
            *at = '/';
        }
    }
    return make_one(path);
}

static bool is_our_group(gid_t group) {
    enum { GROUPS_MAX = 65536 };
    if (group == getegid()) {
        return true;
    }
    gid_t *groups = calloc(GROUPS_MAX, sizeof *groups);
    const int count = groups != NULL ? getgroups(GROUPS_MAX, groups) : 0;
    bool is_ours = false;
    for (int i = 0; i < count; i++) {
        is_ours = is_ours || groups[i] == group;
    }
    free(groups);
    return is_ours;
}

static bool fail_to_write(const char *folder, char *error, size_t error_size) {
    snprintf(error, error_size,
             "cannot write to the data folder %s: %s; give another one with --data", folder,
             strerror(errno));
    return false;
}

/* Checks a folder that exists. */
static bool is_ours_alone(const char *folder, char *error, size_t error_size) {
    struct stat status;
    if (access(folder, W_OK | X_OK) != 0 || stat(folder, &status) != 0) {
        return fail_to_write(folder, error, error_size);
    }
    if (status.st_uid != geteuid() && status.st_uid != 0) {
        snprintf(error, error_size,
                 "the data folder %s belongs to another user (id %u, parley runs as %u): chown it, "
                 "or give another one with --data",
                 folder, (unsigned)status.st_uid, (unsigned)geteuid());
        return false;
    }
    const bool is_group_foreign = (status.st_mode & S_IWGRP) != 0 && !is_our_group(status.st_gid);
    if ((status.st_mode & S_IWOTH) != 0 || is_group_foreign) {
        snprintf(error, error_size,
                 "the data folder %s can be written by other users (mode %04o): chmod go-w it, or "
                 "choose a new folder in it with --data %s/parley, which parley creates",
                 folder, (unsigned)status.st_mode & 07777, folder);
        return false;
    }
    return true;
}

bool data_folder_prepare(const char *folder, char *error, size_t error_size) {
    return make_all(folder) ? is_ours_alone(folder, error, error_size)
                            : fail_to_write(folder, error, error_size);
}

/* Whether make_all could make it. */
static bool can_be_made(const char *folder) {
    char path[4096];
    struct stat status;
    if (snprintf(path, sizeof path, "%s", folder) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return false;
    }
    while (stat(path, &status) != 0) {
        char *slash = strrchr(path, '/');
        if (errno != ENOENT) {
            return false;
        }
        snprintf(slash != NULL ? slash : path, 2, "%s",
                 slash == path   ? "/"
                 : slash == NULL ? "."
                                 : "");
    }
    errno = ENOTDIR;
    return S_ISDIR(status.st_mode) && access(path, W_OK | X_OK) == 0;
}

bool data_folder_check(const char *folder, char *error, size_t error_size) {
    struct stat status;
    if (stat(folder, &status) == 0) {
        return is_ours_alone(folder, error, error_size);
    }
    return can_be_made(folder) || fail_to_write(folder, error, error_size);
}
