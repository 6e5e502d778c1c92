/* SPDX-License-Identifier: Apache-2.0 */

/* It writes in pieces of SPOOL_PIECE, blocking: a file of the page cache, which is what the data
 * folder is, does not make a reactor wait. Before each piece it asks for room: one atomic addition
 * and one fstatvfs, which costs little beside the write. */

#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { SPOOL_PIECE = 64 * 1024 };

void spool_init(struct spool *spool, const char *folder, struct spool_quota *quota) {
    *spool = (struct spool){.folder = folder, .quota = quota, .fd = -1};
    parley_buffer_init(&spool->tail);
}

static void give_back(struct spool *spool, uint64_t bytes) {
    atomic_fetch_sub_explicit(&spool->quota->used_bytes, bytes, memory_order_relaxed);
}

void spool_finish(struct spool *spool) {
    give_back(spool, spool->file_bytes);
    spool->file_bytes = 0;
    if (spool->fd >= 0) {
        close(spool->fd);
    }
    parley_buffer_finish(&spool->tail);
    spool->fd = -1;
}

static int open_nameless(const char *folder) {
    char path[4096];
    if (snprintf(path, sizeof path, "%s/spool-XXXXXX", folder) >= (int)sizeof path) {
        return -1;
    }
    const int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0) {
        unlink(path);
    }
    return fd;
}

/* Whether the disk keeps its reserve.  A file system that does not say how large it is has room. */
static bool disk_has_room(const struct spool *spool, uint64_t bytes) {
    struct statvfs disk;
    if (fstatvfs(spool->fd, &disk) != 0 || disk.f_blocks == 0) {
        return true;
    }
    const uint64_t size = (uint64_t)disk.f_blocks * disk.f_frsize;
    const uint64_t left = (uint64_t)disk.f_bavail * disk.f_frsize;
    uint64_t reserve = size / SPOOL_DISK_RESERVE_SHARE;
    reserve = reserve > SPOOL_DISK_RESERVE_BYTES ? reserve : SPOOL_DISK_RESERVE_BYTES;
    return left >= reserve && left - reserve >= bytes;
}

/* Returns: whether the file may grow by so much; then it is taken from the quota. */
static bool take_room(struct spool *spool, uint64_t bytes) {
    struct spool_quota *quota = spool->quota;
    const uint64_t used =
        atomic_fetch_add_explicit(&quota->used_bytes, bytes, memory_order_relaxed);
    const uint64_t max = atomic_load_explicit(&quota->max_bytes, memory_order_relaxed);
    if (used <= max && bytes <= max - used && disk_has_room(spool, bytes)) {
        return true;
    }
    give_back(spool, bytes);
    return false;
}

enum flushed { FLUSHED, FLUSH_NO_ROOM, FLUSH_FAILED };

static enum flushed write_tail(struct spool *spool) {
    size_t done = 0;
    while (done < spool->tail.length) {
        const ssize_t written =
            pwrite(spool->fd, spool->tail.data + done, spool->tail.length - done,
                   (off_t)(spool->file_bytes + done));
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0 && (errno == ENOSPC || errno == EDQUOT)) {
            return FLUSH_NO_ROOM; /* the others of this disk were faster */
        }
        if (written <= 0) {
            return FLUSH_FAILED;
        }
        done += (size_t)written;
    }
    return FLUSHED;
}

/* Moves the part in memory to the file.  Returns: whether there was room for it; one that fails
 * says so in has_failed. */
static bool flush_tail(struct spool *spool) {
    const size_t length = spool->tail.length;
    if (spool->fd < 0) {
        spool->fd = open_nameless(spool->folder);
    }
    if (spool->fd < 0) {
        spool->has_failed = true;
        return false;
    }
    if (!take_room(spool, length)) {
        return false;
    }
    const enum flushed flushed = write_tail(spool);
    if (flushed != FLUSHED) {
        spool->has_failed = flushed == FLUSH_FAILED;
        give_back(spool, length);
        return false;
    }
    spool->file_bytes += length;
    parley_buffer_clear(&spool->tail);
    return true;
}

bool spool_has_room(struct spool *spool) {
    return spool->tail.length < SPOOL_PIECE || spool->has_failed || flush_tail(spool) ||
           spool->has_failed;
}

bool spool_write(struct spool *spool, struct parley_bytes bytes) {
    if (spool->tail.length + bytes.length > SPOOL_PIECE && spool->tail.length > 0 &&
        !spool->has_failed) {
        flush_tail(spool);
    }
    if (spool->has_failed) {
        return false;
    }
    parley_buffer_append(&spool->tail, bytes);
    if (spool->tail.has_failed) {
        spool->tail.has_failed = false; /* the results kept before are whole */
        spool->has_failed = true;
    }
    return !spool->has_failed;
}

struct parley_buffer *spool_open(struct spool *spool) {
    if (!spool->has_failed && spool->tail.length >= SPOOL_PIECE) {
        flush_tail(spool);
    }
    return spool->has_failed ? NULL : &spool->tail;
}

void spool_take_back(struct spool *spool, size_t length) {
    spool->tail.length = length;
    spool->tail.has_failed = false;
}

/* The file keeps its content until all of it was read. */
uint64_t spool_forget(struct spool *spool, uint64_t offset) {
    if (offset == spool_length(spool)) {
        if (spool->file_bytes > 0 && ftruncate(spool->fd, 0) != 0) {
            return offset;
        }
        give_back(spool, spool->file_bytes);
        spool->file_bytes = 0;
        parley_buffer_clear(&spool->tail);
        return 0;
    }
    if (spool->file_bytes > 0) {
        return offset;
    }
    spool->tail.length -= (size_t)offset;
    memmove(spool->tail.data, spool->tail.data + offset, spool->tail.length);
    return 0;
}

uint64_t spool_length(const struct spool *spool) {
    return spool->file_bytes + spool->tail.length;
}

ssize_t spool_read(const struct spool *spool, uint64_t offset, char *buffer, size_t size) {
    if (offset >= spool->file_bytes) {
        const size_t start = (size_t)(offset - spool->file_bytes);
        const size_t left = spool->tail.length - start;
        const size_t count = left < size ? left : size;
        if (count > 0) {
            memcpy(buffer, spool->tail.data + start, count);
        }
        return (ssize_t)count;
    }
    const uint64_t left = spool->file_bytes - offset;
    const size_t wanted = left < size ? (size_t)left : size;
    ssize_t count;
    do {
        count = pread(spool->fd, buffer, wanted, (off_t)offset);
    } while (count < 0 && errno == EINTR);
    return count > 0 ? count : -1;
}
