/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Lists that are followed (`follow=true`, ADR 55): the items, then an event for each change, as
 * lines of JSON or server-sent events, for as long as the client likes. A reader keeps its place in
 * the log of the list's changes (change_log.h) and which items it shows: a bit each. All readers
 * share the log; none of them waits for another, or keeps what it has not sent.
 *
 * Threads: that of the reactor. */

#include "change_log.h"
#include "http.h"
#include "problem.h"
#include "stream_access.h"

struct follows;
struct limits;

/* Why a list cannot be followed, now or any more. */
struct follow_trouble {
    const char *reason; /* of parley.end, for those who follow it */
    const char *detail; /* a sentence of the problem `overloaded`, for those who ask */
};

/* A list. With its lock, all of it. */
struct follow_ops {
    /* Static; NULL: there is none. May be NULL: there never is. */
    const struct follow_trouble *(*trouble)(void *list);
    /* Whether what it holds is known: until then readers wait. */
    bool (*is_whole)(void *list);
    /* Called before the first of some calls of `write`. May be NULL. */
    void (*prepare)(void *list, void *filter);
    /* Appends the item, as the list gives it now, if the filter lets it pass. `out_passes`: whether
     * it does.  Returns: PARLEY_E_MEMORY. */
    enum parley_status (*write)(void *list, const void *filter, const struct change *change,
                                struct parley_buffer *out, bool *out_passes) PARLEY_MUST_CHECK;
    /* Whether the item may ever have passed, as far as that is known quickly. May be NULL: yes. */
    bool (*may_pass)(void *list, const void *filter, const struct change *change);
    /* By which readers know it.  Owns: borrowed from the item. */
    struct parley_bytes (*id)(void *list, const struct change *change);
};

struct follow_options {
    const struct follow_ops *ops;
    void *list;                             /* borrowed; it outlives the reader */
    struct change_log *log;                 /* of the list */
    const struct parley_protocol *protocol; /* that its reader must be allowed to read */
    const char *name; /* of the list, in tokens: "tasks" for "roundtable.tasks:…".  Owns: borrowed
                         for the call */
    const char *agent;     /* to whom the reader is bound; NULL: none.  Borrowed for the call */
    struct follow_filter { /* of the reader's choice */
        void *filter;      /* given to the operations */
        void (*release)(void *context); /* called once, also where the request is refused */
        void *context;
        int64_t sweep_ms; /* time alone lets items pass: all are looked at so often; 0: no */
    } filter;
    /* Of a list that shares the log with others: the part of its items, and the log's version when
     * it was made; a token from before is of another list. */
    uint32_t part;
    uint64_t born;
    /* If it is not whole in time: a problem of 503, and a sentence that says why. */
    enum problem absent;
    const char *absence;
};

/* The options of the query that are about following, for the table of a list. */
struct follow_query {
    bool is_followed;
    const char *token; /* since=; NULL: from the beginning.  Owns: borrowed from the request */
};
#define FOLLOW_SINCE_WANTS "a resume token of this list"
#define FOLLOW_OPTION_HELP                                                                         \
    {"follow",                                                                                     \
     "true: the items as lines of JSON or server-sent events, then an event for each change, for " \
     "as long as the client reads.",                                                               \
     "`true` or `false`", "{\"type\":\"boolean\",\"default\":false}"},                             \
    {                                                                                              \
        "since", "With follow=true: continues after the event that has this resume token.",        \
            FOLLOW_SINCE_WANTS, "{\"type\":\"string\"}"                                            \
    }
/* `value`: of the option `follow`.  Returns: whether it can have that. */
bool follow_query_set(struct follow_query *query, const char *value);

/* Whether the options go together: a list that is followed is whole, so that `limit` is not for it.
 * Returns: false when it has answered. */
bool follow_query_admit(struct http_request *request, const struct follow_query *query,
                        bool has_limit);

/* Whether a request with this value of the option `follow` (NULL: without it) follows the list. */
bool follow_is_asked(const char *value);

/* `guard` NULL: every client may read.  Owns: borrows all. */
enum parley_status follows_create(struct reactor *reactor, const struct guard *guard,
                                  const struct configuration *configuration,
                                  struct follows **out) PARLEY_MUST_CHECK;
/* Once all requests are closed. */
void follows_destroy(struct follows *follows);

/* Serves a GET (or HEAD) request from its begin callback. `limits`: of the open streams of its
 * sender; NULL: none. */
void follows_serve(struct follows *follows, const struct limits *limits,
                   struct http_request *request, const struct follow_query *query,
                   const struct follow_options *options);

/* As streams_access_changed and streams_drain (streams.h). */
void follows_access_changed(struct follows *follows);
void follows_drain(struct follows *follows);
