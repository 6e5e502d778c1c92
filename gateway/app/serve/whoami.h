/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* GET /v1/whoami: what the credentials of a request allow (docs/api.md#access), so that a client
 * can offer no more than that. */

#include "services.h"

void whoami_serve(const struct services *services, struct http_request *request);
