/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* GET /openapi.json: the addresses of docs/api.md for programs (OpenAPI 3.1), made from the tables
 * that serve them. */

#include "operation.h"

/* A row of the table of addresses. */
struct contract_route {
    const char *path; /* {protocol} and {name} stand for one segment */
    enum guard_need need;
    const struct operation *operation;
    const struct operation *remove_operation; /* of DELETE, for admins; NULL if there is none */
    enum guard_need get_need;                 /* of GET, where there is POST, too … */
    const struct operation *get_operation;    /* … NULL: there is not */
    bool has_get, has_post;                   /* one of them, or both */
};
/* Returns: false after the last row. */
typedef bool contract_route_fn(size_t index, struct contract_route *out);

/* Appends the document, on one line. */
void openapi_write(struct parley_buffer *out, contract_route_fn *route);
