/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A body that is no message, but says what a client asks of the gateway, such as a decision: of a
 * few KiB, gathered whole. */

#include "request_options.h"

enum { SMALL_BODY_BYTES_MAX = 16 * 1024 };

struct small_body {
    struct parley_buffer bytes;
    struct parley_arena arena; /* for what is read from it */
    bool is_refused;           /* the request is answered */
};

/* `bytes_max`: whole KiB. The arena holds four times as much. */
void small_body_init(struct small_body *body, size_t bytes_max);
void small_body_finish(struct small_body *body);
/* Takes what has come of it: the `body` of a struct http_handler. One that gets too long is
 * refused.  Returns: how much of `bytes` is taken: all. */
size_t small_body_take(struct small_body *body, struct http_request *request,
                       struct parley_bytes bytes);
/* At its end.  Returns: whether it is there; if not, the request is answered. */
bool small_body_is_whole(struct small_body *body, struct http_request *request);

/* A body this small is not worth decompressing.  Returns: whether it is sent as it is; if not, the
 * request is answered. */
bool small_body_is_plain(const struct request_options *options, struct http_request *request);

/* Answers that the message by which the gateway would do what the body asks is invalid; `path`: of
 * the member of the body that names its sender: "/agent".  `who`: "The agent cannot claim tasks".
 */
void small_body_refuse_sender(struct http_request *request, struct parley_message *message,
                              const char *path, const char *who);
