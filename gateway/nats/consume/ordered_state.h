/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The data of an ordered consumer. ordered_consumer.c changes the phase, ordered_delivery.c the
 * position, and ordered_flow.c the requests. Private to ordered_*.c. */

#include "jetstream_request.h"
#include "jetstream_state.h"
#include "ordered_consumer.h"

enum {
    ORDERED_REPLAY_REQUEST_BYTES_MAX = 512 * 1024,
    ORDERED_CONSUMER_NAME_MAX = BUS_TAG_MAX + 8,
    ORDERED_SEEN_COUNT = 512, /* of a following consumer; a power of two */
    /* Jumps over one sequence that are not believed. With JETSTREAM_RETRY_MS between them, the
     * stream is checked in the meantime. */
    ORDERED_DOUBTS_MAX = 40,
};

/* The state of the consumer on the server.
 *
 *   STOPPED  ──▶ CREATING   the connection is there, or the retry timer fires
 *   CREATING ──▶ RUNNING    the server has created it
 *   CREATING ──▶ STOPPED    the server could not (the retry timer is set)
 *   RUNNING  ──▶ STOPPED    it vanished, is silent, or lost a message (the retry timer is set)
 *   CREATING ──▶ STOPPED ──▶ REFUSED   the server will not create it
 *   any      ──▶ STOPPED    the connection is lost
 *   any      ──▶ STOPPED ──▶ CLOSED    ordered_consumer_close
 */
enum ordered_phase {
    ORDERED_STOPPED, /* not created: no connection, or until the retry timer fires */
    ORDERED_CREATING,
    ORDERED_RUNNING,
    ORDERED_REFUSED,
    ORDERED_CLOSED, /* freed as soon as no callback is running */
};

/* The known place in the stream. It only grows. */
enum ordered_position {
    ORDERED_UNKNOWN,   /* the server must say where it begins */
    ORDERED_KNOWN,     /* next_sequence is known */
    ORDERED_OPENED,    /* and `opened` was called */
    ORDERED_DELIVERED, /* and `stored` was */
};

/* How the next messages are requested. ordered_flow.c draws the transitions. */
enum ordered_pace {
    ORDERED_AHEAD,      /* many, and the next request before the last one has ended */
    ORDERED_IDLE,       /* the last request brought nothing: few bytes, for a long time */
    ORDERED_LARGE,      /* the next message exceeds a usual request: it is requested alone */
    ORDERED_LARGE_IDLE, /* as LARGE, and it did not come: requested alone again, for a long time */
};

/* Identifies a message that was delivered. */
struct ordered_seen {
    uint64_t sequence;
    int64_t time_ns; /* when it was stored */
};

struct ordered_consumer {
    struct jetstream *jetstream;
    struct ordered_consumer *next, **link; /* *link == this */
    char *stream;
    struct jetstream_start start;
    enum ordered_mode mode;
    struct ordered_consumer_events events;
    unsigned depth; /* of calls that will touch it after a callback */

    enum ordered_phase phase;
    char name[ORDERED_CONSUMER_NAME_MAX]; /* of the one on the server; "" if there is none */
    struct bus_mailbox mailbox;           /* open while there is one, and only for that one */
    struct jetstream_request *request;
    struct reactor_timer retry;
    int64_t heard_ms; /* when the server last sent something */
    int64_t owed_ms;  /* since when the stream is known to hold owed_sequence; 0 if it is not */
    uint64_t owed_sequence;
    uint64_t whole_from;  /* the stream is known to hold all from there on; 0 if it is not */
    unsigned doubt_count; /* of jumps over next_sequence that were taken for the server's */

    enum ordered_position position;
    uint64_t next_sequence;     /* of the stream */
    uint64_t consumer_sequence; /* of the last message of the consumer on the server */
    bool has_all;               /* that the stream held at some time since this one runs */

    enum ordered_pace pace;
    size_t wanted_count;    /* to be delivered; constant when following */
    size_t requested_count; /* of these, requested from the server */
    size_t typical_bytes;   /* of the larger ones of the last messages */
    bool has_progress;      /* something came since the last request ran out of bytes */

    /* ORDERED_REPLAY only: */
    size_t wanted_bytes;         /* of those to be delivered */
    size_t reserved_bytes;       /* of the requests under way, not received so far */
    int64_t expires_ms;          /* when the last of these requests ends at the latest */
    bool is_hungry;              /* nothing came since the pull began */
    bool is_draining;            /* the next request waits until no request is under way */
    struct jetstream_lane *lane; /* of the last request, or of the next when it is queued */
    bool is_queued;
    TAILQ_ENTRY(ordered_consumer) queue_link;

    /* The last messages that were delivered, each at its sequence modulo the count, which is a
     * power of two. */
    size_t seen_count;
    struct ordered_seen seen[];
};
