/* SPDX-License-Identifier: Apache-2.0 */

#include "private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool fail(struct parley_buffer *error, const char *what) {
    parley_buffer_format(error, "%s: %s", what, strerror(errno));
    return false;
}

bool private_file_exists(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 || errno != ENOENT;
}

/* ---- reading ---- */

static bool is_our_group(gid_t group) {
    enum { GROUPS_MAX = 256 };
    gid_t groups[GROUPS_MAX];
    const int count = getgroups(GROUPS_MAX, groups);
    bool is_ours = group == getegid();
    for (int i = 0; i < count; i++) {
        is_ours = is_ours || groups[i] == group;
    }
    return is_ours;
}

static bool is_private(const struct stat *status) {
    const mode_t others = status->st_mode & (S_IRWXG | S_IRWXO) & ~(mode_t)(S_IXGRP | S_IXOTH);
    const bool is_mounted =
        others == S_IRGRP && status->st_uid == 0 && geteuid() != 0 && is_our_group(status->st_gid);
    return others == 0 || is_mounted;
}

static bool check(const char *path, const struct stat *status, bool is_public, size_t bytes_max,
                  struct parley_buffer *error) {
    if (!S_ISREG(status->st_mode)) {
        parley_buffer_text(error, "not a regular file");
    } else if (status->st_uid != geteuid() && status->st_uid != 0) {
        parley_buffer_format(error,
                             "it belongs to another user (id %u, parley runs as %u): chown it",
                             (unsigned)status->st_uid, (unsigned)geteuid());
    } else if (is_public && (status->st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        parley_buffer_format(error, "other users may write it (mode %04o): chmod go-w %s",
                             (unsigned)status->st_mode & 07777, path);
    } else if (!is_public && !is_private(status)) {
        parley_buffer_format(error, "other users may read or write it (mode %04o): chmod 600 %s",
                             (unsigned)status->st_mode & 07777, path);
    } else if ((uintmax_t)status->st_size > bytes_max) {
        parley_buffer_format(error, "it is larger than %zu bytes", bytes_max);
    } else {
        return true;
    }
    return false;
}

/* The file may grow while it is read; if it changes, the next look reads it again. */
static bool read_all(int fd, size_t bytes_max, struct parley_buffer *out,
                     struct parley_buffer *error) {
    char piece[16 * 1024];
    for (size_t length = 0; length <= bytes_max;) {
        const ssize_t count = read(fd, piece, sizeof piece);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return fail(error, "cannot read it");
        }
        if (count == 0) {
            return true;
        }
        length += (size_t)count;
        parley_buffer_append(out, (struct parley_bytes){piece, (size_t)count});
    }
    parley_buffer_format(error, "it is larger than %zu bytes", bytes_max);
    return false;
}

static bool read_file(const char *path, bool is_public, size_t bytes_max, struct parley_buffer *out,
                      struct parley_buffer *error) {
    struct stat status;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return fail(error, "cannot open it");
    }
    bool is_read = fstat(fd, &status) == 0 && check(path, &status, is_public, bytes_max, error) &&
                   read_all(fd, bytes_max, out, error);
    close(fd);
    if (is_read && parley_buffer_status(out) != PARLEY_OK) {
        parley_buffer_text(error, parley_status_text(PARLEY_E_MEMORY));
        is_read = false;
    }
    return is_read;
}

bool private_file_read(const char *path, size_t bytes_max, struct parley_buffer *out,
                       struct parley_buffer *error) {
    return read_file(path, false, bytes_max, out, error);
}

bool public_file_read(const char *path, size_t bytes_max, struct parley_buffer *out,
                      struct parley_buffer *error) {
    return read_file(path, true, bytes_max, out, error);
}

/* ---- writing ---- */

/* Writes the folder of a path, "." where it names none. */
static bool folder_of(const char *path, char out[PATH_MAX]) {
    const char *slash = strrchr(path, '/');
    const size_t length = slash == NULL ? 1 : slash == path ? 1 : (size_t)(slash - path);
    if (length >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(out, slash == NULL ? "." : path, length);
    out[length] = '\0';
    return true;
}

static bool write_all(int fd, struct parley_bytes text) {
    while (text.length > 0) {
        const ssize_t count = write(fd, text.data, text.length);
        if (count < 0 && errno != EINTR) {
            return false;
        }
        const size_t written = count > 0 ? (size_t)count : 0;
        text = (struct parley_bytes){text.data + written, text.length - written};
    }
    return fsync(fd) == 0;
}

/* So that the new name outlives a power failure. */
static bool sync_folder(const char *path) {
    char folder[PATH_MAX];
    const int fd = folder_of(path, folder) ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    const bool is_synced = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return is_synced;
}

static bool replace(const char *path, struct parley_bytes text) {
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= (int)sizeof temporary) {
        errno = ENAMETOOLONG;
        return false;
    }
    const int fd = mkostemp(temporary, O_CLOEXEC); /* with mode 0600 */
    if (fd < 0) {
        return false;
    }
    const bool is_written = write_all(fd, text);
    const bool is_closed = close(fd) == 0;
    if (!is_written || !is_closed || rename(temporary, path) != 0) {
        const int error = errno;
        unlink(temporary);
        errno = error;
        return false;
    }
    return sync_folder(path);
}

bool private_file_replace(const char *path, struct parley_bytes text, struct parley_buffer *error) {
    char resolved[PATH_MAX];
    const char *real = realpath(path, resolved) != NULL ? resolved : path;
    return replace(real, text) || fail(error, "cannot write it");
}

int private_file_lock(const char *path, struct parley_buffer *error) {
    char folder[PATH_MAX];
    const int fd = folder_of(path, folder) ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0 || flock(fd, LOCK_EX) != 0) {
        parley_buffer_format(error, "cannot use the folder of %s: %s", path, strerror(errno));
        private_file_unlock(fd);
        return -1;
    }
    return fd;
}

void private_file_unlock(int lock) {
    if (lock >= 0) {
        close(lock);
    }
}
