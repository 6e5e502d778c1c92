/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Answers requests about halts: GET and DELETE /v1/{protocol}/halts (docs/api.md#halts). */

#include "follow.h"
#include "gateway.h"
#include "halting.h"

/* The selection of the query: the halts of one conversation, those of one sender, or all. */
struct halts_query {
    const char *kind, *name;    /* of halts->kinds; NULL: of all conversations */
    const char *by;             /* halt_value_is_by; NULL: of all senders */
    bool is_all;                /* only for a release, which must say so */
    bool is_released;           /* only of a list: those that were released last instead */
    struct follow_query follow; /* only of a list */
    const char *reason;         /* only of a release, and: */
    const char *released_by;    /* the person who releases; NULL: not said */
};

/* Returns: whether the query is valid; if not, the request is answered. */
bool halts_query_read(struct http_request *request, const struct parley_protocol *protocol,
                      bool is_release, struct halts_query *out);

/* Calls `each` with the halts that the query chooses, as halt_set_each or halt_set_each_released.
 */
void halts_query_each(const struct halts_query *query, struct halt_set *set,
                      bool (*each)(void *context, const char *key, struct parley_bytes value),
                      void *context);

/* `follows`: serve a list that is followed. */
void halt_list_serve(struct gateway *gateway, struct follows *follows, struct http_request *request,
                     const struct parley_protocol *protocol);
void halt_release_serve(struct gateway *gateway, struct http_request *request,
                        const struct parley_protocol *protocol);
