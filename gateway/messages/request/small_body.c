/* SPDX-License-Identifier: Apache-2.0 */

#include "small_body.h"

#include "check.h"
#include "problem.h"

void small_body_init(struct small_body *body, size_t bytes_max) {
    *body = (struct small_body){0};
    parley_buffer_init(&body->bytes);
    body->bytes.limit_bytes = bytes_max;
    parley_arena_init(&body->arena, 4 * bytes_max);
}

void small_body_finish(struct small_body *body) {
    parley_buffer_finish(&body->bytes);
    parley_arena_finish(&body->arena);
}

size_t small_body_take(struct small_body *body, struct http_request *request,
                       struct parley_bytes bytes) {
    parley_buffer_append(&body->bytes, bytes);
    if (body->bytes.is_over_limit && !body->is_refused) {
        body->is_refused = true;
        problem_respond_format(request, PROBLEM_TOO_LARGE, "The body may have %zu KiB.",
                               body->bytes.limit_bytes / 1024);
    }
    return bytes.length;
}

bool small_body_is_whole(struct small_body *body, struct http_request *request) {
    if (!body->is_refused && body->bytes.has_failed) {
        body->is_refused = true;
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
    }
    return !body->is_refused;
}

bool small_body_is_plain(const struct request_options *options, struct http_request *request) {
    if (options->coding != CODING_IDENTITY) {
        http_header(request, "Accept-Encoding", "identity");
        problem_respond(request, PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                        "This address reads no compressed bodies: send it without "
                        "Content-Encoding.");
        return false;
    }
    return true;
}

/* The place in the body is not known. */
static void respond_forbidden(struct http_request *request, struct parley_message *message,
                              const char *path) {
    struct parley_buffer detail;
    for (size_t i = 0; i < message->findings.count; i++) {
        message->findings.items[i].path = path;
        message->findings.items[i].at = (struct parley_position){0};
    }
    parley_buffer_init(&detail);
    check_describe(message, &detail);
    parley_buffer_char(&detail, '\0');
    problem_respond_findings(request, PROBLEM_FORBIDDEN,
                             detail.has_failed ? "This token may not speak in that name."
                                               : detail.data,
                             &message->findings);
    parley_buffer_finish(&detail);
}

void small_body_refuse_sender(struct http_request *request, struct parley_message *message,
                              const char *path, const char *who) {
    if (check_is_forbidden(message)) {
        respond_forbidden(request, message, path);
        return;
    }
    const struct parley_finding *error = check_first_error(message);
    const char *said = strstr(error->message, "` "); /* "`from` is …" */
    if (said != NULL) {
        problem_respond_format(request, PROBLEM_INVALID_MESSAGE, "`%s%s.", path + 1, said);
    } else {
        problem_respond_format(request, PROBLEM_INVALID_MESSAGE, "%s: %s.", who, error->message);
    }
}
