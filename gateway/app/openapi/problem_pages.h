/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* GET /problems and /problems/NAME: what each `type` means, and what to do about it. */

#include "http.h"

void problem_pages_serve_list(struct http_request *request);
/* 404 if there is no problem of that name. */
void problem_pages_serve(struct http_request *request, const char *name);
