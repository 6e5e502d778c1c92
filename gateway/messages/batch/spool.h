/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Results that wait to be read: a little in memory, the rest in an unnamed file in the data folder,
 * which is gone with the process. The size of all these files together is bounded, and some of the
 * disk stays free: JetStream writes to the same one. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <parley/buffer.h>

/* The files of all spools together.  Threads: any. */
struct spool_quota {
    atomic_uint_fast64_t max_bytes; /* may change at any time */
    atomic_uint_fast64_t used_bytes;
};

/* A tenth of the disk stays free, and at least this much. */
#define SPOOL_DISK_RESERVE_BYTES (UINT64_C(1) << 30)
#define SPOOL_DISK_RESERVE_SHARE 10

struct spool {
    const char *folder;        /* borrowed */
    struct spool_quota *quota; /* borrowed */
    struct parley_buffer tail; /* the part that is not in the file yet */
    int fd;                    /* -1: no file yet */
    uint64_t file_bytes;       /* taken from the quota */
    bool has_failed;           /* the folder or the memory is gone: nothing more is kept */
};

void spool_init(struct spool *spool, const char *folder, struct spool_quota *quota);
void spool_finish(struct spool *spool);

/* Whether more may be kept without holding more memory than a piece: false when the quota is used
 * up, or the disk down to its reserve; ask again after something was read or others have gone.
 * True also for one that has failed, which says so when it is written to. */
bool spool_has_room(struct spool *spool);

/* Keeps `bytes`, whether or not there is room.  Returns: whether it could. */
bool spool_write(struct spool *spool, struct parley_bytes bytes);

/* How much is kept. */
uint64_t spool_length(const struct spool *spool);

/* Copies up to `size` bytes from `offset` on.  Returns: how many, 0 at the end, -1 when the file
 * cannot be read. */
ssize_t spool_read(const struct spool *spool, uint64_t offset, char *buffer, size_t size);

/* Returns the end of the kept results, to write a result there and nowhere else; spool_take_back
 * undoes that. NULL if no more can be kept. */
struct parley_buffer *spool_open(struct spool *spool);
/* Drops the text written to the open end after `length`, and the note that memory was missing for
 * it. */
void spool_take_back(struct spool *spool, size_t length);

/* Tells it that the part before `offset` was read for the last time.  Returns: the new value of
 * that offset. */
uint64_t spool_forget(struct spool *spool, uint64_t offset);
