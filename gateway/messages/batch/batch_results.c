/* SPDX-License-Identifier: Apache-2.0 */

#include "batch_results.h"

#include <inttypes.h>
#include <stdlib.h>

#include "body_handler.h"

enum {
    WINDOW_COUNT = 4096, /* results of one body that wait for one before them */
    WINDOW_BYTES = 4 << 20,
    RESULT_KEPT_BYTES = 1024, /* of a result that is used again: most are smaller */
};

/* Whether the answer is the valid messages and nothing else. */
static bool is_filter(const struct batch_results *results) {
    return results->options->task == INGEST_VALIDATE && results->options->emit == EMIT_MESSAGES;
}

void batch_results_init(struct batch_results *results, const struct request_options *options,
                        struct http_request *request, void (*on_room)(void *context),
                        void *context) {
    const struct gateway *gateway = options->gateway;
    const bool is_document = options->form == ANSWER_DOCUMENT;
    results->options = options;
    results->end = &results->first;
    const struct result_writer_options outlet = {
        .reactor = gateway->reactor,
        .commit = options->task == INGEST_FORWARD ? gateway->commit : NULL,
        .request = request,
        .data = gateway->configuration->data,
        .quota = gateway->spools,
        .idle_timeout_ms = gateway->configuration->idle_timeout_ms,
        .media_type = is_document ? "application/json" : options->lines_type,
        .form = !is_document         ? OUTLET_LINES
                : is_filter(results) ? OUTLET_ARRAY
                                     : OUTLET_DOCUMENT,
        .read = body_read,
        .on_room = on_room,
        .context = context};
    result_writer_init(&results->outlet, &outlet);
}

void batch_results_close(struct batch_results *results) {
    result_writer_close(&results->outlet);
}

static void free_list(struct batch_result *result) {
    while (result != NULL) {
        struct batch_result *next = result->next;
        submission_finish(&result->submission);
        free(result);
        result = next;
    }
}

void batch_results_finish(struct batch_results *results) {
    free_list(results->first);
    free_list(results->unused);
    result_writer_finish(&results->outlet);
}

/* ---- the window ---- */

bool batch_results_have_room(struct batch_results *results) {
    return results->window_count < WINDOW_COUNT && results->window_bytes < WINDOW_BYTES &&
           result_writer_has_room(&results->outlet);
}

bool batch_results_wait_for_outlet(const struct batch_results *results) {
    return results->first != NULL && results->first->status != RESULT_AWAITED;
}

struct batch_result *batch_results_add(struct batch_results *results, size_t number) {
    struct batch_result *result = results->unused;
    if (result != NULL) {
        results->unused = result->next;
    } else {
        result = calloc(1, sizeof *result);
        if (result == NULL) {
            results->has_failed = true;
            return NULL;
        }
    }
    receipt_clear(&result->submission.receipt);
    result->results = results;
    result->number = number;
    result->submission.account = ACCOUNT_UNKNOWN;
    result->submission.phase = SUBMISSION_NONE;
    result->pending = NULL;
    result->counted_bytes = 0;
    result->status = RESULT_AWAITED;
    result->next = NULL;
    *results->end = result;
    results->end = &result->next;
    results->window_count++;
    results->received_count++;
    return result;
}

/* Whether the client reads results of this status. */
static bool is_reported(const struct batch_results *results, enum result_status status) {
    if (is_filter(results)) {
        return status == RESULT_ACCEPTED;
    }
    switch (results->options->results) {
    case RESULTS_ALL:
        return true;
    case RESULTS_ERRORS:
        return status != RESULT_ACCEPTED && status != RESULT_DUPLICATE;
    case RESULTS_SUMMARY:
        break;
    }
    return false;
}

static void omit(struct batch_results *results) {
    results->omitted_count++;
    results->has_failed = results->has_failed || is_filter(results);
}

/* Ends the item written to the outlet as a result. */
static void end_written(struct batch_results *results) {
    if (!result_writer_end_item(&results->outlet)) {
        omit(results);
    }
}

static void write_out(struct batch_results *results, const struct parley_buffer *line) {
    struct parley_buffer *out =
        line->has_failed ? NULL : result_writer_begin_item(&results->outlet);
    if (out == NULL) {
        omit(results);
        return;
    }
    parley_buffer_append(out, parley_buffer_bytes(line));
    end_written(results);
}

/* Frees a written result for reuse. The window bounds the memory of results in use; unused ones
 * keep little. */
static void put_away(struct batch_results *results, struct batch_result *result) {
    struct parley_buffer *line = &result->submission.receipt.text;
    results->window_count--;
    results->window_bytes -= line->length;
    if (line->capacity > RESULT_KEPT_BYTES) {
        parley_buffer_finish(line);
    }
    result->next = results->unused;
    results->unused = result;
}

void batch_results_flush(struct batch_results *results) {
    while (batch_results_wait_for_outlet(results) && result_writer_has_room(&results->outlet)) {
        struct batch_result *result = results->first;
        const struct parley_buffer *line = &result->submission.receipt.text;
        results->first = result->next;
        if (results->first == NULL) {
            results->end = &results->first;
        }
        if (line->length > 0 || line->has_failed) {
            write_out(results, line);
        }
        put_away(results, result);
    }
}

/* ---- the end of a result ---- */

/* Its line is complete. `counted_bytes` of its text are in the window's count. */
static void end_result(struct batch_result *result, enum result_status status,
                       size_t counted_bytes) {
    struct batch_results *results = result->results;
    submission_end(&result->submission);
    result->status = status;
    results->counts[status]++;
    /* A filter's output is whole, or it is broken off. */
    results->has_failed = results->has_failed || (status == RESULT_FAILED && is_filter(results));
    if (!is_reported(results, status)) {
        parley_buffer_clear(&result->submission.receipt.text);
    }
    results->window_bytes += result->submission.receipt.text.length - counted_bytes;
    batch_results_flush(results);
}

/* Logs an internal error, once a body. */
static void log_once(struct batch_results *results, const char *detail) {
    if (!results->has_logged && results->outlet.options.request != NULL) {
        results->has_logged = true;
        problem_log(results->outlet.options.request, detail);
    }
}

void batch_result_note_invalid(struct batch_result *result, struct parley_message *message,
                               bool is_halting) {
    struct parley_buffer *line = &result->submission.receipt.text;
    result->submission.account = message_metrics_mark(result->results->options, message);
    parley_buffer_clear(line);
    receipt_write_invalid(result->number, message, is_halting, line);
    parley_buffer_char(line, '\n');
    result->results->window_bytes += line->length;
}

void batch_result_end_invalid(struct batch_result *result) {
    message_metrics_invalid(result->results->options, result->submission.account);
    end_result(result, RESULT_INVALID, result->submission.receipt.text.length);
}

/* `members`: of the problem, with a comma each; not in the result's text. */
static void end_failed(struct batch_result *result, const struct failure *failure,
                       struct parley_bytes members, size_t counted_bytes) {
    struct parley_buffer *line = &result->submission.receipt.text;
    if (failure->problem == PROBLEM_INTERNAL) {
        log_once(result->results, failure->detail);
    }
    parley_buffer_clear(line);
    receipt_write_failed(result->number, failure, members, line);
    parley_buffer_char(line, '\n');
    end_result(result, RESULT_FAILED, counted_bytes);
}

void batch_result_end_failed(struct batch_result *result, const struct failure *failure) {
    message_metrics_problem(result->results->options, result->submission.account, failure->problem);
    end_failed(result, failure, (struct parley_bytes){0}, 0);
}

void batch_result_end_internal(struct batch_result *result, enum parley_status status) {
    const struct failure failure = failure_of_status(status);
    batch_result_end_failed(result, &failure);
}

/* ---- validated ---- */

/* For a filter nothing, when it is invalid. */
static void write_verdict(const struct batch_results *results, const struct verdict *verdict,
                          struct parley_buffer *out) {
    const bool is_valid = parley_message_is_valid(verdict->message);
    const enum ingest_emit emit = results->options->emit;
    enum parley_status status = PARLEY_OK;
    if (emit == EMIT_MESSAGES && is_valid) {
        status = verdict_encode(verdict, out);
        parley_buffer_char(out, '\n');
    } else if (emit != EMIT_MESSAGES) {
        receipt_begin_verdict(verdict->slice->number, out);
        status = is_valid ? verdict_warn_of_size(results->options, verdict) : PARLEY_OK;
        status = status != PARLEY_OK ? status : parley_message_write_verdict(verdict->message, out);
        if (emit == EMIT_BOTH && results->options->check.fix == PARLEY_FIX_NOTHING) {
            parley_buffer_text(out, ",\"message\":");
            if (is_valid && status == PARLEY_OK) {
                status = verdict_encode(verdict, out);
            } else {
                parley_buffer_text(out, "null");
            }
        }
        parley_buffer_text(out, "}\n");
    }
    out->has_failed = out->has_failed || status != PARLEY_OK;
}

/* The result of one that was checked alone, which is counted. */
static enum result_status status_of(const struct request_options *options,
                                    const struct verdict *verdict) {
    if (parley_message_is_valid(verdict->message)) {
        message_metrics_valid(options);
        return RESULT_ACCEPTED;
    }
    message_metrics_invalid(options, message_metrics_mark(options, verdict->message));
    return RESULT_INVALID;
}

void batch_result_end_verdict(struct batch_result *result, const struct verdict *verdict) {
    write_verdict(result->results, verdict, &result->submission.receipt.text);
    end_result(result, status_of(result->results->options, verdict), 0);
}

void batch_results_add_verdict(struct batch_results *results, const struct verdict *verdict) {
    const enum result_status status = status_of(results->options, verdict);
    results->received_count++;
    results->counts[status]++;
    if (!is_reported(results, status)) {
        return;
    }
    struct parley_buffer *out = result_writer_begin_item(&results->outlet);
    if (out == NULL) {
        omit(results);
        return;
    }
    write_verdict(results, verdict, out);
    end_written(results);
}

/* ---- published ---- */

static void write_stored(const struct batch_result *result, const struct receipt_place *place,
                         struct parley_buffer *out) {
    receipt_write(&result->submission.receipt, place, out);
    parley_buffer_char(out, '\n');
}

/* The one that all others wait for goes straight to the outlet.  Returns: whether it did. */
static bool write_first(struct batch_result *result, const struct receipt_place *place) {
    struct batch_results *results = result->results;
    struct parley_buffer *out = NULL;
    if (result == results->first && result_writer_has_room(&results->outlet)) {
        out = result_writer_begin_item(&results->outlet);
    }
    if (out == NULL) {
        return false;
    }
    write_stored(result, place, out);
    end_written(results);
    parley_buffer_clear(&result->submission.receipt.text);
    return true;
}

static void end_stored(struct batch_result *result, const struct receipt_place *place) {
    const enum result_status status = place->is_duplicate ? RESULT_DUPLICATE : RESULT_ACCEPTED;
    const size_t counted_bytes = result->submission.receipt.text.length;
    if (is_reported(result->results, status) && !write_first(result, place)) {
        struct parley_buffer line;
        parley_buffer_init(&line);
        write_stored(result, place, &line);
        parley_buffer_finish(&result->submission.receipt.text);
        result->submission.receipt.text = line;
    }
    end_result(result, status, counted_bytes);
}

void batch_result_end_submitted(struct batch_result *result,
                                const struct submission_outcome *outcome) {
    const struct receipt_place place = {.number = result->number,
                                        .stream = outcome->stream,
                                        .sequence = outcome->sequence,
                                        .is_duplicate = outcome->is_duplicate,
                                        .members = outcome->members};
    switch (outcome->end) {
    case SUBMISSION_STORED:
        end_stored(result, &place);
        break;
    case SUBMISSION_HALTED:
        end_result(result, RESULT_INVALID, result->submission.receipt.text.length);
        break;
    case SUBMISSION_FAILED:
        end_failed(result, &outcome->failure, outcome->members,
                   result->submission.receipt.text.length);
        break;
    case SUBMISSION_UNCOMPARED: /* no one reads it */
        break;
    }
}

/* ---- the answer ---- */

static void write_count(const char *name, uint64_t count, struct parley_buffer *out) {
    parley_buffer_format(out, ",\"%s\":%" PRIu64, name, count);
}

static void write_summary(const struct batch_results *results, struct parley_buffer *out) {
    const uint64_t *counts = results->counts;
    const bool is_validated = results->options->task == INGEST_VALIDATE;
    parley_buffer_format(out, "\"summary\":{\"received\":%" PRIu64, results->received_count);
    write_count(is_validated ? "valid" : "accepted", counts[RESULT_ACCEPTED], out);
    if (!is_validated) {
        write_count("duplicate", counts[RESULT_DUPLICATE], out);
    }
    write_count("invalid", counts[RESULT_INVALID], out);
    if (!is_validated || counts[RESULT_FAILED] > 0) {
        write_count("failed", counts[RESULT_FAILED], out);
    }
    if (results->omitted_count > 0) {
        write_count("omitted", results->omitted_count, out);
    }
    parley_buffer_char(out, '}');
}

static void log_failure(struct batch_results *results) {
    if (results->has_failed || results->outlet.spool.has_failed) {
        log_once(results,
                 "The results are incomplete: out of memory, or no room in the data folder "
                 "or in --gather-max.");
    }
}

void batch_results_end(struct batch_results *results) {
    struct parley_buffer summary;
    parley_buffer_init(&summary);
    log_failure(results);
    /* A response without the summary was cut short, and this one is. */
    if (!results->has_failed && is_filter(results)) {
        results->has_failed = !result_writer_end(&results->outlet, NULL);
    } else if (!results->has_failed) {
        write_summary(results, &summary);
        results->has_failed = !result_writer_end(&results->outlet, &summary);
    }
    parley_buffer_finish(&summary);
    result_writer_send(&results->outlet);
}

ssize_t batch_results_read(struct batch_results *results, bool is_ended, char *buffer,
                           size_t size) {
    const ssize_t count = result_writer_read(&results->outlet, buffer, size);
    if (count > 0) {
        return count;
    }
    if (count < 0 || results->has_failed) {
        log_failure(results);
        return HTTP_SOURCE_ABORT;
    }
    return is_ended && result_writer_is_read(&results->outlet) ? HTTP_SOURCE_END : 0;
}
