/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Inboxes that are followed. While any reader follows one of a protocol, one reactor of the process
 * asks the index what has become of them (inbox_table.h), one question at a time, and all readers
 * follow that. */

#include "channel.h"
#include "follow.h"
#include "index_service.h"

struct inbox_watch;

/* One for each protocol that has acknowledgements, NULL for others; of parley_protocols.
 * `channels`: borrowed.  Owns: a new array, which the caller destroys once no reactor runs. */
enum parley_status inbox_watches_create(const struct channel *channels,
                                        struct inbox_watch ***out) PARLEY_MUST_CHECK;
/* NULL is allowed. */
void inbox_watches_destroy(struct inbox_watch **watches);

struct inbox_follow {
    struct reactor *reactor;
    struct index_service *service;
    struct completion_queue *completions; /* of the pool INDEX_VIEWS */
    struct follows *follows;
    const struct limits *limits; /* NULL: no sender is limited */
    const char *agent;           /* whose inbox */
    const char *own;             /* to whom the request is bound; NULL: to none */
    enum index_choice unacked;
};
/* Serves a request with follow=true, from its begin callback.  Owns: borrows what is in `with`, its
 * texts for the call.  Threads: that of the reactor. */
void inbox_watch_serve(struct inbox_watch *watch, struct http_request *request,
                       const struct follow_query *query, const struct inbox_follow *with);

/* This reactor asks no more, for all that follow: it ends. Once its completions are closed.
 * Threads: that of the reactor. */
void inbox_watch_end(struct inbox_watch *watch, const struct reactor *reactor);
