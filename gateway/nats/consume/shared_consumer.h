/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reading a stream together with other gateways: a durable consumer, each message of which goes to
 * one of those that read from it, again and again until it is acknowledged. A consumer that is
 * missing is created; one that exists is used as it is. Where the stream takes no consumer of
 * parley (jetstream_map.h), a core subscription takes its place, and messages are delivered five
 * seconds late. */

#include "jetstream_types.h"

struct shared_consumer;

struct shared_consumer_options {
    /* Borrowed for the consumer's life. `stream`: where the filter's subjects are stored, unless
     * they belong to one of the jetstream's streams, which knows that better (jetstream_map.h). */
    const char *stream, *durable, *filter;
    size_t batch;        /* how many messages may be open: requested, or not done so far */
    int64_t ack_wait_ms; /* after which another gateway may get a message */
    size_t unacked_max;  /* messages of all that read from it; 0: the server's default. Those that
                            wait to be delivered again count, too */
    int64_t idle_ms;     /* without a reader for so long, it is removed; 0: never */
    bool is_from_now;    /* if created, it begins with messages stored from then on */
};

/* Handles a message, which `receipt` acknowledges or returns, once; "": it is delivered once,
 * whatever its outcome, since its stream takes no consumer, and its sequence is not known (0).
 * Owns: borrowed for the call, except `from`, the consumer. */
typedef void shared_consumer_fn(void *context, struct shared_consumer *from,
                                const struct jetstream_stored *stored, const char *receipt);

/* Delivers messages in the background while it is open; it recovers as an ordered consumer does.
 * Owns: copies the options; borrows their texts; returns a new consumer, which the caller closes.
 */
enum parley_status shared_consumer_open(struct jetstream *jetstream,
                                        const struct shared_consumer_options *options,
                                        shared_consumer_fn *delivered, void *context,
                                        struct shared_consumer **out) PARLEY_MUST_CHECK;
/* Not from its own callback. NULL is allowed. */
void shared_consumer_close(struct shared_consumer *consumer);
/* The number of messages that its stream holds and that no reader of it was given, as NATS last
 * said; several readers may be notified at different times.  Returns: false if it is not known, or
 * there is no consumer. */
bool shared_consumer_pending(const struct shared_consumer *consumer, uint64_t *out);
/* The stream that it reads.  Owns: borrowed, until it is closed. */
const char *shared_consumer_stream(const struct shared_consumer *consumer);
/* How often the message was delivered, to any reader: 1 for the first time; 0 for the receipt "".
 */
uint64_t shared_consumer_tries(const char *receipt);
/* A message that asks nothing of NATS for long no longer counts as open.  `consumer`: NULL is
 * allowed. */
void shared_consumer_set_aside(struct shared_consumer *consumer);
/* The message is done, and is not delivered again.  `consumer`: the one that delivered it; NULL if
 * it was set aside, or the consumer was closed since. */
void shared_consumer_ack(struct jetstream *jetstream, struct shared_consumer *consumer,
                         const char *receipt);
/* The message is to be delivered again after `delay_ms`. */
void shared_consumer_return(struct jetstream *jetstream, struct shared_consumer *consumer,
                            const char *receipt, int64_t delay_ms);

/* ---- for jetstream.c ---- */

void shared_consumers_start(struct jetstream *jetstream); /* it is ready */
void shared_consumers_stop(struct jetstream *jetstream);  /* it is away */
