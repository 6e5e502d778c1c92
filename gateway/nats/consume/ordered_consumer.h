/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads a stream in order: every message once. Messages removed by retention show as a jump of the
 * sequence. After a lost message, connection or consumer on the server, an ordered consumer
 * continues after the last message that it delivered. */

#include "jetstream_types.h"

struct ordered_consumer;

struct ordered_consumer_events {
    /* Whatever is stored from `next_sequence` on will be delivered, and nothing before it. Called
     * once, before anything else. With JETSTREAM_FROM_SEQUENCE it is that sequence, even if it is
     * past the end of the stream. */
    void (*opened)(void *context, uint64_t next_sequence);
    void (*stored)(void *context, const struct jetstream_stored *stored);
    /* Only with ORDERED_REPLAY: no message of the last pull is still to come, since all have come,
     * or since the next message exceeds the pull's bytes. */
    void (*pull_ended)(void *context);
    /* The server refuses the consumer permanently (the stream is a work queue, or has no room for
     * more consumers): nothing will be delivered. `error`: half a sentence, borrowed for the call.
     */
    void (*refused)(void *context, const char *error);
    /* These may be NULL. */
    /* All messages have come that the stream held when the last message was sent, or when the
     * consumer on the server was created. Called each time that this is so. */
    void (*current)(void *context);
    /* Nothing comes until another consumer is created on the server. Not to be closed from here. */
    void (*cut)(void *context);
    void *context;
};

enum ordered_mode {
    ORDERED_FOLLOW, /* delivers every message as soon as it comes */
    ORDERED_REPLAY, /* delivers the messages that ordered_consumer_pull asks for */
};

/* The limit on the bytes that all replaying consumers of one jetstream have requested from the
 * server and not received: a server closes a connection on which it has 64 MB to write, and
 * everything shares that one. Consumers wait for their turn, one request each; those that fetch
 * large messages have half of the bytes, so that they delay no others. (A message larger than that
 * is requested alone.) */
#define ORDERED_PULL_BYTES_MAX ((size_t)(16 * 1024 * 1024))

/* Opens one in the background, when the connection is there.
 * Owns: copies stream and events; returns a new consumer, which the caller closes. */
enum parley_status ordered_consumer_open(struct jetstream *jetstream, const char *stream,
                                         struct jetstream_start start, enum ordered_mode mode,
                                         const struct ordered_consumer_events *events,
                                         struct ordered_consumer **out) PARLEY_MUST_CHECK;
/* From now on `count` messages may be delivered, now or when they are stored, and `bytes` of them
 * at the most; but one is delivered however large it is. Replaces the bounds of the last pull
 * (messages requested by then are delivered anyway). Only with ORDERED_REPLAY; with
 * JETSTREAM_FROM_LAST `bytes` are an aim. */
void ordered_consumer_pull(struct ordered_consumer *consumer, size_t count, size_t bytes);
/* The bytes that replaying consumers have requested and not received. */
size_t ordered_consumer_pulled_bytes(const struct jetstream *jetstream);
/* The stream holds nothing after `last_sequence`.  Returns: whether all messages up to there have
 * come. While subjects are purged, nats-server 2.9 counts too much as still to come, and
 * events.current is not called; this call makes up for that. */
bool ordered_consumer_has_all(struct ordered_consumer *consumer, uint64_t last_sequence);
/* May be called from the consumer's own callbacks. NULL is allowed. */
void ordered_consumer_close(struct ordered_consumer *consumer);

/* ---- for jetstream.c ---- */

void ordered_consumers_start(struct jetstream *jetstream); /* it is ready */
void ordered_consumers_stop(struct jetstream *jetstream);  /* it is away */

/* ---- for jetstream_setup.c ---- */

/* The stream holds messages up to `last_sequence` at `now_ms`, and all from `whole_from` on (0: it
 * has holes, or is stored on one server only): replaces the consumers that do not get them. */
void ordered_consumers_compare(struct jetstream *jetstream, const char *stream, uint64_t whole_from,
                               uint64_t last_sequence, int64_t now_ms);
