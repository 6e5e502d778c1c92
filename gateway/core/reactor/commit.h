/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Group commit (ADR 36): data written to a file system is on the disk before an answer that
 * promises it leaves. Such an answer waits for a sync that begins after it was made; one sync at a
 * time serves all waits, on all reactors.
 *
 *   waits that come    A B      C D E        F
 *   syncs               [── 1 ──][── 2 ──]    [── 3 ──]
 *   are done                     A B      C D E         F
 *
 * While no sync is under way the next one begins at the end of a reactor's turn, so that it serves
 * all waits of that turn.
 *
 * A separate thread makes the syncs. When one fails, the kernel has forgotten which data is not on
 * the disk, and a later sync does not report it: so no wait completes from then on, and the owner
 * is notified, who ends the process. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <parley/status.h>

#include "reactor.h"

struct commit;       /* the process's */
struct commit_queue; /* a reactor's */

struct commit_options {
    const char *folder; /* in the file system to be synced; borrowed for the call */
    /* Writes all that the file system of this descriptor holds to the disk, and returns 0, or -1
     * with errno set.  NULL: syncfs. */
    int (*sync)(int fd);
    /* Called on the thread that syncs: after each sync with how long it took, and once, as the last
     * of all, when one has failed, with errno. */
    void (*synced)(void *context, uint64_t ns);
    void (*failed)(void *context, int error);
    void *context;
};

/* Returns: PARLEY_E_IO, with errno set: the folder cannot be opened, or no thread started. */
enum parley_status commit_create(const struct commit_options *options,
                                 struct commit **out) PARLEY_MUST_CHECK;
/* After: all its queues are destroyed. NULL is allowed. */
void commit_destroy(struct commit *commit);

/* `commit` NULL: no data needs to be on the disk, and *out is NULL.  Threads: the reactor's, or any
 * before it runs, as for all functions below. */
enum parley_status commit_queue_create(struct commit *commit, struct reactor *reactor,
                                       struct commit_queue **out) PARLEY_MUST_CHECK;
/* Waits that remain are never completed. The reactor must not run afterwards. NULL is allowed. */
void commit_queue_destroy(struct commit_queue *queue);

/* One wait.  Owns: the caller embeds it, zeroed except `done`, and calls commit_wait_cancel before
 * it frees it. */
struct commit_wait {
    void (*done)(struct commit_wait *wait); /* in a later turn of the reactor */

    /* Private. */
    struct commit_queue *queue; /* NULL while it does not wait */
    uint64_t sync;              /* the number of the one that it waits for; 0: not known so far */
    TAILQ_ENTRY(commit_wait) links;
};

static inline bool commit_is_waiting(const struct commit_wait *wait) {
    return wait->queue != NULL;
}

/* Waits for all that was written so far. It must not wait already. */
void commit_wait_begin(struct commit_queue *queue, struct commit_wait *wait);
/* Harmless when it does not wait. */
void commit_wait_cancel(struct commit_wait *wait);
