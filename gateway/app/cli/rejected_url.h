/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads /v1/rejected/stream of a server, from its beginning to its present end. The token is that
 * of the environment variable PARLEY_TOKEN, since arguments can be seen by others. */

#include "http_client.h"

/* Whether an operand is meant as a URL, and not as the name of a file. */
bool rejected_url_is(const char *operand);

/* `url`: the server's; or that of the stream, with options of its own. The host in `tls` is set.
 * Owns: http_client_finish is to be called whatever the result.
 * Returns: false, after an error message that says what to do. */
bool rejected_url_open(struct http_client *client, const char *url,
                       const struct tls_client_options *tls);

/* Receives a piece of the body from an http_client, as read(2); its `error` says why it failed. */
ssize_t rejected_url_read(void *client, char *out, size_t size);
