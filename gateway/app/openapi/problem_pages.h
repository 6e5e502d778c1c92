/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* GET /problems and /problems/NAME: the meaning of each `type`, and its remedy. */

#include "http.h"

void problem_pages_serve_list(struct http_request *request);
/* 404 if there is no problem of that name. */
void problem_pages_serve(struct http_request *request, const char *name);
