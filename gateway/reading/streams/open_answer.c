/* SPDX-License-Identifier: Apache-2.0 */

#include "open_answer.h"

#include <inttypes.h>
#include <string.h>

#include "limit_sender.h"
#include "problem.h"
#include "sender_limits.h"

void open_answer_add_headers(struct http_request *request) {
    http_header(request, "Cache-Control", "no-cache, no-store");
    http_header(request, "X-Accel-Buffering", "no"); /* nginx would hold events back */
    http_compress(request);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): sources have this type */
static ssize_t read_nothing(void *state, char *buffer, size_t size) {
    (void)state;
    (void)buffer;
    (void)size;
    return HTTP_SOURCE_END;
}

static bool open_for_sender(const struct limits *limits, struct http_request *request,
                            struct tally_entry **out_opening) {
    const struct limit_sender sender = limit_sender_of(limits, request);
    if (limits_open(&limits->streams, &sender, limit_sender_is_loopback(request), out_opening)) {
        return true;
    }
    problem_respond_format(request, PROBLEM_TOO_MANY_STREAMS,
                           "This sender has %" PRIu64 " streams open (--streams-per-token). Close "
                           "one of them, or read /v1/stream instead of one stream a protocol.",
                           limits->streams.max);
    return false;
}

bool open_answer_admit(const struct limits *limits, struct http_request *request,
                       const char *media_type, struct tally_entry **out_opening) {
    *out_opening = NULL;
    if (strcmp(http_request_method(request), "HEAD") == 0) {
        open_answer_add_headers(request);
        http_respond_stream(request, 200, media_type, read_nothing);
        return false;
    }
    return limits == NULL || open_for_sender(limits, request, out_opening);
}
