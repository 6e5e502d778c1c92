/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Serves the views of the index over HTTP. At most 64 questions of a process wait for the threads
 * of the index_service, and 48 of one sender (request_slots.h) for each worker. */

#include <parley/protocol.h>

#include "channel.h"
#include "http.h"
#include "index_keeper.h"
#include "index_service.h"
#include "jetstream.h"
#include "reactor.h"

struct follows;
struct index_lists;
struct inbox_watch;

struct index_lists_options {
    struct index_service *service; /* NULL: this gateway has no index, and lists are answered so */
    struct index_keeper *keeper;   /* of that index, likewise */
    struct reactor *reactor;
    struct jetstream *jetstream;
    const struct limits *limits;          /* by which senders are told apart; NULL: they are not */
    struct parley_schema *const *schemas; /* of parley_protocols … */
    const struct channel *channels;       /* … and theirs */
    /* What serves lists that are followed; of parley_protocols, shared. */
    struct follows *follows;
    struct inbox_watch *const *inbox_watches;
};

/* What one worker has.  Owns: borrows all; returns a new object. */
enum parley_status index_lists_create(const struct index_lists_options *options,
                                      struct index_lists **out) PARLEY_MUST_CHECK;
/* Drops what runs; before the HTTP server is destroyed.  NULL is allowed. */
void index_lists_stop(struct index_lists *lists);
/* After it. NULL is allowed. */
void index_lists_destroy(struct index_lists *lists);

/* Answers, now or later.  `protocol`: of the view; NULL: it is over all of `readable` (bit I:
 * parley_protocols[I]).  `own`: as in index_question; copied. */
void index_lists_serve(struct index_lists *lists, struct http_request *request,
                       const struct index_view *view, const struct parley_protocol *protocol,
                       uint64_t readable, const char *own);

/* Answers with one message and its data, and with an index with what it refers to and what refers
 * to it.  `place`: STREAM:SEQUENCE.  `protocol`, `own`: as above. */
void index_lists_serve_one(struct index_lists *lists, struct http_request *request,
                           const struct parley_protocol *protocol, const char *place,
                           const char *own);
