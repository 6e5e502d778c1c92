/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One reader's place in one stream: which sequence it wants next, and where to get it. Within
 * reach of the hub's ring it reads there; behind it, it has a bounded feed of its own until it has
 * caught up. The join rests on sequences alone: whichever source an event comes from, it is passed
 * on when its turn has come and never again. */

#include "stream_hub.h"

enum stream_item {
    STREAM_NOTHING, /* not now */
    STREAM_EVENT,
    STREAM_GAP,        /* messages that are gone */
    STREAM_DONE,       /* the end that was asked for is reached */
    STREAM_FAILED,     /* memory: it cannot go on without losing something */
    STREAM_UNREADABLE, /* NATS lets nobody read it: hub->refusal says why */
};

/* What a cursor tells its reader. */
struct stream_cursor_events {
    void (*ready)(struct stream_cursor *cursor);  /* it may be read from */
    void (*more)(struct stream_cursor *cursor);   /* it waits no longer: there is something */
    void (*failed)(struct stream_cursor *cursor); /* before ready: NATS or the stream is away, or
                                                     refuses (hub->refusal) */
};

struct stream_cursor {
    struct stream_hub *hub; /* NULL: it is not in use */
    const struct stream_query *query;
    const struct stream_cursor_events *events;
    void *reader;

    LIST_ENTRY(stream_cursor) link; /* in one of the hub's lists */
    uint64_t awaited_ask;
    bool is_ready, has_next, is_live, is_waiting, has_failed;
    bool is_refused;            /* why it has failed */
    bool is_parked;             /* `next` is behind: it has passed all up to the hub's newest */
    struct stream_group *group; /* NULL: it does not follow, or there was no memory for one */

    uint64_t next;         /* the sequence that is wanted next */
    uint64_t awaited;      /* what was wanted first, past the stream's end; 0: it was not past it */
    uint64_t end;          /* the last one that is wanted */
    uint64_t past_end;     /* the last one that was stored as it began; 0: that says nothing now */
    uint64_t silent_until; /* what is missing up to here is not spoken of */
    int64_t not_before_ns; /* older messages are passed over */
    bool has_gap;          /* of which the reader is to be told first */
    uint64_t gap_first, gap_last;

    struct ordered_consumer *feed; /* of its own; NULL: none now */
    uint64_t queue_next;           /* the sequence that is wanted next behind the queue */
    struct stream_event *queue, **queue_end;
    size_t queue_count, queue_bytes;
    struct stream_holder holder; /* of the queue */
    struct stream_waiter waiter; /* for room in the pool */
    size_t typical_bytes;        /* of an event that came lately; 0: none has */
    bool is_pulling;             /* the feed has yet to rest */
    bool is_quiet;               /* nothing has come since the last check */
};

/* Begins to find out where to start; `ready` or `failed` tells, in a later turn.
 * Owns: everything is borrowed.  Returns: false when NATS is away (nothing will be told). */
bool stream_cursor_start(struct stream_cursor *cursor, struct stream_hub *hub,
                         const struct stream_query *query,
                         const struct stream_cursor_events *events, void *reader);
/* Harmless when it is not in use. */
void stream_cursor_stop(struct stream_cursor *cursor);

/* What is next, passing over what the filters refuse. */
enum stream_item stream_cursor_peek(struct stream_cursor *cursor, struct stream_event **out);
/* What was stored as it began is not all passed yet. */
static inline bool stream_cursor_is_in_past(const struct stream_cursor *cursor) {
    return cursor->next <= cursor->past_end;
}
/* After STREAM_EVENT: passes over it.  Owns: a reference is the caller's. */
struct stream_event *stream_cursor_take(struct stream_cursor *cursor, struct stream_event *event);
/* After take, before anything else was asked for: the event is next again, and is fetched once
 * more. The caller drops its reference.  Returns: false when it cannot be. */
bool stream_cursor_return(struct stream_cursor *cursor, const struct stream_event *event);
/* After STREAM_GAP: passes over it.  `last` 0: the stream was made anew. */
void stream_cursor_take_gap(struct stream_cursor *cursor, uint64_t *out_first, uint64_t *out_last);

/* `more` will tell once when there is something, unless the wait is taken back before. */
void stream_cursor_wait(struct stream_cursor *cursor);
void stream_cursor_unwait(struct stream_cursor *cursor);

/* The sequence that was asked for, when it was not stored yet as the cursor began and nothing has
 * come since; else 0.  `out_last`: the newest one of the stream. */
uint64_t stream_cursor_waits_for(const struct stream_cursor *cursor, uint64_t *out_last);

/* Its part of a resume token (struct stream_token): a reader that comes back with it gets what this
 * reader has not been given yet, gaps included, and nothing that it did not ask for. */
size_t stream_cursor_token(const struct stream_cursor *cursor, char token[STREAM_TOKEN_MAX]);

/* ---- from the hub ---- */

void stream_cursor_informed(struct stream_cursor *cursor, const struct jetstream_stream_info *info);
void stream_cursor_hub_opened(struct stream_cursor *cursor);
/* It is parked, and all before this event is passed; the event's filters are its own. */
void stream_cursor_called(struct stream_cursor *cursor, const struct stream_event *event);
/* It is parked: takes it out, to where the hub is. */
void stream_cursor_unpark(struct stream_cursor *cursor);
void stream_cursor_hub_stored(struct stream_cursor *cursor);
void stream_cursor_restart(struct stream_cursor *cursor, const struct jetstream_stream_info *info);
/* Messages from `sequence` to `newest` are gone, and other ones will bear their numbers. */
void stream_cursor_rewind(struct stream_cursor *cursor, uint64_t sequence, uint64_t newest);
/* NATS lets nobody read the stream. */
void stream_cursor_refused(struct stream_cursor *cursor);
/* The server has answered about the stream, which is still the same. */
void stream_cursor_checked(struct stream_cursor *cursor);
