/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One open response: the cursors of the streams that it reads, and the bytes of their events. An
 * idle reader takes a few hundred bytes. */

#include "http.h"
#include "stream_access.h"
#include "stream_cursor.h"

/* The events that a reader reports to its keeper. */
struct stream_reader;
struct stream_reader_events {
    /* All cursors are ready: the headers can be sent. */
    void (*ready)(struct stream_reader *reader);
    /* In place of ready: the streams cannot be read. */
    void (*failed)(struct stream_reader *reader);
    /* Something was sent. */
    void (*moved)(struct stream_reader *reader);
};

/* While the past of several streams is read, the event that was stored first is sent first. That
 * needs the next event of each; if one does not come in time (NATS is slow, the pool is full, its
 * last messages were deleted), merging ends: better out of order than not at all. */
struct stream_merging {
    struct stream_reader *reader;
    struct reactor_timer patience; /* armed while an event is missing */
};

struct stream_reader {
    struct http_request *request;
    struct stream_query query;
    const struct stream_reader_events *events;
    void *keeper;

    /* The keeper's. */
    TAILQ_ENTRY(stream_reader) link;
    LIST_ENTRY(stream_reader) following_link; /* of those that are told moments */
    int64_t moved_ms;
    struct tally_entry *opening;       /* of its sender */
    struct stream_access_entry access; /* and which streams it reads */
    const char *media_type;
    /* In which encoding it gets the bare messages, and nothing else; NULL: lines of JSON. */
    const struct parley_codec *codec;
    enum { STREAM_ASKED, STREAM_STARTING, STREAM_FLOWING, STREAM_REFUSED } phase;

    bool is_sse, is_waiting;
    enum {
        STREAM_DUE_NOTHING,
        STREAM_DUE_OPEN,
        STREAM_DUE_KEEPALIVE
    } due; /* before the events that follow */
    enum {
        STREAM_GOES_ON,
        STREAM_LEAVES,      /* after the current event: parley.end */
        STREAM_ENDS,        /* after the current event: nothing */
        STREAM_BREAKS,      /* now, within an event: the response is not complete */
    } course;               /* it only moves forward */
    const char *end_reason; /* of STREAM_LEAVES; static */

    struct moments *moments;   /* of which it is told; NULL: of none */
    uint64_t moments_position; /* the next one */
    int64_t moments_from_ms;   /* those since then, Unix time */

    struct stream_event *current; /* being sent */
    size_t offset;                /* how much of it is sent */
    struct stream_pool *pool;     /* of all its hubs */
    struct stream_holder holder;  /* of current, while the client does not read */
    bool is_held;
    struct stream_returned { /* the event that was current and half sent, until it is fetched again
                              */
        uint64_t sequence;   /* 0: nothing */
        int64_t time_ns;
        size_t length;
    } returned;

    struct stream_merging *merging; /* NULL once merging has ended */
    char *tokens; /* of several streams, put into current; NULL: one stream, whose own token does */
    size_t tokens_length;
    size_t turn; /* the cursor to take from next */
    size_t cursor_count;
    struct stream_cursor cursors[];
};

/* For `count` streams.  Owns: copies the query and the name of its reader, which the request may
 * lose while it lasts; borrows the rest, such as the texts of its options, which are the request's;
 * returns a new reader, which the caller destroys.  Returns: NULL: out of memory. */
struct stream_reader *stream_reader_create(struct http_request *request,
                                           const struct stream_query *query,
                                           const struct stream_reader_events *events, void *keeper,
                                           size_t count);
void stream_reader_destroy(struct stream_reader *reader);

/* Starts a cursor in each of `hubs` that is used and whose bit is in access.reads.  Returns: false
 * when NATS is away, or there are more or fewer of them than cursors. */
bool stream_reader_start(struct stream_reader *reader, struct stream_hub *hubs, size_t hub_count);
/* Stops all cursors. */
void stream_reader_stop(struct stream_reader *reader);

/* The source for http_respond_live; `state` is the reader. */
ssize_t stream_reader_read(void *state, char *buffer, size_t size);

/* Sends a keepalive with the present resume token, unless events are to be sent anyway, or it reads
 * to an end (follow=false). */
void stream_reader_keep_alive(struct stream_reader *reader);
/* Tells it of the moments that come from now on, if it follows what they are of. */
void stream_reader_follow(struct stream_reader *reader, struct moments *moments);
/* Moments have come. */
void stream_reader_look(struct stream_reader *reader);
/* Sends parley.end with this reason (static) after the current event, and ends. Of several reasons
 * the first counts. */
void stream_reader_end(struct stream_reader *reader, const char *reason);
