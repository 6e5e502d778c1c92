/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Moments at which something happens and nothing is stored: a task has expired, the lease of its
 * holder has lapsed. What notices them adds them; each reactor that tells of them is woken, and
 * each who tells of them takes one after the other from its own position on. The newest ones are
 * kept: who is further behind than that misses the oldest.
 *
 * Threads: any, for all that does not say otherwise; a lock protects it. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <parley/protocol.h>

#include "reactor.h"

enum { MOMENTS_KEPT = 4096 };

/* Texts whose data is NULL are not known.  Owns: one that is given to moments_add borrows all; one
 * that was taken has one allocation with all texts, and never changes. */
struct moment {
    const struct parley_protocol *protocol;
    const char *what; /* "expired", "lapsed": static */
    uint64_t number;  /* among those of the same thing, 0: there is one */
    int64_t at_ms;    /* Unix time */
    /* The thing, and its thread; whom it concerns; … */
    struct parley_bytes thread, receiver, domain, priority;
    struct parley_bytes data; /* … the same for programs: a JSON object */
    unsigned reference_count; /* private */
};

struct moments;

/* A reactor that is to hear of new ones.  Owns: the caller embeds it, and keeps it until
 * moments_ignore. */
struct moments_listener {
    struct reactor *reactor;
    void (*come)(struct moments_listener *listener); /* on the reactor's thread; some have come */

    /* Private. */
    struct moments *moments; /* NULL: it does not listen */
    bool is_posted;
    LIST_ENTRY(moments_listener) link;
};

/* Returns: NULL: no memory. */
struct moments *moments_create(void);
/* All listeners must have left. NULL is allowed. */
void moments_destroy(struct moments *moments);

/* Adds it, unless it is among those that are kept. Without memory it is left out. */
void moments_add(struct moments *moments, const struct moment *moment);

/* Threads: that of the listener's reactor, or before it runs; so is moments_ignore, after which
 * `come` is not called. */
void moments_listen(struct moments *moments, struct moments_listener *listener);
/* Harmless when it does not listen. */
void moments_ignore(struct moments_listener *listener);

/* One who may not miss any.  Owns: the caller embeds it, zeroed at first, and keeps it until
 * moments_let_go. */
struct moments_hold {
    uint64_t position; /* for moments_take; private */
    LIST_ENTRY(moments_hold) link;
};

/* From the next one on: moments_have_room says false before that would be dropped. */
void moments_hold(struct moments *moments, struct moments_hold *hold);
void moments_let_go(struct moments *moments, struct moments_hold *hold);
/* Whether more may be added: who notices them waits otherwise. */
bool moments_have_room(struct moments *moments);

/* The position after the newest one. */
uint64_t moments_end(struct moments *moments);
/* Takes the first one from a position on, and moves the position behind it.  Owns: returns a
 * reference.  Returns: NULL: there is none so far. */
const struct moment *moments_take(struct moments *moments, uint64_t *position);
/* NULL is allowed. */
void moment_unref(const struct moment *moment);
