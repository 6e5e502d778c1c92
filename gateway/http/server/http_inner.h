/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Requests that a handler makes while it serves one of a client: they are routed, admitted and
 * served as if the same client had sent them on the same connection, but they have no connection of
 * their own, and their answers come here. So what is one request in another protocol is served by
 * the code of the addresses. */

#include "http.h"
#include "http_head.h"

struct http_inner;

/* Owns: borrowed for the call. */
struct http_inner_answer {
    unsigned status;
    const char *content_type; /* NULL: it has no body */
    struct parley_bytes body;
    bool is_whole; /* a stream that broke off, or had more than answer_bytes_max, is not */
};

/* Called once, perhaps before http_inner_begin returns. The handler that answers is still at work:
 * nothing may be begun or destroyed here. */
typedef void http_inner_fn(void *context, struct http_inner *inner,
                           const struct http_inner_answer *answer);

struct http_inner_options {
    const char *method;         /* valid */
    struct parley_bytes target; /* path and query, percent-encoded */
    const struct http_field *headers;
    size_t header_count;
    struct parley_bytes body;
    size_t answer_bytes_max; /* of a stream: what is beyond it is left out */
    http_inner_fn *answered;
    void *context;
};

/* Owns: `outer` and the body are borrowed until it is destroyed; the rest is copied.
 * Returns: PARLEY_E_MEMORY, PARLEY_E_UNSUPPORTED: this cannot be the head of a request. */
enum parley_status http_inner_create(struct http_request *outer,
                                     const struct http_inner_options *options,
                                     struct http_inner **out) PARLEY_MUST_CHECK;

/* Has it served, as the server's begin callback does. */
void http_inner_begin(struct http_inner *inner);

/* Ends it, answered or not: its handler is told, as of a client that is gone. What it noted for the
 * log is noted of the outer request.  NULL is allowed. */
void http_inner_destroy(struct http_inner *inner);

/* A header of the answer, once that is there; NULL when absent.  Owns: the inner request's. */
const char *http_inner_header(const struct http_inner *inner, const char *name);

/* What a stream has sent so far; lines are whole once it is answered.  Owns: the inner request's.
 */
struct parley_bytes http_inner_so_far(const struct http_inner *inner);
