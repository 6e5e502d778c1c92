/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The answers to a wrong query option, in the same words for every address. */

#include "problem.h"

/* "Unknown query option `sinse`; did you mean `since`? …"  `names`: the options of this address;
 * ends with NULL. */
void query_problem_unknown(struct http_request *request, const char *name,
                           const char *const names[]);
/* `expected`: the values that it may have, or what its list may hold. */
void query_problem_value(struct http_request *request, const char *name, const char *value,
                         const char *expected);
/* The option is given twice. */
void query_problem_twice(struct http_request *request, const char *name);
