/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The work of one protocol in memory, one board a process: the contents of the bucket of its facts,
 * as a watch delivers them, so that the best open work for an agent is found without asking NATS,
 * and requests that wait for work are woken. It decides nothing: work that is taken from it has yet
 * to be claimed, and the claim is decided by the keys in NATS.
 *
 *            ┌── its claim failed ───┐
 *            ▼                       │
 *   ───▶   open  ──── board_take ──▶ taken ──┐
 *            │                               ├── its key came ──▶ closed (claimed or over)
 *            └───────────────────────────────┘
 *
 * What tries work again that has failed, and said when that is due, becomes open only then; and
 * what an agent holds for a limited time opens again when that has passed.
 *
 * Several may have taken the same, if they claim it by the same message: for the bucket they are
 * one.
 *
 * There is room for a number of pieces of work and of bytes. When it is used up, what has been
 * closed the longest is forgotten first; if nothing is closed, work that is not due yet, and then
 * the open work of the lowest priority, the youngest first, is left out until there is room: then
 * the bucket is read again.
 *
 * Threads: any, for all that does not say otherwise; a lock protects it. */

#include <stddef.h>
#include <sys/queue.h>

#include <parley/protocol.h>
#include <parley/tasks.h>

#include "bucket_watch.h"
#include "fact_store.h"
#include "moments.h"

struct board;
struct board_watching;
struct change_log;
struct follow_ops;

struct board_limits {
    uint64_t attempts_max; /* how often work is given to an agent that does not say it itself; 0:
                              there is no limit */
    size_t works_max;      /* 0: 100,000 */
    size_t bytes_max;      /* 0: 128 MiB */
};

/* Owns: borrows the protocol, which has `tasks`; copies the rest; returns a new board, which the
 * caller destroys once no reactor runs. */
enum parley_status board_create(const struct parley_protocol *protocol, const char *bucket,
                                const struct board_limits *limits,
                                struct board **out) PARLEY_MUST_CHECK;
void board_destroy(struct board *board);

/* Who is told what happens to work by the clock alone (`tell` NULL: no one). */
struct board_teller {
    /* Called with the lock held, on any thread: it may call nothing of the board. */
    void (*tell)(void *context, const struct moment *moment);
    bool (*has_room)(void *context); /* else it is told later; NULL: there is always room */
    void *context;
    int64_t past_ms; /* how long ago it may have been when it is read */
};
/* Before board_begin. */
void board_on_moment(struct board *board, const struct board_teller *teller);

/* ---- its input ---- */

/* Begins to read the bucket on this reactor, if no reactor does so.  Returns: PARLEY_E_MEMORY. */
enum parley_status board_begin(struct board *board, struct reactor *reactor,
                               struct jetstream *jetstream) PARLEY_MUST_CHECK;
/* Before this reactor's jetstream is destroyed. Harmless when another one reads. */
void board_end(struct board *board, const struct reactor *reactor);

/* The events of the watch (bucket_watch.h), with the board as their context; for board_begin, and
 * for tests. */
void board_on_began(void *context);
void board_on_entry(void *context, const struct bucket_entry *entry);
void board_on_current(void *context);
void board_on_kept_from(void *context, uint64_t first_sequence);

/* Adds an entry that this process has written into the bucket, once it is acknowledged and before
 * the watch delivers it. Until the board is current this is left to the watch: many keys far ahead
 * of it would have to be passed for each that it adds. Sequence 0: another gateway has written the
 * key for the same message. For fact_store_on_written, with the board as its context. */
void board_on_written(void *context, const struct bucket_entry *entry);

/* Keeps what is noted of a task, for those who look, and writes the key of the note: at most every
 * 5 s for each task, the last one of that time. For fact_store_on_noted, with the board as its
 * context. Of a task that is not known here nothing is kept. */
void board_on_noted(void *context, const struct bucket_entry *entry);

/* Says what is known here of a key of the bucket, for fact_store_on_known, with the board as its
 * context. */
enum fact_known board_known_fact(void *context, struct parley_bytes key, uint64_t read_to,
                                 struct parley_buffer *out_value);

/* Up to which sequence the bucket was read. */
uint64_t board_read_to(struct board *board);

/* Finds the last turn of a task that is known here, for fact_store_on_series, with the board as its
 * context. */
uint64_t board_last_turn(void *context, struct parley_bytes series,
                         struct parley_buffer *out_value);

/* Whether all entries of the bucket were read at least once, and the reading has not begun again
 * since. */
bool board_is_current(struct board *board);

/* ---- taking work ---- */

/* The work that an agent would do.  Owns: everything is borrowed. */
struct board_wish {
    struct parley_bytes agent;
    const struct parley_bytes *domains, *tasks; /* either suffices; without both any does */
    size_t domain_count, task_count;
    /* By which message it claims; data NULL: each time by another. All who take work with the same
     * one get the same, if it was not claimed before `claimed_since_ms` (Unix time). */
    struct parley_bytes claim_id;
    int64_t claimed_since_ms;
};

#define BOARD_ID_MAX 64
#define BOARD_STREAM_MAX 256
#define BOARD_TIME_MAX 48

/* Work that was found: where its message is. */
struct board_find {
    char id[BOARD_ID_MAX], stream[BOARD_STREAM_MAX];
    char deadline[BOARD_TIME_MAX]; /* "": it has none */
    uint64_t sequence;
    bool is_claimed; /* by the wish's agent and `claim_id` */
    /* If there is none: much was closed on the way, and the search must continue in a later turn.
     */
    bool is_unfinished;
};

/* Takes one of the best `among` pieces of open work, by chance: the most urgent first, then the
 * oldest, addressed to the agent or to no agent; but first the work taken or claimed with the
 * wish's `claim_id`.  Returns: false: there is none. */
bool board_take(struct board *board, const struct board_wish *wish, size_t among,
                struct board_find *out);
/* Takes more of it, which is not addressed by a `claim_id`: of the best `max` those that there are,
 * and with `among` above 1 as many among twice as many, by chance.  Returns: how many. */
size_t board_take_many(struct board *board, const struct board_wish *wish, size_t among,
                       struct board_find *out, size_t max);
/* Opens taken work again that no agent is known to have claimed, and wakes one request that waits
 * for it. */
void board_give_back(struct board *board, const char *id);
/* Closes taken work that is another agent's, or too late: it is not offered again, unless its keys
 * change; if it had lapsed, a second later. */
void board_lost(struct board *board, const char *id);

/* A stream holds nothing before this sequence, by its age or since it was purged: work whose
 * request was there, as far as it is known now, is no longer offered. */
void board_begins_at(struct board *board, const char *stream, uint64_t first_sequence);

/* Finds the work that was claimed by the wish's agent and `claim_id`, whether all was read or not.
 */
bool board_find_claim(struct board *board, const struct board_wish *wish, struct board_find *out);

/* Work that was given to agents as often as it may be, and is held by none. */
struct board_spent {
    char id[BOARD_ID_MAX];
    char from[BOARD_STREAM_MAX]; /* who requested it; "": not known */
};

/* Returns: how many there are, the first ones first, at most `max`. They stay until their keys
 * change. */
size_t board_spent(struct board *board, struct board_spent *out, size_t max);

/* ---- waiting ---- */

/* Bits by the hashes of words, so that texts are compared only with work that has one of these. */
struct board_words {
    uint64_t bits[64];
};

/* A wish with what finds it quickly. */
struct board_search {
    const struct board_wish *wish;
    uint64_t agent; /* hash */
    struct board_words words;
};

/* One who waits for work.  Owns: the caller embeds it, zeroed at first, and keeps it and the wish
 * until board_leave. */
struct board_waiter {
    const struct board_wish *wish; /* NULL: waits until `from_sequence` was read */
    uint64_t from_sequence;
    /* Called once when there is something for it, and it no longer waits; with the lock held, on
     * any thread: it may only post to another thread. */
    void (*wake)(struct board_waiter *waiter);
    TAILQ_ENTRY(board_waiter) link;
    LIST_ENTRY(board_waiter) claim_link;
    struct board_search search;
    uint64_t claim; /* hash of the wish's claim_id; 0: it has none */
    bool is_waiting;
    char woken_for[BOARD_ID_MAX]; /* "": nothing, or it was handed on */
};

/* As board_take; where there is none and the search is finished, the waiter waits, without a moment
 * between in which work could come unnoticed. It is woken, too, when something is claimed with its
 * `claim_id`. */
bool board_take_or_wait(struct board *board, struct board_waiter *waiter, size_t among,
                        struct board_find *out);
/* Waits until the bucket was read up to a sequence, or has dropped all up to it.
 * Returns: false: it was already. */
bool board_wait_for(struct board *board, struct board_waiter *waiter, uint64_t sequence);
/* Ends its wait. If it was woken and has not taken the work since, another one is woken for that.
 * Harmless when it does not wait. */
void board_leave(struct board *board, struct board_waiter *waiter);

/* ---- looking ---- */

/* One of these; without any, all. */
struct board_names {
    const struct parley_bytes *items;
    size_t count;
};

/* Appends what was noted of a task last, as an object; nothing if that is not known here. */
void board_progress(struct board *board, struct parley_bytes id, struct parley_buffer *out);

/* Work that has one of each is chosen.  Owns: everything is borrowed. */
struct board_filter {
    unsigned states, priorities; /* bit I: the kind's state, the protocol's priority; 0: any */
    struct board_names domains, holders, from;
    struct board_names errors; /* with which it has failed */
    size_t attempt;            /* how often it was given to an agent; 0: any */
    enum board_lapse { BOARD_LAPSED_OR_NOT, BOARD_LAPSED, BOARD_NOT_LAPSED } lapse;
    double before;      /* it was requested before this time, Unix time; 0: any */
    bool is_overdue;    /* its deadline has passed, and it has not ended … */
    int64_t overdue_ms; /* … for longer than that */
};

/* Appends the items that pass, the newest first, at most `limit`, separated by commas.
 * `out_has_more`: whether more of them pass.
 * Returns: PARLEY_E_MEMORY. */
enum parley_status board_list(struct board *board, const struct board_filter *filter, size_t limit,
                              struct parley_buffer *out, bool *out_has_more) PARLEY_MUST_CHECK;

/* The changes of all its work, for follow.h: the filter is one of board_watching_create. Items are
 * those of board_list. */
struct change_log *board_changes(struct board *board);
extern const struct follow_ops board_follow_ops;

/* Copies the filter, which borrows what it did.  Returns: NULL: no memory. */
struct board_watching *board_watching_create(const struct board_filter *filter);
/* NULL is allowed. */
void board_watching_destroy(struct board_watching *watching);

/* The ids of what passes a filter, the oldest first.  Owns: the caller's; zeroed at first but for
 * `ids` and `max`. */
struct board_selection {
    char (*ids)[BOARD_ID_MAX];
    size_t max, count; /* of them */
    size_t matched;    /* how many pass: more than there is room for */
    bool is_over;
    /* Private: how far it was looked. */
    char last_id[BOARD_ID_MAX];
    uint64_t last_order;
};

/* Looks at some more of the work, until the selection is over. What comes and goes meanwhile may be
 * in it or not.  Returns: PARLEY_E_MEMORY. */
enum parley_status board_select(struct board *board, const struct board_filter *filter,
                                struct board_selection *selection) PARLEY_MUST_CHECK;

struct board_counts {
    size_t works, open, waiting;
    bool is_current; /* board_is_current: `open` is that of the bucket */
};
struct board_counts board_counts(struct board *board);
