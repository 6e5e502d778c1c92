/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads a key-value bucket in order, on one reactor: first its content, then each new entry. After
 * a connection that broke, it continues where it was; when the bucket was deleted and made again,
 * it begins again. */

#include <parley/bytes.h>

#include "jetstream.h"

struct bucket_watch;

/* Owns: borrowed for the call. */
struct bucket_entry {
    struct parley_bytes key;
    struct parley_bytes value; /* data NULL: the key was deleted or purged */
    uint64_t sequence;         /* of the bucket's stream; the later one of a key counts */
    int64_t time_ns;           /* when it was stored, Unix time */
};

/* The order of calls:
 *
 *   began, entry…, current, entry…, away, entry…, current, …   the bucket is unchanged
 *   away, began, entry…, current, …                            it was made again
 *   began, entry…, began, entry…, current, …                   nats-server skipped some of it
 *
 * It is away for a moment, too, where an entry may have been skipped that was written since. */
struct bucket_watch_events {
    /* Forget all entries: those of this bucket follow, from its first one on. */
    void (*began)(void *context);
    void (*entry)(void *context, const struct bucket_entry *entry);
    /* All that the bucket held has been delivered, and new entries come within milliseconds. */
    void (*current)(void *context);
    /* The watch is known to be no longer current: the connection, the consumer or the bucket is
     * lost. Only after `current`. It may take 6 s to notice. */
    void (*away)(void *context);
    /* Entries before this sequence no longer exist, by age or because they were purged without a
     * mark: called now and then while it is current. May be NULL. */
    void (*kept_from)(void *context, uint64_t first_sequence);
    void *context;
};

/* Begins in the background, and tries for as long as it is open; a missing bucket is waited for.
 * Owns: copies bucket and events; borrows the rest; returns a new watch, which the caller closes
 * before the jetstream. */
enum parley_status bucket_watch_open(struct reactor *reactor, struct jetstream *jetstream,
                                     const char *bucket, const struct bucket_watch_events *events,
                                     struct bucket_watch **out) PARLEY_MUST_CHECK;
/* Must not be called from its own callbacks. NULL is allowed. */
void bucket_watch_close(struct bucket_watch *watch);

bool bucket_watch_is_current(const struct bucket_watch *watch);
