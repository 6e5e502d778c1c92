/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The query options of an address that has a table of them: each is known, given once, and has a
 * value that it can have. */

#include <parley/message.h>

#include "query_problem.h"

enum { QUERY_OPTIONS_MAX = 24 };

/* `number`: of the option's row.  Owns: the value is borrowed from the request.
 * Returns: whether the option can have this value. */
typedef bool query_option_fn(void *context, size_t number, const char *value);

/* Gives the options of a request to `set`, in the order in which they come.
 * `options`: at most QUERY_OPTIONS_MAX rows; name NULL ends them.
 * Returns: false when it has answered with the error. */
bool query_options_read(struct http_request *request, const struct parley_option_help *options,
                        query_option_fn *set, void *context);

/* As query_options_read, for an address that has no options. */
bool query_options_none(struct http_request *request);

/* Gives the items of a comma-separated list to `set`, in their order.  Owns: as the value.
 * Returns: false if `set` has returned false for one. */
bool query_option_list(const char *value, bool (*set)(void *context, struct parley_bytes item),
                       void *context);

/* A number from 1 to `most`, which has at most four digits. */
bool query_option_count(const char *value, size_t most, size_t *out);
