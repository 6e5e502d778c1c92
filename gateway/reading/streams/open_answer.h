/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Answers that stay open, of streams and of lists that are followed: what they have in common
 * before their first event.  Threads: that of the reactor. */

#include <stdbool.h>

#include "http.h"

struct limits;
struct tally_entry;

#define OPEN_ANSWER_DRAINING                                                                       \
    "The server is shutting down. Connect again later, or to another server."

/* Answers a HEAD request, with the headers of a GET, and refuses a sender that has as many open as
 * it may (`limits` NULL: any number).  Returns: false when it has answered.
 * *out_opening: to be given to tally_leave once the request is closed; NULL if it is not counted.
 */
bool open_answer_admit(const struct limits *limits, struct http_request *request,
                       const char *media_type, struct tally_entry **out_opening);

/* Sets the headers of an answer that is given now. */
void open_answer_add_headers(struct http_request *request);
