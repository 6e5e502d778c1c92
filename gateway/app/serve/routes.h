/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The addresses of docs/api.md. */

#include "services.h"
#include "openapi.h"

/* Routes a request: the http_begin_fn of every reactor, with its services as the context. */
void gateway_begin(void *context, struct http_request *request);

/* The table of addresses, row by row: for the documents that describe them, and tests. */
bool gateway_route(size_t index, struct contract_route *out);

/* For http_options.stays_open: whether the request with this head stays open, perhaps for as long
 * as its client likes. */
bool gateway_stays_open(const struct http_head *head);

/* For http_options.over. */
void gateway_over(void *context, const struct http_request *request,
                  const struct http_outcome *outcome);

/* For http_options.refuse. */
void gateway_refuse(struct http_request *request, unsigned status, const char *detail);

/* Writes http_options.full_answer, to an address that has `each` connections. */
void gateway_write_full_answer(uint64_t each, struct parley_buffer *out);
