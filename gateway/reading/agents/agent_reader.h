/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads the last messages of agents, or those that come: of each source of the protocol's table
 * with a consumer, all at once. It checks each message, since any client may publish to NATS, and
 * keeps none. */

#include <parley/agents.h>
#include <parley/message.h>

#include "agent_page.h"
#include "channel.h"
#include "jetstream.h"

struct agent_reader;

struct agent_reader_options {
    struct jetstream *jetstream;
    const struct channel *channel;
    const struct parley_schema *schema;
    struct parley_bytes agent; /* as in subjects; data NULL: all agents */
    const char *value;         /* for parley_agents.matches; NULL: every agent matches */
    const char *own;  /* the only agent whose private messages may be shown; NULL: those of all */
    bool is_of_lives; /* only beats, and sources that are is_end, are read */
    bool is_live;     /* what is stored from now on is read, until the reader is closed, and nothing
                         before; `done`, with PARLEY_OK, says that this has begun */
    bool is_kept;   /* the reports are for several readers: news has all that is needed for that */
    int64_t now_ns; /* Unix time */
    const struct parley_log_gaps *missing; /* in the agent's log; NULL: not known */
    /* The report of a message.  Owns: borrowed for the call. */
    enum parley_status (*note)(void *context, const struct agent_news *news);
    /* Everything was noted; or it cannot be: `error` says why (half a sentence), NULL: out of
     * memory. Called once. The reader may be closed from here. */
    void (*done)(void *context, enum parley_status status, const char *error);
    /* Only with is_live: the connection, or a consumer, was lost. Messages after the last one come
     * once it is there again, but not if the stream was created again: a new reader gets these,
     * too. The reader may not be closed from here. */
    void (*cut)(void *context);
    void *context;
};

/* Owns: copies the options, borrows the rest; returns a new reader, which the caller closes. No
 * callback comes before it returns. Returns: PARLEY_E_IO: the messages are in a stream of which
 * parley may have no consumers, or it is not known where. */
enum parley_status agent_reader_open(const struct agent_reader_options *options,
                                     struct agent_reader **out) PARLEY_MUST_CHECK;
/* NULL is allowed. */
void agent_reader_close(struct agent_reader *reader);

/* An agent's name as the token of a subject: as in a path, so some of it may be percent-encoded.
 * Returns: false if it is too long. */
#define AGENT_TOKEN_SIZE 1537 /* 128 characters of four bytes, each encoded, and a NUL */
bool agent_token(const char *name, char out[AGENT_TOKEN_SIZE]);

/* Whether a reader that may read only the private messages of `own` (NULL: of all) gets none of
 * this agent. `agent`: as in subjects. */
bool agent_is_guarded(const char *own, struct parley_bytes agent);

/* Checks a payload that may have bypassed the gateway.  `has_object`: its header says that it
 * points to an object.  `out_is_ours`: it is a valid message, and the one that its subject says. */
enum parley_status agent_message_check(struct parley_message *message,
                                       const struct channel *channel, const char *subject,
                                       struct parley_bytes payload, bool has_object,
                                       bool *out_is_ours) PARLEY_MUST_CHECK;
