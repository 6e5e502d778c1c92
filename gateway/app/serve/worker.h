/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One reactor's thread with everything that runs on it. The main thread creates workers, makes them
 * drain and stop, and receives their events; nothing else passes between threads. */

#include <stdatomic.h>

#include "gateway.h"

/* The pool of a connection in libmicrohttpd. */
enum {
    WORKER_REQUEST_MEMORY_BYTES = 8192, /* a larger one costs a third of the rate: it is cleared
                                           for each request */
    WORKER_STREAM_MEMORY_BYTES = 2048,
};

/* The events of a worker. Called on its thread. */
struct worker_events {
    void (*ready)(void *context);                       /* each time NATS becomes ready */
    void (*unusable)(void *context, const char *error); /* a stream, until an operator changes it */
    /* Worker number `worker` sees a problem, or its end (`text` is NULL). */
    void (*trouble)(void *context, unsigned worker, const char *subject, const char *text);
    void (*unresponsive)(void *context); /* NATS does not acknowledge */
    void (*ended)(void *context);        /* its last: all that is left is worker_destroy */
    void *context;
};

struct worker_options {
    const struct configuration *configuration; /* copied; its texts must outlive it */
    struct parley_schema *const *schemas;
    const struct describe_pages *pages;
    const struct console *console;
    const char *nats_urls;
    const char *nats_shown;            /* the same for people, without secrets */
    const char *nats_token;            /* NULL for none */
    struct bus_identity nats_identity; /* for --nats */
    const char *nats_store;            /* where the embedded nats-server stores; NULL: --nats */
    int listen_fd;                     /* shared */
    int admin_fd;                      /* of --admin-listen; -1: another worker has it, or none */
    struct board *const *boards;       /* shared */
    struct agent_watch *const *agent_watches; /* shared */
    struct inbox_watch *const *inbox_watches; /* shared */
    struct moments *moments;                  /* shared */
    struct fact_ledger *fact_ledger;          /* shared */
    struct index_service *index_service;      /* shared; NULL: no index is kept … */
    struct index_keeper *index_keeper;        /* … nor is this there */
    struct budget *budget;                    /* shared */
    struct coding_quota *codings;             /* shared */
    struct spool_quota *spools;               /* shared */
    struct object_room *object_room;          /* shared */
    struct limits *limits;                    /* shared */
    struct halt_set *const *halt_sets; /* shared: one per protocol; NULL if it halts nothing */
    struct parley_bytes full_answer;   /* of http_options; shared */
    struct worker_pool *worker_pool;   /* shared */
    struct commit *commit;             /* shared; NULL: no answer waits for the disk */
    struct tokens *tokens;             /* shared, borrowed for the call; NULL for none */
    struct jwks *jwks;                 /* likewise; without tokens and these everybody is let in */
    const struct webhook_file *webhooks;   /* NULL: none, or another worker sends to them */
    struct tls_context *tls;               /* shared; NULL: plain HTTP */
    struct figures *figures;               /* what this worker counts */
    const struct figures_set *all_figures; /* shared */
    atomic_uint *busy_count; /* shared: the workers that still drain; all end with the last one, so
                                that all answer 503 until then */
    atomic_uint *nats_version; /* shared: of nats_version_tell */
    atomic_uint *away_count;   /* shared: the workers that NATS is not ready for; all, at first */
    unsigned number, worker_count; /* this one's, from 0 */
    bool is_probing;
    bool keeps_facts; /* it creates, for all workers, the facts of messages published straight to
                         NATS */
};

struct worker;

/* Starts the thread.  Owns: options and events are copied; the objects that they point to must
 * outlive it. */
enum parley_status worker_create(const struct worker_options *options,
                                 const struct worker_events *events,
                                 struct worker **out) PARLEY_MUST_CHECK;

/* Makes it accept these tokens, soon.  Owns: it takes a reference of its own. Threads: main's. */
enum parley_status worker_set_tokens(struct worker *worker,
                                     struct tokens *tokens) PARLEY_MUST_CHECK;
/* The same for the keys of JWTs. */
enum parley_status worker_set_jwks(struct worker *worker, struct jwks *jwks) PARLEY_MUST_CHECK;

/* Makes it apply the options that can change while it runs, soon; the others must be the same.
 * Owns: it takes a copy, whose texts must outlive it.  Threads: main's. */
enum parley_status
worker_set_configuration(struct worker *worker,
                         const struct configuration *configuration) PARLEY_MUST_CHECK;

/* Finishes requests in progress and answers 503 to new ones, until no worker has a request left
 * (options.busy_count, set before, is 0), at the latest after `deadline_ms`. Then the thread ends.
 * Threads: main's. */
void worker_drain(struct worker *worker, int64_t deadline_ms);

/* The reactor of its thread.  Owns: borrowed, until worker_destroy: work that is posted once the
 * thread has ended does not run. */
struct reactor *worker_reactor(const struct worker *worker);

/* Waits for the end of the thread and frees everything.  After: worker_drain. */
void worker_destroy(struct worker *worker);

/* Logs that nats-server has dropped `bytes` of a stream's files: an event of jetstream and of the
 * embedded nats-server. `context` is ignored.  Threads: any. */
void worker_log_damage(void *context, const char *stream, uint64_t bytes);
