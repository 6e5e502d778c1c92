/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The types of JetStream's interface; the functions are in jetstream.h and the headers that it
 * includes. Everything is called on the reactor's thread, and so are all callbacks. */

#include <string.h>

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bus.h"

struct jetstream;

/* ---- options and events ---- */

/* A stream that must exist, or (`without`) is wanted. Where it has families, those of them that an
 * operator's streams cover are stored there, and it holds the others. */
struct jetstream_stream {
    const char *name;            /* VLP */
    const char *subjects;        /* vlp.> */
    const char *const *families; /* within subjects; NULL-terminated, at most
                                    JETSTREAM_FAMILIES_MAX; NULL: it stores all itself */
    unsigned bucket_days; /* for how long a key-value bucket keeps a key; 0 if it is not a bucket */
#define JETSTREAM_BUCKET_FOR_EVER UINT_MAX
    const char *outlives; /* the name of another one: the bucket keeps a key for a day longer than
                             that one's messages are kept, and for bucket_days at most */
    const char *needs;    /* the name of another one: it is created once that one can be used, so
                             that nothing is left over where it cannot; NULL if it needs none */
    unsigned days;        /* for how long it keeps a message; 0: 7 */
    /* The subjects of an object store, which are within subjects, NULL-terminated; NULL if it is
     * not one. */
    const char *const *object_subjects;
    int64_t bytes_max; /* the oldest are removed beyond it; 0: no limit */
    /* The feature that is unavailable while the stream is missing or unusable, as half a sentence
     * for an operator: everything else continues, and its creation is tried again in each round.
     * NULL: no message is accepted before it exists. */
    const char *without;
};

#define JETSTREAM_FAMILIES_MAX 8
#define JETSTREAM_STREAM_MAX 256 /* a name, with its NUL: nats-server takes up to 255 */

/* When a stream removes a message. */
enum jetstream_retention {
    JETSTREAM_LIMITS,     /* when it is old, or there is no room */
    JETSTREAM_WORK_QUEUE, /* when its one consumer has acknowledged it */
    JETSTREAM_INTEREST,   /* when all consumers have; without one it stores nothing */
};

/* A stream in NATS that stores messages of a jetstream_stream. */
struct jetstream_place {
    char stream[JETSTREAM_STREAM_MAX]; /* its name */
    unsigned families;                 /* bit I: families[I]; 0 if it is not in use */
    enum jetstream_retention retention;
    bool has_others;  /* it has subjects of something else too */
    size_t bytes_max; /* of a message, with its headers; 0: the server's limit */
};

struct jetstream_options {
    struct bus_options bus;
    const struct jetstream_stream *streams; /* borrowed for the jetstream's life */
    size_t stream_count;
    unsigned replicas;        /* of streams that parley creates */
    int64_t dedupe_window_ms; /* 0 becomes 100 ms: nats-server refuses less than that, and takes 0
                                 for its default of two minutes */
    int64_t ack_timeout_ms;   /* 10000 */
    int64_t patience_ms;      /* how long a message may wait for NATS or a leader; 0: not at all */
    size_t in_flight_count_max; /* publications that await their ack, or wait for NATS */
    size_t in_flight_bytes_max;
    int64_t watch_ms;  /* between checks of the streams; 0: 2000 */
    const char *store; /* folder of an embedded server's store: nothing is published while its disk
                          is full. NULL: the server is not embedded */
    bool is_probing;   /* publish a probe every two seconds without an ack: an embedded server that
                          does not acknowledge it is wedged */
};

struct jetstream_events {
    /* Connected, and every stream exists: messages are accepted. Also after each reconnect. */
    void (*ready)(void *context);
    /* No longer ready. Publications in flight wait, or their callbacks have been called. */
    void (*away)(void *context);
    /* A stream that exists cannot be used (other subjects, no acks, another retention, sealed)
     * until an operator changes it. `error` names the stream and the remedy. Called in each round
     * of checks that finds it. Before the first `ready` such a stream prevents `ready`; afterwards
     * nothing is published to it, and all other streams are used. */
    void (*unusable)(void *context, const char *error);
    /* A trouble began, has another reason now (`text`: without secrets), or is resolved (NULL).
     * `subject`: the part in trouble: "NATS", "stream VLP". May be NULL. */
    void (*trouble)(void *context, const char *subject, const char *text);
    /* A stream was deleted and created again: its sequence starts at 1 again. May be NULL. */
    void (*renewed)(void *context, const char *stream);
    /* The server could not read `bytes` of the stream's files, and has dropped them. It is asked
     * once per connection. May be NULL: then it is not asked. */
    void (*damaged)(void *context, const char *stream, uint64_t bytes);
    /* Messages of `stream` are stored in other streams than before; or (`place`) the kind of one of
     * these has changed. May be NULL. */
    void (*moved)(void *context, const struct jetstream_stream *stream,
                  const struct jetstream_place *place);
    /* Only with is_probing: no ack for five seconds, or none of one stream. */
    void (*unresponsive)(void *context);
    void *context;
};

/* ---- publishing ---- */

/* Messages that are stored in the order in which they are published, or not at all: those of one
 * body.  Owns: the caller embeds it, zeroed at first, and keeps it until the last `done`. */
struct jetstream_sender {
    uint64_t published_count;
    uint64_t stored;   /* the last of them that is stored, counted from 1 */
    bool is_abandoned; /* no caller awaits them: one that waits and was never sent is dropped */
};

/* Owns: everything is borrowed for the call, except the sender. */
struct jetstream_message {
    const char *subject;
    const struct bus_header *headers;
    size_t header_count;
    struct parley_bytes payload;
    struct jetstream_sender *sender; /* NULL if its order does not matter */
    unsigned share;    /* the percentage of the window up to which it is accepted; 0: all of it */
    int64_t within_ms; /* it is not published later than that; 0: as options.patience_ms says */
};

enum jetstream_outcome {
    JETSTREAM_STORED,
    JETSTREAM_REFUSED, /* JetStream refused it (stream full, …): not stored */
    JETSTREAM_TIMEOUT, /* no ack in time: may have been stored */
    JETSTREAM_LOST,    /* the connection broke before the ack: may have been stored */
};

/* Owns: the texts are borrowed for the call. */
struct jetstream_ack {
    enum jetstream_outcome outcome;
    const char *stream; /* STORED */
    uint64_t sequence;  /* STORED; never 0: that of a duplicate is waited for */
    bool is_duplicate;
    bool is_again; /* a duplicate of a message that this publication itself has stored before, or of
                      a simultaneous one */
    int error_code; /* REFUSED: JetStream's err_code; 503: no stream listens on the subject; 413:
                       over the server's max_payload; 0: only `error` has the reason: NATS does not
                       permit it, did not come back in time, or did not decide on it in time */
    const char *error;
    size_t bytes_max; /* REFUSED: of a message in its stream (max_msg_size); 0 if none is known */
};
typedef void jetstream_ack_fn(void *context, const struct jetstream_ack *ack);

enum jetstream_publish {
    JETSTREAM_PUBLISHED, /* or it waits for NATS: `done` will be called exactly once, in a later
                          * turn
                          */
    JETSTREAM_AWAY,      /* not ready, and waiting does not help: 503 bus-unavailable */
    JETSTREAM_BARRED,    /* the subject's stream is unusable, see jetstream_bar: 503 */
    JETSTREAM_FULL,      /* its share of the window is full, see jetstream_bound: wait for room, or
                            503 overloaded */
    JETSTREAM_TOO_LARGE, /* over the server's max_payload: 413 */
    JETSTREAM_FAILED,    /* out of memory: 500 */
};

/* Owns: the caller embeds it, zeroed at first, and keeps it until `room` is called or the wait is
 * cancelled. */
struct jetstream_waiter {
    void (*room)(struct jetstream_waiter *waiter);
    unsigned share; /* as in struct jetstream_message */
    struct jetstream_waiter *next, *previous;
    bool is_waiting;
};

/* ---- requests ---- */

/* A pending request to JetStream's API. */
struct jetstream_request;

/* The count kept by parley up to a message that does not contain it itself (ADR 32). */
#define JETSTREAM_COUNT_HEADER "Parley-Count"

/* The last message on one subject, as stored by the stream's leader, which knows every message that
 * was acknowledged to any client before.  Owns: borrowed for the call. */
struct jetstream_last {
    enum {
        JETSTREAM_LAST_FOUND,
        JETSTREAM_LAST_NONE,      /* no message, or one that marks a key as deleted */
        JETSTREAM_LAST_NO_STREAM, /* it is created again, if it is a stream that must exist */
        JETSTREAM_LAST_UNKNOWN,   /* no answer, or one that does not describe the message */
    } found;
    struct parley_bytes payload;
    uint64_t sequence; /* of the message found, or of the one that marks the key as deleted; 0 if
                          there is none */
    uint64_t count;    /* of its header JETSTREAM_COUNT_HEADER; 0 if absent */
    int64_t time_ns;   /* of storage, Unix time; 0: not known */
    const char *error; /* of JETSTREAM_LAST_UNKNOWN: the server's error, or NULL */
};
typedef void jetstream_last_fn(void *context, const struct jetstream_last *last);

/* One message of a stream, as the stream's leader has it.  Owns: borrowed for the call. */
struct jetstream_held {
    enum {
        JETSTREAM_HELD_FOUND,
        JETSTREAM_HELD_GONE,    /* removed since, by retention or by hand */
        JETSTREAM_HELD_UNKNOWN, /* no answer, or one that does not describe the message */
    } found;
    uint64_t sequence;
    const char *subject;
    struct parley_bytes headers; /* "NATS/1.0\r\nName: value\r\n…"; data NULL if absent */
    struct parley_bytes payload;
    int64_t time_ns;   /* of storage, Unix time; 0: not known */
    const char *error; /* of JETSTREAM_HELD_UNKNOWN: the server's error, or NULL */
};
typedef void jetstream_held_fn(void *context, const struct jetstream_held *held);

struct jetstream_stream_info {
    bool is_known;           /* false if there is no answer, or no such stream */
    bool is_replicated;      /* its new leader may for a moment not know of its last messages */
    bool is_led;             /* its leader says so: without one, a copy that lags may answer */
    char created[40];        /* RFC 3339, as the server writes it */
    uint64_t first_sequence; /* of an empty stream: of the next message */
    uint64_t last_sequence;  /* 0 for a stream that never held a message */
    uint64_t message_count;
    int64_t first_time_ns;          /* Unix time; 0 when the stream is empty */
    int64_t max_age_ns;             /* of its messages; 0 if they have no limit */
    uint64_t subject_message_count; /* of jetstream_subject_ask: on its subject */
};

/* The messages to be removed of a stream, on one subject.  Owns: borrowed for the call. */
struct jetstream_removal {
    const char *subject;
    /* At least one of these is 0. */
    uint64_t keep;   /* the last so many stay */
    uint64_t before; /* messages with this sequence or a later one stay; not 1, which is 0 to
                        servers */
};

/* Called with the outcome. A request that failed may have been carried out nevertheless. */
typedef void jetstream_done_fn(void *context, bool is_done);
typedef void jetstream_info_fn(void *context, const struct jetstream_stream_info *info);

/* ---- reading ---- */

struct jetstream_header {
    const char *name, *value; /* value NULL: the message has none of that name */
};

/* A message as stored in the stream.  Owns: borrowed for the call. */
struct jetstream_stored {
    uint64_t sequence;
    int64_t time_ns; /* of storage, Unix time */
    const char *subject;
    struct parley_bytes payload;
    const struct bus_message
        *message; /* for jetstream_stored_header; NULL if it has no headers … */
    const struct jetstream_header
        *known; /* … or these alone are known, up to a NULL name; or NULL */
};
/* Returns: NULL when the message has no such header.  Owns: borrowed, like the message. The headers
 * are parsed by the first call. */
static inline const char *jetstream_stored_header(const struct jetstream_stored *stored,
                                                  const char *name) {
    const struct jetstream_header *known = stored->known;
    if (stored->message != NULL) {
        return bus_message_header(stored->message, name);
    }
    while (known != NULL && known->name != NULL && strcmp(known->name, name) != 0) {
        known++;
    }
    return known != NULL ? known->value : NULL;
}

struct jetstream_start {
    enum {
        JETSTREAM_FROM_NEW,
        JETSTREAM_FROM_SEQUENCE,
        JETSTREAM_FROM_TIME,
        JETSTREAM_FROM_LAST, /* the last message on each subject, then new ones. After a break it
                                begins again: messages may be delivered twice. One that replays
                                delays others that fetch large messages, and is for readers that
                                end */
    } from;
    uint64_t sequence; /* inclusive */
    int64_t time_ns;   /* inclusive, Unix time */
    /* Only messages on these subjects; borrowed for the consumer's life. NULL: all. */
    const char *filter;
    bool is_headers_only; /* without payloads; the header Nats-Msg-Size has their size */
    /* The jumps of the sequence that are not believed: the server must deliver again from there
       on. */
    enum jetstream_doubts {
        JETSTREAM_DOUBTS_NONE,
        /* Jumps over messages that the stream's leader is known to hold, until another member of
         * the cluster delivers them. For streams without holes. */
        JETSTREAM_DOUBTS_HELD,
        /* Jumps over messages that were stored since all had been delivered, once. For streams in
         * which messages are rarely replaced before they are delivered. */
        JETSTREAM_DOUBTS_NEW,
    } doubts;
};
