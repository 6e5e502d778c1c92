/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The value of --nats: checked before anything connects, and shown without secrets. Source:
 * nats.c's url.c, which takes everything before the last '@' for the user, and ignores the scheme.
 */

#include <stdbool.h>

#include <parley/buffer.h>

#define NATS_URLS_ERROR_MAX 400

/* Checks a comma-separated list of URLs.  `error` gets the mistake and the expected form; it quotes
 * nothing that may be part of a password.  Returns: whether all are valid. */
bool nats_urls_check(const char *urls, char error[NATS_URLS_ERROR_MAX]);

/* Appends "nats://a:4222, nats://b:4222": without user, password or token.  `urls` must have passed
 * the check. */
void nats_urls_describe(const char *urls, struct parley_buffer *out);
