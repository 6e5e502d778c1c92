/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Compressed answers: between their source and what sends them (ADR 14). */

#include "http_internal.h"

/* Whether the whole answer `body` is compressed, if http_compress was called; then in `scratch`,
 * which is initialised here and finished by the caller.  Returns: what to send. */
struct parley_bytes http_coding_whole(struct http_request *request, struct parley_bytes body,
                                      struct parley_buffer *scratch);
/* The same of an answer that has a source: before its headers are written. */
void http_coding_begin(struct http_request *request);
/* What the source gives, compressed if the answer is: as http_respond_stream's `read`. Each piece
 * can be read by the client as soon as it arrives. */
ssize_t http_coding_read(struct http_request *request, char *buffer, size_t size);
/* The answer is over, or will be another one. */
void http_coding_end(struct http_request *request);
