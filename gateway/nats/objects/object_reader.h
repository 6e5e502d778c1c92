/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads one object of a bucket: its meta from the stream's leader, then its chunks in their order,
 * as many at a time as are asked for. That it is the object which a message points to is known at
 * its end: size and digest are compared. */

#include "jetstream.h"
#include "object_layout.h"

enum object_end {
    OBJECT_WHOLE,       /* every byte was given, and size and digest are right */
    OBJECT_GONE,        /* there is no longer one of that name */
    OBJECT_WRONG,       /* it is not the one that was asked for, or not all of it is there */
    OBJECT_UNREACHABLE, /* NATS does not permit reading it, or the member that permits it lags
                           behind, or it was stored once more meanwhile: ask again */
    OBJECT_NO_MEMORY,
};

struct object_reader_events {
    /* The next bytes.  Owns: borrowed for the call. */
    void (*bytes)(void *context, struct parley_bytes bytes);
    /* Nothing that was pulled is still to come. */
    void (*pulled)(void *context);
    /* Nothing more comes. Called once. */
    void (*ended)(void *context, enum object_end end);
    void *context;
};

struct object_reader;

/* `want`: its description in its message; the texts are copied.
 * Owns: copies the events; returns a new reader, which the caller closes, also from the callbacks.
 * Returns: PARLEY_E_IO if NATS cannot be asked now. */
enum parley_status object_reader_open(struct jetstream *jetstream, const char *bucket,
                                      const struct object_pointer *want,
                                      const struct object_reader_events *events,
                                      struct object_reader **out) PARLEY_MUST_CHECK;
/* A few more chunks may come; the first ones come by themselves. */
void object_reader_pull(struct object_reader *reader);
/* NULL is allowed. */
void object_reader_close(struct object_reader *reader);

/* Whether a meta, as jetstream_last_held_ask gives it, is that of an object which is there. */
bool object_is_there(const struct jetstream_held *meta);
