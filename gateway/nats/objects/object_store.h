/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Writes objects to a bucket, on one reactor: chunks, and then the meta that makes them valid. A
 * bounded number of chunks is under way at a time, of all objects together, so that messages do not
 * wait behind them (ADR 31). */

#include <stdatomic.h>
#include <sys/queue.h>

#include "jetstream.h"
#include "object_layout.h"

struct object_store;

/* The room of NATS that the objects of all stores of a process are still to take.  Threads: any. */
struct object_room {
    atomic_uint_fast64_t awaited_reply_bytes;
};

struct object_store_options {
    const char *bucket;
    struct object_room *room; /* shared */
    size_t keep;              /* how many objects of an agent (object_retention.h) */
    unsigned days;            /* for how long the bucket keeps an object */
};

/* Owns: borrows all arguments for the store's life, but not `options`; returns a new store, which
 * the caller destroys before the jetstream. */
enum parley_status object_store_create(struct reactor *reactor, struct jetstream *jetstream,
                                       const struct object_store_options *options,
                                       struct object_store **out) PARLEY_MUST_CHECK;
/* Writes under way fail. NULL is allowed. */
void object_store_destroy(struct object_store *store);

/* Nothing is being written. */
bool object_store_is_idle(const struct object_store *store);

/* How a write ended. The message that is to point to the object was not published in any case. */
enum object_put_end {
    OBJECT_PUT_STORED,
    OBJECT_PUT_AWAY,    /* NATS cannot take it now, or did not acknowledge all of it in time */
    OBJECT_PUT_REFUSED, /* JetStream refused it: there is no room */
    OBJECT_PUT_FAILED,  /* out of memory */
};

/* ASKING ── the object is there ──▶ OVER
 *   ASKING ──▶ SENDING ── all chunks are acknowledged ──▶ NAMING ── the meta is ──▶ OVER
 *   NAMING ── another gateway was quicker, or it is not known to be stored ──▶ ASKING
 *   SENDING ── one is not ──▶ ENDING ── no ack is awaited ──▶ OVER */
enum object_put_phase {
    OBJECT_PUT_OVER, /* or it has not begun */
    OBJECT_PUT_ASKING,
    OBJECT_PUT_SENDING,
    OBJECT_PUT_NAMING,
    OBJECT_PUT_ENDING,
};

/* One object that is being written.  Owns: the caller embeds it, zeroed at first, and keeps it, and
 * `bytes`, until `done` is called. */
struct object_put {
    char name[OBJECT_NAME_MAX];
    char digest[OBJECT_DIGEST_MAX];
    struct parley_bytes bytes; /* not empty */
    void (*done)(struct object_put *put);

    /* The result. */
    enum object_put_end end;
    char error[256]; /* of another end: a sentence without its full stop; "" if there is none */

    /* Private. */
    enum object_put_phase phase;
    struct object_store *store;
    struct jetstream_request *request; /* ASKING; NULL: it is asked again later */
    int64_t patient_until_ms;
    struct jetstream_sender sender;
    char nuid[OBJECT_NUID_MAX];
    uint64_t old_sequence; /* of the meta that it found; 0 if it found none */
    char old_nuid[OBJECT_NUID_MAX];
    uint64_t old_chunk_count;
    size_t chunk_bytes, chunk_count, sent_count, acked_count;
    uint64_t room_bytes;         /* taken from object_room, until the bytes are stored */
    struct object_chunk *chunks; /* chunk_count of them */
    bool is_in_doubt;            /* its meta was sent, and NATS was asked whether it is stored */
    bool is_lined_up;
    TAILQ_ENTRY(object_put) links; /* of those that have chunks to send */
    LIST_ENTRY(object_put) all;
};

/* Begins; `done` follows, in a later turn. An object of this name, size and digest that is there is
 * not written again; another one of the name is replaced. */
void object_put_begin(struct object_put *put, struct object_store *store);
