/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A body that is made once, at start, and answered many times: compressed once in each coding, with
 * an ETag.  Threads: one makes it; then any may answer with it. */

#include <parley/buffer.h>

#include "http.h"
#include "negotiate.h"

struct kept_page {
    struct parley_buffer bodies[CODING_COUNT]; /* empty: it is not worth compressing */
    char digest[32 + 1];
};

/* Makes it empty: the plain body, bodies[CODING_IDENTITY], is written next. */
void kept_page_init(struct kept_page *page);
void kept_page_finish(struct kept_page *page);

/* Completes a page whose plain body is written. */
enum parley_status kept_page_complete(struct kept_page *page) PARLEY_MUST_CHECK;

/* Answers 200 in the coding that the client likes best, or 304 if it has the page already. The
 * caller has written the header Vary. */
void kept_page_respond(struct http_request *request, const char *content_type,
                       const struct kept_page *page);
