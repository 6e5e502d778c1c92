/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the commands that connect a program to a server take of their command line: where it is, and
 * with what they show themselves.  Owns: all text is borrowed from the arguments and the
 * environment.  Returns, of each: false, after an error message. */

#include "http_client.h"

#define SERVER_ARGUMENTS_URL "http://127.0.0.1:8080"

/* `url` NULL: SERVER_ARGUMENTS_URL. */
bool server_arguments_url(const char *url, struct http_client_url *out);
/* Whether the files that were given go together, and with the URL. */
bool server_arguments_tls(const struct http_client_tls *tls, const struct http_client_url *url);
/* `file` NULL: that of PARLEY_TOKEN_FILE, else the token in PARLEY_TOKEN.  *out_file, *out_token:
 * one of them, or neither; the other is NULL. */
bool server_arguments_token(const char *file, const char **out_file, const char **out_token);
