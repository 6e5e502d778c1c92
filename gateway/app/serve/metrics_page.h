/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* GET /metrics. */

#include "services.h"

/* Answers with the metrics of all workers, in the form that the client's Accept asks for. */
void metrics_page_serve(struct services *services, struct http_request *request);
