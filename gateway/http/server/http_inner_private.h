/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Of inner requests, what the files of HTTP call: where a request has no client, they come here. */

#include "http_inner.h"

/* As http_respond. */
void http_inner_respond(struct http_inner *inner, unsigned status, const char *content_type,
                        struct parley_bytes body);
/* As http_respond_stream. */
void http_inner_respond_stream(struct http_inner *inner, unsigned status, const char *content_type,
                               ssize_t (*read)(void *state, char *buffer, size_t size));
/* It was woken, and this is its turn. */
void http_inner_go_on(struct http_inner *inner);
/* The request of the client. */
struct http_request *http_inner_outer(const struct http_inner *inner);
