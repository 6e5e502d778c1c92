/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The items of a list in the order in which they changed last, so that any number of readers can
 * follow the list: each keeps its place in this order, and takes what changed after it. An item has
 * one place, at which it is what it is now: a reader that is behind skips what came between. What
 * was removed is remembered for the last CHANGES_GONE_KEPT.
 *
 *      the items, by version             what was removed, by version
 *      3 ── 5 ── 8 ── 9 ── 12            7 ── 10
 *                ▲ a reader at 7: takes 8, 9, 10, 12, in this order
 *
 * Threads: any, with the lock of the log, unless it says otherwise. */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <parley/bytes.h>

#include "reactor.h"

enum { CHANGES_GONE_KEPT = 4096 };

/* A place in the log.  Owns: the item embeds it. */
struct change {
    TAILQ_ENTRY(change) link;
    uint64_t version; /* of its last change */
    uint64_t born;    /* the version at which it was added */
    uint32_t slot;    /* a number that no other item has meanwhile, as small as can be */
    uint32_t part;    /* of a log that several lists share, the list; set before it is added */
};
TAILQ_HEAD(changes, change);

/* One that was removed. */
struct change_gone {
    uint64_t version, born;
    uint32_t slot, part;
    char *id;
};

struct change_log {
    pthread_mutex_t *lock;
    struct changes changes;                     /* the one that changed last, last */
    uint64_t epoch;                             /* random: versions are compared within one */
    uint64_t version;                           /* of the newest change */
    struct change_gone gone[CHANGES_GONE_KEPT]; /* the one of position P at P % … */
    uint64_t gone_end;                          /* the position of the next one */
    uint64_t forgotten; /* the version of the newest removal that is not known any more */
    uint32_t *free_slots;
    size_t free_count, free_capacity;
    uint32_t slot_count;
    LIST_HEAD(, change_cursor) amid; /* cursors that have a `next` */
    LIST_HEAD(, change_listener) listeners;
};

/* A reactor that is to hear of changes.  Owns: the caller embeds it, and keeps it until
 * change_log_ignore. */
struct change_listener {
    struct reactor *reactor;
    void (*come)(struct change_listener *listener); /* on the reactor's thread, without the lock */

    /* Private. */
    struct change_log *log; /* NULL: it does not listen */
    bool is_posted;
    LIST_ENTRY(change_listener) link;
};

/* How far a reader is.  Owns: the caller embeds it, zeroed at first, and keeps it until
 * change_cursor_leave. */
struct change_cursor {
    uint64_t epoch, version; /* up to which it has taken everything */

    /* Private. */
    uint64_t gone;       /* the position of the next removal */
    struct change *next; /* the next item; NULL: it is to be looked for */
    LIST_ENTRY(change_cursor) link;
};

/* `lock`: borrowed; it protects the list. Without the lock, like change_log_finish. */
void change_log_init(struct change_log *log, pthread_mutex_t *lock);
/* All items were removed, and all listeners have left. */
void change_log_finish(struct change_log *log);
/* The list begins again, empty: every cursor is lost. */
void change_log_begin(struct change_log *log);

/* Returns: false: there is no memory. */
bool change_log_add(struct change_log *log, struct change *change);
/* The item has changed. */
void change_log_touch(struct change_log *log, struct change *change);
/* `id`: by which readers know it.  Copies it. */
void change_log_remove(struct change_log *log, struct change *change, struct parley_bytes id);
/* Removes an item that no reader shows, of which no cursor is told: a token from before says
 * nothing about it (follow_options.born). */
void change_log_forget(struct change_log *log, struct change *change);
/* Wakes the listeners, though nothing has changed. */
void change_log_wake(struct change_log *log);

/* Takes the lock. On the thread of the listener's reactor, like change_log_ignore, after which
 * `come` is not called. */
void change_log_listen(struct change_log *log, struct change_listener *listener);
/* Takes the lock. Harmless when it does not listen. */
void change_log_ignore(struct change_listener *listener);

/* Places the cursor after what has this version; 0: before all items that there are.
 * Returns: false: it cannot go on from there, since the list began again, or removals after it are
 * no longer known; the cursor is where it was. */
bool change_cursor_place(struct change_log *log, struct change_cursor *cursor, uint64_t epoch,
                         uint64_t version);
void change_cursor_leave(struct change_cursor *cursor);

enum change_taken {
    CHANGE_NONE,
    CHANGE_ITEM,
    CHANGE_GONE,
    CHANGE_LOST, /* too much was removed since, or the list began again: place it again */
};
/* Takes what comes next.  Owns: borrowed, until the lock is given back. */
enum change_taken change_cursor_take(struct change_log *log, struct change_cursor *cursor,
                                     const struct change **out_item,
                                     const struct change_gone **out_gone);
