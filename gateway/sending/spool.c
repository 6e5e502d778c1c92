/* SPDX-License-Identifier: Apache-2.0 */

/* The spool of bulk results. It writes in pieces of SPOOL_PIECE, blocking: a file of the page
 * cache, which is what the data folder is, does not make a reactor wait for anybody. */

#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SPOOL_PIECE = 64 * 1024 };

void spool_init(struct spool *spool, const char *folder) {
    *spool = (struct spool){.folder = folder, .fd = -1};
    parley_buffer_init(&spool->tail);
}

void spool_finish(struct spool *spool) {
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

static bool flush_tail(struct spool *spool) {
    if (spool->fd < 0) {
        spool->fd = open_nameless(spool->folder);
    }
    if (spool->fd < 0) {
        return false;
    }
    size_t done = 0;
    while (done < spool->tail.length) {
        const ssize_t written =
            pwrite(spool->fd, spool->tail.data + done, spool->tail.length - done,
                   (off_t)(spool->file_bytes + done));
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return false;
        }
        done += (size_t)written;
    }
    spool->file_bytes += done;
    parley_buffer_clear(&spool->tail);
    return true;
}

bool spool_write(struct spool *spool, struct parley_bytes bytes) {
    if (spool->has_failed) {
        return false;
    }
    if (spool->tail.length + bytes.length > SPOOL_PIECE && spool->tail.length > 0 &&
        !flush_tail(spool)) {
        spool->has_failed = true;
        return false;
    }
    parley_buffer_append(&spool->tail, bytes);
    if (spool->tail.has_failed) {
        spool->tail.has_failed = false; /* what was kept before is whole */
        spool->has_failed = true;
    }
    return !spool->has_failed;
}

struct parley_buffer *spool_open(struct spool *spool) {
    if (!spool->has_failed && spool->tail.length >= SPOOL_PIECE) {
        spool->has_failed = !flush_tail(spool);
    }
    return spool->has_failed ? NULL : &spool->tail;
}

void spool_take_back(struct spool *spool, size_t length) {
    spool->tail.length = length;
    spool->tail.has_failed = false;
}

/* What is in the file stays there until all of it was read. */
uint64_t spool_forget(struct spool *spool, uint64_t offset) {
    if (offset == spool_length(spool)) {
        if (spool->file_bytes > 0 && ftruncate(spool->fd, 0) != 0) {
            return offset;
        }
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
