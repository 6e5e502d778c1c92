/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Results that wait for the end of their body: a little in memory, the rest in a file of the data
 * folder that has no name, so that nothing is left behind whatever happens. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <parley/buffer.h>

struct spool {
    const char *folder;        /* borrowed */
    struct parley_buffer tail; /* what is not in the file yet */
    int fd;                    /* -1: no file yet */
    uint64_t file_bytes;
    bool has_failed; /* the disk is full, the folder is gone: nothing more is kept */
};

void spool_init(struct spool *spool, const char *folder);
void spool_finish(struct spool *spool);

/* Keeps `bytes`.  Returns: whether it could. */
bool spool_write(struct spool *spool, struct parley_bytes bytes);

/* How much is kept. */
uint64_t spool_length(const struct spool *spool);

/* Copies up to `size` bytes from `offset` on.  Returns: how many, 0 at the end, -1 when the file
 * cannot be read. */
ssize_t spool_read(const struct spool *spool, uint64_t offset, char *buffer, size_t size);

/* The end of what is kept, to write a result there and nowhere else; spool_take_back undoes that.
 * Returns: NULL: nothing more can be kept. */
struct parley_buffer *spool_open(struct spool *spool);
/* Forgets what was written to the open end behind `length`, and that there was no memory for it. */
void spool_take_back(struct spool *spool, size_t length);

/* What is in front of `offset` was read for the last time.  Returns: where that is from now on. */
uint64_t spool_forget(struct spool *spool, uint64_t offset);
