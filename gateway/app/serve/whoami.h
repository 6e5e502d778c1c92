/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a client learns of access (docs/api.md#access): GET /v1/whoami says what its credentials
 * allow, so that it can offer no more than that, and protected resource metadata who issues some.
 */

#include "services.h"

void whoami_serve(const struct services *services, struct http_request *request);

void whoami_serve_resource(const struct services *services, struct http_request *request);
