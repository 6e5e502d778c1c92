/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What is wrong with a query option, in the same words for every address. */

#include "problem.h"

/* "Unknown query option `sinse`; did you mean `since`? …"  `names`: those that are known here; ends
 * with NULL. */
void query_problem_unknown(struct http_request *request, const char *name,
                           const char *const names[]);
/* `wants`: what it may be, or what it lists. */
void query_problem_value(struct http_request *request, const char *name, const char *value,
                         const char *wants);
/* It is given twice. */
void query_problem_twice(struct http_request *request, const char *name);
