/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The names of streams, subjects and buckets in NATS: those of each protocol, and those of refused
 * messages. All other modules take these names from here: --subject-prefix changes a protocol's, so
 * that several fleets can share one NATS. */

#include <parley/arena.h>
#include <parley/protocol.h>

struct channel {
    const char *name; /* in addresses and in the source of events: the protocol's */
    const struct parley_protocol *protocol; /* NULL if it belongs to none */
    const char *prefix;                     /* the subject's first token; NULL: `name` */
    const char *stream;   /* ROUNDTABLE, or ROUNDTABLE_FLEET-A; a hub's: that which it reads */
    const char *token;    /* its name in resume tokens; NULL: that of the stream */
    const char *subjects; /* of that stream: roundtable.>, or fleet-a.> */
    /* The groups of those subjects that may be stored in separate streams (jetstream_types.h), in
     * the order of the protocol; NULL-terminated. NULL: they are not looked up. */
    const char *const *families;
    /* The bucket of its facts: parley_tasks, or parley_tasks_fleet-a; NULL if it has no facts. */
    const char *fact_bucket;
    /* The subjects whose messages leave facts, also when they were published straight to NATS:
     * fleet-a.tasks.>, …; NULL-terminated; NULL if no messages do. */
    const char *const *fact_subjects;
    const char *halt_bucket;   /* parley_halts, or parley_halts_fleet-a; NULL if it has no halts */
    const char *halt_subjects; /* of messages that halt: vlp.block.> */
    const char *review_bucket; /* parley_reviews, or parley_reviews_fleet-a; NULL if it has no
                                  reviews */
    const char *review_subjects; /* of messages to be reviewed: vlp.review.> */
    const char *loss_bucket;     /* parley_agents, or parley_agents_fleet-a; NULL: no agent that is
                                    lost is told */
    const char *ack_bucket;      /* parley_acks, or parley_acks_fleet-a; NULL: its messages are not
                                    acknowledged */
    const char *object_bucket; /* parley_checkpoints, or parley_checkpoints_fleet-a; NULL if it has
                                  no objects */
    const struct parley_dialect *dialect; /* of requests that name none, and of what is published
                                             straight to NATS; NULL: none */
    const char *absence; /* the consequence when the stream does not exist; NULL: it is created */
};

#define CHANNEL_ERROR_MAX 256

/* Creates the channels of all protocols, in the order of parley_protocols, and after them the
 * channel of refused messages.
 * `prefixes`: "roundtable=fleet-a,vlp=x", or NULL.  Owns: everything is allocated in `arena`.
 * Returns: PARLEY_E_UNSUPPORTED, with the reason in `error`; PARLEY_E_MEMORY. */
enum parley_status channels_create(const char *prefixes, struct parley_arena *arena,
                                   const struct channel **out,
                                   char error[CHANNEL_ERROR_MAX]) PARLEY_MUST_CHECK;

/* Reads "roundtable=knights,supervisor=o" into them.  Returns: PARLEY_E_UNSUPPORTED, with the
 * reason in `error`. */
enum parley_status channels_set_dialects(const char *dialects, const struct channel *channels,
                                         char error[CHANNEL_ERROR_MAX]) PARLEY_MUST_CHECK;

/* Its stream's name in resume tokens. */
static inline const char *channel_token(const struct channel *channel) {
    return channel->token != NULL ? channel->token : channel->stream;
}

/* The channel of `protocol`, which must be among `channels`. */
const struct channel *channel_find(const struct channel *channels,
                                   const struct parley_protocol *protocol);

/* The channel of refused messages, of all protocols: each on rejected.PROTOCOL or, where protocols
 * have prefixes, on rejected_PREFIXES.PROTOCOL, so that fleets that share one NATS do not see those
 * of each other (ADR 16). */
static inline const struct channel *channel_rejected(const struct channel *channels) {
    return channel_find(channels, NULL);
}
