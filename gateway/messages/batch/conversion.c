/* SPDX-License-Identifier: Apache-2.0 */

/* Converted messages go to the spool, which is the answer once the body has ended without an
 * invalid message. Of the invalid messages only the first is described; the rest are counted. */

#include "conversion.h"

#include <inttypes.h>
#include <stdlib.h>

#include "message_metrics.h"
#include "failure.h"
#include "body_splitter.h"
#include "body_throttle.h"
#include "phase.h"
#include "spool.h"

enum { TEXT_KEPT_BYTES = 64 * 1024 }; /* of the buffer of one message */

/*   READING ── the body has ended ──▶ ENDING ── all is converted ──▶ ANSWERED
 *   READING, ENDING ── it failed ──▶ ANSWERED
 */
enum conversion_phase {
    CONVERSION_READING,
    CONVERSION_ENDING,   /* its last messages are being converted */
    CONVERSION_ANSWERED, /* with a problem, or with the content of the spool */
};

struct conversion {
    struct request_options options;
    struct http_request *request; /* NULL once it is gone */
    struct body_splitter intake;
    enum conversion_phase phase;
    struct body_throttle pace;
    struct spool spool;
    struct parley_buffer text; /* one converted message */
    uint64_t received_count, invalid_count;
    struct parley_buffer detail, violations; /* of the first that is invalid */
    uint64_t read_offset;                    /* of the answer, in the spool */
    const struct body_fault *fault;          /* the body breaks off; NULL: it does not */
};

static void enter(struct conversion *conversion, enum conversion_phase phase) {
    static const unsigned allowed[] = {
        [CONVERSION_READING] = PHASE(CONVERSION_ENDING) | PHASE(CONVERSION_ANSWERED),
        [CONVERSION_ENDING] = PHASE(CONVERSION_ANSWERED),
        [CONVERSION_ANSWERED] = 0,
    };
    conversion->phase = (enum conversion_phase)phase_after(allowed, conversion->phase, phase);
}

static bool is_answered(const struct conversion *conversion) {
    return conversion->phase == CONVERSION_ANSWERED;
}

/* Whether the next message can be cut out of the body. */
static bool can_go_on(const struct conversion *conversion) {
    return !is_answered(conversion) && body_splitter_is_open(&conversion->intake);
}

static void destroy(struct conversion *conversion) {
    body_splitter_finish(&conversion->intake);
    spool_finish(&conversion->spool);
    parley_buffer_finish(&conversion->text);
    parley_buffer_finish(&conversion->detail);
    parley_buffer_finish(&conversion->violations);
    gateway_forget_message(conversion->options.gateway, conversion->options.protocol);
    request_options_release(&conversion->options);
    free(conversion);
}

/* ---- one message ---- */

static void fail(struct conversion *conversion, enum parley_status status) {
    enter(conversion, CONVERSION_ANSWERED);
    problem_respond_format(conversion->request, PROBLEM_INTERNAL,
                           "The messages could not be converted: %s.", parley_status_text(status));
}

static void note_invalid(struct conversion *conversion, const struct parley_message *message,
                         size_t number) {
    if (conversion->invalid_count++ > 0) {
        return;
    }
    const bool is_line = conversion->intake.splitter.framing == PARLEY_FRAMING_LINES;
    parley_buffer_format(&conversion->detail, "%s %zu, which breaks ",
                         is_line ? "on line" : "number", number);
    check_describe(message, &conversion->detail);
    parley_findings_write(&message->findings, &conversion->violations);
    if (conversion->detail.has_failed || conversion->violations.has_failed) {
        fail(conversion, PARLEY_E_MEMORY);
    }
}

/* Appends what parts a message from the next one, where the encoding does not. */
static void end_message(const struct conversion *conversion, struct parley_buffer *text) {
    const enum parley_framing framing = conversion->options.to->framing;
    if (framing == PARLEY_FRAMING_LINES || framing == PARLEY_FRAMING_JSON) {
        parley_buffer_char(text, '\n');
    }
}

static void keep(struct conversion *conversion, struct parley_bytes text) {
    const uint64_t limit = conversion->options.gateway->configuration->spool_max_bytes;
    const bool is_too_long = spool_length(&conversion->spool) + text.length > limit;
    if (is_too_long) {
        enter(conversion, CONVERSION_ANSWERED);
        problem_respond_format(conversion->request, PROBLEM_TOO_LARGE,
                               "The converted messages exceed the %" PRIu64 " bytes that are kept "
                               "for an answer (--spool-max): send fewer at once.",
                               limit);
    } else if (!spool_has_room(&conversion->spool)) {
        enter(conversion, CONVERSION_ANSWERED);
        problem_respond(conversion->request, PROBLEM_OVERLOADED,
                        "There is no room to keep the converted messages until all of them are "
                        "checked: other answers use it (--spool-max), or the disk of the data "
                        "folder is nearly full. Nothing was stored: send them again later, or "
                        "fewer at once.");
    } else if (!spool_write(&conversion->spool, text)) {
        fail(conversion, PARLEY_E_IO);
    }
}

static void convert(struct conversion *conversion, const struct verdict *verdict) {
    struct parley_buffer *text = &conversion->text;
    enum parley_status status = verdict_convert(&conversion->options, verdict, text);
    end_message(conversion, text);
    status = status != PARLEY_OK ? status : parley_buffer_status(text);
    if (status != PARLEY_OK) {
        fail(conversion, status);
    } else {
        keep(conversion, parley_buffer_bytes(text));
    }
    if (text->capacity > TEXT_KEPT_BYTES) {
        parley_buffer_finish(text);
    }
}

static void on_verdict(struct body_splitter *intake, const struct verdict *verdict) {
    struct conversion *conversion = OWNER_OF(intake, struct conversion, intake);
    if (conversion->request == NULL) {
        return;
    }
    conversion->received_count++;
    body_throttle_note(&conversion->pace,
                       verdict->status != PARLEY_OK || parley_message_is_valid(verdict->message));
    if (verdict->status != PARLEY_OK) {
        message_metrics_problem(&conversion->options, ACCOUNT_UNKNOWN, PROBLEM_INTERNAL);
        fail(conversion, verdict->status);
        return;
    }
    if (!parley_message_is_valid(verdict->message)) {
        message_metrics_invalid(&conversion->options,
                                message_metrics_mark(&conversion->options, verdict->message));
        note_invalid(conversion, verdict->message, verdict->slice->number);
        return;
    }
    message_metrics_valid(&conversion->options);
    if (conversion->invalid_count == 0) {
        convert(conversion, verdict);
    }
}

/* ---- all of them ---- */

static void refuse_overloaded(struct conversion *conversion) {
    const struct failure failure = failure_overloaded(&conversion->options);
    body_splitter_release(&conversion->intake);
    enter(conversion, CONVERSION_ANSWERED);
    problem_respond(conversion->request, failure.problem, failure.detail);
}

static void on_overloaded(struct body_splitter *intake, const struct parley_slice *slice) {
    (void)slice;
    refuse_overloaded(OWNER_OF(intake, struct conversion, intake));
}

static size_t conversion_body(void *state, struct parley_bytes bytes) {
    struct conversion *conversion = state;
    struct parley_bytes left = {bytes.data, body_throttle_begin(&conversion->pace, bytes.length)};
    const size_t allowed = left.length;
    while (left.length > 0 && can_go_on(conversion) && body_throttle_is_open(&conversion->pace)) {
        if (body_splitter_next(&conversion->intake, &left) == PARLEY_SPLIT_MEMORY) {
            fail(conversion, PARLEY_E_MEMORY);
        }
    }
    if (!is_answered(conversion) && !body_splitter_cover(&conversion->intake)) {
        refuse_overloaded(conversion);
    }
    body_throttle_end(&conversion->pace, bytes.length, allowed - left.length);
    return is_answered(conversion) ? bytes.length : allowed - left.length;
}

static void write_refusal(const struct conversion *conversion, struct parley_buffer *out) {
    parley_buffer_format(out,
                         "%" PRIu64 " of %" PRIu64 " messages %s invalid, so none was "
                         "converted; the first is ",
                         conversion->invalid_count, conversion->received_count,
                         conversion->invalid_count == 1 ? "is" : "are");
    parley_buffer_append(out, parley_buffer_bytes(&conversion->detail));
    parley_buffer_char(out, '\0');
}

static void refuse(struct conversion *conversion) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    write_refusal(conversion, &text);
    if (text.has_failed) {
        fail(conversion, PARLEY_E_MEMORY);
    } else {
        enter(conversion, CONVERSION_ANSWERED);
        problem_respond_violations(conversion->request, PROBLEM_INVALID_MESSAGE, text.data,
                                   parley_buffer_bytes(&conversion->violations));
    }
    parley_buffer_finish(&text);
}

static enum parley_split cut_end(struct conversion *conversion) {
    const struct body_fault *fault = conversion->fault;
    conversion->fault = NULL;
    return fault != NULL ? body_splitter_break(&conversion->intake, fault)
                         : body_splitter_end(&conversion->intake);
}

/* Cuts the end of the body, and answers, unless the worker pool has a message of it. */
static void end_if_whole(struct conversion *conversion) {
    enum parley_split split = PARLEY_SPLIT_MORE;
    while (split != PARLEY_SPLIT_END && can_go_on(conversion)) {
        split = cut_end(conversion);
        if (split == PARLEY_SPLIT_MEMORY) {
            fail(conversion, PARLEY_E_MEMORY);
        }
    }
    if (!can_go_on(conversion)) {
        return;
    }
    if (conversion->invalid_count > 0) {
        refuse(conversion);
    } else {
        enter(conversion, CONVERSION_ANSWERED);
        if (spool_length(&conversion->spool) >= HTTP_COMPRESSED_BYTES_MIN) {
            http_compress(conversion->request);
        }
        http_respond_stream(conversion->request, 200,
                            request_converted_type(&conversion->options, true), body_read);
    }
}

static void conversion_end(void *state) {
    struct conversion *conversion = state;
    enter(conversion, CONVERSION_ENDING);
    end_if_whole(conversion);
}

static void conversion_broken(void *state, const struct body_fault *fault) {
    struct conversion *conversion = state;
    conversion->fault = fault;
    conversion_end(conversion);
}

static void on_offload_done(struct body_splitter *intake) {
    struct conversion *conversion = OWNER_OF(intake, struct conversion, intake);
    if (conversion->request == NULL) {
        destroy(conversion);
        return;
    }
    if (conversion->phase == CONVERSION_ENDING) {
        end_if_whole(conversion);
    }
    http_wake(conversion->request);
}

static ssize_t conversion_read(void *state, char *buffer, size_t size) {
    struct conversion *conversion = state;
    const ssize_t count = spool_read(&conversion->spool, conversion->read_offset, buffer, size);
    if (count > 0) {
        conversion->read_offset += (uint64_t)count;
        return count;
    }
    return count < 0 ? HTTP_SOURCE_ABORT : HTTP_SOURCE_END;
}

static void conversion_closed(void *state) {
    struct conversion *conversion = state;
    conversion->request = NULL;
    body_throttle_close(&conversion->pace);
    if (!body_splitter_is_checking(&conversion->intake)) {
        destroy(conversion);
    }
}

static void *conversion_create(const struct request_options *options, enum parley_framing framing,
                               struct http_request *request) {
    static const struct body_splitter_events events = {.on_verdict = on_verdict,
                                                       .on_overloaded = on_overloaded,
                                                       .on_offload_done = on_offload_done};
    struct conversion *conversion = calloc(1, sizeof *conversion);
    if (conversion == NULL || !request_options_keep(&conversion->options, options)) {
        free(conversion);
        return NULL;
    }
    conversion->request = request;
    body_throttle_init(&conversion->pace, &conversion->options.meter, conversion->options.gateway,
                       request);
    body_splitter_init(&conversion->intake, &conversion->options, framing, &events);
    spool_init(&conversion->spool, options->gateway->configuration->data, options->gateway->spools);
    return conversion;
}

const struct body_handler conversion_handler = {.create = conversion_create,
                                                .body = conversion_body,
                                                .end = conversion_end,
                                                .broken = conversion_broken,
                                                .closed = conversion_closed,
                                                .read = conversion_read};
