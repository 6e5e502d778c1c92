/* SPDX-License-Identifier: Apache-2.0 */

#include "page.h"

#include <stdio.h>
#include <string.h>

#include "etag.h"
#include "negotiate.h"
#include "problem.h"

/* ---- HTML ---- */

static void append_char(struct parley_buffer *out, char c) {
    switch (c) {
    case '<':
        parley_buffer_text(out, "&lt;");
        break;
    case '>':
        parley_buffer_text(out, "&gt;");
        break;
    case '&':
        parley_buffer_text(out, "&amp;");
        break;
    case '"':
        parley_buffer_text(out, "&quot;");
        break;
    default:
        parley_buffer_char(out, c);
    }
}

void page_text(struct parley_buffer *out, struct parley_bytes text) {
    for (size_t i = 0; i < text.length; i++) {
        append_char(out, text.data[i]);
    }
}

void page_prose(struct parley_buffer *out, const char *markdown) {
    bool is_code = false;
    for (const char *at = markdown; *at != '\0'; at++) {
        if (*at == '`') {
            parley_buffer_text(out, is_code ? "</code>" : "<code>");
            is_code = !is_code;
        } else {
            append_char(out, *at);
        }
    }
}

static void write_html(struct parley_buffer *out, const char *title, page_html_fn *html,
                       const void *subject) {
    parley_buffer_format(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<title>%s - parley</title>\n<link rel=\"stylesheet\" href=\"/page.css\">\n"
        "<script src=\"/page.js\" defer></script>\n<main>\n",
        title);
    html(out, subject);
    parley_buffer_text(out, "</main>\n</html>\n");
}

/* ---- answers ---- */

void page_serve(struct http_request *request, const char *title, page_html_fn *html,
                page_json_fn *json, const void *subject) {
    static const char *const offers[] = {"application/json", "text/html", NULL};
    const int form = negotiate(http_request_header(request, "Accept"), offers);
    struct parley_buffer text;
    http_header(request, "Vary", "Accept");
    if (form < 0) {
        problem_respond_format(request, PROBLEM_NOT_ACCEPTABLE,
                               "%s is available as text/html or application/json: accept that, or "
                               "omit the Accept header.",
                               http_request_path(request));
        return;
    }
    parley_buffer_init(&text);
    if (form == 1) {
        write_html(&text, title, html, subject);
    } else {
        json(&(struct json_writer){.out = &text}, subject);
        parley_buffer_char(&text, '\n');
    }
    if (parley_buffer_status(&text) == PARLEY_OK) {
        etag_respond(request, "no-cache",
                     form == 1 ? "text/html; charset=utf-8" : "application/json",
                     parley_buffer_bytes(&text));
    } else {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
    }
    parley_buffer_finish(&text);
}
