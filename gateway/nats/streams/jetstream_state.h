/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The data of one jetstream, shared by the files of nats/ and private to them. Each file changes
 * its own part: jetstream_publisher.c the window, jetstream_away_queue.c the flows,
 * jetstream_undecided.c the undecided, jetstream_setup.c, jetstream_check.c and jetstream_reach.c
 * the checks, jetstream_trouble.c the trouble, jetstream_api.c the requests, ordered_*.c and
 * shared_consumer.c the consumers, jetstream.c the rest. The functions by which several of them
 * change it are below; jetstream_state.c depends on none of the others. */

#include <sys/queue.h>

#include <parley/buffer.h>

#include "jetstream_types.h"

enum {
    JETSTREAM_RETRY_MS = 250,
    JETSTREAM_WATCH_MS = 2000, /* between rounds of checks while all streams are usable */
    JETSTREAM_RECHECK_MS = 20, /* one round for all that is reported together */
    JETSTREAM_API_TIMEOUT_MS = 2500,
    JETSTREAM_DIRECT_TIMEOUT_MS = 500, /* then JetStream's API is asked */
    JETSTREAM_SUBJECT_MAX = 512,
    JETSTREAM_TROUBLE_MAX = 512,
    JETSTREAM_NAME_MAX = 272,      /* of a stream, with a word before it */
    JETSTREAM_NO_RESPONDERS = 503, /* no subscriber on that subject */
    JETSTREAM_OVER_PAYLOAD = 413,  /* over max_payload of the server that is connected by now */
};

/* Published by the server when any stream of the account is created, changed or deleted. */
#define JETSTREAM_ADVISORIES "$JS.EVENT.ADVISORY.STREAM.>"

/* err_code of an answer, as in nats-server's jetstream_errors_generated.go. */
enum {
    JETSTREAM_E_INSUFFICIENT_RESOURCES = 10023,
    JETSTREAM_E_NO_PEERS = 10005,
    JETSTREAM_E_NOT_AVAILABLE = 10008,
    JETSTREAM_E_NO_CONSUMER = 10014,
    JETSTREAM_E_NO_MESSAGE = 10037,
    JETSTREAM_E_ACCOUNT_RESOURCES = 10002,
    JETSTREAM_E_STORAGE_RESOURCES = 10047,
    JETSTREAM_E_MESSAGE_SIZE = 10054,
    JETSTREAM_E_NAME_IN_USE = 10058,
    JETSTREAM_E_MEMORY_RESOURCES = 10028,
    JETSTREAM_E_OFF_FOR_ACCOUNT = 10039,
    JETSTREAM_E_OFF = 10076,
    JETSTREAM_E_SEALED = 10109,
    JETSTREAM_E_NO_STREAM = 10059,
    JETSTREAM_E_SUBJECT_OVERLAP = 10065,
    JETSTREAM_E_NO_REPLICAS = 10074,
    JETSTREAM_E_STORE_FAILED = 10077,
    JETSTREAM_E_WRONG_LAST_SEQUENCE = 10071,
    JETSTREAM_E_ID_IN_PROCESS = 10158, /* these two from 2.11 on */
    JETSTREAM_E_LAST_SEQUENCE_IN_PROCESS = 10164,
};

/* A message from jetstream_publish to `done`: in flight, or in the queue of its flow. */
struct jetstream_publication {
    struct jetstream *jetstream;
    struct jetstream_flow *flow; /* NULL when it does not wait */
    struct bus_mailbox mailbox;
    uint64_t number;             /* in the order in which they came */
    int64_t patient_until_ms;    /* so long it may wait, or be published again */
    int64_t repeatable_until_ms; /* so long JetStream recognises it if it is published again */
    int64_t deadline_ms;         /* of its ack; 0 if none can come */
    jetstream_ack_fn *done;
    void *context;
    struct jetstream_sender *sender;
    uint64_t sender_number;
    struct parley_buffer text; /* subject with its NUL, headers, payload */
    size_t subject_size, headers_bytes;
    uint64_t subject_hash;    /* the server identifies a forbidden publication by its subject
                                 alone */
    unsigned unknown_count;   /* how often it was published without an answer: it may be stored */
    unsigned undecided_count; /* how often it was answered so */
    int64_t again_ms;         /* UNDECIDED: when it is published again */
    uint64_t stored_before;   /* a sequence that its stream had when it came; 0: not known */
    uint64_t outage_count;    /* its flow's when it came */
    enum { JETSTREAM_NOWHERE, JETSTREAM_IN_FLIGHT, JETSTREAM_QUEUED, JETSTREAM_UNDECIDED } place;
    struct jetstream_publication *next, *previous;
};

/* The publications to one stream.
 *
 *   OPEN ── no leader, no ack, no connection ──▶ HELD ── the time has come ──▶ TRYING
 *   TRYING ── no leader, no ack, no connection ──▶ HELD
 *   HELD, TRYING ── an ack ──▶ RELEASING ── the queue is empty ──▶ OPEN
 *   RELEASING ── no leader, no connection ──▶ HELD
 *   HELD ── the queue is empty ──▶ OPEN */
enum jetstream_flow_state {
    JETSTREAM_FLOW_OPEN,      /* messages are published at once: the queue is empty */
    JETSTREAM_FLOW_HELD,      /* messages are queued; `try_ms` is when the first is tried */
    JETSTREAM_FLOW_TRYING,    /* the first was published, alone */
    JETSTREAM_FLOW_RELEASING, /* the queue is published as far as the bus has room */
};
struct jetstream_flow {
    struct jetstream *jetstream;
    const struct jetstream_stream *stream;
    enum jetstream_flow_state state;
    struct jetstream_publication queue;  /* sentinel; in the order in which they came */
    struct jetstream_publication *trial; /* of TRYING, or NULL */
    size_t in_flight_count;
    uint64_t last_sequence; /* that was acknowledged; 0 if none was */
    int64_t try_ms;         /* HELD: when to try; TRYING: when the trial was published */
    int64_t sign_ms;        /* when its stream last answered, or the first was published */
    int64_t since_ms;       /* the outage; -1 if there is none */
    int64_t last_ms;        /* when it was last seen */
    bool is_silent;         /* it is an outage without answers */
    uint64_t outage_count;  /* how often it was held */
};

/* Publications that await their ack, oldest first, and the waiters for room. */
struct jetstream_window {
    struct jetstream_publication
        *pool; /* in_flight_count_max, and one for jetstream_publish_second */
    size_t pool_used;
    struct jetstream_publication *free;     /* each may keep its text's memory for the next one */
    size_t spare_bytes;                     /* of that memory */
    struct jetstream_publication in_flight; /* sentinel */
    size_t count;
    size_t bytes;
    struct reactor_timer deadline;   /* of the oldest, or earlier */
    struct jetstream_waiter waiters; /* sentinel */
    size_t waiter_count;
    struct reactor_timer room;
    uint64_t published_count;
    char bound[160]; /* that was reached last */
};

/* Publications that wait for JetStream to decide on an earlier message. */
struct jetstream_undecided {
    struct jetstream_publication list; /* sentinel */
    struct reactor_timer timer;        /* of the one that is due first */
};

/* Publications that wait for NATS, or for the leader of a stream. */
struct jetstream_away_queue {
    struct jetstream_flow *flows; /* of options.streams, in their order */
    struct reactor_timer tick;    /* while anything is in flight or waits */
    int64_t away_ms;              /* since when it is not ready; -1 if it is */
    bool is_over;                 /* no publication waits from now on */
};

/* The state of a stream as the last round found it, the worst last. */
enum jetstream_grade {
    JETSTREAM_IS_USABLE,
    JETSTREAM_REFUSES,     /* usable, but it refused a message: room or a permission is missing */
    JETSTREAM_IS_FULL,     /* exists, and accepts no message at all */
    JETSTREAM_IS_PENDING,  /* to be checked again soon: being created, no answer, … */
    JETSTREAM_IS_UNUSABLE, /* until an operator changes it */
};

/* The size of a stream and its limits. A maximum is 0 where reaching it only discards old
 * messages. */
struct jetstream_room {
    uint64_t bytes, count, last_sequence, bytes_max, count_max;
};

struct jetstream_refusal {
    char why[160]; /* "" if none is known */
    int64_t at_ms;
    bool is_weighed; /* `room` was read after it */
    struct jetstream_room room;
};

/* Whether a stream's messages are read by direct requests, which cost a server a fifth. All
 * replicas answer them, and one may lag, so it is done where the leader is the only replica.
 *
 *   OFF  ◀──▶ ON    a round of checks has read its configuration
 *   ON   ──▶  DEAD  no server answered
 *   any  ──▶  OFF   a new connection; the stream is missing or recreated, or the check is that of
 *                   another stream; a minute as DEAD
 */
enum jetstream_direct { JETSTREAM_DIRECT_OFF, JETSTREAM_DIRECT_ON, JETSTREAM_DIRECT_DEAD };

/* The check of a stream in NATS: a jetstream_stream's own, or one of an operator. */
struct jetstream_check {
    struct jetstream *jetstream;
    struct jetstream_group *group;
    struct jetstream_place place;
    int64_t dedupe_window_ms;          /* as it is set; -1: not known */
    int64_t max_age_ms;                /* of its messages; 0: no limit; -1: not known */
    bool is_deferred;                  /* it is missing, and created at the end of the round */
    struct jetstream_request *request; /* pending, or NULL */
    struct jetstream_request *details; /* likewise: the messages that the server could not read */
    bool has_asked_details;            /* over this connection */
    char created[40];                  /* RFC 3339, as last read; "": never */
    unsigned copies;                   /* its replicas, as last read; 0: never */
    enum jetstream_direct direct;
    int64_t direct_dead_ms; /* DEAD: since when */
    uint64_t bytes;         /* that it held then */
    uint64_t whole_from;    /* from there on it then held all, on several servers; 0 if it did
                               not */
    uint64_t reached;       /* its highest sequence known (jetstream_reach.h) */
    bool is_short;          /* its leader says less in each round … */
    int64_t short_ms;       /* … since then */
    int64_t gone_ms;        /* since when it is missing; -1 if it is not */
    unsigned overlap_count; /* how often its creation failed with an overlap of subjects */
    enum jetstream_grade grade;
    struct jetstream_room room;          /* as last read */
    char trouble[JETSTREAM_TROUBLE_MAX]; /* the problem; "" if none is known */
    char reported[JETSTREAM_TROUBLE_MAX];
    struct jetstream_refusal refusal;
};

/* Whether it is known which streams store the families of a group.
 *
 *   UNPLACED ──▶ FRESH     their streams were looked up
 *   FRESH    ──▶ PLACED    the next round begins
 *   any      ──▶ UNPLACED  a new connection; a stream vanished, or has other subjects
 */
enum jetstream_placement { JETSTREAM_UNPLACED, JETSTREAM_FRESH, JETSTREAM_PLACED };

/* One of options.streams, and the streams that store its messages. */
struct jetstream_group {
    struct jetstream *jetstream;
    const struct jetstream_stream *stream;
    enum jetstream_placement placement; /* always PLACED where it has no families */
    struct jetstream_check *checks;     /* its own stream's, then one for each family */
    size_t check_count;
    struct jetstream_lookup *lookup; /* NULL if it has no families */
};

/* The shortest dedupe window of the streams that store its families; that of the options while none
 * is known. */
int64_t jetstream_group_dedupe_window_ms(const struct jetstream_group *group);

/* How a round ended. */
enum jetstream_round {
    JETSTREAM_ROUND_NONE,     /* none has ended since the connection */
    JETSTREAM_ROUND_ANSWERED, /* every check got an answer */
    JETSTREAM_ROUND_PARTLY,
    JETSTREAM_ROUND_SILENT, /* no check got an answer */
};

struct jetstream_setup {
    struct jetstream_group *groups; /* of options.streams, in their order; the probe's last */
    size_t group_count;
    struct jetstream_check *checks; /* of all groups, in their order */
    size_t check_count;
    size_t bytes_max_least; /* of all streams that have a limit for messages; 0 if none has */
    void (*ready)(struct jetstream *jetstream);
    /* of the round under way: */
    size_t pending_count; /* questions without an answer; 0 if no round is under way */
    size_t asked_count;   /* questions */
    size_t silent_count;  /* of them, those that got no answer in time */
    int off_error;        /* the server's error that JetStream is not enabled; 0 if there is none */
    bool is_recheck_due;  /* begin the next round at once */
    /* of the last round that ended: */
    enum jetstream_round last_round;
    int last_off_error;
    bool has_started; /* it was ready before: an unusable stream stops only messages to it */
    size_t unusable_count;
    const struct jetstream_check *bar; /* why the last publication was barred; NULL if none was */
    bool has_settled; /* a cluster had the time to announce the streams to all its servers */
    struct reactor_timer next;
};

struct jetstream_trouble_state {
    bool is_disk_full; /* of an embedded server: nothing is published */
    struct reactor_timer store_tick;
    char disk[JETSTREAM_TROUBLE_MAX];
    char violation[JETSTREAM_TROUBLE_MAX]; /* the last one that does not belong to a stream */
    int64_t violation_ms;
    bool is_vital;    /* nothing works without that permission */
    int64_t since_ms; /* since when a trouble affects all; -1 if there is none */
    char reported_all[JETSTREAM_TROUBLE_MAX], reported_violation[JETSTREAM_TROUBLE_MAX];
};

/* The bytes that replaying consumers have requested, and the consumers that wait to request more.
 */
struct jetstream_lane {
    size_t bytes; /* requested, not received so far */
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
    uint64_t connected_count;
    struct jetstream_setup setup;
    struct jetstream_trouble_state trouble;
    struct jetstream_window window;
    struct jetstream_undecided undecided;
    struct jetstream_away_queue patience;
    struct jetstream_prober prober;
    struct jetstream_request *requests;
    struct ordered_consumer *ordered_consumers;
    struct jetstream_pulling pulling;
    struct reactor_timer ordered_tick;
    struct shared_consumer *shared_consumers;
};

/* The number of setup.checks without the probe's, which is the last. */
size_t jetstream_check_count(const struct jetstream *jetstream);
/* Messages can be accepted (jetstream_is_ready). */
bool jetstream_can_publish(const struct jetstream *jetstream);
/* JetStream did something that shows that it can store. */
void jetstream_note_good(struct jetstream *jetstream);
/* Nothing is accepted before its stream exists (jetstream_stream.without). */
bool jetstream_is_needed(const struct jetstream_check *check);
/* A stream seems to be missing or changed: all are checked soon. */
void jetstream_recheck(struct jetstream *jetstream);
