/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The files of the web console, GET /console/NAME (docs/console.md): compressed once at start,
 * read-only afterwards, shared by all reactors. */

#include <parley/status.h>

#include "http.h"

struct console;

/* `web`: a folder like web/, from which the files are read for each request, or NULL.
 * Owns: `web` is borrowed. */
enum parley_status console_create(const char *web, struct console **out) PARLEY_MUST_CHECK;
void console_destroy(struct console *console);

/* Answers with a file: 200, 304, or 404 if there is none of that name.  Threads: any. */
void console_serve(const struct console *console, struct http_request *request, const char *name);
