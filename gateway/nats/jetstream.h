/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* JetStream on one reactor's bus: acknowledged publishing in a bounded window, the streams that
 * must exist, and ordered reading. It speaks JetStream's JSON API over bus.h and never blocks. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bus.h"

struct jetstream;

/* A stream that must exist. */
struct jetstream_stream {
    const char *name;     /* VLP */
    const char *subjects; /* vlp.> */
    unsigned bucket_days; /* it is the stream of a key-value bucket that forgets after so many days;
                             0: it is none */
};

struct jetstream_options {
    struct bus_options bus;
    const struct jetstream_stream *streams; /* borrowed for the jetstream's life */
    size_t stream_count;
    unsigned replicas;          /* of streams that we create */
    int64_t dedupe_window_ms;   /* 0: as good as off. nats-server takes 0 for its default of two
                                   minutes and refuses less than 100 ms, so it becomes those */
    int64_t ack_timeout_ms;     /* 10000 */
    size_t in_flight_count_max; /* publications that await their ack */
    size_t in_flight_bytes_max;
    int64_t watch_ms;  /* between looks at the streams; 0: 2000 */
    const char *store; /* where an own server keeps its store; nothing is published while its disk
                          is full. NULL: elsewhere */
    bool is_probing;   /* ask for a real ack every two seconds, if none came of itself: an embedded
                          server that does not acknowledge is wedged */
};

struct jetstream_events {
    /* Connected, and every stream exists: messages can be accepted. Again after a reconnect. */
    void (*ready)(void *context);
    /* Not ready any more. What was in flight has been told so. */
    void (*away)(void *context);
    /* A stream that exists cannot be used (other subjects, no acks, another retention, sealed): a
     * person has to change that. `error` names the stream and what to do. Called again each time it
     * is found so. Before the first `ready` it keeps that from coming; afterwards nothing is
     * published to that stream, and all others are used. */
    void (*unusable)(void *context, const char *error);
    /* Something began to be wrong, is so for another reason (`text`: in words without secrets), or
     * is over (NULL). `subject` says with what: "NATS", "stream VLP". May be NULL. */
    void (*trouble)(void *context, const char *subject, const char *text);
    /* A stream was deleted and made anew, by whomever; it counts from 1 again. May be NULL. */
    void (*renewed)(void *context, const struct jetstream_stream *stream);
    /* Probing only: five seconds without an ack that should have come. */
    void (*unresponsive)(void *context);
    void *context;
};

enum parley_status jetstream_create(struct reactor *reactor,
                                    const struct jetstream_options *options,
                                    const struct jetstream_events *events,
                                    struct jetstream **out) PARLEY_MUST_CHECK;
/* Close its feeds first; `done` of what is in flight is not called. The reactor must not run
 * afterwards. */
void jetstream_destroy(struct jetstream *jetstream);

/* Messages can be accepted. */
bool jetstream_is_ready(const struct jetstream *jetstream);
/* Why they cannot, or not as they should, as half a sentence without secrets; NULL: nothing is
 * known to be wrong that concerns all streams or needs a person.  Owns: borrowed, for this turn. */
const char *jetstream_trouble(const struct jetstream *jetstream);
/* What is wrong with single streams or permissions, the first with number 0; NULL: no more.  Owns:
 * borrowed, for this turn. */
const char *jetstream_remark(const struct jetstream *jetstream, size_t number);
/* The streams stand and can be read, even if nothing can be stored. */
bool jetstream_can_read(const struct jetstream *jetstream);
/* Connected to NATS at all, whether or not the streams stand. */
bool jetstream_is_connected(const struct jetstream *jetstream);
size_t jetstream_max_payload_bytes(const struct jetstream *jetstream);

/* ---- publishing ---- */

enum jetstream_outcome {
    JETSTREAM_STORED,
    JETSTREAM_REFUSED, /* JetStream said no (full, …): not stored */
    JETSTREAM_TIMEOUT, /* no ack in time: may have been stored */
    JETSTREAM_LOST,    /* the connection broke before the ack: may have been stored */
};

struct jetstream_ack {
    enum jetstream_outcome outcome;
    const char *stream; /* STORED.  Owns: the text is borrowed for the call */
    uint64_t sequence;
    bool is_duplicate;
    int error_code; /* REFUSED: JetStream's err_code, 503 for "no stream listens", 0 for what NATS
                       does not permit */
    const char *error;
};
typedef void jetstream_ack_fn(void *context, const struct jetstream_ack *ack);

enum jetstream_publish {
    JETSTREAM_PUBLISHED, /* `done` will be called exactly once, in a later turn */
    JETSTREAM_AWAY,      /* not ready: 503 bus-unavailable */
    JETSTREAM_BARRED,    /* the stream of this subject is unusable, jetstream_bar says why: 503 */
    JETSTREAM_FULL,      /* the window is full: wait for room, or 503 overloaded */
    JETSTREAM_TOO_LARGE, /* over the server's max_payload: 413 */
    JETSTREAM_FAILED,    /* of ours: 500 */
};

/* `done` is called only for JETSTREAM_PUBLISHED. There is no cancelling: keep the context until
 * then.  Copies everything else. */
enum jetstream_publish jetstream_publish(struct jetstream *jetstream, const char *subject,
                                         const struct bus_header *headers, size_t header_count,
                                         struct parley_bytes payload, jetstream_ack_fn *done,
                                         void *context);

/* Why the last publication was JETSTREAM_BARRED, as half a sentence; NULL: none ever was.  Owns:
 * borrowed, for this turn. */
const char *jetstream_bar(const struct jetstream *jetstream);

/* The same for what belongs together with what was published just before, and must not wait for
 * room of its own: the one without the other would be in vain. At most one may follow so. */
enum jetstream_publish jetstream_publish_second(struct jetstream *jetstream, const char *subject,
                                                const struct bus_header *headers,
                                                size_t header_count, struct parley_bytes payload,
                                                jetstream_ack_fn *done, void *context);

/* Calls `room` once, in a later turn, when the window has room again or the bus went away.
 * The owner embeds the waiter, zeroed at first; waiting twice is waiting once. */
struct jetstream_waiter {
    void (*room)(struct jetstream_waiter *waiter);
    struct jetstream_waiter *next, *previous;
    bool is_waiting;
};
void jetstream_wait_for_room(struct jetstream *jetstream, struct jetstream_waiter *waiter);
void jetstream_wait_cancel(struct jetstream *jetstream, struct jetstream_waiter *waiter);

/* How many publications await their ack. */
size_t jetstream_in_flight_count(const struct jetstream *jetstream);

/* ---- asking ---- */

/* A question under way. */
struct jetstream_request;

/* It is not answered any more. NULL is allowed. */
void jetstream_request_cancel(struct jetstream_request *request);

/* The last message of a stream on one subject, told by the stream's leader: what was acknowledged
 * to anybody before is there.  Owns: borrowed for the call. */
struct jetstream_last {
    enum {
        JETSTREAM_LAST_FOUND,
        JETSTREAM_LAST_NONE,      /* no message, or one that marks a key as deleted */
        JETSTREAM_LAST_NO_STREAM, /* which is being made again, if it is one that must exist */
        JETSTREAM_LAST_UNKNOWN,   /* no answer, or one that says nothing of the message */
    } found;
    struct parley_bytes payload;
    const char *error; /* of JETSTREAM_LAST_UNKNOWN: what the server said, or NULL */
};
typedef void jetstream_last_fn(void *context, const struct jetstream_last *last);

/* Returns: NULL when it cannot be asked now; otherwise `done` is called once, in a later turn. */
struct jetstream_request *jetstream_last_ask(struct jetstream *jetstream, const char *stream,
                                             const char *subject, jetstream_last_fn *done,
                                             void *context);

/* One message of a stream, by its sequence number, as the stream's leader has it.
 * Owns: borrowed for the call. */
struct jetstream_held {
    enum {
        JETSTREAM_HELD_FOUND,
        JETSTREAM_HELD_GONE,    /* it was removed since, by retention or by hand */
        JETSTREAM_HELD_UNKNOWN, /* no answer, or one that says nothing of the message */
    } found;
    const char *subject;
    struct parley_bytes headers; /* "NATS/1.0\r\nName: value\r\n…"; data NULL: none */
    const char *error;           /* of JETSTREAM_HELD_UNKNOWN: what the server said, or NULL */
};
typedef void jetstream_held_fn(void *context, const struct jetstream_held *held);

/* Asks for all of it but its payload. (The server sends that as well, so an answer may be a third
 * longer than max_payload.)  Returns: as jetstream_last_ask. */
struct jetstream_request *jetstream_held_ask(struct jetstream *jetstream, const char *stream,
                                             uint64_t sequence, jetstream_held_fn *done,
                                             void *context);

/* For how long the server recognises a Nats-Msg-Id that it has stored in this stream: the stream's
 * own setting, which need not be the option's. The option's, while that is not known. */
int64_t jetstream_dedupe_window_ms(const struct jetstream *jetstream, const char *stream);

/* ---- reading ---- */

struct jetstream_stream_info {
    bool is_known;           /* false: no answer, or there is no such stream */
    char created[40];        /* RFC 3339, as the server writes it */
    uint64_t first_sequence; /* the next one to come, for a stream that is empty */
    uint64_t last_sequence;  /* 0 for a stream that never held a message */
    int64_t first_time_ns;   /* Unix time; 0 when it is empty */
};
typedef void jetstream_info_fn(void *context, const struct jetstream_stream_info *info);

/* Asks the server; `done` is called exactly once, in a later turn, unless this returns false (not
 * connected, no memory) or the jetstream is destroyed. */
bool jetstream_stream_ask(struct jetstream *jetstream, const char *stream, jetstream_info_fn *done,
                          void *context);

/* A message as the stream holds it.  Owns: borrowed for the call. */
struct jetstream_stored {
    uint64_t sequence;
    int64_t time_ns; /* of storage, Unix time */
    const char *subject;
    struct parley_bytes payload;
    const struct bus_message *message; /* for jetstream_stored_header; NULL: it has no headers */
};
/* NULL when it has no such header.  Owns: borrowed, like the message. The headers are parsed when
 * one is first asked for, and not before. */
static inline const char *jetstream_stored_header(const struct jetstream_stored *stored,
                                                  const char *name) {
    return stored->message != NULL ? bus_message_header(stored->message, name) : NULL;
}

struct jetstream_start {
    enum { JETSTREAM_FROM_NEW, JETSTREAM_FROM_SEQUENCE, JETSTREAM_FROM_TIME } from;
    uint64_t sequence; /* inclusive */
    int64_t time_ns;   /* inclusive, Unix time */
};

struct jetstream_feed;

/* Called in order, each message of the stream once; what retention removed shows as a jump of the
 * sequence. A feed heals itself: after a lost message, a lost connection or a lost consumer it
 * goes on behind the last message that it delivered. */
struct jetstream_feed_events {
    /* It stands: whatever is stored from `next_sequence` on will come, and nothing before it.
     * Called once. For JETSTREAM_FROM_SEQUENCE it is that sequence, be it past the end. */
    void (*opened)(void *context, uint64_t next_sequence);
    void (*stored)(void *context, const struct jetstream_stored *stored);
    /* PULL only: nothing of what was pulled is still to come, since it came, or since the next
     * message is past the bytes. */
    void (*rested)(void *context);
    /* The server refuses it for good (a work queue, no more consumers): nothing comes any more, and
     * it does not try again. `error`: in words, borrowed for the call. */
    void (*refused)(void *context, const char *error);
    void *context;
};

enum jetstream_flow {
    JETSTREAM_PUSH, /* everything, as fast as it comes */
    JETSTREAM_PULL, /* at most what jetstream_feed_pull asked for */
};

/* What all PULL feeds of one jetstream have asked the server for and not yet received, at the most:
 * a server cuts a connection on which it has 64 MB to write, and everything shares that one. A feed
 * waits for its turn, a request each; those that fetch large messages have half of it, so that
 * they keep nobody else waiting. (One message larger than that is asked for alone.) */
#define JETSTREAM_PULL_BYTES_MAX ((size_t)(16 * 1024 * 1024))

/* Opens one, in the background, waiting for the connection if need be.
 * Owns: events are copied; the feed is yours until jetstream_feed_close. */
enum parley_status jetstream_feed_open(struct jetstream *jetstream, const char *stream,
                                       struct jetstream_start start, enum jetstream_flow flow,
                                       const struct jetstream_feed_events *events,
                                       struct jetstream_feed **out) PARLEY_MUST_CHECK;
/* From now on `count` messages may come, now or when they are stored, and `bytes` of them at the
 * most; but one comes, however large it is. Asked again, the new bounds hold in place of the old
 * ones (what is under way by then comes all the same).  PULL only. */
void jetstream_feed_pull(struct jetstream_feed *feed, size_t count, size_t bytes);
/* What PULL feeds have asked for and not yet received. */
size_t jetstream_pulled_bytes(const struct jetstream *jetstream);
/* May be called from its own callbacks. */
void jetstream_feed_close(struct jetstream_feed *feed);

/* ---- sharing ---- */

/* A durable consumer whose messages are dealt out among all who take from it, each message until
 * somebody has acknowledged it. One that is missing is created; one that exists is used as it is.
 */
struct jetstream_share;

struct jetstream_share_options {
    const char *stream, *durable, *filter; /* borrowed for its life */
    size_t batch;                          /* at most so many are on their way to us */
    int64_t ack_wait_ms;                   /* after which somebody else may get it */
};

/* A message, and what to acknowledge it by.  Owns: borrowed for the call. */
typedef void jetstream_share_fn(void *context, const struct jetstream_stored *stored,
                                const char *receipt);

/* Takes from it for as long as it is open, in the background; it heals itself as a feed does.
 * Owns: options are copied, the texts are borrowed; the share is yours. */
enum parley_status jetstream_share_open(struct jetstream *jetstream,
                                        const struct jetstream_share_options *options,
                                        jetstream_share_fn *taken, void *context,
                                        struct jetstream_share **out) PARLEY_MUST_CHECK;
/* Not from its own callback. NULL is allowed. */
void jetstream_share_close(struct jetstream_share *share);
/* It is done with, and is not dealt out again. */
void jetstream_share_ack(struct jetstream *jetstream, const char *receipt);
/* It is to be dealt out again in a while. */
void jetstream_share_return(struct jetstream *jetstream, const char *receipt, int64_t delay_ms);
