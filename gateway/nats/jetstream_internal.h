/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the five files of JetStream share, and nobody else includes: jetstream.c (publishing, and
 * the whole's life), jetstream_api.c (requests to the JSON API), jetstream_setup.c (the streams
 * that must exist), feed.c (reading) and share.c (reading with others). */

#include <jansson.h>
#include <sys/queue.h>

#include "jetstream.h"

enum {
    JETSTREAM_RETRY_MS = 250,
    JETSTREAM_API_TIMEOUT_MS = 2500,
    JETSTREAM_SUBJECT_MAX = 512,
    JETSTREAM_TROUBLE_MAX = 1024,
};

/* err_code of an answer. The server's list: jetstream_errors_generated.go. */
enum {
    JETSTREAM_E_INSUFFICIENT_RESOURCES = 10023,
    JETSTREAM_E_NO_PEERS = 10005,
    JETSTREAM_E_NO_CONSUMER = 10014,
    JETSTREAM_E_NO_MESSAGE = 10037,
    JETSTREAM_E_ACCOUNT_RESOURCES = 10002,
    JETSTREAM_E_STORAGE_RESOURCES = 10047,
    JETSTREAM_E_NAME_IN_USE = 10058,
    JETSTREAM_E_NO_STREAM = 10059,
    JETSTREAM_E_SUBJECT_OVERLAP = 10065,
    JETSTREAM_E_NO_REPLICAS = 10074,
    JETSTREAM_E_STORE_FAILED = 10077,
};

struct jetstream_publication {
    struct jetstream *jetstream;
    struct bus_mailbox mailbox;
    int64_t deadline_ms;
    jetstream_ack_fn *done;
    void *context;
    size_t bytes;
    struct jetstream_publication *next, *previous;
};

/* What was published and awaits its ack, oldest first, and who waits for room. */
struct jetstream_window {
    struct jetstream_publication *pool; /* in_flight_count_max of them, and one for a second */
    size_t pool_used;
    struct jetstream_publication *free;
    struct jetstream_publication in_flight; /* sentinel */
    size_t count;
    size_t bytes;
    struct reactor_timer deadline;   /* of the oldest, or earlier */
    struct jetstream_waiter waiters; /* sentinel */
    size_t waiter_count;
    struct reactor_timer room;
};

struct jetstream_setup {
    struct jetstream_request *request;
    struct reactor_timer retry;
    size_t standing_count;  /* streams found to stand, in this round */
    bool has_settled;       /* a cluster was given the time to tell its servers of the streams */
    unsigned overlap_count; /* so often the present one was refused for its subjects */
    char trouble[JETSTREAM_TROUBLE_MAX]; /* why one cannot be used; "": none is known */
};

/* The bytes that PULL feeds have under way, and who waits for some. */
struct jetstream_lane {
    size_t bytes;                       /* asked for, not yet received */
    TAILQ_HEAD(, jetstream_feed) queue; /* the first to come first */
};
struct jetstream_pulling {
    struct jetstream_lane lanes[2];         /* the second one for large messages */
    LIST_HEAD(, jetstream_feed_debt) debts; /* asked of consumers that are being deleted */
};

struct jetstream_prober {
    struct reactor_timer tick;
    bool is_waiting; /* for the ack of a probe */
    int64_t good_ms; /* when JetStream last showed that it stores */
    int64_t complained_ms;
};

struct jetstream {
    struct reactor *reactor;
    struct bus *bus;
    struct jetstream_options options;
    struct jetstream_events events;
    bool is_ready;
    struct jetstream_setup setup;
    struct jetstream_window window;
    struct jetstream_prober prober;
    struct jetstream_request *requests;
    struct jetstream_feed *feeds;
    struct jetstream_pulling pulling;
    struct reactor_timer feeds_tick;
    struct jetstream_share *shares;
};

/* ---- jetstream.c ---- */

void jetstream_become_ready(struct jetstream *jetstream);
/* JetStream did what takes a working store. */
void jetstream_note_good(struct jetstream *jetstream);

/* ---- jetstream_api.c ---- */

/* `answer` is borrowed; NULL: none in time, the connection broke, JetStream is not there, or it
 * is no JSON object. */
typedef void jetstream_answer_fn(void *context, json_t *answer);

/* Asks $JS.API.<what>.  Owns: steals `body`, which may be NULL.
 * Returns: NULL when it could not be sent; otherwise `done` is called once, in a later turn. */
struct jetstream_request *jetstream_request_send(struct jetstream *jetstream, const char *what,
                                                 json_t *body, jetstream_answer_fn *done,
                                                 void *context);
/* All at once: they get no answer any more (`is_told`), or are just forgotten. */
void jetstream_requests_end(struct jetstream *jetstream, bool is_told);
/* Asks for something and does not wait for the answer. */
void jetstream_request_forget(struct jetstream *jetstream, const char *what);

/* Its err_code, or else its code; 0: it is no error. */
int jetstream_answer_error(const json_t *answer);
/* Its description, never NULL. */
const char *jetstream_answer_text(const json_t *answer);
/* A number at path a.b, 0 if it is not there. */
uint64_t jetstream_answer_number(const json_t *answer, const char *object, const char *name);
/* Unix time of an RFC 3339 text, 0 for Go's zero time and for what cannot be read. */
int64_t jetstream_time_ns(const char *text);

/* ---- jetstream_setup.c ---- */

#define JETSTREAM_PROBE_SUBJECT "_parley.probe"

/* Checks every stream and creates what is missing; ends in jetstream_become_ready, or not before
 * jetstream_setup_end. */
void jetstream_setup_begin(struct jetstream *jetstream);
void jetstream_setup_end(struct jetstream *jetstream);
/* A stream seems to be gone: checks them all again, soon, and meanwhile all stays as it is. */
void jetstream_setup_again(struct jetstream *jetstream);

/* ---- feed.c ---- */

void jetstream_feeds_start(struct jetstream *jetstream); /* ready */
void jetstream_feeds_stop(struct jetstream *jetstream);  /* away */

/* $JS.ACK.<stream>.<consumer>.<tries>.<sseq>.<cseq>.<time>.<pending>, or with <domain>.<account>
 * behind $JS.ACK (and maybe one more token at the end). */
struct jetstream_delivery {
    uint64_t stream_sequence;
    uint64_t consumer_sequence;
    int64_t time_ns;
};
/* Returns: false: the subject is none of these. */
bool jetstream_delivery_read(const char *reply, struct jetstream_delivery *out);

/* ---- share.c ---- */

void jetstream_shares_start(struct jetstream *jetstream); /* ready */
void jetstream_shares_stop(struct jetstream *jetstream);  /* away */
