/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The data of a board. board_words.c compares texts, board_set.c keeps the lists, board_notes.c
 * what is noted of work, board_due.c the work that opens later, board_moments.c what happens by the
 * clock alone, board.c reads entries, board_take.c matches work and wishes, board_list.c answers
 * questions. Private to board_*.c; all of it under the lock. */

#include <pthread.h>
#include <sys/queue.h>

#include "board.h"
#include "change_log.h"
#include "time_heap.h"

enum {
    BOARD_CHAINS = 32768,
    BOARD_CLAIM_LISTS = 1024,
    BOARD_PRIORITIES_MAX = 8,
    BOARD_SECRET_BYTES = 16,
    BOARD_FACT_BYTES_MAX = 2048, /* a longer value is ignored */
    BOARD_STREAMS_MAX = 8,       /* whose beginnings are known; a protocol has fewer families */
};

enum work_phase {
    WORK_OPEN,
    WORK_DUE_LATER,
    WORK_TAKEN,
    WORK_SPENT, /* it would be open, but was given out as often as it may be */
    WORK_CLOSED,
};

struct work {
    /* The members read by a search, side by side. */
    TAILQ_ENTRY(work)
    phase_link;                   /* OPEN: of its priority, the oldest first; CLOSED: the one
                                     that was closed first, first */
    int64_t open_until_ms;        /* Unix time */
    uint64_t name, domain, to_id; /* hashes; 0 if it is not known, or for no agent */
    uint64_t stream, sequence;    /* where its request is: a hash, and its place there */

    struct work *chain_next; /* by id */
    struct work *claim_next; /* by the claim's id, if that is known; of work that is taken, by that
                                with which it will be claimed */
    TAILQ_ENTRY(work) age_link;        /* of all, the oldest first */
    char *facts[PARLEY_TASK_FACTS];    /* the values; NULL if there is none */
    size_t lengths[PARLEY_TASK_FACTS]; /* of them */
    uint64_t sequences[PARLEY_TASK_FACTS];
    unsigned guessed;        /* a bit for each fact that another gateway has written, whose value is
                                not known to be this one yet */
    uint64_t order;          /* of its first key in the bucket */
    uint64_t turn_number;    /* of the last of the series of turns; 0: there is none */
    int64_t claimed_ms;      /* Unix time; of the key of its claim */
    int64_t retry_at_ms;     /* … before which what tries it again is not given out; 0: none */
    int64_t opens_at_ms;     /* … at which it opens by itself; 0: it is open, or does not */
    int64_t put_off_ms;      /* … which it tries again said, 0: none */
    int64_t not_before_ms;   /* … before which it is not given out: of both the later */
    struct time_node due;    /* DUE_LATER: in that heap */
    struct time_node moment; /* in the heap of moments, unless … */
    enum parley_task_moment moment_kind; /* … this is none */
    uint64_t moment_turn;                /* the last turn, when it was put there */
    uint64_t retry_of;            /* hash of the id of the work that it tries again; 0 for none */
    struct note *note;            /* NULL: nothing was noted of it */
    LIST_ENTRY(work) retry_link;  /* of those that try something again */
    const char *state;            /* one of the kind's */
    char *task, *to;              /* NULL if it is not known, or for no agent */
    uint64_t holder, from, claim; /* hashes; 0: not known */
    double deadline;              /* Unix time; 0: it has none */
    struct change change;         /* its place among the changes of the board */
    size_t bytes;                 /* that it takes */
    enum work_phase phase;
    unsigned priority;
    bool has_priority;
    char id[BOARD_ID_MAX];
};
TAILQ_HEAD(works, work);

/* What was noted of a piece of work last. Its key is written at most once in some time:
 *
 *            ┌──── it is noted ────▶ READY ── its key is written ──▶ RESTING
 *   QUIET ───┘                         ▲                                │
 *     ▲                                └── it was noted meanwhile ──────┤ the time is over
 *     └─────────────────────────────────────────────────────────────────┘ */
struct note {
    TAILQ_ENTRY(note) link; /* READY: those noted first, first; RESTING: those written first */
    enum { NOTE_QUIET, NOTE_READY, NOTE_RESTING } phase;
    struct work *work;
    char *value;       /* to be written; NULL: the bucket has it */
    char *shown;       /* for readers */
    size_t bytes;      /* of both */
    uint64_t sequence; /* of the message; 0: not known */
    int64_t rested_ms; /* RESTING: until then, on the monotonic clock */
};
TAILQ_HEAD(notes, note);

/* Where a stream begins, for work of which the key of the request has a sequence up to `known_to`:
 * a stream that is made again begins at 1. */
struct beginning {
    uint64_t stream; /* hash */
    uint64_t first_sequence, known_to;
};

struct board {
    pthread_mutex_t lock;
    const struct parley_protocol *protocol;
    const struct parley_task_kind *kind;
    struct board_limits limits;
    unsigned char secret[BOARD_SECRET_BYTES];
    unsigned priority_count;

    struct work *chains[BOARD_CHAINS], *claims[BOARD_CHAINS];
    LIST_HEAD(, work) retries[BOARD_CHAINS]; /* by retry_of */
    struct works all, closed, spent, open[BOARD_PRIORITIES_MAX];
    struct time_heap due, moments; /* each has room for all work */
    struct board_teller teller;
    struct change_log changes; /* of all work */
    size_t work_count, open_count, bytes;
    bool has_left_out, is_current;
    uint64_t last_sequence; /* up to which the bucket was read, or holds nothing */
    uint64_t kept_from;
    struct beginning beginnings[BOARD_STREAMS_MAX];
    size_t beginning_count;
    TAILQ_HEAD(, board_waiter) waiters;
    LIST_HEAD(, board_waiter) claimers[BOARD_CLAIM_LISTS]; /* of them, who have a claim_id */
    size_t waiter_count, reader_count; /* those with a wish and without; and without */
    struct parley_arena arena;         /* for the entry being read */
    struct notes notes_ready, notes_resting;
    bool may_note; /* there is a reactor that writes notes … */
    bool is_woken; /* … and it is about to look for them */

    /* Belongs to the reactor that reads. */
    char *bucket;
    struct reactor *reactor; /* NULL if no reactor reads */
    struct jetstream *jetstream;
    struct bucket_watch *watch;
    struct reactor_timer again, due_timer, note_timer;
};

int64_t board_now_ms(void); /* Unix time */

/* ---- board_words.c ---- */

void words_add(const struct board *board, struct board_words *words,
               const struct parley_bytes *texts, size_t count);
/* Whether `hash` may be that of a word. */
bool words_may_have(const struct board_words *words, uint64_t hash);
bool words_are_among(const struct parley_bytes *texts, size_t count, struct parley_bytes text);

/* ---- board_set.c ---- */

uint64_t board_hash(const struct board *board, struct parley_bytes text); /* 0: data is NULL */
struct work *works_find(const struct board *board, struct parley_bytes id);
/* Closed, and without facts.  Returns: NULL: there is no memory. */
struct work *works_add(struct board *board, struct parley_bytes id, uint64_t order);
void works_remove(struct board *board, struct work *work);
void works_remove_all(struct board *board);
/* Moves it to the list of that phase. */
void works_set_phase(struct board *board, struct work *work, enum work_phase phase);
/* Takes over what its facts say, but for its phase.  Returns: PARLEY_E_MEMORY. */
enum parley_status works_describe(struct board *board, struct work *work,
                                  const struct parley_task *what);
/* It can be claimed, now or later by itself: it becomes OPEN, and one who waits for it is woken; or
 * DUE_LATER. */
void works_open(struct board *board, struct work *work);
/* 0: it is not known. */
void works_set_claim(struct board *board, struct work *work, uint64_t claim);
/* Removes what there is no room for. */
void works_make_room(struct board *board);
/* Reads its facts.  Owns: valid until the next call. */
enum parley_status works_read(struct board *board, const struct work *work, int64_t now_ms,
                              struct parley_task *out);

/* ---- board_notes.c ---- */

/* An entry of the bucket that may be a note.  Returns: whether it is one. */
bool notes_take_in(struct board *board, const struct bucket_entry *entry);
/* Before the work is freed. */
void notes_forget(struct board *board, struct work *work);
void notes_on_timer(struct reactor_timer *timer);

/* ---- board_due.c ---- */

void due_add(struct board *board, struct work *work);
void due_remove(struct board *board, const struct work *work);
/* One that others come due before, or NULL. */
struct work *due_last(const struct board *board);
/* Its facts have changed, or what they mean by now.  Returns: PARLEY_E_MEMORY. */
enum parley_status board_settle(struct board *board, struct work *work);

/* Opens the work that is due by now, some at a time, and wakes the requests that wait for it. */
void due_open(struct board *board);
/* Sets the timer that opens the rest when it is due.  Threads: that of the reactor that reads. */
void due_set_timer(struct board *board);
/* The same, in a moment.  Threads: any. */
void due_set_timer_later(struct board *board);
void due_on_timer(struct reactor_timer *timer);

/* ---- board_moments.c ---- */

/* Makes room for so many.  Returns: false: there is no memory. */
bool moments_reserve(struct board *board, size_t count);
/* Notes the next moment of work whose facts were read. */
void moments_describe(struct board *board, struct work *work, const struct parley_task *what);
/* The work is removed. */
void moments_remove(struct board *board, struct work *work);
/* Tells of those that have come, some at a time. */
void moments_tell(struct board *board);
/* When the next one is to be told, Unix time; INT64_MAX: there is none. */
int64_t moments_due_ms(const struct board *board);

/* ---- board_take.c ---- */

/* Open work has come: wakes one who waits for it. */
void take_wake(struct board *board, const struct work *work);
/* Work was claimed: wakes those who would claim by the same message. */
void take_wake_claimers(struct board *board, const struct work *work);
/* All was read: wakes the requests that wait for work, and those that wait for the entries up to
 * now. */
void take_wake_all(struct board *board);
/* Wakes the requests that wait for the entries up to now. */
void take_wake_readers(struct board *board);
