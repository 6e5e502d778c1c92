/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A valid message that is too large for one message in NATS, and has a member that may be kept in
 * an object store (parley/objects.h): uploads that member, and makes the message that points to it
 * (ADR 31). */

#include "object_layout.h"
#include "object_store.h"
#include "publication.h"
#include "request_options.h"

/* A larger message is deposited even if NATS would take it: it would delay all others. */
#define DEPOSIT_BYTES_MIN (1u << 20)

/* Whether there was room to convert it, out of --gather-max. */
enum object_upload_room {
    DEPOSIT_HAS_ROOM,
    DEPOSIT_OVERLOADED, /* others have it now */
    DEPOSIT_TOO_LARGE,  /* there is never so much */
};

/* Zeroed at first. */
struct object_upload {
    bool is_needed;
    enum object_upload_room room;
    struct object_put put;     /* its bytes are in the message's text, or in the payload */
    struct parley_buffer text; /* the message, with a pointer */
    char id[OBJECT_ID_SIZE], size[24], begun[24];
    struct budget_share held; /* for the payload */
};

/* How long a message of the request may be without being deposited.  Threads: its reactor's. */
size_t object_upload_limit(const struct request_options *options);
/* Whether a message of so many bytes, as received, may need an upload, if its type has such a
 * member. */
bool object_upload_is_possible(const struct request_options *options, size_t bytes, size_t limit);
/* The first of a message that was checked. */
bool object_upload_is_due(const struct request_options *options,
                          const struct parley_message *message, size_t limit);

/* Makes the deposit of a valid message, and describes the publication; where it turns out not to be
 * needed (deposit.is_needed), that of the message itself, in `payload`.  Owns: `out` as
 * publication_prepare, and texts in the deposit; `put.bytes` is borrowed from the message or from
 * `payload`.  Returns: PARLEY_E_LIMIT: it is too large all the same.  Threads: any. */
enum parley_status object_upload_prepare(struct object_upload *deposit,
                                         const struct request_options *options,
                                         struct parley_message *message, size_t number,
                                         size_t limit, struct parley_buffer *payload,
                                         struct publication *out) PARLEY_MUST_CHECK;
void object_upload_finish(struct object_upload *deposit, struct budget *budget);

/* The last sequence of the stream when a request began: asked for with its head.  Zeroed at first.
 */
struct object_upload_begin {
    struct jetstream_request *request;
    int64_t asked_ms;  /* 0: it was not */
    uint64_t sequence; /* 0: not known */
    char text[24];
};
/* Asks, if the request may bring a message that can be deposited, and takes a while to arrive.
 * `length`: of its body, or -1. */
void object_upload_begin(struct object_upload_begin *begin, const struct request_options *options,
                         int64_t length);
/* Adds the stream's sequence to a message that could be uploaded, and is not. Messages stored while
 * it arrives may not be in it. */
void object_upload_begin_add(struct object_upload_begin *begin,
                             const struct request_options *options,
                             const struct parley_message *message, struct publication *publication);
void object_upload_begin_finish(struct object_upload_begin *begin);
