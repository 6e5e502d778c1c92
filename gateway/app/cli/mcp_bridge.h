/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What `parley mcp` does: each line of standard input is a JSON-RPC message, which is posted to a
 * server; what it answers are lines of standard output. Each request has a thread and a connection
 * of its own, so that one that waits keeps no other waiting:
 *
 *   standard input ──▶ line ──▶ thread ── POST /mcp ──▶ server
 *   standard output ◀── line ◀── thread ◀── JSON, or events ──┘
 */

#include <stdbool.h>

#include "http_client.h"

/* Owns: all text is borrowed. */
struct mcp_bridge_options {
    struct http_client_url url;
    const char *path; /* of the address, with that of the URL before it */
    struct http_client_tls tls;
    const char *token_file; /* read for each request; NULL if absent: then … */
    const char *token;      /* … this one; NULL if absent */
};

/* Returns at the end of standard input once every answer is written, or when standard output is
 * closed: requests in progress end with the process then.  Returns: the exit status. */
int mcp_bridge_run(const struct mcp_bridge_options *options);
