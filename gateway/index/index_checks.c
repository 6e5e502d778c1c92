/* SPDX-License-Identifier: Apache-2.0 */

#include "index_checks.h"

#include <string.h>

#include "problem.h"

bool index_is_stream_of(const struct jetstream *jetstream, unsigned protocol,
                        struct parley_bytes stream) {
    const struct jetstream_place *at;
    for (size_t i = 0; (at = jetstream_place_at(jetstream, protocol, i)) != NULL; i++) {
        if (at->families != 0 && parley_bytes_equal(stream, parley_bytes_of(at->stream))) {
            return true;
        }
    }
    return false;
}

/* A stream of another protocol is never part of this list, however long one waits.  Returns: false:
 * it is answered. */
static bool check_after(const struct index_question *asked, const struct jetstream *jetstream,
                        struct http_request *request) {
    const struct parley_bytes stream = asked->after.stream;
    if (asked->values[INDEX_AFTER] == NULL || !jetstream_can_read(jetstream)) {
        return true;
    }
    for (unsigned i = 0; parley_protocols[i] != NULL; i++) {
        if ((asked->readable >> i & 1) != 0 && index_is_stream_of(jetstream, i, stream)) {
            return true;
        }
    }
    problem_respond_format(
        request, PROBLEM_INVALID_PARAMETER,
        "The query option `after` names the stream `%.*s`, which has no messages "
        "of this list. Give STREAM:SEQUENCE of a receipt of %s.",
        (int)stream.length, stream.data,
        asked->view->is_of_all ? "a protocol that you may read"
                               : parley_protocols[asked->protocol]->title);
    return false;
}

/* A request that is bound to an agent asks for that one.  Returns: false: it is answered. */
static bool check_agent(struct index_question *asked, struct http_request *request) {
    const char **agent = &asked->values[INDEX_AGENT];
    if (!asked->view->is_of_agent || asked->own == NULL) {
        return true;
    }
    *agent = *agent != NULL ? *agent : asked->own;
    if (strcmp(*agent, asked->own) != 0) {
        problem_respond_format(request, PROBLEM_FORBIDDEN,
                               "This token may read what was sent to the agent %.64s only.",
                               asked->own);
        return false;
    }
    return true;
}

/* Returns: false: it is answered. */
static bool check_required(const struct index_question *asked, struct http_request *request) {
    const char *const *required = asked->view->required;
    while (required != NULL && *required != NULL &&
           asked->values[index_option_of(*required)] == NULL) {
        required++;
    }
    if (required == NULL || *required != NULL) {
        return true;
    }
    required = asked->view->required;
    problem_respond_format(request, PROBLEM_INVALID_PARAMETER,
                           "The query option `%s`%s%s%s is required.", required[0],
                           required[1] != NULL ? " or `" : "",
                           required[1] != NULL ? required[1] : "", required[1] != NULL ? "`" : "");
    return false;
}

/* A cursor of another list would be taken for a place in this one.  Returns: false: it is answered.
 */
static bool check_cursor(struct index_question *asked, struct http_request *request) {
    const char *cursor = asked->values[INDEX_CURSOR];
    char list[LIST_NAME_SIZE];
    if (cursor == NULL || index_question_cursor(asked)) {
        return true;
    }
    index_question_list(asked, list);
    problem_respond_format(request, PROBLEM_INVALID_PARAMETER,
                           "The query option `cursor` cannot be `%.128s`: it takes the `next` of a "
                           "page of this list, which begins with `%s:`.",
                           cursor, list);
    return false;
}

bool index_check(struct index_question *asked, const struct jetstream *jetstream,
                 struct http_request *request) {
    return check_agent(asked, request) && check_required(asked, request) &&
           check_after(asked, jetstream, request) && check_cursor(asked, request);
}
