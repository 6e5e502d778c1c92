/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The data of one jetstream, shared by the files of nats/ and private to them. Each file changes
 * its own part: jetstream_publisher.c the window, jetstream_setup.c and jetstream_judge.c the
 * checks, jetstream_trouble.c the trouble, jetstream_api.c the requests, ordered_*.c and
 * shared_consumer.c the consumers, jetstream.c the rest. What several of them have to say to it is
 * below, as functions; jetstream_state.c depends on none of the others. */

#include <sys/queue.h>

#include "jetstream_types.h"

enum {
    JETSTREAM_RETRY_MS = 250,
    JETSTREAM_WATCH_MS = 2000, /* between rounds of checks while all streams are usable */
    JETSTREAM_RECHECK_MS = 20, /* one round for all that is reported together */
    JETSTREAM_API_TIMEOUT_MS = 2500,
    JETSTREAM_SUBJECT_MAX = 512,
    JETSTREAM_TROUBLE_MAX = 512,
    JETSTREAM_NAME_MAX = 272,      /* of a stream, with a word before it */
    JETSTREAM_NO_RESPONDERS = 503, /* no subscriber on that subject */
};

/* Published by the server when any stream of the account is created, changed or deleted. */
#define JETSTREAM_ADVISORIES "$JS.EVENT.ADVISORY.STREAM.>"

/* err_code of an answer, as in nats-server's jetstream_errors_generated.go. */
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
    uint64_t subject_hash; /* the server identifies what it forbids by the subject alone */
    struct jetstream_publication *next, *previous;
};

/* What was published and awaits its ack, oldest first, and the waiters for room. */
struct jetstream_window {
    struct jetstream_publication
        *pool; /* in_flight_count_max, and one for jetstream_publish_second */
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

/* The state of a stream as the last round found it, the worst last. */
enum jetstream_grade {
    JETSTREAM_IS_USABLE,
    JETSTREAM_REFUSES,     /* usable, but it refused a message: room or a permission is missing */
    JETSTREAM_IS_FULL,     /* exists, and accepts no message at all */
    JETSTREAM_IS_PENDING,  /* to be checked again soon: being created, no answer, … */
    JETSTREAM_IS_UNUSABLE, /* until an operator changes it */
};

/* What a stream holds and may hold. A maximum is 0 where reaching it only discards old messages. */
struct jetstream_room {
    uint64_t bytes, count, last_sequence, bytes_max, count_max;
};

struct jetstream_refusal {
    char why[160]; /* "": none is known */
    int64_t at_ms;
    bool is_weighed; /* `room` was read after it */
    struct jetstream_room room;
};

struct jetstream_check {
    struct jetstream *jetstream;
    const struct jetstream_stream *stream;
    struct jetstream_request *request; /* pending, or NULL */
    char created[40];                  /* RFC 3339, as last read; "": never */
    uint64_t bytes;                    /* that it held then */
    int64_t gone_ms;                   /* since when it is missing; -1: it is not */
    unsigned overlap_count; /* how often its creation failed with an overlap of subjects */
    enum jetstream_grade grade;
    char trouble[JETSTREAM_TROUBLE_MAX]; /* what is wrong; "": nothing is known */
    char reported[JETSTREAM_TROUBLE_MAX];
    struct jetstream_refusal refusal;
};

/* How a round ended. */
enum jetstream_round {
    JETSTREAM_ROUND_NONE,     /* none has since the connection */
    JETSTREAM_ROUND_ANSWERED, /* every check got an answer */
    JETSTREAM_ROUND_PARTLY,
    JETSTREAM_ROUND_SILENT, /* no check got an answer */
};

struct jetstream_setup {
    struct jetstream_check *checks; /* one per stream, the probe's last */
    size_t check_count;
    void (*ready)(struct jetstream *jetstream);
    /* Of the round under way: */
    size_t pending_count; /* checks without an answer; 0: no round is under way */
    size_t silent_count;  /* checks that got no answer in time */
    int off_error;        /* the server's error that JetStream is not enabled; 0: none */
    bool is_recheck_due;  /* begin the next round at once */
    /* Of the last round that ended: */
    enum jetstream_round last_round;
    int last_off_error;
    bool has_started; /* it was ready before: an unusable stream stops only what goes to it */
    size_t unusable_count;
    const struct jetstream_check *bar; /* why the last publication was barred; NULL: none was */
    bool has_settled; /* a cluster had the time to announce the streams to all its servers */
    struct reactor_timer next;
};

struct jetstream_trouble_state {
    bool is_disk_full; /* of an embedded server: nothing is published */
    struct reactor_timer store_tick;
    char disk[JETSTREAM_TROUBLE_MAX];
    char violation[JETSTREAM_TROUBLE_MAX]; /* the last one that does not belong to a stream */
    int64_t violation_ms;
    bool is_vital; /* nothing works without that permission */
    char reported_all[JETSTREAM_TROUBLE_MAX], reported_violation[JETSTREAM_TROUBLE_MAX];
};

/* The bytes that replaying consumers have requested, and the consumers that wait to request more.
 */
struct jetstream_lane {
    size_t bytes; /* requested, not yet received */
    TAILQ_HEAD(, ordered_consumer) queue;
};
struct jetstream_pulling {
    struct jetstream_lane lanes[2]; /* the second one for large messages */
    LIST_HEAD(, ordered_debt) debts;
};

struct jetstream_prober {
    struct reactor_timer tick;
    bool is_waiting; /* for a probe's ack */
    int64_t good_ms; /* when JetStream last showed that it can store */
    int64_t reported_ms;
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
    int64_t *dedupe_windows_ms; /* of options.streams, as they are set; -1: not known */
    struct ordered_consumer *ordered_consumers;
    struct jetstream_pulling pulling;
    struct reactor_timer ordered_tick;
    struct shared_consumer *shared_consumers;
};

/* Messages can be accepted (jetstream_is_ready). */
bool jetstream_can_publish(const struct jetstream *jetstream);
/* JetStream did something that shows that it can store. */
void jetstream_note_good(struct jetstream *jetstream);
/* A stream seems to be missing or changed: all are checked soon. */
void jetstream_recheck(struct jetstream *jetstream);
