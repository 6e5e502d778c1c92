/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The state for messages on one reactor: everything that their handlers need, and nothing that
 * another reactor uses, unless it says `shared`. */

#include <sys/queue.h>

#include <parley/message.h>

#include "budget.h"
#include "guard.h"
#include "configuration.h"
#include "worker_pool.h"
#include "http.h"
#include "clock_and_ids.h"
#include "figures.h"
#include "jetstream.h"
#include "rate_headers.h"
#include "fact_store.h"
#include "origin_policy.h"
#include "reactor.h"
#include "replies.h"
#include "request_slots.h"

struct halt_gate;
struct object_store;
struct offload;
struct repeats;
struct spool_quota;
struct duplicate;
struct limits;

/* Used by duplicates.h.  Zeroed at first. */
struct duplicates {
    TAILQ_HEAD(duplicate_line, duplicate) line;
    size_t asked_count;
    struct reactor_timer pump;
};

/* Used by kept_message.h.  Zeroed at first. */
struct kept_messages {
    SLIST_HEAD(, kept_message) unused;
    size_t unused_count, used_count;
};

struct gateway {
    const struct configuration *configuration; /* read-only, shared */
    struct parley_schema *const *schemas;      /* of parley_protocols, read-only, shared */
    struct parley_message *messages;           /* one per protocol, for the verdict under way */
    struct fact_store **fact_stores;           /* one per protocol; NULL if it has no facts */
    struct object_store *
        *object_stores;                 /* one per protocol; NULL if none of its messages has any */
    struct halt_gate **halt_gates;      /* one per protocol; NULL if nothing halts */
    struct parley_buffer payload;       /* the message being published */
    struct parley_buffer answer;        /* the answer being written */
    struct id_pool identities;          /* for messages without an id */
    struct budget *budget;              /* of the bodies of all workers; NULL: no limit */
    struct spool_quota *spools;         /* of all workers */
    const struct coding_quota *codings; /* of all workers */
    struct limits *limits;              /* of all workers; NULL if nothing is limited */
    struct rate_headers rate_headers;
    struct worker_pool *worker_pool; /* NULL if nothing is offloaded */
    struct completion_queue *completions;
    struct commit_queue *commit;       /* holds answers that promise storage; NULL if none wait */
    LIST_HEAD(, offload) offloads;     /* with the worker pool */
    struct request_slots reply_slots;  /* of those that wait for replies */
    struct request_slots review_slots; /* of lists of messages that wait for people */
    struct duplicates duplicates;
    struct kept_messages kept;
    struct repeats *repeats; /* invalid messages that come again; NULL: none was noted */
    struct origin_policy origins;
    struct reactor *reactor;
    struct jetstream *jetstream;
    struct guard *guard;
    struct replies *replies;     /* that clients wait for */
    struct figures *figures;     /* what this worker counts */
    uint64_t quarantine_dropped; /* since the last that was kept */
    bool is_draining;
};

/* The message object of a protocol on this reactor.  Owns: borrowed from the gateway. It holds one
 * verdict at a time: nothing in it outlives the callback that asked for it. */
struct parley_message *gateway_message(struct gateway *gateway,
                                       const struct parley_protocol *protocol);

/* Called after a request of the protocol: frees the memory of its last message, if that is much
 * more than the next one needs. */
void gateway_forget_message(struct gateway *gateway, const struct parley_protocol *protocol);

/* The buffer for the message being published, with the limit of what NATS takes. */
static inline struct parley_buffer *gateway_payload(struct gateway *gateway) {
    gateway->payload.limit_bytes = jetstream_max_payload_bytes(gateway->jetstream);
    return &gateway->payload;
}

/* This worker's counts of the protocol's messages. */
struct protocol_figures *gateway_figures(struct gateway *gateway,
                                         const struct parley_protocol *protocol);

/* NULL: the protocol has no facts. */
struct fact_store *gateway_fact_store(struct gateway *gateway,
                                      const struct parley_protocol *protocol);

/* NULL if nothing of the protocol is halted. */
struct halt_gate *gateway_halt_gate(struct gateway *gateway,
                                    const struct parley_protocol *protocol);

/* NULL: no message of the protocol has an object. */
struct object_store *gateway_object_store(const struct gateway *gateway,
                                          const struct parley_protocol *protocol);
