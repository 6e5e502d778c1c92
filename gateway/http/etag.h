/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Answers that a client may have already. */

#include "http.h"

/* Whether If-None-Match, which may be a list, on several lines, or "*", has this ETag. */
bool etag_is_known(const struct http_request *request, const char *etag);

/* Answers 200 with the text and an ETag made of it, or 304 when the client has it.
 * `cache_control`: the header. */
void etag_respond(struct http_request *request, const char *cache_control, const char *type,
                  struct parley_bytes text);
