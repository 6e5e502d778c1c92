/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Compression of answers: between their source and the code that sends them (ADR 14). */

#include "http_internal.h"

/* Compresses the whole answer `body`, if http_compress was called, into `scratch`, which is
 * initialised here and finished by the caller.  Returns: the bytes to send. *out_coding: the value
 * of their Content-Encoding; NULL: they have none. */
struct parley_bytes http_coding_whole(struct http_request *request, struct parley_bytes body,
                                      struct parley_buffer *scratch, const char **out_coding);
/* As http_coding_whole, for an answer that has a source: before its headers are written. */
void http_coding_begin(struct http_request *request);
/* Reads from the source, and compresses if the answer is compressed: as http_respond_stream's
 * `read`. The client can read each piece as soon as it arrives. */
ssize_t http_coding_read(struct http_request *request, char *buffer, size_t size);
/* The answer has ended, or will be another one. */
void http_coding_end(struct http_request *request);
