/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds the objects of a bucket that are too many: of each owner, the first part of a name, the
 * newest are kept; and the chunks that no meta names any longer, since another one of equal name
 * came after theirs. It reads the metas of the bucket, from any writer, each time that an object
 * was written: so of all gateways, the one that wrote last knows of all. */

#include "jetstream.h"
#include "object_layout.h"
#include "reactor.h"

struct object_retention;

/* The object is to be removed, whose meta has this sequence; `name` NULL: only its chunks. It may
 * have been already, and there may be a later one of its name, which stays. `chunk_count`: as its
 * meta says.  Owns: texts are borrowed for the call. */
typedef void object_drop_fn(void *context, const char *name, uint64_t sequence, const char *nuid,
                            uint64_t chunk_count);

struct object_retention_options {
    struct reactor *reactor;
    struct jetstream *jetstream;
    const char *bucket;
    size_t keep;        /* how many objects of an owner, at least 1 */
    size_t objects_max; /* of all; the oldest ones of more are left to the bucket's age */
    int64_t age_ns;     /* how long the bucket keeps an object: older ones are forgotten */
    object_drop_fn *drop;
    void *context;
};

/* Owns: copies `options`, borrows all that they point to; returns a new keeper, which the caller
 * destroys before the jetstream. */
enum parley_status object_retention_create(const struct object_retention_options *options,
                                           struct object_retention **out) PARLEY_MUST_CHECK;
/* NULL is allowed. */
void object_retention_destroy(struct object_retention *keeper);

/* This gateway has stored `meta`, at `sequence` of the bucket's stream. All metas up to it are
 * read, in later turns; while NATS does not answer it is asked again. */
void object_retention_stored(struct object_retention *keeper, uint64_t sequence,
                             const struct object_meta *meta);

/* ---- for object_retention.c, and its test ---- */

struct object_meta_place {
    uint64_t sequence;
    int64_t time_ns; /* of storage, Unix time */
};

/* A meta of the bucket. One that was stored before others may be taken after them, and again. */
void object_retention_take(struct object_retention *keeper, const struct object_meta_place *at,
                           const struct object_meta *meta);
/* Reads the metas up to `sequence`. */
void object_retention_read(struct object_retention *keeper, uint64_t sequence);
