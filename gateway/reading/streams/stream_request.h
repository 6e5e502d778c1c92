/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The query of a request for a stream: which streams, from where on, which events. An impossible
 * one is answered with a problem. */

#include "http.h"
#include "stream_hub.h"
#include "stream_query.h"

/* Which streams it reads. */
struct stream_reading {
    const struct stream_hub
        *hubs; /* all of them: those of the protocols, and that of refused messages */
    size_t hub_count;
    uint64_t bits;              /* as stream_access_entry.reads */
    const struct channel *only; /* NULL: several protocols, perhaps */
};

/* `protocol` is NULL for refused messages.  Owns: borrows the hubs. */
struct stream_reading stream_reading_of_one(const struct stream_hub *hubs, size_t hub_count,
                                            const struct parley_protocol *protocol);
/* `readable`: bit I: parley_protocols[I]. */
struct stream_reading stream_reading_of_protocols(const struct stream_hub *hubs, size_t hub_count,
                                                  uint64_t readable);

/* The number of streams that it reads. */
size_t stream_reading_count(const struct stream_reading *reading);

/* A reader of some protocols is told which it does not see, in a header. */
void stream_name_left_out(uint64_t readable, struct http_request *request);

/* Reads the query and Last-Event-ID.  Returns: false when it has answered with a problem. */
bool stream_request_parse(struct http_request *request, const struct stream_reading *reading,
                          struct stream_query *query);
