/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What serves requests on one reactor: everything a handler may need, and nothing that another
 * reactor touches. */

#include <parley/message.h>

#include "configuration.h"
#include "http.h"
#include "jetstream.h"
#include "reactor.h"
#include "streams.h"

struct gateway {
    const struct configuration *configuration; /* read-only, shared */
    struct parley_schema *const *schemas;      /* of parley_protocols, read-only, shared */
    struct parley_message *messages;           /* one a protocol, for the verdict under way */
    struct parley_buffer payload;              /* what is being published */
    struct reactor *reactor;
    struct jetstream *jetstream;
    struct http_server *http;
    struct streams *streams;
    bool is_draining;
};

/* The message object of a protocol on this reactor.  Owns: the gateway; it holds one verdict at a
 * time, so that nothing in it outlives the callback that asked for it. */
struct parley_message *gateway_message(struct gateway *gateway,
                                       const struct parley_protocol *protocol);

/* Routes a request: the http_begin_fn of every reactor, with its gateway as the context. */
void gateway_begin(void *context, struct http_request *request);

/* For http_options.is_stream: whether these first bytes of a request ask for a stream. */
int gateway_is_stream(struct parley_bytes start_of_request);

/* For http_options.refuse: a head that libmicrohttpd lets through and must not. */
void gateway_refuse(struct http_request *request, const char *detail);
