/* SPDX-License-Identifier: Apache-2.0 */

/* Answers the client of one message. */

#include <stdio.h>

#include "single_state.h"

void single_answer_internal(struct single *single, enum parley_status status) {
    if (single->request == NULL) {
        return;
    }
    problem_respond_format(single->request, PROBLEM_INTERNAL,
                           "The message could not be checked: %s.", parley_status_text(status));
}

void single_fail(struct single *single, enum parley_status status) {
    message_metrics_problem(&single->options, single->submission.account, PROBLEM_INTERNAL);
    single_answer_internal(single, status);
}

/* Whether the answer was written; else the error is answered. */
static bool is_written(struct single *single, enum parley_status status) {
    status = status != PARLEY_OK ? status : parley_buffer_status(&single->answer);
    if (status != PARLEY_OK) {
        single_answer_internal(single, status);
    }
    return status == PARLEY_OK;
}

/* RFC 7763 requires a charset with text/markdown. */
static void respond_as(struct single *single, unsigned status, const char *media_type) {
    char type[128];
    const bool is_text = strncmp(media_type, "text/", 5) == 0;
    snprintf(type, sizeof type, "%s%s", media_type, is_text ? "; charset=utf-8" : "");
    http_compress(single->request);
    http_respond(single->request, status, type, parley_buffer_bytes(&single->answer));
}

/* The refusal as the protocol itself would write it. */
static void respond_own_refusal(struct single *single, struct parley_message *message,
                                unsigned http_status) {
    const struct parley_protocol *protocol = message->protocol;
    if (is_written(single, protocol->write_refusal(message, &single->answer))) {
        respond_as(single, http_status, protocol->refusal_media_type);
    }
}

void single_answer_converted(struct single *single, const struct verdict *verdict) {
    const struct parley_codec *to = single->options.to;
    if (!request_accepts_converted(&single->options, single->request, false)) {
        return;
    }
    const enum parley_status status = verdict_convert(&single->options, verdict, &single->answer);
    if (to->framing == PARLEY_FRAMING_LINES) {
        parley_buffer_char(&single->answer, '\n');
    }
    if (is_written(single, status)) {
        respond_as(single, 200, request_converted_type(&single->options, false));
    }
}

void single_answer_verdict(struct single *single, const struct verdict *verdict) {
    struct parley_message *message = verdict->message;
    const bool is_valid = parley_message_is_valid(message);
    if (single->options.has_own_refusal && !is_valid) {
        respond_own_refusal(single, message, 200);
        return;
    }
    struct parley_buffer *answer = &single->answer;
    enum parley_status status =
        is_valid ? verdict_warn_of_size(&single->options, verdict) : PARLEY_OK;
    parley_buffer_reserve(answer, ANSWER_BYTES_USUAL);
    parley_buffer_char(answer, '{');
    status = status != PARLEY_OK ? status : parley_message_write_verdict(message, answer);
    parley_buffer_text(answer, "}\n");
    if (is_written(single, status)) {
        http_compress(single->request);
        http_respond(single->request, 200, "application/json", parley_buffer_bytes(answer));
    }
}

void single_answer_invalid(struct single *single, struct parley_message *message) {
    const struct parley_finding *first = &message->findings.items[0];
    const enum problem problem = check_is_forbidden(message) ? PROBLEM_FORBIDDEN
                                 : message->is_decoded       ? PROBLEM_INVALID_MESSAGE
                                 : first->rule == &parley_gateway_rules[PARLEY_GW_SIZE]
                                     ? PROBLEM_TOO_LARGE
                                     : PROBLEM_MALFORMED;
    if (single->options.has_own_refusal) {
        problem_remark_rules(single->request, &message->findings);
        respond_own_refusal(single, message, problem_status(problem));
        return;
    }
    struct parley_buffer *detail = &single->answer;
    check_describe(message, detail);
    parley_buffer_char(detail, '\0');
    if (detail->has_failed) {
        single_answer_internal(single, PARLEY_E_MEMORY);
        return;
    }
    problem_respond_findings(single->request, problem, detail->data, &message->findings);
}

/* Not in the protocol's own form, which does not say that it halts. */
void single_note_halting(struct single *single, const struct parley_message *message) {
    struct parley_buffer *out = &single->answer;
    check_describe(message, out);
    parley_buffer_text(out, " It halts its conversation all the same, until people release it.");
    parley_buffer_char(out, '\0');
    parley_buffer_text(out, ",\"halted\":true,\"violations\":");
    parley_findings_write(&message->findings, out);
    if (single->request != NULL) {
        problem_remark_rules(single->request, &message->findings);
    }
}

void single_answer_halting(struct single *single) {
    message_metrics_invalid(&single->options, single->submission.account);
    if (single->request == NULL || !is_written(single, PARLEY_OK)) {
        return;
    }
    http_commit_refusal(single->request);
    const struct parley_bytes noted = parley_buffer_bytes(&single->answer);
    const size_t start = strlen(noted.data) + 1;
    problem_respond_members(single->request, PROBLEM_INVALID_MESSAGE, noted.data,
                            (struct parley_bytes){noted.data + start, noted.length - start});
}

static void answer_stored(struct single *single, const struct submission_outcome *outcome) {
    const struct receipt_place place = {.stream = outcome->stream,
                                        .sequence = outcome->sequence,
                                        .is_duplicate = outcome->is_duplicate,
                                        .traceparent = single->options.publication.traceparent,
                                        .members = outcome->members};
    const struct receipt *receipt = &single->submission.receipt;
    struct parley_buffer *answer = &single->options.gateway->answer;
    message_metrics_stored(&single->options, single->submission.account, place.is_duplicate);
    parley_buffer_clear(answer);
    receipt_write(receipt, &place, answer);
    if (single->reply != NULL && !answer->has_failed) {
        if (awaited_reply_begin(single->reply, parley_buffer_bytes(answer), receipt)) {
            single_enter(single, SINGLE_AWAITING);
        }
        return;
    }
    parley_buffer_char(answer, '\n');
    if (answer->has_failed) {
        single_answer_internal(single, PARLEY_E_MEMORY);
        return;
    }
    http_respond(single->request, 200, "application/json", parley_buffer_bytes(answer));
}

static void answer_failure(struct single *single, const struct failure *failure,
                           struct parley_bytes members) {
    message_metrics_problem(&single->options, single->submission.account, failure->problem);
    if (single->request != NULL) {
        problem_respond_members(single->request, failure->problem, failure->detail, members);
    }
}

void single_answer_outcome(struct single *single, const struct submission_outcome *outcome) {
    switch (outcome->end) {
    case SUBMISSION_STORED:
        answer_stored(single, outcome);
        break;
    case SUBMISSION_HALTED:
        single_answer_halting(single);
        break;
    case SUBMISSION_FAILED:
        answer_failure(single, &outcome->failure, outcome->members);
        break;
    case SUBMISSION_UNCOMPARED: /* no one reads it */
        break;
    }
}

void single_answer_refused(struct single *single, enum jetstream_publish refused) {
    const struct failure failure = failure_of_refusal(&single->options, refused);
    answer_failure(single, &failure, (struct parley_bytes){0});
}
