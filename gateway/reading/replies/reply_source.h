/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The facts and replies of one protocol, for those that wait. Private to replies/. */

#include "fact_store.h"
#include "replies.h"
#include "stream_event.h"
#include "stream_hub.h"

enum { REPLY_LISTS = 64 };

struct reply_source {
    struct reactor *reactor;
    struct jetstream *jetstream;
    struct parley_schema *schema;
    const struct channel *channel;
    struct channel shown; /* the same, with the stream of the reply that is rendered … */
    char token[STREAM_HUB_TOKEN_MAX];                      /* … and its name in resume tokens */
    LIST_HEAD(reply_waits, reply_wait) lists[REPLY_LISTS]; /* by key */
    size_t count;
    char bucket_stream[FACT_NAME_MAX], prefix[FACT_NAME_MAX]; /* "$KV.<bucket>." */
    struct ordered_consumer
        *consumer; /* while any request waits, and a little longer; NULL for none */
    struct reactor_timer tick, lapses; /* the latter for the first that may lapse */
    bool has_renderer;                 /* once it was needed */
    struct stream_renderer renderer;
    struct jetstream_request *created_request; /* under way; NULL for none */
    char created_stream[JETSTREAM_STREAM_MAX]; /* the last stream that was asked for … */
    char created[40];                          /* … and when it was created; "": not known */
};

void reply_source_init(struct reply_source *source, struct reactor *reactor,
                       struct jetstream *jetstream, struct parley_schema *schema,
                       const struct channel *channel);
void reply_source_finish(struct reply_source *source);

/* Whether its messages are answered by facts. */
bool reply_source_is_usable(const struct reply_source *source);

/* It is EXPECTED. */
void reply_source_add(struct reply_source *source, struct reply_wait *wait);
void reply_source_remove(struct reply_source *source, struct reply_wait *wait);
/* Asks for its key. */
void reply_source_ask(struct reply_source *source, struct reply_wait *wait);
/* Gets the message at its stream and sequence. */
void reply_source_fetch(struct reply_source *source, struct reply_wait *wait);

/* ---- replies.c ---- */

/* Ends it.  `event`: of a reply that came. */
void reply_finish(struct reply_wait *wait, enum reply_end end, struct parley_bytes event);

/* ---- reply_lapse.c ---- */

/* Its message is stored: finds out when the work lapses, and ends the wait then. */
void reply_lapse_begin(struct reply_wait *wait);
/* Runs the steps that are due, and sets the timer of the source for later ones. */
void reply_lapse_look(struct reply_source *source, struct reply_wait *wait);
