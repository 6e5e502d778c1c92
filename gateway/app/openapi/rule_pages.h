/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* GET /rules and /rules/ID: the demand of each rule, and how to keep it. */

#include "http.h"

void rule_pages_serve_list(struct http_request *request);
/* 404 if there is no rule of that id. */
void rule_pages_serve(struct http_request *request, const char *id);
