/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* GET /v1/protocols and the addresses below it, and the page at / (docs/api.md#describing):
 * rendered once at start, read-only afterwards, shared by all reactors. */

#include "describe.h"
#include "http.h"
#include "openapi.h"

enum describe_page {
    DESCRIBE_INDEX,     /* /, the console */
    DESCRIBE_SCRIPT,    /* /page.js, the script of that page */
    DESCRIBE_STYLE,     /* /page.css, the style of all pages */
    DESCRIBE_OPENAPI,   /* /openapi.json */
    DESCRIBE_ASYNCAPI,  /* /asyncapi.json */
    DESCRIBE_GUIDE,     /* /llms.txt */
    DESCRIBE_PROTOCOLS, /* /v1/protocols */
    DESCRIBE_PROTOCOL,  /* the rest is below it, and of one protocol */
    DESCRIBE_SCHEMA,
    DESCRIBE_RULES,
    DESCRIBE_EXAMPLES,
};

struct describe_pages;

/* `channels`: of all protocols, in the order of parley_protocols; `route`: the table of addresses.
 */
enum parley_status describe_pages_create(const struct channel *channels, contract_route_fn *route,
                                         struct describe_pages **out) PARLEY_MUST_CHECK;
void describe_pages_destroy(struct describe_pages *pages);

/* Answers with a page: 200, 304 when the client has it already, 406 when it accepts none of the
 * page's media types.  `protocol`: NULL for those above DESCRIBE_PROTOCOL.  Threads: any. */
void describe_pages_serve(const struct describe_pages *pages, struct http_request *request,
                          enum describe_page page, const struct parley_protocol *protocol);
