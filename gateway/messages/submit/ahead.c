/* SPDX-License-Identifier: Apache-2.0 */

/* See ahead.h. */

#include "ahead.h"

#include "one_line.h"

enum { PIECE_BYTES = 64 * 1024 }; /* read from memory once for all that is asked of it */

static struct parley_bytes part_of(struct parley_bytes text, size_t start, size_t end) {
    return (struct parley_bytes){text.data + start, end - start};
}

static void begin(struct ahead *ahead, struct parley_bytes text, bool is_whole) {
    const bool is_there = object_place_begin(text, ahead->member, &ahead->start) == PARLEY_OK &&
                          ahead->start < text.length; /* else a blank may follow that is not its */
    ahead->phase = is_there ? AHEAD_DIGESTING : is_whole ? AHEAD_UNKNOWN : AHEAD_LATE;
    ahead->end = ahead->start;
    if (is_there) {
        object_digest_begin(&ahead->native);
    }
}

static void digest(struct ahead *ahead, struct parley_bytes text) {
    while (!ahead->scan.is_over && ahead->end < text.length &&
           !atomic_load(&ahead->is_interrupted)) {
        const size_t left = text.length - ahead->end;
        const size_t length = left < PIECE_BYTES ? left : PIECE_BYTES;
        struct parley_bytes piece = part_of(text, ahead->end, ahead->end + length);
        piece.length = object_scan_piece(&ahead->scan, piece);
        if (atomic_load(&ahead->is_unwanted) || !one_line_is(piece)) {
            ahead->phase = AHEAD_UNKNOWN;
            return;
        }
        object_digest_add(&ahead->native, piece);
        ahead->end += piece.length;
    }
    ahead->phase = ahead->scan.is_over ? AHEAD_DIGESTED : AHEAD_DIGESTING;
}

/* Blanks after the object are no part of it, and are in the digest: this is left to others. */
static bool is_as_expected(const struct ahead *ahead, struct parley_bytes text) {
    return ahead->end > ahead->start && (unsigned char)text.data[ahead->end - 1] > ' ' &&
           one_line_is(part_of(text, 0, ahead->start)) &&
           one_line_is(part_of(text, ahead->end, text.length));
}

static void conclude(struct ahead *ahead, struct parley_bytes text) {
    const bool is_known = ahead->phase == AHEAD_DIGESTED && is_as_expected(ahead, text) &&
                          object_digest_end(&ahead->native, ahead->digest);
    ahead->phase = is_known ? AHEAD_KNOWN : AHEAD_UNKNOWN;
    ahead->text = text;
    ahead_finish(ahead);
}

void ahead_look(struct ahead *ahead, struct parley_bytes text, bool is_whole) {
    if (is_whole) {
        text = one_line_without_end(text);
    }
    if (ahead->phase == AHEAD_NEW || (ahead->phase == AHEAD_LATE && is_whole)) {
        begin(ahead, text, is_whole);
    }
    if (ahead->phase == AHEAD_DIGESTING) {
        digest(ahead, text);
    }
    if (is_whole) {
        conclude(ahead, text);
    }
}

void ahead_finish(struct ahead *ahead) {
    object_digest_finish(&ahead->native);
}

/* ---- while the body arrives ---- */

static void work(struct worker_pool_task *pool_task) {
    struct ahead_task *task = OWNER_OF(pool_task, struct ahead_task, task);
    ahead_look(&task->ahead, task->text, false);
}

static void rest(struct ahead_task *task) {
    task->is_busy = false;
    atomic_store(&task->ahead.is_interrupted, false);
    LIST_REMOVE(task, links);
}

static void on_worked(struct worker_pool_task *pool_task) {
    struct ahead_task *task = OWNER_OF(pool_task, struct ahead_task, task);
    rest(task);
    task->done(task);
}

void ahead_go_on(struct ahead_task *task, struct gateway *gateway, struct parley_bytes text) {
    const bool is_due = task->ahead.member != NULL && !task->is_busy &&
                        task->ahead.phase <= AHEAD_DIGESTING && task->ahead.phase != AHEAD_LATE &&
                        text.length - task->text.length >= AHEAD_BYTES_MIN;
    if (!is_due || gateway->completions == NULL) {
        return;
    }
    task->is_busy = true;
    task->text = text;
    task->task = (struct worker_pool_task){.work = work, .done = on_worked};
    LIST_INSERT_HEAD(&gateway->aheads, task, links);
    worker_pool_submit(gateway->completions, &task->task);
}

bool ahead_settle(struct ahead_task *task, struct gateway *gateway) {
    if (task->is_busy && worker_pool_withdraw(gateway->worker_pool, &task->task)) {
        rest(task);
    } else if (task->is_busy) {
        atomic_store(&task->ahead.is_interrupted, true);
    }
    return !task->is_busy;
}

void aheads_abandon(struct gateway *gateway) {
    struct ahead_task *task;
    while ((task = LIST_FIRST(&gateway->aheads)) != NULL) {
        on_worked(&task->task);
    }
}
