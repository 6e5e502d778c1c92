/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Serves /metrics, /livez and /readyz on --admin-listen, to every client that reaches it. */

#include "services.h"

/* The http_begin_fn of that address, with the services as the context. */
void admin_begin(void *context, struct http_request *request);
