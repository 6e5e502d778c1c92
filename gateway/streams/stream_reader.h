/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One open response: the cursors of the streams that it reads, and the bytes that become of their
 * events. An idle reader costs a few hundred bytes here. */

#include "http.h"
#include "stream_cursor.h"

/* What a reader wants of its keeper. */
struct stream_reader;
struct stream_reader_events {
    /* All subscriptions stand: send the headers. */
    void (*ready)(struct stream_reader *reader);
    /* Before ready: it cannot be. */
    void (*failed)(struct stream_reader *reader);
    /* Something has been sent. */
    void (*moved)(struct stream_reader *reader);
};

/* While several streams are read from the past, the event that was stored first is sent first. That
 * takes one of each; one that does not come in time (NATS is slow, the pool is full, its last
 * messages were deleted) ends it: better out of order than not at all. */
struct stream_merging {
    struct stream_reader *reader;
    struct reactor_timer patience; /* armed while one is waited for */
};

struct stream_reader {
    struct http_request *request;
    struct stream_query query;
    const struct stream_reader_events *events;
    void *keeper;

    /* The keeper's. */
    TAILQ_ENTRY(stream_reader) link;
    int64_t moved_ms;
    const struct parley_protocol *protocol; /* NULL: all of them */
    const char *media_type;
    enum { STREAM_ASKED, STREAM_STARTING, STREAM_FLOWING, STREAM_REFUSED } phase;

    bool is_sse, is_waiting;
    enum { STREAM_DUE_NOTHING, STREAM_DUE_OPEN, STREAM_DUE_KEEPALIVE } due; /* before what comes */
    bool is_draining; /* the event that is under way, then parley.end */
    bool is_ended;    /* nothing behind the event that is under way */
    bool has_failed;  /* … because it would not be whole */

    struct stream_event *current; /* being sent */
    size_t offset;                /* how much of it was sent */
    struct stream_pool *pool;     /* of all its hubs */
    struct stream_holder holder;  /* of current, while its client keeps it waiting */
    bool is_held;
    struct stream_returned { /* what was current, half sent, until it is fetched again */
        uint64_t sequence;   /* 0: nothing */
        int64_t time_ns;
        size_t length;
    } returned;

    struct stream_merging *merging; /* the past of several streams, by time; NULL: it is over */
    char *tokens; /* of several streams, spliced into current; NULL: one stream, its own will do */
    size_t tokens_length;
    size_t turn; /* whose event is next */
    size_t cursor_count;
    struct stream_cursor cursors[];
};

/* For `count` streams. Owns: the caller.  Returns: NULL without memory. */
struct stream_reader *stream_reader_create(struct http_request *request,
                                           const struct stream_query *query,
                                           const struct stream_reader_events *events, void *keeper,
                                           size_t count);
void stream_reader_destroy(struct stream_reader *reader);

/* Starts a cursor in each of `hubs`.  Returns: false when NATS is away. */
bool stream_reader_start(struct stream_reader *reader, struct stream_hub *hubs);
/* Ends all cursors: nothing more comes from them. */
void stream_reader_stop(struct stream_reader *reader);

/* The source for http_respond_live; `state` is the reader. */
ssize_t stream_reader_read(void *state, char *buffer, size_t size);

/* Sends the token of where it is, unless events are waiting to be sent anyway, or it reads to an
 * end. */
void stream_reader_keep_alive(struct stream_reader *reader);
/* Sends parley.end, and ends. */
void stream_reader_drain(struct stream_reader *reader);
