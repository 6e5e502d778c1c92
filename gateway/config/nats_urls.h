/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The addresses of NATS servers, as --nats takes them: checked before anything connects, and
 * written without what must not be read by others. Source: nats.c's url.c, which takes all that is
 * before the last '@' for the user, and ignores the scheme. */

#include <stdbool.h>

#include <parley/buffer.h>

#define NATS_URLS_ERROR_MAX 400

/* Checks a list with commas between its URLs.  `error` gets what is wrong and what is expected; it
 * quotes nothing that may be part of a password.  Returns: whether they can be. */
bool nats_urls_check(const char *urls, char error[NATS_URLS_ERROR_MAX]);

/* Appends "nats://a:4222, nats://b:4222": without user, password or token.  `urls` must have passed
 * the check. */
void nats_urls_describe(const char *urls, struct parley_buffer *out);
