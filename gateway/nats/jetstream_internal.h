/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the files of JetStream share, and nobody else includes: jetstream.c (publishing, and the
 * whole's life), jetstream_api.c (requests to the JSON API), jetstream_setup.c (the streams that
 * must exist), jetstream_judge.c (whether they can be used), jetstream_trouble.c (what is wrong, in
 * words), feed.c (reading) and share.c (reading with others). */

#include <jansson.h>
#include <sys/queue.h>

#include "jetstream.h"

enum {
    JETSTREAM_RETRY_MS = 250,
    JETSTREAM_WATCH_MS = 2000, /* between looks at streams with which all is well */
    JETSTREAM_AGAIN_MS = 20,   /* a deletion is told a little before it is done everywhere */
    JETSTREAM_API_TIMEOUT_MS = 2500,
    JETSTREAM_SUBJECT_MAX = 512,
    JETSTREAM_TROUBLE_MAX = 512,
    JETSTREAM_NAME_MAX = 272,      /* of a stream, with a word before it */
    JETSTREAM_NO_RESPONDERS = 503, /* nobody listens on that subject */
};

/* Told when any stream of the account is created, changed or deleted. */
#define JETSTREAM_ADVISORIES "$JS.EVENT.ADVISORY.STREAM.>"

/* err_code of an answer. The server's list: jetstream_errors_generated.go. */
enum {
    JETSTREAM_E_INSUFFICIENT_RESOURCES = 10023,
    JETSTREAM_E_NO_PEERS = 10005,
    JETSTREAM_E_NO_CONSUMER = 10014,
    JETSTREAM_E_NO_MESSAGE = 10037,
    JETSTREAM_E_ACCOUNT_RESOURCES = 10002,
    JETSTREAM_E_STORAGE_RESOURCES = 10047,
    JETSTREAM_E_NAME_IN_USE = 10058,
    JETSTREAM_E_MEMORY_RESOURCES = 10028,
    JETSTREAM_E_OFF_FOR_ACCOUNT = 10039,
    JETSTREAM_E_OFF = 10076,
    JETSTREAM_E_SEALED = 10109,
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
    uint64_t subject_hash; /* the server names what it forbids by its subject alone */
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

/* What a round found of a stream, the worst last. */
enum jetstream_grade {
    JETSTREAM_STANDS,
    JETSTREAM_REFUSES,     /* stands, and refused a message for want of room or permission */
    JETSTREAM_IS_FULL,     /* stands, and takes no message at all */
    JETSTREAM_IS_COMING,   /* to be asked for again soon: being made, no answer, … */
    JETSTREAM_IS_UNUSABLE, /* until a person changes it */
};

/* What a stream holds and may hold. A maximum is 0 where it only makes old messages go. */
struct jetstream_room {
    uint64_t bytes, count, last_sequence, bytes_max, count_max;
};

struct jetstream_refusal {
    char why[160]; /* "": none is known */
    int64_t at_ms;
    bool is_weighed; /* `room` is what there was after it */
    struct jetstream_room room;
};

struct jetstream_check {
    struct jetstream *jetstream;
    const struct jetstream_stream *stream;
    struct jetstream_request *request; /* under way, or NULL */
    char created[40];                  /* RFC 3339, as last heard; "": never */
    unsigned overlap_count;            /* so often it was refused for its subjects */
    enum jetstream_grade grade;
    char trouble[JETSTREAM_TROUBLE_MAX]; /* why not everything is well; "": nothing is known */
    char told[JETSTREAM_TROUBLE_MAX];
    struct jetstream_refusal refusal;
};

struct jetstream_setup {
    struct jetstream_check *checks; /* a stream each, and the probe's last */
    size_t check_count;
    size_t pending_count; /* of this round; 0: none is under way */
    size_t silent_count;  /* that got no answer in it */
    int off_error;        /* JetStream is not enabled, it was said in it; 0: it was not */
    bool was_answered;    /* the last whole round got all its answers */
    bool was_silent;      /* the last whole round got no answer at all */
    int was_off_error;    /* off_error of the last whole round */
    bool is_wanted;       /* another round, at once */
    bool has_started;     /* it was ready before: what is unusable stops only itself */
    size_t unusable_count;
    const struct jetstream_check *bar; /* what the last publication was barred by; NULL: none was */
    bool has_settled; /* a cluster was given the time to tell its servers of the streams */
    struct reactor_timer next;
};

struct jetstream_trouble_state {
    bool is_disk_full; /* of an own server: nothing is published */
    struct reactor_timer store_tick;
    char disk[JETSTREAM_TROUBLE_MAX];
    char violation[JETSTREAM_TROUBLE_MAX]; /* the last one that is of no single stream */
    int64_t violation_ms;
    bool is_vital; /* without that permission nothing works at all */
    char told_all[JETSTREAM_TROUBLE_MAX], told_violation[JETSTREAM_TROUBLE_MAX];
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
    struct jetstream_trouble_state trouble;
    struct jetstream_window window;
    struct jetstream_prober prober;
    struct jetstream_request *requests;
    int64_t *dedupe_windows_ms; /* of options.streams, as they are; -1: not known */
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

/* `answer` is borrowed; NULL: none in time, the connection broke, or it is not a JSON object. Where
 * nobody listens, it has the error JETSTREAM_NO_RESPONDERS. */
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

enum parley_status jetstream_setup_create(struct jetstream *jetstream);
/* Checks every stream and creates what is missing, again and again; calls jetstream_become_ready
 * when all stand. */
void jetstream_setup_begin(struct jetstream *jetstream);
void jetstream_setup_end(struct jetstream *jetstream);
/* A stream seems to be gone, or to have changed: checks them all again, soon, and meanwhile all
 * stays as it is. */
void jetstream_setup_again(struct jetstream *jetstream);

/* ---- jetstream_judge.c ---- */

/* Whether each subject that matches `inner` matches `outer` too. */
bool jetstream_covers(const char *outer, const char *inner);
/* Sets grade and trouble by what STREAM.INFO answered. */
enum jetstream_grade jetstream_judge(struct jetstream_check *check, const json_t *answer);
enum jetstream_grade jetstream_grade_set(struct jetstream_check *check, enum jetstream_grade grade,
                                         const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- jetstream_trouble.c ---- */

void jetstream_trouble_begin(struct jetstream *jetstream);
void jetstream_trouble_end(struct jetstream *jetstream);
/* Something may have changed: reports it if so. */
void jetstream_trouble_review(struct jetstream *jetstream);
/* Whether nothing may be published to this subject: its stream cannot be used. */
bool jetstream_is_barred(struct jetstream *jetstream, const char *subject);
/* A message was refused for want of room. */
void jetstream_refusal_note(struct jetstream *jetstream, const char *stream, int error,
                            const char *text);
/* NATS does not permit this user something. */
void jetstream_violation_note(struct jetstream *jetstream, bool is_publish, const char *subject);

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
