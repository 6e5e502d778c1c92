/* SPDX-License-Identifier: Apache-2.0 */

#include "small_body.h"

#include "check.h"
#include "problem.h"

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
