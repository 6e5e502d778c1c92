/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A POST served by ingest.c and what it leans on. JetStream and HTTP are played here, so that
 * each ack, each piece of a body and each byte of the answer happens when the test says. */

#include <stdbool.h>
#include <stddef.h>

#include "channel.h"
#include "ingest.h"
#include "spool.h"

enum { WORLD_PUBLISHED_MAX = 5000, WORLD_PAIRS_MAX = 4, WORLD_TASKS_MAX = 8 };

struct request_pair {
    const char *name, *value;
};

/* What a request's head says. */
struct request_head {
    const char *type; /* NULL: application/x-ndjson */
    struct request_pair headers[WORLD_PAIRS_MAX], query[WORLD_PAIRS_MAX];
    enum ingest_task task;
    bool is_live;           /* the answer may be */
    int64_t content_length; /* -1: chunked */
    bool cannot_read;       /* its sender has not the scope */
};

struct published {
    jetstream_ack_fn *done;
    void *context;
    const struct jetstream_sender *sender;
    unsigned share; /* of the window */
    char *payload;
    char message_id[192]; /* Nats-Msg-Id, or "" */
    char digest[48];      /* Parley-Digest, or "" */
    char event_id[64];    /* ce-id */
    char subject[64];
};

/* A fact that is being written. */
struct fact_write {
    fact_written_fn *done; /* NULL: answered */
    void *context;
};

/* The facts of a protocol, played. */
struct fact_store {
    bool is_last;
    struct jetstream *jetstream;
    struct fact_query *queries[WORLD_PUBLISHED_MAX]; /* NULL: answered or cancelled */
    int64_t delays_ms[WORLD_PUBLISHED_MAX];
    size_t query_count;
    struct fact_write writes[WORLD_PUBLISHED_MAX];
    size_t write_count;
    char kept[4096];         /* "KEY=VALUE " of each write, in order */
    const char *key, *known; /* known without asking */
    char expected[64];       /* the last key that is expected; "" for none */
};

/* A question for a message by its sequence. */
struct jetstream_request {
    jetstream_held_fn *done; /* NULL: answered or cancelled */
    void *context;
    uint64_t sequence;
};

/* A message that was published without an ack. */
struct posted {
    char subject[64];
    char headers[16 * 1024]; /* "Name: value\n" each */
    char payload[4096];
};

struct jetstream {
    bool is_ready;
    struct posted posted; /* the last one … */
    size_t posted_count;
    bool drops_posts;            /* … unless they are dropped */
    size_t room;                 /* how many more it takes before it is full */
    enum jetstream_publish says; /* to whatever it has room for */
    struct published published[WORLD_PUBLISHED_MAX];
    size_t count;
    size_t sequence_base; /* the number of the publication that gets the sequence number 0 */
    struct jetstream_waiter *waiter;
    struct jetstream_request asked[WORLD_PUBLISHED_MAX];
    size_t asked_count;
    size_t max_payload_bytes; /* 1 MiB */
    size_t message_bytes_max; /* of all streams; 0: they have no such limit */
    bool refuses_questions;   /* it cannot be asked now */
    int64_t dedupe_window_ms; /* two minutes */
};

/* The worker pool, played: it does a task when the test says. */
struct completion_queue {
    struct worker_pool_task *tasks[WORLD_TASKS_MAX];
    size_t count;
};

struct http_request {
    struct request_head head;
    const struct http_handler *handler;
    void *state;
    struct parley_buffer held; /* of the body, not taken */
    bool is_ending, is_ended, is_woken;
    bool is_closing;     /* nothing may be woken any more */
    bool waits_for_disk; /* its answer does, where the server's do */
    ssize_t (*read)(void *state, char *buffer, size_t size);
    unsigned status; /* 0: not answered */
    char type[64], retry_after[16], accept[64];
    char trace[64]; /* a remark */
    struct parley_buffer answer;
    bool is_whole;            /* false: the chunking was broken */
    bool is_live, is_held_up; /* its client does not read */
};

struct world {
    struct fact_store store; /* a test that wants it sets gateway.fact_stores */
    struct fact_store *fact_stores[1];
    struct configuration configuration;
    struct channel channels[2]; /* of the protocol, and of what was refused */
    struct parley_schema *schema;
    struct parley_message message;
    struct gateway gateway;
    struct reactor *reactor; /* runs when a test has it run */
    struct reactor_timer timer;
    struct jetstream jetstream;
    struct completion_queue completions;
    struct budget budget;      /* without a limit, unless the test sets one */
    struct spool_quota spools; /* the same */
    struct http_request request;
};

int world_set_up(void **state);
int world_tear_down(void **state);

/* From now on requests are for this protocol instead of VLP. */
void world_speak(struct world *world, const struct parley_protocol *protocol);
/* VLP in more encodings: `sheet` (text/markdown), which holds one message, and binary `frames`
 * (application/vnd.parley.frames), both with JSON inside, and with a refusal of its own form, which
 * is the first rule's id. */
const struct parley_protocol *toy_protocol(void);
#define TOY_FRAMES "application/vnd.parley.frames"

/* A request, from its head on. Several in one test follow each other. */
void world_begin(struct world *world, const struct request_head *head);
/* A piece of its body. */
void world_send(struct world *world, const char *text);
void world_send_bytes(struct world *world, struct parley_bytes bytes);
/* How many bytes of the body were not taken. */
size_t world_held(const struct world *world);
/* The end of the body, once all of it was taken. */
void world_end(struct world *world);
/* The request is gone. */
void world_close(struct world *world);
/* The same, and frees what the gateway has kept for the next request, which then allocates all. */
void world_close_all(struct world *world);
/* Posts a request, all of whose look-ups get this answer, while allocation `number` fails. Returns:
 * whether there was one. */
bool world_run_out(struct world *world, const struct request_head *head, const char *body,
                   const char *answer, size_t number);
/* Whether the client reads a live answer. */
void world_hold_up(struct world *world, bool is_held_up);
/* The whole of it. */
void world_post(struct world *world, const struct request_head *head, const char *body);

/* Acks the publication with this number (from 0), which is also its sequence number. */
void world_ack(struct world *world, size_t number, enum jetstream_outcome outcome);
void world_ack_all(struct world *world);
/* JetStream calls it a duplicate of the message with this sequence. */
void world_ack_duplicate(struct world *world, size_t number, uint64_t sequence);
/* The same of one that was published more than once, and stored by its first time. */
void world_ack_again(struct world *world, size_t number, uint64_t sequence);
/* What the stream says to the question with this number (from 0): the message lies there and has
 * these headers ("Name: value\r\n" each) … */
void world_held_found(struct world *world, size_t number, const char *subject, const char *headers);
/* … or it is gone; or the server says that error, or nothing (NULL). */
void world_held_gone(struct world *world, size_t number);
void world_held_unknown(struct world *world, size_t number, const char *error);
/* What the stream says: the message with this payload lies there, with these headers. */
void world_held_message(struct world *world, size_t number, const char *subject,
                        const char *headers, const char *payload);
/* What the bucket says to the write with this number (from 0). */
void world_fact_written(struct world *world, size_t number, enum fact_written written);
/* What the bucket says to the look-up with this number (from 0). */
void world_lookup_answers(struct world *world, size_t number, const char *value);
void world_lookup_fails(struct world *world, size_t number, const char *error);
/* Whether there is a worker pool; at first there is none. */
void world_have_worker_pool(struct world *world, bool is_there);
/* The worker pool does the next of its tasks, or all of them. */
void world_check(struct world *world);
void world_check_all(struct world *world);
/* JetStream has room again for so many. */
void world_make_room(struct world *world, size_t count);

/* The answer, NUL-terminated; "" while there is none. Its length is that of request.answer. */
const char *world_answer(struct world *world);

/* How many messages whose type is known were counted so … */
uint64_t world_counted(const struct world *world, enum outcome outcome);
/* … and how many acks were measured. */
uint64_t world_measured_acks(const struct world *world);

/* Of the answer each line's status, or the summary's counts: "accepted invalid 2/1/0/1/0". */
const char *world_statuses(struct world *world);

#define CLAIM_OF(id)                                                                               \
    "{\"id\":\"MSG" id "\",\"protocol\":\"VLP/1.1\",\"type\":\"claim\","                           \
    "\"timestamp\":\"2025-12-14T10:30:00Z\",\"sender\":\"A\",\"content\":\"x\","                   \
    "\"confidence\":0.5}"
