/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One reader's place in one stream: which sequence it needs next, and where to get it. Where the
 * hub's ring covers that, the cursor reads there; where it is older, the cursor has a bounded feed
 * of its own until it has caught up. Only sequences decide: from whichever source an event comes,
 * it is delivered when its turn has come and never again. */

#include "stream_hub.h"
#include "stream_queue.h"
#include "stream_tail.h"

enum stream_item {
    STREAM_NOTHING, /* not now */
    STREAM_EVENT,
    STREAM_GAP,        /* messages are gone */
    STREAM_HALT,       /* a message halts or releases a conversation, and is itself to come */
    STREAM_APPROVED,   /* what people approved by a message, which is itself to come */
    STREAM_DONE,       /* the requested end is reached */
    STREAM_FAILED,     /* out of memory: it cannot continue without losing something */
    STREAM_UNREADABLE, /* NATS does not permit reading it: hub->refusal says why */
};

struct stream_cursor;

/* The events that a cursor reports to its reader. */
struct stream_cursor_events {
    void (*ready)(struct stream_cursor *cursor);  /* it may be read from */
    void (*more)(struct stream_cursor *cursor);   /* its wait has ended: there is an event */
    void (*failed)(struct stream_cursor *cursor); /* before ready: NATS or the stream is away, or
                                                     refuses (hub->refusal) */
};

/* How far it knows where it is: UNPLACED → PLACED → READY. */
enum stream_stage {
    STREAM_UNPLACED, /* until the server says where the stream begins and ends */
    STREAM_PLACED,   /* `next` is known; a cursor that follows waits for the hub's feed */
    STREAM_READY,    /* it may be read from */
};

/* In which of the hub's lists it is: ASKING → BUSY ⇄ any of the last three, which change among
 * themselves with the thing that the cursor waits for. */
enum stream_place {
    STREAM_ASKING,
    STREAM_BUSY,
    STREAM_WAITING,  /* the reader has nothing to send */
    STREAM_FETCHING, /* … and the cursor's feed, or room in the pool, will wake it */
    STREAM_PARKED,   /* … and it has delivered everything up to the hub's newest event */
};

enum stream_failure {
    STREAM_SOUND,
    STREAM_OUT_OF_MEMORY,
    STREAM_FORBIDDEN, /* by NATS: hub->refusal */
};

struct stream_cursor {
    struct stream_hub *hub; /* NULL: it is not in use */
    const struct stream_query *query;
    const struct stream_cursor_events *events;
    void *reader;

    struct stream_member member; /* of the hub */
    enum stream_stage stage;
    enum stream_place place;
    enum stream_failure failure;
    bool is_live;               /* it follows */
    struct stream_group *group; /* NULL: it does not follow, or there was no memory for one */

    uint64_t next;     /* the sequence to deliver next; out of date while it is parked */
    uint64_t awaited;  /* the sequence asked for, if it was past the stream's end; else 0 */
    uint64_t end;      /* the last sequence to deliver */
    uint64_t past_end; /* the last one that was stored when it began; 0 once it is not relevant */
    uint64_t silent_until; /* messages missing up to here are not reported as a gap */
    int64_t not_before_ns; /* older messages are skipped */
    bool has_gap;          /* the reader gets it first */
    uint64_t gap_first, gap_last;
    uint64_t told; /* of the last event whose halt the reader was told of */

    /* Of what people approved (stream_approvals.h), by the sequences of announcements. */
    uint64_t settled;              /* the last one whose message was given, or is not to be */
    uint64_t given;                /* the last one whose message the reader got */
    struct stream_event *approved; /* to be given next.  Owned; NULL if none is known */
    bool is_asking;                /* whether there is one is not known so far */

    struct ordered_consumer *feed; /* of its own; NULL for none at present */
    uint64_t queue_next;           /* the sequence needed next after the queue */
    struct stream_queue queue;
    struct stream_waiter waiter; /* for room in the pool */
    size_t typical_bytes;        /* of the last event; 0: none has come */
    bool is_pulling;             /* the feed's pull has not ended */
    bool is_fed;                 /* NATS has made the feed's consumer */
    bool is_quiet;               /* nothing came since the last check */
    struct stream_tail rest;
};

/* Begins to find out where to start; `ready` or `failed` is called in a later turn.
 * Owns: borrows all arguments.  Returns: false when NATS is away (neither is called). */
bool stream_cursor_start(struct stream_cursor *cursor, struct stream_hub *hub,
                         const struct stream_query *query,
                         const struct stream_cursor_events *events, void *reader);
/* Harmless when it is not in use. */
void stream_cursor_stop(struct stream_cursor *cursor);

/* The next event, skipping those that the filters refuse. */
enum stream_item stream_cursor_peek(struct stream_cursor *cursor, struct stream_event **out);
/* Something that was stored when it began is still to be delivered. */
static inline bool stream_cursor_is_in_past(const struct stream_cursor *cursor) {
    return cursor->next <= cursor->past_end;
}
/* After STREAM_APPROVED: the announcement is next, if it passes the filters.  Owns: returns a
 * reference, which the caller drops. */
struct stream_event *stream_cursor_take_approved(struct stream_cursor *cursor);
/* After STREAM_EVENT: moves on past it.  Owns: returns a reference, which the caller drops. */
struct stream_event *stream_cursor_take(struct stream_cursor *cursor, struct stream_event *event);
/* After stream_cursor_take or …_take_approved, before any other call: the event is next again, and
 * is fetched once more. The caller drops its reference.  Returns: false when that is not possible.
 */
bool stream_cursor_return(struct stream_cursor *cursor, const struct stream_event *event);
/* After STREAM_HALT: the event itself is next, if it passes the filters. */
void stream_cursor_tell(struct stream_cursor *cursor, const struct stream_event *event);
/* After STREAM_GAP: moves on past it.  `last` 0: the stream was created again. */
void stream_cursor_take_gap(struct stream_cursor *cursor, uint64_t *out_first, uint64_t *out_last);

/* `more` is called once when there is something, unless the wait is cancelled before. */
void stream_cursor_wait(struct stream_cursor *cursor);
void stream_cursor_unwait(struct stream_cursor *cursor);

/* ---- where it is (stream_resume.c) ---- */

/* How many messages of its stream, as far as they are known, it has not got to yet. */
uint64_t stream_cursor_lag(const struct stream_cursor *cursor);

/* The sequence that it needs next. */
uint64_t stream_cursor_next(const struct stream_cursor *cursor);

/* Returns: the sequence that was asked for, if it was not stored when the cursor began and nothing
 * has come since; else 0.  `out_last`: the newest one of the stream. */
uint64_t stream_cursor_waits_for(const struct stream_cursor *cursor, uint64_t *out_last);

/* Its part of a resume token (struct stream_token): a reader that comes back with it gets what this
 * reader has not got so far, gaps included, and nothing that it did not ask for. 0: it has none. */
size_t stream_cursor_token(const struct stream_cursor *cursor, char token[STREAM_TOKEN_MAX]);
