/* SPDX-License-Identifier: Apache-2.0 */

/* See change_log.h. A reader that keeps up has no `next`: what is new since is looked for from the
 * end. One that is amid the items has it, and the log moves it on when that item moves. */

#include "change_log.h"

#include <sodium.h>
#include <stdlib.h>

/* ---- listeners ---- */

static void on_posted(void *context) {
    struct change_listener *listener = context;
    if (listener->log == NULL) {
        return;
    }
    pthread_mutex_lock(listener->log->lock);
    listener->is_posted = false;
    pthread_mutex_unlock(listener->log->lock);
    listener->come(listener);
}

void change_log_wake(struct change_log *log) {
    struct change_listener *listener;
    LIST_FOREACH(listener, &log->listeners, link) {
        listener->is_posted = listener->is_posted ||
                              reactor_post(listener->reactor, on_posted, listener) == PARLEY_OK;
    }
}

void change_log_listen(struct change_log *log, struct change_listener *listener) {
    pthread_mutex_lock(log->lock);
    listener->log = log;
    LIST_INSERT_HEAD(&log->listeners, listener, link);
    pthread_mutex_unlock(log->lock);
}

void change_log_ignore(struct change_listener *listener) {
    struct change_log *log = listener->log;
    if (log != NULL) {
        pthread_mutex_lock(log->lock);
        LIST_REMOVE(listener, link);
        listener->log = NULL;
        pthread_mutex_unlock(log->lock);
    }
}

/* ---- its items ---- */

static void set_next(struct change_log *log, struct change_cursor *cursor, struct change *next) {
    const bool was_amid = cursor->next != NULL;
    cursor->next = next;
    if (was_amid && next == NULL) {
        LIST_REMOVE(cursor, link);
    } else if (!was_amid && next != NULL) {
        LIST_INSERT_HEAD(&log->amid, cursor, link);
    }
}

/* Before the item leaves its place. */
static void move_cursors_on(struct change_log *log, const struct change *change) {
    struct change_cursor *following;
    for (struct change_cursor *cursor = LIST_FIRST(&log->amid); cursor != NULL;
         cursor = following) {
        following = LIST_NEXT(cursor, link);
        if (cursor->next == change) {
            set_next(log, cursor, TAILQ_NEXT(change, link));
        }
    }
}

static void append(struct change_log *log, struct change *change) {
    change->version = ++log->version;
    TAILQ_INSERT_TAIL(&log->changes, change, link);
}

/* So that each slot can be given back without memory. */
static bool reserve_slot(struct change_log *log) {
    enum { FIRST = 64 };
    if (log->free_count > 0 || log->slot_count < log->free_capacity) {
        return true;
    }
    const size_t capacity = log->free_capacity > 0 ? 2 * log->free_capacity : FIRST;
    uint32_t *slots = realloc(log->free_slots, capacity * sizeof *slots);
    if (slots != NULL) {
        log->free_slots = slots;
        log->free_capacity = capacity;
    }
    return slots != NULL;
}

bool change_log_add(struct change_log *log, struct change *change) {
    if (!reserve_slot(log)) {
        return false;
    }
    change->slot = log->free_count > 0 ? log->free_slots[--log->free_count] : log->slot_count++;
    append(log, change);
    change->born = change->version;
    change_log_wake(log);
    return true;
}

void change_log_touch(struct change_log *log, struct change *change) {
    move_cursors_on(log, change);
    TAILQ_REMOVE(&log->changes, change, link);
    append(log, change);
    change_log_wake(log);
}

static void forget_oldest(struct change_log *log) {
    struct change_gone *place = &log->gone[log->gone_end % CHANGES_GONE_KEPT];
    if (log->gone_end >= CHANGES_GONE_KEPT) {
        log->forgotten = place->version;
    }
    free(place->id);
    place->id = NULL;
}

void change_log_remove(struct change_log *log, struct change *change, struct parley_bytes id) {
    move_cursors_on(log, change);
    TAILQ_REMOVE(&log->changes, change, link);
    forget_oldest(log);
    log->gone[log->gone_end % CHANGES_GONE_KEPT] =
        (struct change_gone){.version = ++log->version,
                             .born = change->born,
                             .slot = change->slot,
                             .part = change->part,
                             .id = parley_bytes_copy(id)}; /* NULL: no memory */
    log->gone_end++;
    log->free_slots[log->free_count++] = change->slot;
    change_log_wake(log);
}

void change_log_forget(struct change_log *log, struct change *change) {
    move_cursors_on(log, change);
    TAILQ_REMOVE(&log->changes, change, link);
    log->free_slots[log->free_count++] = change->slot;
}

/* ---- its life ---- */

void change_log_begin(struct change_log *log) {
    for (size_t i = 0; i < CHANGES_GONE_KEPT; i++) {
        free(log->gone[i].id);
        log->gone[i] = (struct change_gone){0};
    }
    log->gone_end = log->forgotten = log->version = 0;
    randombytes_buf(&log->epoch, sizeof log->epoch);
    change_log_wake(log);
}

void change_log_init(struct change_log *log, pthread_mutex_t *lock) {
    *log = (struct change_log){.lock = lock};
    TAILQ_INIT(&log->changes);
    LIST_INIT(&log->amid);
    LIST_INIT(&log->listeners);
    change_log_begin(log);
}

void change_log_finish(struct change_log *log) {
    for (size_t i = 0; i < CHANGES_GONE_KEPT; i++) {
        free(log->gone[i].id);
    }
    free(log->free_slots);
}

/* ---- cursors ---- */

static uint64_t first_gone(const struct change_log *log) {
    return log->gone_end > CHANGES_GONE_KEPT ? log->gone_end - CHANGES_GONE_KEPT : 0;
}

static const struct change_gone *gone_at(const struct change_log *log, uint64_t position) {
    return position < log->gone_end ? &log->gone[position % CHANGES_GONE_KEPT] : NULL;
}

/* Of those that are kept, the first after a version, by halving. */
static uint64_t gone_after(const struct change_log *log, uint64_t version) {
    uint64_t low = first_gone(log), high = log->gone_end;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (gone_at(log, middle)->version > version) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

bool change_cursor_place(struct change_log *log, struct change_cursor *cursor, uint64_t epoch,
                         uint64_t version) {
    if (epoch != log->epoch || version > log->version ||
        (version > 0 && version < log->forgotten)) {
        return false;
    }
    set_next(log, cursor, NULL);
    cursor->epoch = epoch;
    cursor->version = version;
    cursor->gone = version > 0 ? gone_after(log, version) : log->gone_end;
    return true;
}

void change_cursor_leave(struct change_cursor *cursor) {
    if (cursor->next != NULL) {
        LIST_REMOVE(cursor, link);
        cursor->next = NULL;
    }
}

/* The first item that changed after what the cursor has taken. One that has taken nothing begins at
 * the first. */
static struct change *find_next(const struct change_log *log, const struct change_cursor *cursor) {
    struct change *found = NULL, *change = TAILQ_LAST(&log->changes, changes);
    if (cursor->version == 0) {
        return TAILQ_FIRST(&log->changes);
    }
    while (change != NULL && change->version > cursor->version) {
        found = change;
        change = TAILQ_PREV(change, changes, link);
    }
    return found;
}

enum change_taken change_cursor_take(struct change_log *log, struct change_cursor *cursor,
                                     const struct change **out_item,
                                     const struct change_gone **out_gone) {
    if (cursor->epoch != log->epoch || cursor->gone < first_gone(log)) {
        return CHANGE_LOST;
    }
    const struct change_gone *gone = gone_at(log, cursor->gone);
    struct change *item = cursor->next != NULL ? cursor->next : find_next(log, cursor);
    if (gone != NULL && (item == NULL || gone->version < item->version)) {
        cursor->gone++;
        cursor->version = gone->version;
        set_next(log, cursor, item);
        *out_gone = gone;
        return gone->id != NULL ? CHANGE_GONE : CHANGE_LOST;
    }
    if (item == NULL) {
        cursor->version = log->version; /* what was between has moved or is gone */
        return CHANGE_NONE;
    }
    cursor->version = item->version;
    set_next(log, cursor, TAILQ_NEXT(item, link));
    *out_item = item;
    return CHANGE_ITEM;
}
