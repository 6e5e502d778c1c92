/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What of an object for the store (object_layout.h) is known before the verdict on its message: its
 * place in the text, and its digest, for which all of it is read. The worker pool looks for them
 * while the body arrives, and beside the check. Only of JSON on one line, which is stored as it is.
 */

#include <stdatomic.h>

#include "gateway.h"
#include "object_layout.h"
#include "worker_pool.h"

/*   NEW ── the member is there ──▶ DIGESTING ── its end ──▶ DIGESTED ── the text is whole ──▶ KNOWN
 *   NEW ── not yet ──▶ LATE ── the text is whole, and has it ──▶ DIGESTING
 *   any ── there is none, the text has line breaks, or it is unwanted ──▶ UNKNOWN
 */
enum ahead_phase {
    AHEAD_NEW,
    AHEAD_LATE, /* it is looked for when the text is whole */
    AHEAD_DIGESTING,
    AHEAD_DIGESTED,
    AHEAD_KNOWN,
    AHEAD_UNKNOWN,
};

/* Zeroed at first, but for `member`.  Threads: one at a time, but for what is atomic. */
struct ahead {
    const char *member;         /* of the message: the object; NULL: it is not looked for */
    atomic_bool is_unwanted;    /* stops it soon */
    atomic_bool is_interrupted; /* ends ahead_look soon; it is called again */
    enum ahead_phase phase;
    struct object_digest native;
    struct object_scan scan;
    struct parley_bytes text; /* the result, once KNOWN: without its line end … */
    size_t start, end;        /* … the object in it, and until then how far it was read … */
    char digest[OBJECT_DIGEST_MAX];
};

/* Goes on with `text`, which is the whole, or what came of it so far; it may have moved. */
void ahead_look(struct ahead *ahead, struct parley_bytes text, bool is_whole);
/* Frees what an unfinished digest takes; harmless otherwise. */
void ahead_finish(struct ahead *ahead);

/* ---- while the body arrives ---- */

#define AHEAD_BYTES_MIN (4u << 20) /* for the pool at a time */

/* Zeroed at first, but for `done`.  Threads: the gateway's reactor. */
struct ahead_task {
    struct ahead ahead;
    void (*done)(struct ahead_task *task); /* it is idle again */
    bool is_busy;                          /* the pool has it, and reads `text` */
    struct parley_bytes text;
    struct worker_pool_task task; /* private, like what follows */
    LIST_ENTRY(ahead_task) links; /* of the gateway's, while it is busy */
};

/* Has the pool look at `text`, if that has grown by enough since the last time, and the task is
 * idle.  Owns: `text` is borrowed, and stays where it is, while the task is busy. */
void ahead_go_on(struct ahead_task *task, struct gateway *gateway, struct parley_bytes text);
/* Takes it back from the pool, or, if a thread has begun it, interrupts it.  Returns: whether the
 * task is idle; if not, `done` follows soon. */
bool ahead_settle(struct ahead_task *task, struct gateway *gateway);
/* When the gateway's completion queue is closed: calls `done` of those that are busy. */
void aheads_abandon(struct gateway *gateway);
