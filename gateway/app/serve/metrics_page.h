/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* GET /metrics. */

#include "services.h"

/* Answers with what all workers have counted, as the client's Accept asks for it. */
void metrics_page_serve(struct services *services, struct http_request *request);
