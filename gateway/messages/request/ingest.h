/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* POST /v1/{protocol}/messages, /validate and /convert (docs/api.md#sending). */

#include "request_options.h"

/* Serves a request from its begin callback. */
void ingest_serve(struct gateway *gateway, struct http_request *request,
                  const struct parley_protocol *protocol, enum ingest_task task);
