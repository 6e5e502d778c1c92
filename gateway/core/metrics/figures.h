/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The counts of one thread for /metrics, in memory of its own: each worker has a block, and so has
 * the main thread; the thread that serves the request adds them up. A block outlives its thread. No
 * label's values come from clients, so that a block never grows. */

#include <parley/protocol.h>
#include <parley/status.h>

#include "counter.h"
#include "metric.h"

/* Single numbers; figures.c says to which metric each belongs, and how those of threads are
 * combined. */
enum figure {
    FIGURE_RECEIVED_BYTES,
    FIGURE_SENT_BYTES,
    FIGURE_ACTIVE_REQUESTS,
    FIGURE_CONNECTIONS,
    FIGURE_CONNECTIONS_LIMIT,
    FIGURE_REFUSED_CONNECTIONS,
    FIGURE_HANDSHAKES_DONE,
    FIGURE_HANDSHAKES_FAILED,
    FIGURE_IN_FLIGHT_MESSAGES,
    FIGURE_IN_FLIGHT_LIMIT,
    FIGURE_HELD_MESSAGES,
    FIGURE_AWAITED_REPLIES,
    FIGURE_GATHERED_BYTES,
    FIGURE_GATHERED_LIMIT,
    FIGURE_SPOOLED_BYTES,
    FIGURE_SPOOLED_LIMIT,
    FIGURE_COMPRESSION_BYTES,
    FIGURE_REJECTED_KEPT,
    FIGURE_REJECTED_DROPPED,
    FIGURE_HALTS_OPEN,
    FIGURE_HALTED_MESSAGES,
    FIGURE_HALTS_REFUSED,
    FIGURE_WEBHOOKS_DELIVERED,
    FIGURE_WEBHOOKS_FAILED,
    FIGURE_WEBHOOKS_GIVEN_UP,
    FIGURE_WEBHOOKS_IN_FLIGHT,
    FIGURE_REMINDERS,
    FIGURE_WORKERS,
    FIGURE_WORKERS_READY,
    FIGURE_TASKS_OPEN, /* counter_set_known */
    FIGURE_TASKS_WAITING,
    FIGURE_INDEX_LAG,   /* counter_set_known */
    FIGURE_INDEX_BYTES, /* likewise */
    FIGURE_NATS_CONNECTIONS,
    FIGURE_NATS_RECONNECTS,
    FIGURE_EMBEDDED_RESTARTS,
    FIGURE_PROCESS_CPU_US,
    FIGURE_PROCESS_RESIDENT_BYTES,
    FIGURE_PROCESS_VIRTUAL_BYTES,
    FIGURE_PROCESS_OPEN_FDS,
    FIGURE_PROCESS_MAX_FDS,
    FIGURE_PROCESS_START_MS,
    FIGURE_COUNT
};

struct figure_row {
    enum metric metric;
    const char *label; /* the value of the metric's one label; NULL if it has no label */
    unsigned per_unit; /* how many of it make one of the metric's unit; 0: already in that unit */
};

extern const struct figure_row figure_rows[FIGURE_COUNT];

/* The outcome of a message. */
enum outcome {
    OUTCOME_ACCEPTED,  /* stored */
    OUTCOME_DUPLICATE, /* it was stored before */
    OUTCOME_INVALID,   /* it breaks rules */
    OUTCOME_REFUSED,   /* not stored, for another reason */
    OUTCOME_FAILED,    /* not stored, or unknown: no ack in time, or an internal error */
    OUTCOME_COUNT
};
/* The validity of a message that is only checked: accepted stands for valid. */
enum validity { VALIDITY_VALID, VALIDITY_INVALID, VALIDITY_FAILED, VALIDITY_COUNT };

extern const char *const outcome_names[OUTCOME_COUNT];
extern const char *const validity_names[VALIDITY_COUNT];

#define FIGURES_TYPES 32 /* the last one: other */
#define FIGURES_RULES_MAX 96
#define FIGURES_ROUTES_MAX 64
#define FIGURES_PROBLEMS_MAX 64
#define FIGURES_STATUSES 31
#define FIGURES_STREAMS_MAX 32

/* The statuses of answers: the first is 0, for no answer, the last stands for all others. */
extern const unsigned figures_statuses[FIGURES_STATUSES];
size_t figures_status_index(unsigned status);

struct route_figures {
    struct counter requests[FIGURES_STATUSES];
    struct histogram duration;
};

struct protocol_figures {
    struct counter messages[FIGURES_TYPES][OUTCOME_COUNT];
    struct counter validated[VALIDITY_COUNT];
    struct counter violations[FIGURES_RULES_MAX]; /* the protocol's rules, then the gateway's */
    struct histogram check, ack;
};

/* A stream's readers on this worker, and its content as this worker found it last. */
struct stream_figures {
    struct counter readers, lag, events;
    struct counter facts_pending; /* counter_set_known */
};
struct store_figures {
    struct counter is_usable, messages, bytes, bytes_max;
};

struct figures {
    struct counter values[FIGURE_COUNT];
    struct counter problems[FIGURES_PROBLEMS_MAX];
    struct counter nats_version; /* of the nats-server that it is connected to; 0: not connected */
    struct route_figures routes[FIGURES_ROUTES_MAX];    /* the last one: no route */
    struct stream_figures streams[FIGURES_STREAMS_MAX]; /* of protocols, then of refused messages */
    struct store_figures stores[FIGURES_STREAMS_MAX];   /* of all that must exist in NATS */
    struct histogram sync; /* of the disk; the main block's, by the thread that syncs */
    unsigned check_turn;   /* the writer's: which messages are measured */
    struct protocol_figures protocols[]; /* one each of parley_protocols */
};

/* Returns: zeroed, sharing no cache line with other data; NULL if there is no memory. */
struct figures *figures_create(void);
void figures_destroy(struct figures *figures);

/* The number of a message's type: that of the protocol's table, or the last for others. */
static inline unsigned figures_type(unsigned type) {
    return type < FIGURES_TYPES - 1 ? type : FIGURES_TYPES - 1;
}

/* Returns the index at which a rule is counted. */
static inline size_t figures_rule_index(const struct parley_protocol *protocol,
                                        const struct parley_rule *rule) {
    const bool is_own = rule >= protocol->rules && rule < protocol->rules + protocol->rule_count;
    return is_own ? (size_t)(rule - protocol->rules)
                  : protocol->rule_count + (size_t)(rule - parley_gateway_rules);
}

/* The figures of all threads: of each worker, then of the main thread. */
struct figures_set {
    struct figures **blocks;
    size_t count;
};

/* Destroy it even after a failure. */
enum parley_status figures_set_create(size_t workers, struct figures_set *out) PARLEY_MUST_CHECK;
void figures_set_destroy(struct figures_set *set);
/* The main thread's. */
static inline struct figures *figures_main(const struct figures_set *set) {
    return set->blocks[set->count - 1];
}

/* One number of all threads, which is at this offset in each block. */
uint64_t figures_sum(const struct figures_set *set, size_t offset);
/* The largest of them. */
uint64_t figures_maximum(const struct figures_set *set, size_t offset);
uint64_t figures_value(const struct figures_set *set, enum figure figure);
