/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reading: GET /v1/{protocol}/stream, GET /v1/stream and GET /v1/rejected/stream
 * (docs/api.md#reading), for one reactor. Live readers of a protocol share one feed and one
 * serialisation of each event; a reader that is behind (it asked for the past, or it is slow) reads
 * from JetStream at its own pace until it has caught up. */

#include <parley/protocol.h>

#include "configuration.h"
#include "guard.h"
#include "http.h"
#include "jetstream.h"

struct limits;
struct moments;
struct streams;

/* `schemas`: one for each of parley_protocols, in its order; `configuration` may change between
 * turns, but for its channels (see streams_access_changed);
 * `guard` NULL: every client may read.  Owns: borrows all arguments; returns new streams, which the
 * caller destroys. */
enum parley_status streams_create(struct reactor *reactor, struct jetstream *jetstream,
                                  const struct guard *guard, struct parley_schema *const *schemas,
                                  const struct configuration *configuration,
                                  struct streams **out) PARLEY_MUST_CHECK;
/* Tells readers of moments, too.  Owns: borrowed; outlives the streams. */
void streams_tell(struct streams *streams, struct moments *moments);
/* After the HTTP servers, whose requests have all been closed, and before the jetstream, with no
 * turn of the reactor in between. */
void streams_destroy(struct streams *streams);

/* The streams that the requester may read. */
struct streams_rights {
    uint64_t protocols; /* bit I: parley_protocols[I]; not 0 */
    const char *agent; /* whose private messages; NULL: those of all agents.  Owns: borrowed for the
                          call */
};

/* Serves a GET (or HEAD) request from its begin callback: the stream of one protocol or, when
 * `protocol` is NULL, of all that may be read.  `limits` NULL: its sender may have any number of
 * them. */
void streams_serve(struct streams *streams, const struct limits *limits,
                   struct http_request *request, const struct parley_protocol *protocol,
                   const struct streams_rights *rights);

/* The same for messages of all protocols that were refused and kept. */
void streams_serve_rejected(struct streams *streams, const struct limits *limits,
                            struct http_request *request);

/* The present readers of one stream, and the number of events sent to them since the start. */
struct streams_state {
    size_t readers;
    uint64_t lag;    /* how many messages the slowest has not got to yet */
    uint64_t events; /* that they took */
};
/* Counts those of all protocols in their order, then of refused messages; it visits every reader.
 * `size`: of `out`.  Returns: how many there are. */
size_t streams_measure(const struct streams *streams, struct streams_state out[], size_t size);

/* The stream of this name was deleted and created again: its readers get a gap. */
void streams_renewed(struct streams *streams, const char *stream);

/* Messages of parley_protocols[protocol] are in other streams than before: ends its readers. */
void streams_moved(struct streams *streams, size_t protocol);

/* Tokens or keys of the guard, or the configuration, have changed: ends, soon, each open stream
 * whose sender may no longer read it, or is bound to another agent, with an event parley.end. */
void streams_access_changed(struct streams *streams);

/* Ends every open stream with an event parley.end; a new one is answered with 503 draining. */
void streams_drain(struct streams *streams);
