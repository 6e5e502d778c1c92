/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Pages about one thing, such as a problem or a rule: HTML for browsers, JSON for everybody else.
 * They are written for each request, since there are many and few are read. */

#include "http.h"
#include "json_writer.h"

/* Appends the content between <main> and </main>. */
typedef void page_html_fn(struct parley_buffer *out, const void *subject);
/* Appends the value. */
typedef void page_json_fn(struct json_writer *json, const void *subject);

/* Answers 200, 304 when the client has it, 406 when it accepts neither. */
void page_serve(struct http_request *request, const char *title, page_html_fn *html,
                page_json_fn *json, const void *subject);

/* Appends text as HTML. */
void page_text(struct parley_buffer *out, struct parley_bytes text);
/* Appends a line of Markdown as HTML: text with code between backquotes. */
void page_prose(struct parley_buffer *out, const char *markdown);
