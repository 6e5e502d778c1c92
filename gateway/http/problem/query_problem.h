/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The answers to a wrong query option, worded alike for every address. */

#include "problem.h"
#include "query_names.h"

/* "Unknown query option `sinse`; did you mean `since`? …"  `names`: the options of this address;
 * ends with NULL, and may be empty. */
void query_problem_unknown(struct http_request *request, const char *name,
                           const char *const names[]);
/* `expected`: the values that it may have, or the possible entries of its list. */
void query_problem_value(struct http_request *request, const char *name, const char *value,
                         const char *expected);

/* Checks what every option must satisfy: it is given once, and is text.  Owns: `seen` borrows the
 * name. Returns: false when it has answered. */
bool query_option_is_sound(struct http_request *request, struct query_names *seen, const char *name,
                           const char *value);
