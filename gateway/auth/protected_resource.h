/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Protected resource metadata (RFC 9728): from it a client that has no token learns who issues JWTs
 * for this server. The resource is their audience, if that is a URL; so nothing of a request, which
 * may name any host, is repeated. */

#include <stdbool.h>

#include <parley/buffer.h>

#define PROTECTED_RESOURCE_PATH "/.well-known/oauth-protected-resource"
#define PROTECTED_RESOURCE_URL_MAX 512

/* Writes the URL of the metadata.  `audience`: of JWTs, or NULL.
 * Returns: false: `audience` is not a URL with `http` or `https`, and there is no metadata. */
bool protected_resource_url(const char *audience, char out[PROTECTED_RESOURCE_URL_MAX]);

/* Appends the metadata. */
void protected_resource_write(const char *audience, const char *issuer, struct parley_buffer *out);
